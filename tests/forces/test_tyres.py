"""What every tyre keeps: power, its road's shape, contact geometry."""

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.spatial.transform import Rotation

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.equations.newton_euler import external_forces, root_forces
from mbd_bridge.forces import SimpleTyre
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.forces.roads import Flat, Ramp, RandomRoad, Sine
from mbd_bridge.kernels import compile_kernel, gradient, trace
from tests.forces.elements import bound
from tests.forces.wheels import (
    DAMPING,
    RADIUS,
    ROADS,
    STIFFNESS,
    cart,
    effect,
    free_wheel,
    tyres,
    wheel_states,
    wrench_on,
)
from tests.robots import own_urdfs
from tests.tolerances import KERNEL, LOOPS

KINDS = sorted(tyres(Flat()))


def in_its_axes(robot, q, v):
    """Return the velocity (6,) of the wheel in its own axes."""
    turn, twist = robot.placement(q, "wheel")[:3, :3].T, robot.velocity(q, v, "wheel")
    return np.array([*(turn @ twist[:3]), *(turn @ twist[3:])])


def power_and_loss(robot, element, states):
    """Return P, dU/dt + D (K,), by derivatives of the energy by q and t, and normal forces."""

    def energy(q, t):
        out = np.empty(1, dtype=object)
        out[0] = effect(robot, element, t[0], q, np.zeros(robot.nv)).energy + 0.0 * q[0]
        return (out,)

    sizes = {"q": robot.nq, "t": 1}
    q, v = states
    t = np.linspace(0.0, 0.5, len(q))
    *_, by_q, by_t = compile_kernel(gradient(energy, sizes), sizes)(q, t[:, None])
    rows = []
    for k in range(len(q)):
        does = effect(robot, element, t[k], q[k], v[k])
        wrench = wrench_on(robot, q[k], v[k], does)
        power = wrench @ in_its_axes(robot, q[k], v[k])
        rate = by_q[k].ravel() @ v[k] + by_t[k].ravel()[0]
        rows.append((power, rate + does.dissipation, does.report["normal_force"]))
    return np.array(rows).T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("road", ROADS)
def test_power_is_what_the_energy_loses_and_what_is_dissipated(road, kind):
    robot = free_wheel(floating=False)
    element = bound(robot, tyres(ROADS[road])[kind])
    power, lost, load = power_and_loss(robot, element, wheel_states(40))
    assert np.count_nonzero(load) > 10
    assert np.abs(power + lost).max() < 1e-10 * np.abs(power).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("road", [name for name in ROADS if "belt" not in name])
def test_a_road_that_stays_gives_no_power_but_to_a_vertical_tyre(road, kind):
    robot = free_wheel(floating=False)
    element = bound(robot, tyres(ROADS[road])[kind])
    states = zip(*wheel_states(60), strict=True)
    lost = [effect(robot, element, 0.0, q, v).dissipation for q, v in states]
    assert max(lost) > 100.0
    if kind in ("simple", "fiala"):  # a delayed force may act with the slip; Pacejka has ply steer
        assert min(lost) >= 0.0


@pytest.mark.parametrize("road", ROADS)
def test_a_floating_wheel_and_one_on_joints_feel_the_same(road):
    afloat, jointed = free_wheel(), free_wheel(floating=False)
    for kind, tyre in tyres(ROADS[road]).items():
        one, other = bound(afloat, tyre), bound(jointed, tyre)
        for q, v in zip(*wheel_states(15), strict=True):
            pose, moving = jointed.placement(q, "wheel"), in_its_axes(jointed, q, v)
            turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
            there = np.array([*pose[:3, 3], *turn])
            results = []
            for robot, element, state in (
                (afloat, one, (there, moving)),
                (jointed, other, (q, v)),
            ):
                does = effect(robot, element, 0.3, *state)
                wrench = wrench_on(robot, *state, does)
                results.append([*wrench, does.dissipation, *does.report.values(), *does.rates])
            assert np.abs(np.subtract(*results)).max() < LOOPS * np.abs(results).max(), kind


