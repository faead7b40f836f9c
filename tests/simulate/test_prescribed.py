"""Prescribed motions: the motion is followed exactly, and the force is that of inverse dynamics."""

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.interpolate import CubicSpline

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.forces.formula import Jet
from mbd_bridge.functions import Lookup as TableOf
from mbd_bridge.simulation.signals.tables import PolynomialSignal
from tests.machines import four_bar
from tests.robots import own_urdfs
from tests.tolerances import DIFFERENCE, REFEREE


def pendulum():
    b = (
        mbd.Builder("pendulum")
        .link("bob", 2.0, (0, 0, -0.5), (0.1, 0.2, 0.3))
        .joint("pin", "revolute", "base", "bob", axis=(0, 1, 0))
    )
    return mbd.Mechanism.build(b)


@pytest.mark.parametrize(
    "f",
    [
        lambda t: 3.0 - t * t / 2 + 0.1 * t**3,
        lambda t: np.sin(2 * t) * np.cos(t) - 1,
        lambda t: np.sqrt(1 + t * t) / (2 - np.cos(np.pi * t)),
        lambda t: 1 / (1 + t) + np.float64(2.0) * t,
        lambda t: -(2 - t) / t,
        lambda t: np.float64(2.0) * t ** np.float64(3.0) - np.float64(0.5) / t + np.int64(2) ** 2,
        lambda t: np.exp(-t) * np.tanh(3 * t) + np.log(1 + t) + np.tan(t),
        lambda t: np.arcsin(t / 2) * np.arccos(t / 3) - np.arctan(2 * t) + np.arctan2(t * t, 1 - t),
        lambda t: np.abs(t - 1) ** 3 * t**2,
        lambda t: fn.where((t > 0.5) & (t < 2.0), np.sin(t), t * t) + fn.where(t == 1.0, 9.0, t),
        lambda t: fn.maximum(t * t, 0.4) * fn.minimum(t, 2.0) + fn.clip(t, 0.0, 5.0) * fn.sign(t),
        lambda t: fn.interp(t * t, np.arange(9.0), np.arange(9.0) ** 3, "cubic"),
        lambda t: fn.interp(3.0 + t, [0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 4.0, 3.0], "cubic"),
    ],
)
def test_derivatives_of_formulas_are_those_of_differences(f):
    t, d = 0.7, 1e-4
    jet = f(Jet(t, 1.0, 0.0))
    assert np.isclose(jet.value, f(t), rtol=1e-15)
    assert np.isclose(jet.first, (f(t + d) - f(t - d)) / (2 * d), atol=1e-6)
    assert np.isclose(jet.second, (f(t + d) - 2 * f(t) + f(t - d)) / d**2, atol=1e-6)


def test_a_table_is_its_spline_between_and_at_the_knots():
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.01, 0.3, 40))
    values = rng.normal(size=40)
    table, spline = PolynomialSignal.spline("x", (times, values)), CubicSpline(times, values)
    at = np.concatenate([times, np.linspace(times[0], times[-1], 997)])
    for order, part in enumerate(table.at(at, np.zeros(1, dtype=int), 2)):
        size = np.abs(spline(at, order)).max()
        assert np.abs(part[:, 0, 0] - spline(at, order)).max() < 1e-12 * size


def test_torque_of_a_prescribed_pendulum_is_that_of_the_closed_form():
    """τ = (I + m l²) q̈ + m g l sin q."""
    m = pendulum()
    run = m.simulate(2.0, step=1e-3, prescribed={"pin": lambda t: 0.3 + np.sin(3 * t)}, every=10)
    q = 0.3 + np.sin(3 * run.time)
    torque = (0.2 + 2.0 * 0.25) * -9 * np.sin(3 * run.time) + 2 * 9.81 * 0.5 * np.sin(q)
    assert np.allclose(run.q[:, 0], q, atol=1e-13)
    assert np.allclose(run.v[:, 0], 3 * np.cos(3 * run.time), atol=1e-12)
    assert np.allclose(run.prescribed_forces["pin"], torque, atol=1e-11)
    assert np.allclose(run.joint_loads("pin").actuation[:, 0], torque, atol=1e-11)


