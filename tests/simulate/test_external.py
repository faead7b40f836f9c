"""Wrenches on links along a simulation, and where a link is while forces are traced."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, StateError
from mbd_bridge.simulation import right_hand_side
from tests.machines import four_bar, turning
from tests.robots import own_urdfs
from tests.tolerances import DIFFERENCE, REFEREE
from tests.trees import random_state, random_tree

METHODS = ("multipliers", "svd", "qr", "projection")


def weights(machine):
    """Return the weight of every link as a wrench about its origin, in the world's axes."""
    g = np.array([0.0, 0.0, -9.81])

    def weight(link):
        own = link.inertia

        def push(t, q, v):
            arm = machine.placement(q, link.name)[:3, :3] @ own.centre
            return np.concatenate([own.mass * g, np.cross(arm, own.mass * g)])

        return push

    heavy = [link for link in machine.model.description.links if link.inertia]
    return {link.name: weight(link) for link in heavy}


def machine_under(gravity, name):
    """Return an arm, a loop or a floating tree."""
    if name == "floating tree":
        parts = random_tree(np.random.default_rng(11), 6)
        return mbd.Mechanism.build(parts, floating=True, gravity=gravity)
    return mbd.load(own_urdfs()[name], gravity=gravity)


@pytest.mark.parametrize("name", ["kuka_iiwa", "crank_rocker", "floating tree"])
def test_weights_pushed_on_every_link_are_gravity(name):
    """Motion, accelerations and the loads of all joints, tree and cut."""
    free, heavy = machine_under((0, 0, 0), name), machine_under((0, 0, -9.81), name)
    rng = np.random.default_rng(5)
    q, v, _ = random_state(heavy.model, rng)
    at = {"q": q, "v": 0.3 * v}
    if heavy.model.cuts:
        found = heavy.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
        at = {"q": found.q, "v": found.v}
    options = {"step": 2e-3, "every": 25, **at}
    run = free.simulate(0.2, external=weights(free), external_in="world", **options)
    expected = heavy.simulate(0.2, **options)
    assert np.abs(run.q - expected.q).max() < 1e-10
    assert np.abs(run.a - expected.a).max() < 1e-8 * np.abs(expected.a).max()
    ours, theirs = run.joint_loads(), expected.joint_loads()
    assert np.abs(ours.force - theirs.force).max() < 1e-8 * np.abs(theirs.force).max()
    assert np.abs(ours.moment - theirs.moment).max() < 1e-8 * np.abs(theirs.force).max()
    assert not run.tau.any()


def spring_on_rail(stiffness, damping):
    b = mbd.Builder("rail").link("cart", 2.0, (0.1, 0, 0), (1, 1, 1))
    b.joint("way", "prismatic", "base", "cart", (0, 0, 1), axis=(1, 0, 0))
    rail = mbd.Mechanism.build(b)

    def push(t, q, v):
        x = rail.placement(q, "cart")[0, 3]
        rate = rail.velocity(q, v, "cart")[0]
        return [-stiffness * x - damping * rate, 0, 0, 0, 0, 0]

    return rail, push


def test_a_spring_and_a_damper_swing_as_the_closed_form_says():
    """2 ẍ + 4 ẋ + 50 x = 0:  x = exp(-t) (cos 2√6 t + sin 2√6 t / 2√6)."""
    rail, push = spring_on_rail(50.0, 4.0)
    t = np.linspace(0, 1, 11)
    w = 2 * np.sqrt(6)
    exact = np.exp(-t) * (np.cos(w * t) + np.sin(w * t) / w)
    for integrator in ("rk4", "ab3", "abm", "scipy:Radau", "scipy:LSODA"):
        run = rail.simulate(1.0, every=100, q=[1.0], external={"cart": push}, integrator=integrator)
        assert np.abs(run.q[:, 0] - exact).max() < 1e-6, integrator
    run = rail.simulate(1.0, every=100, q=[1.0], external={"cart": push})
    assert np.allclose(run.external["cart"][:, 0], 2.0 * run.a[:, 0], atol=1e-10)
    assert np.allclose(run.at(0.55).q, np.interp(0.55, t, run.q[:, 0]), atol=0.05)
    f = right_hand_side(rail.model, q=[1.0], external={"cart": push})
    assert np.allclose(f(0.0, f.start), [0.0, -25.0])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_feels_a_push(method):
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    options = {
        "step": 1e-3,
        "every": 50,
        "q": at.q,
        "v": at.v,
        "torque": {"crank": 1.5},
        "external": {"coupler": lambda t, q, v: [0, 0, 20 * np.sin(3 * t), 0, -v[0], 0]},
    }
    run = bar.simulate(0.5, method=method, **options)
    compiled = bar.simulate(0.5, **options)
    assert np.abs(run.q - compiled.q).max() < 1e-9
    alone = bar.simulate(0.5, **{**options, "external": None})
    assert np.abs(run.q - alone.q).max() > 1e-3
    assert np.array_equal(run.tau, alone.tau)


