"""What every force element keeps: power, energy, momentum, symmetry."""

import numpy as np
import pytest
from scipy.integrate import simpson

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.kernels import compile_kernel, gradient
from tests.forces.elements import (
    ELEMENTS,
    ENDS,
    LINES,
    TABLE,
    Q,
    V,
    bound,
    generalised,
    machine,
    states,
)
from tests.tolerances import DIFFERENCE, KERNEL, ROUNDING

NAMES = sorted(ELEMENTS)
QUADRATURE = 1e-5
"""Simpson's rule over records: stops and tables have kinks."""

DRIVES = {"pull", "drive", "control"}
ACTIVE = {"drag", *DRIVES}
"""What gives and takes energy."""

PASSIVE = [name for name in NAMES if name not in ACTIVE]
BOTH = pytest.mark.parametrize("floating", [False, True], ids=["ground", "floating"])


def energies(robot, element):
    """The stored energy as a function of q for the kernels."""

    def energy(q):
        effect = element.effect(robot.model, 0.0, q, np.zeros(robot.nv))
        out = np.empty(1, dtype=object)
        out[0] = effect.energy + 0.0 * q[0]
        return (out,)

    return energy


@BOTH
@pytest.mark.parametrize("name", NAMES)
def test_power_is_what_the_stored_energy_loses_and_what_is_dissipated(name, floating):
    robot = machine(floating)
    element = bound(robot, ELEMENTS[name])
    q, v = states(robot, 20)
    slopes = compile_kernel(gradient(energies(robot, element), {"q": robot.nq}), {"q": robot.nq})(q)
    rates = np.array([coordinate_rates(robot.model, *state) for state in zip(q, v, strict=True)])
    effects = [element.effect(robot.model, 0.0, *state) for state in zip(q, v, strict=True)]
    power = (generalised(robot, element, q, v) * v).sum(axis=1)
    lost = (slopes[-1] * rates).sum(axis=1) + [effect.dissipation for effect in effects]
    assert np.abs(power).max() > 0.1
    assert np.abs(power + lost).max() < 1e-11 * np.abs(power).max()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DRIVES])
def test_at_rest_the_force_is_the_slope_of_the_energy_by_differences(name):
    robot = machine()
    element = bound(robot, ELEMENTS[name])
    q, v = states(robot, 10)
    found = generalised(robot, element, q, 0.0 * v)
    step = 1e-6
    for k in range(robot.nq):
        ends = []
        for sign in (1.0, -1.0):
            there = q.copy()
            there[:, k] += sign * step
            ends.append([element.effect(robot.model, 0.0, x, 0 * x).energy for x in there])
        slope = (np.array(ends[0]) - ends[1]) / (2 * step)
        assert np.abs(found[:, k] + slope).max() < DIFFERENCE * max(1.0, np.abs(found).max())


@pytest.mark.parametrize("name", NAMES)
def test_energy_of_a_run_is_kept_or_dissipated(name):
    robot = machine()
    run = robot.simulate(0.5, step=2.5e-4, q=Q, v=V, forces=[ELEMENTS[name]])
    parts = run.force_elements
    whole = run.energy + parts.energy
    lost = simpson(parts.dissipation, x=run.time)
    assert abs(whole[-1] - whole[0] + lost) < QUADRATURE * np.ptp(run.energy)
    if name in PASSIVE:
        assert parts.dissipation.min() >= 0.0