def test_a_prescribed_motion_beside_a_torque_gives_the_rest():
    m = pendulum()
    prescribed = {"pin": lambda t: np.sin(t)}
    alone = m.simulate(1.0, prescribed=prescribed, every=100)
    helped = m.simulate(1.0, prescribed=prescribed, torque={"pin": 2.5}, every=100)
    assert np.allclose(
        helped.prescribed_forces["pin"], alone.prescribed_forces["pin"] - 2.5, atol=1e-11
    )


def test_prescribed_joints_give_forces_and_free_joints_accelerations():
    """Inverse dynamics on the run's motion: the prescribed motions where prescribed, nothing where
    free.
    """
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    names = arm.coordinate_names
    driven = {names[1]: lambda t: 0.4 * np.sin(2 * t), names[4]: -0.3, names[6]: lambda t: t * t}
    q0 = np.linspace(-0.4, 0.6, 7)
    q0[[1, 4, 6]] = 0.0, -0.3, 0.0
    v0 = np.zeros(7)
    v0[1] = 0.8
    run = arm.simulate(1.0, step=5e-4, q=q0, v=v0, prescribed=driven, every=100)
    tau = arm.inverse_dynamics(run.q, run.v, run.a)
    expected = np.zeros_like(tau)
    for name in driven:
        expected[:, names.index(name)] = run.prescribed_forces[name]
    assert np.abs(tau - expected).max() < REFEREE * np.abs(tau).max()
    forward = arm.forward_dynamics(run.q, run.v, expected)
    assert np.abs(forward - run.a).max() < 1e-9 * np.abs(run.a).max()
    assert np.allclose(run.q[:, 6], run.time**2, atol=1e-13)


def test_free_joints_move_as_under_the_forces_of_the_prescribed_motions():
    """The prescribed motion's force as a given torque makes the same motion."""
    b = (
        mbd.Builder("arm")
        .link("upper", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.02))
        .link("lower", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.02))
        .joint("hip", "revolute", "base", "upper", axis=(0, 1, 0))
        .joint("knee", "revolute", "upper", "lower", (0, 0, -1), axis=(0, 1, 0))
    )
    m = mbd.Mechanism.build(b)
    driven = m.simulate(1.0, step=1e-3, prescribed={"hip": lambda t: np.sin(2 * t)})
    force = TableOf(driven.time, driven.prescribed_forces["hip"], kind="cubic")

    def torque(t, q, v):
        out = np.zeros(2, dtype=np.asarray(q).dtype)
        out[0] = force(t)
        return out

    free = m.simulate(1.0, step=1e-3, v=driven.v[0], torque=torque)
    assert np.abs(free.q - driven.q).max() < DIFFERENCE


def test_rrc_arm_of_kim_and_you():
    """KimYou97, simulation 1: joint 2 prescribed, roll joints locked, the other pitch joints
    free.
    """
    arm = mbd.load(own_urdfs()["rrc_arm"])
    prescribed = {f"joint_{k}": 0.0 for k in (1, 3, 5, 7)}
    prescribed["joint_2"] = lambda t: np.pi / 3 * np.sin(np.pi * t / 5)
    run = arm.simulate(5.0, step=1e-3, prescribed=prescribed, every=50)
    tau = arm.inverse_dynamics(run.q, run.v, run.a)
    size = np.abs(tau).max()
    assert np.abs(run.prescribed_forces["joint_2"] - tau[:, 1]).max() < REFEREE * size
    assert np.abs(tau[:, [3, 5]]).max() < REFEREE * size
    reference = arm.joint_loads(run.q, run.v, run.a, ["joint_2"])
    loads = run.joint_loads(["joint_2"])
    assert np.array_equal(loads.force, reference.force)  # x is the roll axis of the link
    assert np.abs(loads.actuation[:, 0] - run.prescribed_forces["joint_2"]).max() < REFEREE * size
    assert np.allclose(run.q[:, 1], np.pi / 3 * np.sin(np.pi * run.time / 5), atol=1e-12)
    gain = run.energy[-1] - run.energy[0]
    fine = arm.simulate(5.0, step=1e-3, prescribed=prescribed, every=5)
    power = fine.prescribed_forces["joint_2"] * fine.v[:, 1]
    assert np.isclose(simpson(power, x=fine.time), gain, rtol=1e-5)


