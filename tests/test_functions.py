"""Functions that users write: floats, arrays and symbols give the same; simulations take them."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from mbd_bridge.kernels import compile_kernel
from tests.machines import four_bar

NUMPY = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt, "exp": np.exp, "log": np.log,
    "tanh": np.tanh, "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan,
    "absolute": np.abs, "sign": np.sign,
    "arctan2": np.arctan2, "minimum": np.minimum, "maximum": np.maximum, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "equal": np.equal, "not_equal": np.not_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_not": np.logical_not,
    "where": np.where, "clip": np.clip,
    "interp": lambda x, *_: np.interp(x, [0.0, 0.4, 1.0], [1.0, 3.0, 2.0]),
}  # fmt: skip
ARITY = {"where": 3, "clip": 3}
ROUNDED = 5e-16
"""Two roundings: NumPy's functions and ours are each off by one unit in the last place or so."""
TWO = ("arctan2", "minimum", "maximum", "less", "equal", "greater", "logical_and", "logical_or")


def call(name, *given):
    if name == "interp":
        return fn.interp(given[0], [0.0, 0.4, 1.0], [1.0, 3.0, 2.0])
    return getattr(fn, name)(*given)


def test_every_public_function_is_tried():
    assert {name for name in fn.__all__ if name != "Lookup"} == set(NUMPY)


@pytest.mark.parametrize("name", NUMPY)
def test_floats_arrays_and_symbols_give_what_numpy_gives(name):
    number = ARITY.get(name, 2 if name in TWO or name.endswith("_equal") else 1)
    given = np.random.default_rng(2).uniform(0.0, 1.0, (3, number, 4))
    given[:, 1:, 0] = given[:, :1, 0]
    if name == "where":
        given[:, 0] = given[:, 0] > 0.5
    for row in given:
        expected = np.asarray(NUMPY[name](*row), dtype=float)
        got = np.asarray(call(name, *row), dtype=float)
        np.testing.assert_allclose(got, expected, rtol=ROUNDED, atol=0.0)
        assert float(call(name, *(float(x[1]) for x in row))) == got[1]
        kernel = compile_kernel(
            lambda x: (call(name, *x.reshape(number, 4)),), {"x": 4 * number}, cache=None
        )
        np.testing.assert_allclose(kernel(row.ravel())[0], expected, rtol=ROUNDED, atol=0.0)


def friction(t, q, v):
    stop = 0.1 * fn.maximum(np.abs(q) - np.float64(0.5), 0.0)
    push = fn.interp(t, [0.0, 0.2, 1.0], [0.0, 1.0, 1.0])
    return np.float64(-0.02) * np.tanh(v / np.float64(0.5)) - stop * fn.sign(q) + push


def slowed(function):
    """Return the function, computed in floats where the original is traced."""

    def floats(t, q, v):
        return np.array([float(x) for x in function(float(t), q, v)])

    return floats


def test_a_torque_of_many_operations_moves_a_machine_as_its_floats_do():
    from scipy.integrate import solve_ivp

    robot = mbd.load("urdf/kuka_iiwa.urdf")
    q0, v0 = np.linspace(0.1, 0.7, 7), np.linspace(-1.0, 1.0, 7)
    run = robot.simulate(0.05, step=1e-4, q=q0, v=v0, torque=friction, every=100)

    def rate(t, x):
        q, v = x[:7], x[7:]
        return np.concatenate([v, robot.forward_dynamics(q, v, slowed(friction)(t, q, v))])

    found = solve_ivp(rate, (0.0, 0.05), np.concatenate([q0, v0]), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run.q[-1], found.y[:7, -1], rtol=0.0, atol=1e-8)


def test_a_wrench_and_a_motion_may_choose_and_look_up():
    bar = four_bar(1.0, 2.0, 1.5, 2.0)
    curve = fn.Lookup(np.linspace(0.0, 1.0, 9), np.linspace(0.0, 1.0, 9) ** 3, "cubic")

    def push(t, q, v):
        force = fn.where(t > 0.05, 5.0 * curve(t), fn.exp(-t))
        return np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0])

    prescribed = {"crank": lambda t: 0.5 + fn.where(t < 0.0, 0.0, curve(t))}
    run = bar.simulate(0.1, step=1e-3, prescribed=prescribed, external={"coupler": push})
    np.testing.assert_allclose(run.q[:, 0], 0.5 + run.time**3, rtol=0.0, atol=1e-12)