def test_machine_code_of_all_tyres_is_the_reference():
    robot = free_wheel()
    elements = [bound(robot, tyre) for tyre in tyres(ROADS["waves"]).values()]

    def numbers(element, q, v, t):
        does = effect(robot, element, t[0], q, v)
        return [*wrench_on(robot, q, v, does), *does.report.values(), does.dissipation, *does.rates]

    def traced(q, v, t):
        return tuple(np.array(numbers(element, q, v, t)) for element in elements)

    sizes = {"q": robot.nq, "v": robot.nv, "t": 1}
    q = np.tile([0.2, 0.1, 0.36, 0, 0, 0, 1.0], (6, 1))
    v, t = np.arange(36.0).reshape(6, 6) / 7.0, np.zeros((6, 1))
    for element, found in zip(elements, compile_kernel(traced, sizes)(q, v, t), strict=True):
        exact = np.array([numbers(element, q[k], v[k], t[k]) for k in range(6)])
        assert np.abs(found - exact).max() <= KERNEL * np.abs(exact).max()


def test_a_normal_force_on_a_slope_passes_through_the_wheels_centre():
    robot = free_wheel(floating=False)
    element = bound(
        robot, SimpleTyre("wheel", RADIUS, STIFFNESS, friction=0.0, road=Ramp(-5, 10, 2.0))
    )
    q, v = np.array([0, 0, 1.25, 0, 0, 0.0]), np.zeros(6)
    wrench = wrench_on(robot, q, v, element.effect(robot.model, 0.0, q, v))
    assert np.abs(wrench[3:]).max() < 1e-9
    assert np.abs(wrench[:3] - STIFFNESS * 0.05 * np.array([-0.2, 0.0, 1.0])).max() < 1e-8


def test_a_cambered_wheel_stands_on_the_lowest_point_of_its_rim():
    robot = free_wheel(floating=False)
    element = bound(robot, SimpleTyre("wheel", RADIUS, STIFFNESS, friction=0.0))
    camber, height = 0.2, 0.27
    q, v = np.array([0, 0, height, 0, camber, 0.0]), np.zeros(6)
    does = element.effect(robot.model, 0.0, q, v)
    load = STIFFNESS * (RADIUS * np.cos(camber) - height)
    assert abs(does.report["normal_force"] - load) < 1e-8
    assert abs(does.report["camber"] - camber) < 1e-12  # the top leans to the right: -y
    wrench = wrench_on(robot, q, v, does)
    assert abs(wrench[3] - load * RADIUS * np.sin(camber)) < 1e-8


def wheel_on_ground(spin, vx, vy=0.0, **options):
    robot = free_wheel(floating=False)
    element = bound(robot, SimpleTyre("wheel", RADIUS, STIFFNESS, **options))
    q = np.array([0, 0, RADIUS - 0.02, 0, 0, 0.0])
    return element.effect(robot.model, 0.0, q, np.array([vx, vy, 0, 0, 0, spin])).report


def test_a_wheel_that_rolls_at_its_loaded_radius_has_no_slip():
    report = wheel_on_ground(10.0 / (RADIUS - 0.02), 10.0)
    assert abs(report["slip_ratio"]) < 1e-14 and abs(report["longitudinal_force"]) < 1e-9
    assert abs(report["normal_force"] - 3000.0) < 1e-9


def test_small_slips_give_the_stiffnesses_and_large_ones_friction():
    rolling = 10.0 / (RADIUS - 0.02)
    load, slip = 3000.0, 1e-5
    drive = wheel_on_ground(rolling * (1 + slip), 10.0)
    assert abs(drive["longitudinal_force"] / (15.0 * load * slip) - 1) < 1e-6
    side = wheel_on_ground(rolling, 10.0, 10.0 * slip)
    assert abs(side["lateral_force"] / (-12.0 * load * slip) - 1) < 1e-6
    assert abs(side["slip_angle"] - slip) < 1e-12
    for spin, vy in ((10 * rolling, 0.0), (-10 * rolling, 3.0), (0.0, 9.0)):
        report = wheel_on_ground(spin, 10.0, vy)
        size = np.hypot(report["longitudinal_force"], report["lateral_force"])
        assert 0.98 * 0.9 * load < size < 0.9 * load


