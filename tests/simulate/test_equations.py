"""The equations of a system: identities, derivatives, and the roads that integrate them."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import compile_kernel, jacobian
from tests.machines import four_bar, turning

TIMES = np.linspace(-1.0, 1.0, 21)
ACTING = {
    "a tree": {},
    "loops": {"torque": {"crank": 1.5}},
    "functions and tables": {
        "torque": {"crank": (TIMES, np.sin(TIMES)), "elbow": lambda t, q, v: -0.3 * v[1]},
        "external": {"coupler": lambda t, q, v: np.array([1.0, 2, 3, 4, 5, 6]) * v[0]},
        "parameters": {"coupler.mass": 2.0},
        "loads": ["elbow"],
    },
    "a prescribed motion": {
        "prescribed": {"crank": "0.5+2*t+t^2"},
        "external": {"coupler": np.ones(6)},
    },
}


def equations_of(kind):
    if kind == "a tree":
        robot = mbd.load("urdf/humanoid.urdf", floating=True)
        rng = np.random.default_rng(3)
        q = robot.model.integrate(robot.neutral(), rng.uniform(-1, 1, robot.nv))
        return mbd.Equations(robot, q=q, v=rng.uniform(-1, 1, robot.nv))
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 2.0)
    return mbd.Equations(mbd.System(bar, **ACTING[kind]), q=at.q, v=at.v)


@pytest.fixture(scope="module", params=ACTING)
def equations(request):
    return equations_of(request.param)


def test_the_residual_vanishes_at_the_rates(equations):
    """The residual comes from Newton-Euler recursion, the rates from M and its Schur complement."""
    x = equations.start
    rate, lam = equations.rate(0.0, x), equations.multipliers(0.0, x)
    assert lam.shape == (equations.sizes["lam"],)
    size = np.abs(rate).max() * sum(link.inertia.mass for link in equations.system.model.bodies)
    assert np.abs(equations.residual(0.0, x, rate, lam)).max() < 1e-12 * size
    assert np.abs(equations.residual(0.0, x, rate + 1e-3, lam)).max() > 1e-4


def test_rates_are_those_of_the_right_hand_side(equations):
    x, system = equations.start, equations.system
    q, v = equations.start[: system.model.nq], equations.start[system.model.nq :]
    f = system.right_hand_side(q=q, v=v, stabilisation=0.0)
    assert np.allclose(f(0.0, x), equations.rate(0.0, x), rtol=1e-13, atol=1e-12)


def test_constraints_stay_satisfied_along_the_rates(equations):
    """d/dt of Φ is Φ̇, and that of Φ̇ is 0 with the accelerations of the equations."""
    x, h = equations.start, 1e-5
    rate = equations.rate(0.0, x)
    ahead, behind = (equations.constraints(s, x + s * rate) for s in (h, -h))
    phi, phi_rate = equations.constraints(0.0, x)
    assert phi.shape == phi_rate.shape == (equations.sizes["lam"],)
    assert np.allclose(phi, 0.0, atol=1e-12)
    assert np.allclose((ahead[0] - behind[0]) / (2 * h), phi_rate, atol=1e-8)
    assert np.allclose((ahead[1] - behind[1]) / (2 * h), 0.0, atol=1e-6)


def test_functions_trace_compile_and_differentiate(equations):
    sizes = {"t": 1} | {name: equations.sizes[name] for name in ("x", "u", "p")}
    parameters = equations.system.parameters
    p = np.zeros(0) if parameters is None else parameters.inputs[0]

    def rate(t, x, u, p):
        return (equations.rate(t[0], x, u, p if len(p) else None),)

    t, x = np.array([0.05]), equations.start
    given = t, x, equations.u(0.05, x), p
    expected = equations.rate(0.05, x)
    size = np.abs(expected).max()
    kernel = compile_kernel(jacobian(rate, sizes, ["x"]), sizes)
    value, slope = kernel(*given)
    assert np.allclose(value, expected, rtol=0, atol=1e-12 * size)
    h = 1e-6
    for k in range(0, sizes["x"], 7):
        step = h * np.eye(sizes["x"])[k]
        found = (equations.rate(0.05, x + step) - equations.rate(0.05, x - step)) / (2 * h)
        assert np.allclose(found, slope[:, k], rtol=1e-6, atol=1e-7 * np.abs(slope).max())


def test_outputs_are_those_that_a_run_tells():
    equations = equations_of("functions and tables")
    nq = equations.system.model.nq
    run = equations.system.simulate(0.01, q=equations.start[:nq], v=equations.start[nq:])
    found = equations.outputs(0.0, equations.start)
    assert np.allclose(found["force"], run.loads.force[0], rtol=0, atol=1e-12)
    assert np.isclose(found["energy"].sum(), run.energy[0], rtol=1e-13)


def test_what_cannot_be_is_said():
    equations = equations_of("functions and tables")
    with pytest.raises(StateError, match="x: expected"):
        equations.rate(0.0, np.zeros(2))
    with pytest.raises(StateError, match="u: a system with tables"):
        compile_kernel(lambda x: (equations.rate(0.0, x),), {"x": equations.sizes["x"]})
    with pytest.raises(StateError, match="no outputs"):
        equations_of("loops").outputs(0.0, equations.start)
    many = mbd.System(four_bar(), torque={"crank": [1.0, 2.0]})
    with pytest.raises(StateError, match="one trajectory"):
        mbd.Equations(many)
