"""A kernel gives what the traced function gives, whatever the layout and number of states."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from mbd_bridge.base.errors import KernelError, StateError
from mbd_bridge.kernels import compile_kernel, llvm_body, machine, places, trace
from mbd_bridge.kernels.instructions import TracedSource, lower
from mbd_bridge.kernels.llvm_module import batch_module
from mbd_bridge.model.spatial import zeros
from tests.bounds import ALLOWANCE
from tests.kernels.functions import ARM_INPUTS, arm, reference, states
from tests.tolerances import KERNEL

CLOSE = {"rtol": KERNEL, "atol": 1e-2 * KERNEL}


@pytest.fixture(scope="module", params=[2, 4, 8, 16], ids=lambda n: f"{n} lanes")
def kernel(request):
    return compile_kernel(arm, ARM_INPUTS, name="arm", cache=None, lanes=request.param)


@pytest.mark.parametrize("number", range(34))
def test_every_number_of_states_is_computed_to_the_last(kernel, number):
    q, v = states(number, seed=number)
    got = kernel(q, v)
    assert [a.shape for a in got] == [(number, 5), (number, 2, 3)]
    if number:
        for a, b in zip(got, reference(arm, q, v), strict=True):
            np.testing.assert_allclose(a, b, **CLOSE)


def test_one_state_has_no_leading_axis(kernel):
    q, v = states(1, seed=1)
    for a, b in zip(kernel(q[0], v[0]), kernel(q, v), strict=True):
        assert a.shape == b.shape[1:]
        np.testing.assert_array_equal(a, b[0])


def layouts(array):
    """The same numbers, laid out in every way NumPy knows."""
    number, size = array.shape
    wide = np.full((number, size + 4), np.nan)
    wide[:, 2:-2] = array
    gaps = np.full((2 * number, 3 * size), np.nan)
    gaps[::2, ::3] = array
    odd = np.zeros(number * size * 8 + 1, dtype=np.uint8)[1:].view(np.float64)
    odd = odd.reshape(number, size)
    odd[...] = array
    cube = np.full((3, number, size), np.nan)
    cube[1] = array
    return {
        "C": array,
        "Fortran": np.asfortranarray(array),
        "slice of wider rows": wide[:, 2:-2],
        "gaps in both directions": gaps[::2, ::3],
        "states backwards": array[::-1].copy()[::-1],
        "components backwards": array[:, ::-1].copy()[:, ::-1],
        "unaligned": odd,
        "plane of a cube": np.moveaxis(np.ascontiguousarray(np.moveaxis(cube, 1, 2)), 2, 1)[1],
        "float32": array.astype(np.float32),
        "big endian": array.astype(">f8"),
        "list": array.tolist(),
        "read-only": np.frombuffer(array.tobytes()).reshape(array.shape),
    }


@pytest.mark.parametrize("number", [1, 5, 8, 21])
def test_the_layout_of_inputs_does_not_matter(kernel, number):
    q, v = (a.astype(np.float32).astype(float) for a in states(number, seed=2))
    expected = kernel(q, v)
    for name, other in layouts(q).items():
        for a, b in zip(kernel(other, v), expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_arrays_of_doubles_are_not_copied(kernel, monkeypatch):
    seen = []
    original = type(kernel)._run

    def watched(self, arrays, *rest):
        seen.append(arrays)
        original(self, arrays, *rest)

    monkeypatch.setattr(type(kernel), "_run", watched)
    q, v = states(9, seed=3)
    for name, other in list(layouts(q).items())[:8]:
        kernel(other, v)
        assert seen[-1][0] is other, name


@pytest.mark.parametrize("number", [1, 5, 8, 21])
def test_an_input_of_one_state_holds_for_all(kernel, number):
    q, v = states(number, seed=4)
    for constant in (v[0], np.broadcast_to(v[0], v.shape)):
        got = kernel(q, constant)
        for a, b in zip(got, kernel(q, np.tile(v[0], (number, 1))), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("number", [1, 5, 8, 21])
def test_results_go_where_they_are_told(kernel, number):
    q, v = states(number, seed=5)
    expected = kernel(q, v)
    backing = np.full((number, 2, 20), -1.0), np.full((4, number, 6), -1.0)
    targets = [
        (np.empty((number, 5)), np.empty((number, 2, 3))),
        (np.empty((5, number)).T, np.empty((3, 2, number)).T),
        (backing[0][:, 1, 3:13:2], backing[1].transpose(1, 0, 2)[:, ::3, ::-2]),
        (np.empty((number, 5))[::-1], None),
    ]
    for out in targets:
        got = kernel(q, v, out=out)
        for a, b, target in zip(got, expected, out, strict=True):
            assert target is None or a is target
            np.testing.assert_array_equal(a, b)
    assert np.all(backing[0][:, 0] == -1.0)
    assert np.all(backing[0][:, 1, [0, 1, 2, 4, 6, 8, 10, 12, 13, 19]] == -1.0)
    assert np.all(backing[1][1:3] == -1.0)


def test_results_may_overwrite_the_inputs():
    kernel = compile_kernel(lambda q: (q + 1.0, 2.0 * q), {"q": 3}, cache=None)
    memory = np.arange(40.0 * 3).reshape(40, 3)
    before = memory.copy()
    shifted, apart = memory[1:], np.empty((39, 3))
    kernel(memory[:-1], out=(shifted, apart))
    np.testing.assert_array_equal(shifted, before[:-1] + 1.0)
    np.testing.assert_array_equal(apart, 2.0 * before[:-1])


@pytest.mark.parametrize("component", range(6))
def test_nan_comes_out_of_its_own_state_and_what_depends_on_it(kernel, component):
    # outputs: x, s0 c2 + v2, root(x)/(3 + c1), constant, v0; outer(s0 s1, v)
    depends = {
        0: ([0, 1, 2], [(0, slice(None))]),
        1: ([0, 2], [(1, slice(None))]),
        2: ([1], []),
        3: ([0, 2, 4], [(slice(None), 0)]),
        4: ([0, 2], [(slice(None), 1)]),
        5: ([1], [(slice(None), 2)]),
    }[component]
    q, v = states(19, seed=6)
    clean = kernel(q, v)
    for bad in (np.nan, np.inf, -np.inf) if component < 3 else (np.nan,):
        for state in range(19):
            qs, vs = q.copy(), v.copy()
            (qs if component < 3 else vs)[state, component % 3] = bad
            flat, outer = (a.copy() for a in clean)
            flat[state, depends[0]] = np.nan
            for place in depends[1]:
                outer[(state, *place)] = np.nan
            got = kernel(qs, vs)
            np.testing.assert_array_equal(got[0], flat)
            np.testing.assert_array_equal(got[1], outer)


def test_threads_change_no_digit(kernel):
    q, v = states(10_007, seed=7)
    expected = kernel(q, v)
    for number in (2, 3, 16):
        for a, b in zip(kernel(q, v, threads=number), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_state_has_the_same_digits_in_any_lane(kernel):
    q, v = states(1, seed=8)
    repeated = kernel(np.repeat(q, 23, axis=0), np.repeat(v, 23, axis=0))
    for a in repeated:
        np.testing.assert_array_equal(a, np.broadcast_to(a[0], a.shape))


def test_one_kernel_serves_several_threads(kernel):
    jobs = [states(500 + k, seed=k) for k in range(6)]
    expected = [kernel(*job) for job in jobs]
    wrong = []

    def work(k):
        for _ in range(20):
            for a, b in zip(kernel(*jobs[k], threads=2), expected[k], strict=True):
                if not np.array_equal(a, b):
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_can_use_threads(kernel):
    q, v = states(4000, seed=12)
    expected = kernel(q, v, threads=2)
    child = os.fork()
    if child == 0:
        same = all(
            np.array_equal(a, b) for a, b in zip(kernel(q, v, threads=2), expected, strict=True)
        )
        os._exit(0 if same else 1)
    deadline = time.monotonic() + 20.0
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if found == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert found == (child, 0)


def test_wrong_arrays_are_refused_with_what_was_expected(kernel):
    q, v = states(4, seed=9)
    cases = [
        ((q,), "expected 2 input arrays"),
        ((q, v, v), "expected 2 input arrays"),
        ((q[:, :2], v), r"q: expected shape \(3,\)"),
        ((q, v[None]), r"v: expected shape \(3,\)"),
        ((q, v[:3]), "v: expected 4 states"),
        ((q, 1.0), "v: expected shape"),
        ((q, "abc"), "v: expected real numbers"),
        ((q, v + 1j), "v: expected real numbers"),
        ((q, None), "v: expected"),
        ((q, [[1.0, 2.0], [3.0]]), "v: expected real numbers"),
        ((q, np.array([object()] * 3)), "v: expected real numbers"),
    ]
    for arrays, message in cases:
        with pytest.raises(StateError, match=message):
            kernel(*arrays)
    good = np.empty((4, 5)), np.empty((4, 2, 3))
    frozen = np.empty((4, 5))
    frozen.flags.writeable = False
    for out in (
        good[0],
        good[:1],
        (np.empty((4, 5), np.float32), good[1]),
        (np.empty((3, 5)), good[1]),
        (frozen, good[1]),
        ([[0.0] * 5] * 4, good[1]),
    ):
        with pytest.raises(StateError, match="out"):
            kernel(q, v, out=out)
    for number in (0, -1, 1.5, "2"):
        with pytest.raises(StateError, match="threads"):
            kernel(q, v, threads=number)


def test_a_kernel_cannot_be_changed(kernel):
    with pytest.raises(AttributeError):
        kernel.name = "other"
    with pytest.raises(TypeError):
        kernel.inputs["q"] = 4
    with pytest.raises(TypeError):
        kernel.counts["mul"] = 0


def test_odd_sizes_of_inputs_and_outputs():
    for size in (0, 1, 2, 3, 4, 5, 8, 9, 12, 13, 17, 33):
        kernel = compile_kernel(
            lambda q, p: (2.0 * q, p, np.outer(q, q)), {"q": size, "p": 1}, cache=None
        )
        for number in (1, 7, 8, 19):
            q = np.random.default_rng(size).normal(size=(number, size))
            p = np.arange(number, dtype=float)[:, None]
            a, b, c = kernel(q, p)
            np.testing.assert_array_equal(a, 2.0 * q)
            np.testing.assert_array_equal(b, p)
            np.testing.assert_array_equal(c, q[:, :, None] * q[:, None, :])


def test_functions_without_inputs_or_outputs():
    (constant,) = compile_kernel(lambda: (np.array([1.0, 2.0]),), {}, cache=None)()
    np.testing.assert_array_equal(constant, [1.0, 2.0])
    assert compile_kernel(lambda q: (), {"q": 2}, cache=None)(np.zeros((5, 2))) == ()
    (scalar,) = compile_kernel(lambda q: (q[0] * q[0],), {"q": 1}, cache=None)([[3.0], [4.0]])
    np.testing.assert_array_equal(scalar, [9.0, 16.0])


def test_bad_requests_are_refused():
    cases = [
        (lambda: compile_kernel(arm, ARM_INPUTS, outputs=["one"]), "outputs: expected 2 names"),
        (lambda: compile_kernel(arm, ARM_INPUTS, lanes=3), "lanes"),
        (lambda: compile_kernel(arm, {"q": -1, "v": 3}), "inputs"),
        (lambda: compile_kernel(arm, {"q": 3.0, "v": 3}), "inputs"),
        (lambda: compile_kernel(arm, {"q": 3}), "cannot be traced"),
    ]
    for request, message in cases:
        with pytest.raises(KernelError, match=message):
            request()


def test_it_says_what_it_computes():
    kernel = compile_kernel(arm, ARM_INPUTS, name="arm", outputs=["x", "w"], cache=None)
    assert kernel.outputs == ("x", "w")
    assert kernel.shapes == ((5,), (2, 3))
    assert kernel.counts["sin"] == 2
    assert not kernel.from_cache
    assert 0.0 < kernel.compile_seconds < 10.0 * ALLOWANCE
    assert repr(kernel).startswith("<Kernel arm(q[3], v[3]) -> x[5], w[2, 3]:")


@pytest.mark.parametrize("length", [1, 3, 7])
def test_cutting_the_body_into_parts_changes_no_digit(kernel, monkeypatch, length):
    monkeypatch.setattr(places, "WHOLE_LENGTH", length)
    monkeypatch.setattr(places, "PART_LENGTH", length)
    cut = compile_kernel(arm, ARM_INPUTS, name="arm", cache=None, lanes=kernel.lanes)
    q, v = states(21, seed=10)
    for a, b in zip(cut(q, v), kernel(q, v), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(cut.single().run(q[0], v[0]), kernel(q[0], v[0]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("long", "block"), [(1, 1), (6, 4), (20, 9)])
def test_blocks_of_a_long_function_change_no_digit(kernel, monkeypatch, long, block):
    monkeypatch.setattr(llvm_body, "LONG", long)
    monkeypatch.setattr(llvm_body, "BLOCK", block)
    monkeypatch.setattr(machine, "QUICK", 0)
    cut = compile_kernel(arm, ARM_INPUTS, name="arm", cache=None, lanes=kernel.lanes)
    q, v = states(21, seed=10)
    for a, b in zip(cut(q, v), kernel(q, v), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(cut.single().run(q[0], v[0]), kernel(q[0], v[0]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_quotients_with_one_divisor_share_its_reciprocal():
    def function(q):
        d = q[0] * q[0] + 1.0
        return (np.array([q[0] / d, q[1] / d, 1.0 / d, q[2] / (d + 1.0)]),)

    program = lower(trace(function, {"q": 3}))
    assert sum(i.op == "div" for i in program.instructions) == 2
    (q, _) = states(40, seed=11)
    (got,) = compile_kernel(function, {"q": 3}, cache=None)(q)
    np.testing.assert_allclose(got, reference(function, q)[0], rtol=5e-16)


def test_ten_times_the_results_take_ten_times_as_long_to_compile_not_fifty():
    def function(number):
        return lambda x: (np.array([x[k % 5] + k for k in range(number)] + [0.0] * number),)

    def seconds(number):
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            kernel = compile_kernel(function(number), {"x": 5}, cache=None)
            best = min(best, time.process_time() - start)
        (found,) = kernel(np.arange(5.0))
        assert np.array_equal(found[:number], np.arange(number) % 5 + np.arange(number))
        assert not found[number:].any()
        return best

    few, many = seconds(200), seconds(2000)
    assert many < 25 * few, (few, many)


@pytest.mark.parametrize("lanes", [2, 8])
def test_many_zeros_take_few_instructions_and_are_there_each_time(lanes):
    def sparse(q):
        out = zeros((30, 40), q)
        out[3, 5], out[29, 39] = q[0], q[1] * q[0]
        return out, q[:1] + 1.0

    text, _ = batch_module(TracedSource(sparse, {"q": 2}).program, lanes, "x86_64")
    assert text.count("store") < 200
    kernel = compile_kernel(sparse, {"q": 2}, cache=None, lanes=lanes)
    for seed in (1, 2):
        q = np.random.default_rng(seed).normal(size=(21, 2))
        right = np.array([sparse(one)[0] for one in q])
        found = kernel(q)[0]
        np.testing.assert_array_equal(found, right)
        np.testing.assert_array_equal(kernel.single().run(q[0])[0], right[0])