def test_slip_forces_are_smooth_through_rest():
    speeds = np.linspace(-0.02, 0.02, 401)
    forces = [wheel_on_ground(0.0, vx)["longitudinal_force"] for vx in speeds]
    assert np.abs(np.diff(forces, 2)).max() < 1e-3 * np.ptp(forces)
    assert abs(forces[200]) < 1e-12
    slope = (forces[201] - forces[199]) / (speeds[2] - speeds[0])
    assert abs(slope / (-2 * 15.0 * 3000.0) - 1) < 1e-3


def cart_state(height, speed):
    robot = cart()
    q, v = robot.model.neutral(), np.zeros(robot.nv)
    q[2], v[0], v[6:] = height, speed, speed / RADIUS
    return robot, q, v


def test_energy_of_a_cart_on_a_rough_road_is_dissipated():
    robot, q, v = cart_state(0.49, 6.0)
    road = RandomRoad("C", seed=1, length=20.0, start=1.0)
    elements = [
        SimpleTyre(name, RADIUS, STIFFNESS, DAMPING, road=road, name=name)
        for name in ("fl", "fr", "rl", "rr")
    ]
    run = robot.simulate(1.0, q=q, v=v, forces=elements, step=5e-4)
    parts = run.force_elements
    whole = run.energy + parts.energy
    lost = simpson(parts.dissipation, x=run.time)
    assert run.finished and parts.dissipation.min() >= 0.0
    assert np.ptp(parts["fl"]["normal_force"]) > 300.0
    assert abs(whole[0] - whole[-1] - lost) < 1e-4 * lost


def test_a_cart_without_damping_and_friction_rolls_over_waves_and_keeps_its_energy():
    robot, q, v = cart_state(0.4925, 3.0)
    elements = [
        SimpleTyre(name, RADIUS, STIFFNESS, friction=0.0, road=Sine(0.01, 2.0), name=name)
        for name in ("fl", "fr", "rl", "rr")
    ]
    run = robot.simulate(1.0, q=q, v=v, forces=elements)
    whole = run.energy + run.force_elements.energy
    assert np.ptp(run.v[:, 0]) > 0.01  # it climbs and falls
    assert np.ptp(whole) < 1e-6 * np.ptp(run.energy)


def test_a_cart_at_rest_carries_its_weight_and_creeps_down_a_slope():
    robot, q, v = cart_state(0.49, 0.0)
    slope, low = 0.05, 0.5
    elements = [
        SimpleTyre(
            name, RADIUS, STIFFNESS, DAMPING, road=Ramp(-50, 100, 100 * slope), low_speed=low
        )
        for name in ("fl", "fr", "rl", "rr")
    ]
    q[2] += 50 * slope
    held = {f"axle_{name}": 0.0 for name in ("fl", "fr", "rl", "rr")}
    run = robot.simulate(1.5, q=q, v=v, forces=elements, prescribed=held, step=5e-4)
    weight = 460.0 * 9.81 / np.sqrt(1 + slope**2)
    total = sum(part["normal_force"][-1] for part in run.force_elements.values())
    assert abs(total / weight - 1) < 1e-3
    creep = -slope * low / (2 * 15.0)  # F_x = 2 c_x F_z V/v0 = F_z slope
    assert abs(run.v[-1, 0] / creep - 1) < 0.02


def test_a_simple_tyre_on_a_level_road_costs_few_operations():
    robot = free_wheel()
    element = bound(robot, SimpleTyre("wheel", RADIUS, STIFFNESS, DAMPING))

    def wrench(q, v):
        return (element.effect(robot.model, 0.0, q, v).wrenches[0],)

    counts = trace(wrench, {"q": robot.nq, "v": robot.nv}).counts()
    assert sum(counts.values()) < 130, counts
    assert counts["sqrt"] == 2 and counts["div"] <= 3