def test_a_loop_is_prescribed_and_finds_its_own_start():
    bar = four_bar(1, 2, 1.5, 2.5)
    run = bar.simulate(2.0, step=1e-3, prescribed={"crank": lambda t: 0.5 + 2 * t}, every=50)
    assert run.closure.max() < 1e-12
    assert np.allclose(run.q[:, 0], 0.5 + 2 * run.time, atol=1e-12)
    dynamics = bar.constrained_dynamics(actuated=["crank"])
    inverse = dynamics.inverse(run.q, run.v, run.a).tau[:, 0]
    assert np.allclose(run.prescribed_forces["crank"], inverse, atol=1e-9)
    loads = run.joint_loads(["crank", "pin"])
    assert np.allclose(loads.actuation[:, 0], inverse, atol=1e-9)
    assert np.allclose(
        loads.force,
        bar.joint_loads(run.q, run.v, run.a, ["crank", "pin"], actuated=["crank"]).force,
        atol=1e-8,
    )


def test_a_table_prescribed_motions_as_the_formula_that_it_samples():
    bar = four_bar(1, 2, 1.5, 2.5)
    times = np.linspace(0, 1, 201)
    table = times, 0.5 + np.sin(2 * times)
    a = bar.simulate(1.0, prescribed={"crank": table}, every=100)
    b = bar.simulate(1.0, prescribed={"crank": lambda t: 0.5 + np.sin(2 * t)}, every=100)
    assert np.allclose(a.q, b.q, atol=1e-7)
    assert np.allclose(a.prescribed_forces["crank"], b.prescribed_forces["crank"], rtol=2e-3)


def test_a_prescribed_motion_that_leaves_the_workspace_keeps_what_there_is():
    bar = four_bar(2.0, 1.0, 1.5, 2.0)  # this crank cannot turn round
    prescribed = {"crank": lambda t: 1.0 + 3.0 * t}
    with pytest.raises(SolveError, match="stopped at t ="):
        bar.simulate(3.0, step=1e-3, prescribed=prescribed)
    run = bar.simulate(3.0, step=1e-3, prescribed=prescribed, check=False)
    assert not run.finished
    assert 0 < run.time[-1] < 1
    assert run.closure.max() < 1e-9


@pytest.mark.parametrize(
    ("prescribed", "message"),
    [
        ({"crnk": 0.0}, "did you mean 'crank'"),
        ({"crank": "fast"}, "no name named 'fast'"),
        ({"crank": np.nan}, "finite"),
        ({"crank": lambda t: np.sinh(t)}, "sinh.* or a table"),
        ({"crank": lambda t: 1.0 if t < 1 else 2.0}, "instead of if, .* or a table"),
        ({"crank": lambda t: 1.0 if t == 1 else 2.0}, "instead of if, .* or a table"),
        ({"crank": ([0, 1, 2, 3], [0, 1, 2, 3])}, "the table goes from 0 to 3 s"),
        ({"crank": ([0, 1, 1, 30], [0, 1, 2, 3])}, "times must grow"),
        ({"crank": ([0, 30], [0, 1])}, "rows"),
        ({"crank": 1.0, "elbow": 0.4}, "fixed|cannot be closed"),
    ],
)
def test_prescribed_motions_that_cannot_be_are_explained(prescribed, message):
    with pytest.raises((StateError, SolveError), match=message):
        four_bar().simulate(10.0, prescribed=prescribed)


def test_prescribed_motions_of_what_the_loops_decide_are_refused():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    prescribed = {"crank": 0.5, "elbow": float(at.q[1])}
    with pytest.raises(StateError, match="leave 1 degree of freedom,"):
        bar.simulate(1.0, q=at.q, prescribed=prescribed)
    with pytest.raises(StateError, match="not independent at the start"):
        four_bar().simulate(1.0, prescribed={"crank": "t", "elbow": "t"})


def test_a_start_beside_the_prescribed_motion_is_refused():
    with pytest.raises(StateError, match="its position at t = 0 s is 0, that of the start"):
        mbd.simulation.simulate(pendulum(), 1.0, q=[0.5], prescribed={"pin": lambda t: np.sin(t)})
    with pytest.raises(StateError, match="its velocity"):
        mbd.simulation.simulate(pendulum(), 1.0, v=[0.0], prescribed={"pin": lambda t: np.sin(t)})
