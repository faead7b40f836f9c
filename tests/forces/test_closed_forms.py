"""Elements against closed forms: torsion bars, gas springs, bumpers, fields of gravity."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.base.errors import MbdError
from mbd_bridge.functions import Lookup
from tests.forces.elements import ENDS, Q, V, bound, machine
from tests.machines import four_bar

STEPS = 1e-9
"""Runge-Kutta steps of 1 ms over smooth motions of some hertz."""


@pytest.fixture(scope="module")
def sled():
    """A block of 100 kg that slides up and down, its frame at the height of the coordinate."""
    builder = mbd.Builder("sled").link("block", 100.0)
    builder.joint("lift", "prismatic", "base", "block", axis=(0, 0, 1))
    return mbd.Mechanism.build(builder)


def test_a_torsion_bar_turns_a_disc_with_its_frequency():
    builder = mbd.Builder("disc").link("disc", 1.0, inertia=(0.3, 0.4, 0.5))
    robot = mbd.Mechanism.build(builder.joint("axle", "revolute", "base", "disc", axis=(0, 1, 0)))
    bar = forces.TorsionBar("axle", 8e10, 2.0, 0.01, 0.004)
    stiffness = 8e10 * np.pi * (0.01**4 - 0.004**4) / 32 / 2.0
    assert abs(bound(robot, bar).stiffness - stiffness) < 1e-12 * stiffness
    run = robot.simulate(1.0, q=[0.5], forces=[bar])
    assert np.abs(run.q[:, 0] - 0.5 * np.cos(np.sqrt(stiffness / 0.4) * run.time)).max() < 1e-7
    solid = forces.TorsionBar("axle", 8e10, 2.0, polar_moment=np.pi * 1e-8 / 32)
    whole = bound(robot, forces.TorsionBar("axle", 8e10, 2.0, 0.01))
    assert abs(bound(robot, solid).stiffness - whole.stiffness) < 1e-12 * whole.stiffness


UNIT = {"area": 2e-3, "static_length": 0.5, "static_volume": 4e-4, "static_force": 981.0}


def strut(**options):
    points = ((0, 0, -0.5), (0, 0, 0))
    return forces.HydropneumaticUnit(("ground", "block"), points, **(UNIT | options), name="strut")


@pytest.mark.parametrize("exponent", [1.0, 1.3])
def test_a_gas_spring_follows_the_gas_law_and_carries_its_static_load(sled, exponent):
    unit = bound(sled, strut(exponent=exponent))
    p = 981.0 / 2e-3 + 101_325.0
    assert abs(unit.static_pressure - p) < 1e-6
    run = sled.simulate(1.0, forces=[strut(exponent=exponent, bump=50.0)])
    assert np.abs(run.q).max() < 1e-12
    lengths = [0.36, 0.45, 0.5, 0.62]
    for length in lengths:
        told = unit.tension(0.0, length, 0.0)
        V = 4e-4 + 2e-3 * (length - 0.5)
        pressure = p * (4e-4 / V) ** exponent
        assert abs(told.force + 2e-3 * (pressure - 101_325.0)) < 1e-9 * abs(told.force)
        assert abs(told.report["pressure"] * V**exponent - p * 4e-4**exponent) < 1e-9
        work = quad(lambda x: unit.tension(0.0, x, 0.0).force, 0.5, length, epsabs=1e-12)[0]
        assert abs(told.energy - work) < 1e-9


def test_a_gas_spring_near_its_static_length_is_a_spring(sled):
    """k = n p_s A² / V_s."""
    run = sled.simulate(2.0, q=[1e-5], forces=[strut()])
    k = 1.4 * (981.0 / 2e-3 + 101_325.0) * 2e-3**2 / 4e-4
    assert np.abs(run.q[:, 0] - 1e-5 * np.cos(np.sqrt(k / 100.0) * run.time)).max() < 2e-9


def test_a_throttle_has_other_laws_for_bump_and_rebound(sled):
    unit = bound(sled, strut(bump=(300.0, 40.0), rebound=900.0))
    still = unit.tension(0.0, 0.5, 0.0).force
    for rate, law in ((-2.0, -2.0 * (300 + 40 * 2.0)), (0.5, 0.5 * 900)):
        told = unit.tension(0.0, 0.5, rate)
        assert abs(told.force - still - law) < 1e-9
        assert abs(told.dissipation - law * rate) < 1e-9
    run = sled.simulate(1.0, q=[-0.05], forces=[strut(bump=(300.0, 40.0), rebound=900.0)])

    def slope(t, y):
        return y[1], -9.81 - unit.tension(t, 0.5 + y[0], y[1]).force / 100.0

    exact = solve_ivp(slope, (0, 1), [-0.05, 0.0], rtol=1e-11, atol=1e-13)
    assert abs(run.q[-1, 0] - exact.y[0, -1]) < 1e-6


def test_gas_is_not_compressed_to_nothing(sled):
    run = sled.simulate(0.06, step=1e-5, q=[-0.1], v=[-12.0], forces=[strut()])
    assert run.force_elements["strut"]["volume"].min() < 0.01 * 4e-4
    assert run.finished and np.isfinite(run.force_elements["strut"]["pressure"]).all()
    whole = run.energy + run.force_elements.energy
    assert np.ptp(whole) < 1e-4 * np.ptp(run.energy)


def test_bumpers_push_progressively_at_the_ends_of_the_stroke_only(sled):
    points = ((0, 0, -0.5), (0, 0, 0))
    law = Lookup([0.0, 0.01, 0.05], [0.0, 200.0, 4000.0], outside="extend")
    stop = forces.PointStop(("ground", "block"), points, 0.4, 0.6, law, 100.0, 0.01)
    element = bound(sled, stop)
    assert element.tension(0.0, 0.5, 3.0)[:3] == (0.0, 0.0, 0.0)
    for length, depth in ((0.37, 0.03), (0.62, 0.02)):
        out = np.sign(length - 0.5)
        assert abs(out * element.tension(0.0, length, 0.0).force - law(depth)) < 1e-9
        assert element.tension(0.0, length, -50.0 * out).force == 0.0
    run = sled.simulate(1.0, step=2e-4, forces=[stop])
    assert run.q.min() > -0.2


def test_friction_by_load_is_for_machines_without_loops():
    with pytest.raises(MbdError, match=r"has loops; use a JointFriction"):
        mbd.System(four_bar(), forces=[forces.LoadFriction("crank", 0.1, 0.01)])


def test_a_gravity_field_is_more_gravity():
    robot, more = machine(), np.array([1.0, -2.0, 3.0])
    told = mbd.Mechanism.build(
        robot.model.description, gravity=np.array(robot.model.gravity) + more
    )
    field = forces.GravityField(more, name="field")
    run = robot.simulate(0.2, q=Q, v=V, forces=[field])
    other = told.simulate(0.2, q=Q, v=V)
    assert np.abs(run.q - other.q).max() < 1e-11
    assert np.abs(run.energy + run.force_elements.energy - other.energy).max() < STEPS
    hand = forces.GravityField((0, 0, 9.81), ("hand",), name="balloon")
    report = robot.simulate(0.01, q=Q, forces=[hand]).force_elements["balloon"]
    assert np.abs(report["force_z"] - 0.7 * 9.81).max() < 1e-12


def test_friction_by_load_brakes_with_weight_and_with_centrifugal_force():
    builder = mbd.Builder("cart").link("cart", 3.0)
    cart = builder.joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0))
    robot = mbd.Mechanism.build(cart)
    brake = forces.LoadFriction("rail", 0.2, smoothing_velocity=1e-3, name="brake")
    run = robot.simulate(0.5, step=2e-4, v=[2.0], forces=[brake])
    assert np.abs(run.v[:, 0] - 2.0 + 0.2 * 9.81 * run.time).max() < 1e-9
    builder = mbd.Builder("whirl").link("bob", 2.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    pin = builder.joint("pin", "revolute", "base", "bob", axis=(0, 0, 1))
    robot = mbd.Mechanism.build(pin)
    bearing = forces.LoadFriction("pin", 0.1, 0.02, 0.05, name="bearing")
    run = robot.simulate(0.01, v=[6.0], forces=[bearing])
    report = run.force_elements["bearing"]
    assert abs(report["load"][0] - 2.0 * 0.5 * 36.0) < 1e-12
    assert abs(report["force"][0] + 0.05 + 0.1 * 0.02 * 36.0) < 1e-12


BAD = {
    "load of two": (forces.LoadFriction("hnd"), "no coordinate named 'hnd'"),
    "slippery": (forces.LoadFriction("rail", -0.1), "coefficient: expected one number, at least"),
    "no diameter": (forces.TorsionBar("shoulder", 8e10, 1.0), "expected a diameter, or a polar"),
    "pipe": (forces.TorsionBar("shoulder", 8e10, 1.0, 0.01, 0.02), "less than the diameter"),
    "sliding bar": (forces.TorsionBar("rail", 8e10, 1.0, 0.01), "expected an angle, got 'rail'"),
    "soft": (
        forces.TorsionBar("shoulder", -8e10, 1.0, 0.01),
        "shear_modulus: expected one number a",
    ),
    "no pressure": (
        forces.HydropneumaticUnit(("arm", "hand"), ENDS, 1e-3, 0.5, 1e-4),
        "expected a static_pressure, or a static_force",
    ),
    "vacuum": (
        forces.HydropneumaticUnit(("arm", "hand"), ENDS, 1e-3, 0.5, 1e-4, static_force=-500.0),
        "static_pressure: expected one number above 0",
    ),
    "exponent": (
        forces.HydropneumaticUnit(("arm", "hand"), ENDS, 1e-3, 0.5, 1e-4, 1e5, exponent=0.5),
        "exponent: expected one number, at least 1, got 0.5",
    ),
    "throttle": (
        forces.HydropneumaticUnit(("arm", "hand"), ENDS, 1e-3, 0.5, 1e-4, 1e5, bump=(1, -2)),
        "bump: expected c, N s/m, or",
    ),
    "itself": (
        forces.PointStop(("arm", "arm"), ENDS, 0.1, stiffness=1.0),
        "two different links, got 'arm' twice",
    ),
    "no range": (forces.PointStop(("arm", "hand"), ENDS), "expected shortest, longest or both"),
    "range": (forces.PointStop(("arm", "hand"), ENDS, 2.0, 1.0), "shortest below longest"),
    "field": (forces.GravityField((0, 0, 1), ("hnd",)), "links: no link named 'hnd'"),
}


@pytest.mark.parametrize("what", BAD)
def test_impossible_numbers_are_refused(what):
    element, said = BAD[what]
    with pytest.raises(MbdError, match=said):
        mbd.System(machine(), forces=[element])