def test_loads_of_a_run_are_those_of_its_motion_with_its_wrenches():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    pushes = {"lbr_iiwa_link_4": (1, 2, 3, 4, 5, 6), "lbr_iiwa_link_ee": lambda t, q, v: [t] * 6}
    run = arm.simulate(0.3, every=50, external=pushes)
    own = arm.joint_loads(run.q, run.v, run.a, external=run.external)
    loads = run.joint_loads()
    assert np.array_equal(loads.force, own.force) and np.array_equal(loads.moment, own.moment)
    assert np.abs(loads.actuation).max() < REFEREE * np.abs(loads.moment).max()
    assert np.allclose(run.external["lbr_iiwa_link_ee"][:, 2], run.time)


def test_a_push_on_a_prescribed_joint_is_the_prescribed_motions_to_hold():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    pushes = {"lbr_iiwa_link_ee": (30, 0, 0, 0, 5, 0)}
    prescribed = dict.fromkeys(arm.coordinate_names, 0.3)
    run = arm.simulate(0.1, prescribed=prescribed, external=pushes, external_in="world", every=50)
    still = np.zeros(7)
    q = np.full(7, 0.3)
    held = arm.inverse_dynamics(q, still, still, pushes, external_in="world")
    assert np.allclose([run.prescribed_forces[name][-1] for name in prescribed], held, atol=1e-9)


def test_power_of_a_push_is_what_the_energy_gains():
    bar = four_bar(1, 2, 1.7, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")

    def push(t, q, v):
        return [10 + 5 * t, 0, -3, 0, 2, 0]

    run = bar.simulate(
        1.0, q=at.q, v=at.v, external={"rocker": push}, external_in="world", step=1e-3
    )
    speed = bar.velocity(run.q, run.v, "rocker")
    power = np.array([push(t, None, None) @ u for t, u in zip(run.time, speed, strict=True)])
    work = np.concatenate([[0], np.cumsum(1e-3 * (power[1:] + power[:-1]) / 2)])
    assert np.abs(run.energy - run.energy[0] - work).max() < 1e-5 * np.ptp(run.energy)
    assert np.ptp(run.energy) > 1


@pytest.mark.parametrize("floating", [False, True])
def test_velocities_of_links_are_differences_of_placements(floating):
    rng = np.random.default_rng(3)
    robot = mbd.Mechanism.build(random_tree(rng, 6), floating=floating)
    q, v, _ = random_state(robot.model, rng)
    point, d = np.array([0.3, -0.2, 0.5]), 1e-6
    for link in robot.model.link_index:
        ahead = robot.placement(robot.model.integrate(q, d * v), link)
        behind = robot.placement(robot.model.integrate(q, -d * v), link)
        rate = (ahead - behind) / (2 * d)
        turning = rate[:3, :3] @ robot.placement(q, link)[:3, :3].T
        found = robot.velocity(q, v, link, point)
        assert np.abs(found[:3] - rate[:3, :3] @ point - rate[:3, 3]).max() < 10 * DIFFERENCE
        spin = turning[[2, 0, 1], [1, 2, 0]]
        assert np.abs(found[3:] - spin).max() < 10 * DIFFERENCE
    assert robot.velocity(np.array([q, q]), np.array([v, v]), link).shape == (2, 6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hook": [0.0] * 6}, "no link named 'hook'"),
        ({"crank": [1.0, 2.0, 3.0]}, r"got the shape \(3,\)"),
        ({"crank": lambda t, q, v: [t, t]}, r"has the shape \(2,\)"),
        ({"crank": lambda t, q, v: [np.sinh(t)] * 6}, "external: .*mbd_bridge.functions"),
        ({"crank": lambda t, q, v: [1 / t] * 6}, "finite"),
        ({"crank": [np.nan] * 6}, "finite"),
        ([1, 2, 3], "expected a mapping"),
    ],
)
def test_what_is_no_wrench_is_explained(given, message):
    with pytest.raises(StateError if "link named" not in message else MbdError, match=message):
        four_bar().simulate(0.1, external=given)


def test_axes_that_are_not_known_are_explained():
    with pytest.raises(MbdError, match="external_in='wrld'"):
        four_bar().simulate(0.1, external={"crank": [0.0] * 6}, external_in="wrld")