BAD = {
    "wheel": ({"wheel": "hub"}, "no link named 'hub'"),
    "radius": ({"radius": 0.0}, "radius: expected one number above 0, m, got 0.0"),
    "stiffness": ({"stiffness": -1.0}, "stiffness.*at least 0, got -1"),
    "damping": ({"damping": -1.0}, "damping.*at least 0"),
    "friction": ({"friction": -0.1}, "friction.*at least 0"),
    "slip stiffness": ({"slip_stiffness": (1.0, -1.0)}, "two numbers, at least 0"),
    "speed": ({"low_speed": 0.0}, "low_speed: expected one number above 0, m/s"),
    "direction": ({"direction": "up"}, "direction='up' is not known"),
    "axis": ({"axis": (0, 0, 0)}, "axis: expected a direction"),
    "road": ({"road": 0.0}, r"road: expected a road of mbd_bridge.forces.roads, got 0.0"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_tyre_is_refused(what):
    wrong, said = BAD[what]
    numbers = {"wheel": "wheel", "radius": RADIUS, "stiffness": STIFFNESS}
    with pytest.raises(MbdError, match=said):
        mbd.System(free_wheel(), forces=[SimpleTyre(**(numbers | wrong))])


@pytest.mark.parametrize("kind", ["simple", "fiala delayed", "pacejka delayed"])
def test_a_wheel_that_starts_below_the_road_is_refused(kind):
    robot, tyre = free_wheel(), tyres(Flat(0.1))[kind]
    with pytest.raises(MbdError, match=r"centre of wheel 'wheel' is 0.05 m below the road"):
        robot.simulate(0.01, q=[0, 0, 0.05, 0, 0, 0, 1], forces=[tyre])


@pytest.mark.parametrize("kind", ["fiala delayed", "pacejka delayed"])
def test_a_cart_on_tyres_with_relaxation_brakes_and_dissipates_its_energy(kind):
    robot, q, v = cart_state(0.49, 8.0)
    elements = [tyres(Flat(), wheel)[kind] for wheel in ("fl", "fr", "rl", "rr")]
    q[2] += elements[0].bind(robot.model).rolling_radius - RADIUS
    v[6:] *= 0.7  # the wheels turn too slowly
    run = robot.simulate(0.5, q=q, v=v, forces=elements, step=2.5e-4)
    parts = run.force_elements
    whole = run.energy + parts.energy
    lost = simpson(parts.dissipation, x=run.time)
    assert run.finished and run.v[-1, 0] < 7.9
    assert abs(whole[0] - whole[-1] - lost) < 2e-3 * lost
    deflection = run.z[:, 0]
    assert deflection.min() < -1e-4 and abs(deflection[-1]) < 0.1 * np.abs(deflection).max()


def test_forces_at_the_root_are_those_on_the_links():
    vehicle = mbd.load(own_urdfs()["six_wheeler"], floating=True, forces=())
    rng = np.random.default_rng(3)
    q = vehicle.model.integrate(vehicle.neutral(), 0.3 * rng.standard_normal(vehicle.nv))
    q[2], v = 0.1, rng.standard_normal(vehicle.nv)
    road = Sine(0.05, 2.0)
    tyre = SimpleTyre("wheel_rear_left", radius=0.2, stiffness=1e5, damping=1e3, road=road)
    effect = tyre.bind(vehicle.model).effect(vehicle.model, 0.0, q, v)
    links = external_forces(vehicle.model, q, in_link_axes(vehicle.model, q, v, effect))
    bodies = {vehicle.model.links[link].body: w for link, w in effect.wrenches.items()}
    rooted = root_forces(vehicle.model, q, v, bodies)
    assert np.abs(links).max() > 1.0
    assert rooted == pytest.approx(links, abs=1e-11 * np.abs(links).max())
