"""Kernels that leave the zeros of their results out."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import compile_kernel, packed
from tests.robots import robot

HUMANOID = "erd/talos/talos_reduced"


@pytest.mark.parametrize("what", ["mass_matrix", "inverse_dynamics_derivatives"])
def test_packed_results_unpack_to_the_bits_of_the_whole_ones(what):
    model = mbd.load(robot(HUMANOID))
    kernel = model.compile(what)
    lean = packed(kernel)
    states = np.random.default_rng(3).uniform(-1.0, 1.0, (len(kernel.inputs), 11, model.model.nv))
    whole = kernel(*states)
    found = lean.unpack(*lean.kernel(*states))
    for name, expected in zip(kernel.outputs, whole, strict=True):
        np.testing.assert_array_equal(found[name], expected)
    one = lean.unpack(*lean.kernel(*(x[0] for x in states)))
    np.testing.assert_array_equal(one[kernel.outputs[0]], kernel(*(x[0] for x in states))[0])


def test_of_a_symmetric_matrix_one_half_is_packed():
    lean = packed(mbd.load(robot(HUMANOID)).compile("mass_matrix"))
    rows, columns = np.unravel_index(lean.places["M"], lean.shapes["M"])
    numbers = dict(zip(zip(rows, columns, strict=True), lean.numbers["M"], strict=True))
    assert all(numbers[j, i] == number for (i, j), number in numbers.items())
    assert lean.kernel.shapes == ((1 + max(numbers.values()),),)
    assert len(numbers) < rows.max() ** 2 // 2


def test_constants_are_packed_and_zeros_are_not():
    lean = packed(compile_kernel(lambda x: (np.array([0.0, 2.0, x[0], 0.0, x[0]]),), {"x": 1}))
    assert lean.places["out0"].tolist() == [1, 2, 4]
    assert lean.unpack(lean.kernel([7.0])[0])["out0"].tolist() == [0.0, 2.0, 7.0, 0.0, 7.0]


def test_numbers_of_another_length_are_refused():
    lean = packed(compile_kernel(lambda x: (x,), {"x": 2}))
    with pytest.raises(StateError, match=r"expected what .kernel gives, \(2,\) or \(N, 2\)"):
        lean.unpack([1.0])


def test_what_is_no_kernel_is_not_packed():
    with pytest.raises(StateError, match=r"expected a Kernel, got int; try robot\.compile"):
        packed(3)