BETWEEN = {
    "polynomial": ELEMENTS["polynomial"],
    "table": ELEMENTS["table"],
    "linear": forces.PointSpring(("base", "hand"), ENDS, 70.0, 4.0, 2.0, 0.2),
    "mount": forces.Bushing(("arm", "hand"), ENDS, stiffness=range(1, 7), damping=range(2, 8)),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_forces_and_moments_on_two_links_balance(name):
    robot = machine(floating=True)
    element = bound(robot, BETWEEN[name])
    for q, v in zip(*states(robot, 10), strict=True):
        total, largest = np.zeros(6), 0.0
        for link, wrench in in_link_axes(
            robot.model, q, v, element.effect(robot.model, 0.0, q, v)
        ).items():
            pose = robot.placement(q, robot.model.links[link].name)
            force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
            total += [*force, *(moment + np.cross(pose[:3, 3], force))]
            largest = max(largest, np.abs(wrench).max())
        assert largest > 0.1
        assert np.abs(total).max() < 10 * ROUNDING * max(largest, 1.0)


def test_a_spring_between_two_links_keeps_the_momentum_of_a_free_machine():
    robot = mbd.Mechanism.build(machine().model.description, floating=True, gravity=(0, 0, 0))
    q, v = (x[0] for x in states(robot, 1))
    run = robot.simulate(0.3, step=5e-4, q=q, v=v, forces=[BETWEEN["linear"]])
    momenta = [momentum(robot, *run.state(k)) for k in (0, 300, -1)]
    assert np.ptp(run.force_elements.energy) > 0.01
    assert np.abs(np.diff(momenta, axis=0)).max() < 1e-9


def momentum(robot, q, v):
    """Momentum and angular momentum about the world's origin."""
    total = np.zeros(6)
    for link in robot.model.description.links:
        if link.inertia is not None:
            pose, own = robot.placement(q, link.name), link.inertia
            twist = robot.velocity(q, v, link.name)
            arm = pose[:3, :3] @ own.centre
            p = own.mass * (twist[:3] + np.cross(twist[3:], arm))
            J = pose[:3, :3] @ own.central @ pose[:3, :3].T
            total += [*p, *(np.cross(pose[:3, 3] + arm, p) + J @ twist[3:])]
    return total


def test_a_bushing_is_the_same_whichever_side_is_first():
    robot = machine()
    one = ELEMENTS["bushing"]
    other = forces.Bushing(
        one.links[::-1], one.points[::-1], one.rpy[::-1], one.stiffness, one.damping
    )
    q, v = states(robot, 20)
    found, turned = (generalised(robot, element, q, v) for element in (one, other))
    assert np.abs(found - turned).max() < KERNEL * np.abs(found).max()


def test_a_bushing_of_small_deflection_is_six_springs():
    builder = mbd.Builder("block", root="block").link("block", 1.0, inertia=(1, 1, 1))
    robot = mbd.Mechanism.build(builder, floating=True)
    stiffness = np.array([10, 20, 30, 4, 5, 6.0])
    element = forces.Bushing(("ground", "block"), stiffness=stiffness)
    small = 1e-6 * np.array([1, -2, 3, -4, 5, 6.0])
    q = robot.model.integrate(robot.model.neutral(), small)
    found = generalised(robot, element, q[None], np.zeros((1, 6)))[0]
    assert np.abs(found + stiffness * small).max() < 1e-9


def test_a_stop_pushes_inwards_only():
    robot = machine()
    q, v = states(robot, 200)
    found = generalised(robot, ELEMENTS["stop"], q, 20.0 * v)[:, 0]
    assert (found[q[:, 0] > 0.35] <= 0.0).all() and (found[q[:, 0] < -0.3] >= 0.0).all()
    assert (found[(q[:, 0] > -0.3) & (q[:, 0] < 0.35)] == 0.0).all()
    assert (found < 0.0).any() and (found > 0.0).any()


def test_friction_has_its_law_and_resists():
    element = bound(machine(), ELEMENTS["friction"])
    speed = np.linspace(-3.0, 3.0, 61)
    v = np.zeros((61, 3))
    v[:, 2] = speed
    found = generalised(machine(), element, np.tile(Q, (61, 1)), v)[:, 2]
    law = (1.5 + (2.5 - 1.5) * np.exp(-((speed / 0.4) ** 2))) * np.tanh(speed / 0.05) + 0.2 * speed
    assert np.abs(found + law).max() < KERNEL * np.abs(law).max()
    assert (found * speed <= 0.0).all()


def test_drag_opposes_the_velocity_through_the_medium_by_its_square():
    robot, wind = machine(), np.array([3.0, -1.0, 0.5])
    element = bound(robot, forces.Drag("hand", 0.8, (0.1, 0.0, 0.2), wind))
    for q, v in zip(*states(robot, 5), strict=True):
        effect = element.effect(robot.model, 0.0, q, v)
        pose, twist = robot.placement(q, "hand"), robot.velocity(q, v, "hand")
        through = twist[:3] + np.cross(twist[3:], pose[:3, :3] @ (0.1, 0.0, 0.2)) - wind
        force = -0.8 * np.linalg.norm(through) * through
        (wrench,) = effect.wrenches.values()
        assert np.abs(pose[:3, :3] @ wrench[:3] - force).max() < KERNEL * np.abs(force).max()
        assert abs(effect.report["force"] - np.linalg.norm(force)) < KERNEL * 100


def test_a_spring_on_a_joint_that_follows_acts_on_the_leader():
    builder = (
        mbd.Builder("gears")
        .link("one", 1.0, inertia=(1, 1, 1))
        .link("two", 1.0, inertia=(1, 1, 1))
        .joint("lead", "revolute", "base", "one")
        .joint("follow", "revolute", "one", "two", mimic="lead", multiplier=-2.0, offset=0.3)
    )
    robot = mbd.Mechanism.build(builder)
    spring = forces.JointSpring("follow", 5.0, 0.7, 0.1, name="spring")
    found = generalised(robot, spring, np.array([[0.4]]), np.array([[1.5]]))
    follower, rate = -2.0 * 0.4 + 0.3, -2.0 * 1.5
    assert abs(found[0, 0] - 2.0 * (5.0 * (follower - 0.1) + 0.7 * rate)) < 1e-12


def test_a_spring_at_length_zero_has_no_direction_and_no_nan():
    builder = mbd.Builder("bob", root="bob").link("bob", 1.0, inertia=(1, 1, 1))
    robot = mbd.Mechanism.build(builder, floating=True)
    q, v = np.array([0.0, 0, 0, 0, 0, 0, 1]), np.array([1.0, 0, 0, 0, 0, 0])
    spring = forces.PointSpring(("ground", "bob"), stiffness=10.0, damping=1.0, free_length=0.0)
    assert np.array_equal(generalised(robot, spring, q[None], v[None]), np.zeros((1, 6)))
    for x in (1e-150, 1e-9, 1e-3):
        near = generalised(robot, spring, (q + np.eye(7)[0] * x)[None], 0 * v[None])[0]
        assert abs(near[0] + 10.0 * x) <= KERNEL * 10.0 * x
    element = bound(robot, spring)
    (_, slope) = compile_kernel(gradient(energies(robot, element), {"q": 7}), {"q": 7})(q)
    assert np.abs(slope[:3]).max() < 1e-90


def test_a_table_stores_its_integral_also_beyond_its_ends():
    for table in (TABLE, LINES):
        assert table.antiderivative()(-0.5) == 0.0
        x = np.linspace(-1.5, 1.5, 30001)
        integral = table.antiderivative()
        sums = np.concatenate([[0.0], np.cumsum(0.5 * (table(x)[1:] + table(x)[:-1]) * 1e-4)])
        assert np.abs(integral(x) - integral(x[0]) - sums).max() < 1e-5


@BOTH
def test_a_report_is_that_of_the_python_reference(floating):
    robot = machine(floating)
    q, v = (x[0] for x in states(robot, 1))
    system = mbd.System(robot, forces=ELEMENTS.values())
    run = system.simulate(0.002, q=q, v=v)
    assert len(run.force_elements) == len(ELEMENTS)
    for element in system.forces:
        report = run.force_elements[element.name]
        effect = element.effect(robot.model, 0.0, q, v)
        values = dict(effect.report) | {"energy": effect.energy, "dissipation": effect.dissipation}
        assert list(report) == list(report.units) == list(values)
        for name, value in values.items():
            assert abs(report[name][0] - value) <= KERNEL * max(1.0, abs(value)), (element, name)
