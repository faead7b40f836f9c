"""Loads at and beside positions in which a linkage is flat, against closed forms.

The parallelogram of rods of 1 m, 1 kg and 1 kg, its rocker of mass m, cranks at the angle θ from
upright: with the tangent t and the coupler's forces F1, F2 from crank and rocker,

    F1z = F2z = (z'' + g) / 2,   F1x + F2x = x'',   F2 t = m (g sin θ / 2 - θ'' / 3)

and, if nothing actuates the crank, F1 t likewise with its 1 kg. So (F2x - F1x) cos θ is not zero
where the linkage is flat, unless m is 1 kg: the load of its joints then grows beyond bounds.
"""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.solve.dynamics import prepare
from tests import free_bodies
from tests.machines import four_bar, turning
from tests.robots import own_urdfs

G = 9.81
TURN = np.array([1.0, -1.0, 1.0])
"""How crank, elbow and the rocker's joint turn together."""


def on_rocker(mass, run, driven=False):
    """Force of the coupler on the rocker, along its own x and z."""
    angle, speed = run.q[:, 0], run.v[:, 0]
    rate = 0.0 * angle if driven else free_rate(mass, angle)
    s, c = np.sin(angle), np.cos(angle)
    x, z = rate * c - speed**2 * s, -rate * s - speed**2 * c
    along_t = mass * (G * s / 2 - rate / 3)
    force_z = (z + G) / 2
    if driven:
        force_x = (along_t + force_z * s) / c
    else:
        force_x = x / 2 + (mass - 1) * (G * s / 2 - rate / 3) / (2 * c)
    return -np.stack([along_t, force_x * s + force_z * c], axis=1)


def free_rate(mass, angle):
    return (1.5 + mass / 2) * G * np.sin(angle) / ((4 + mass) / 3)


def relative(found, exact):
    return np.abs(found - exact).max(axis=1) / np.abs(exact).max(axis=1)


@pytest.mark.parametrize("speed", [1e-3, 1.0, 3.0])
def test_the_first_record_of_a_start_exactly_flat(speed):
    bar = mbd.load(own_urdfs()["four_bar"])
    run = bar.simulate(0.05, q=np.pi / 2 * TURN, v=speed * TURN)
    assert run.q[0, 0] == np.pi / 2
    assert run.recovered[0] and run.recovered.sum() < len(run.time)
    assert np.abs(run.a / (1.2 * G * np.sin(run.q[:, :1]) * TURN) - 1).max() < 1e-9
    force = run.joint_loads("coupler_pin").force[:, 0, [0, 2]]
    assert relative(force, on_rocker(1.0, run)).max() < 1e-7
    assert relative(force, on_rocker(1.0, run))[0] < 1e-8


@pytest.mark.parametrize("mass", [1.000001, 2.0])
@pytest.mark.parametrize("before", [0.05, 0.05003])
def test_loads_that_grow_beyond_bounds_towards_the_flat_position(mass, before):
    """Those of the sides, 0.02 rad away, would be smooth: 7 N instead of 942 N."""
    bar = four_bar(heavy=mass)
    run = bar.simulate(0.1, step=5e-4, q=(np.pi / 2 - before) * TURN, v=3.0 * TURN)
    assert np.abs(run.q[:, 0] - np.pi / 2).min() < 6e-4
    assert np.abs(run.a[:, 0] - free_rate(mass, run.q[:, 0])).max() < 1e-7
    assert relative(run.joint_loads("wrist").force[:, 0, [0, 2]], on_rocker(mass, run)).max() < 1e-6


@pytest.mark.parametrize("beside", [3e-5, 3e-4])
def test_a_prescribed_crank_lets_loads_grow_beyond_bounds(beside):
    """At 3e-5 rad they are 327 kN."""
    bar, start = four_bar(), np.pi / 2 - 0.05 + beside
    prescribed = {"crank": lambda t: start + t}
    run = bar.simulate(0.1, step=1e-3, q=start * TURN, v=TURN, prescribed=prescribed)
    assert np.abs(run.q[:, 0] - np.pi / 2).min() == pytest.approx(beside, rel=1e-6)
    found, exact = run.joint_loads("wrist").force[:, 0, [0, 2]], on_rocker(1.0, run, driven=True)
    assert relative(found, exact).max() < 1e-6
    assert run.prescribed_forces.force[:, 0] == pytest.approx(
        -2 * G * np.sin(run.q[:, 0]), rel=1e-6
    )


@pytest.mark.parametrize("mass", [1.0, 2.0])
@pytest.mark.parametrize("driven", [False, True])
def test_nothing_is_left_over_on_any_link_beside_the_flat_position(mass, driven):
    """With a push on the coupler, a torque at the elbow, perhaps a prescribed motion."""
    bar, start = four_bar(heavy=mass), np.pi / 2 - 0.05003
    options = {"torque": {"elbow": 2.0}, "external": {"coupler": [3.0, 0.0, -5.0, 0.0, 0.4, 0.0]}}
    if driven:
        options["prescribed"] = {"crank": lambda t: start + 3.0 * t - t * t}
    run = bar.simulate(0.03, step=5e-4, q=start * TURN, v=3.0 * TURN, **options)
    loads = run.joint_loads(["crank", "elbow", "wrist", "pin", "root_joint"])
    near = np.argsort(np.abs(run.q[:, 0] - np.pi / 2))[:8]
    assert abs(run.q[near[0], 0] - np.pi / 2) < 9e-4
    for k in near:
        left = free_bodies.left_over(run, loads, k)
        assert left.force < 1e-8 * left.largest and left.moment < 1e-8 * left.largest, k
        assert free_bodies.idle_work(run, loads, k) < 1e-8 * left.largest


def test_where_a_load_has_no_bound_it_is_flagged():
    bar = four_bar(heavy=2.0)
    run = bar.simulate(0.01, step=1e-3, q=np.pi / 2 * TURN, v=3.0 * TURN)
    loads = run.joint_loads("wrist")
    assert np.isfinite(loads.wrench).all()
    assert not loads.unique[0, 0, 2]
    assert loads.unique[1:, 0, 2].all()


@pytest.mark.parametrize("short", [1e-6, 1e-5])
def test_a_linkage_that_just_fails_to_be_flat_keeps_its_peaks(short):
    """Loops do no work and keep to γ at every record: two conditions for its one degree of
    freedom.
    """
    bar = four_bar(ground=1 - short)
    at = bar.assemble((np.pi / 2 - 0.1) * TURN, fixed="crank", velocity={"crank": 3.0})
    run = bar.simulate(0.1, step=2e-4, q=at.q, v=at.v)
    size = np.abs(run.a).max(axis=1) + np.abs(run.v).max(axis=1) ** 2
    assert size.max() > 50 * size[0]
    (tau,) = prepare(bar.model, "inverse_dynamics")(run.q, run.v, run.a)
    power = (run.v * tau).sum(axis=1)
    assert np.abs(power / size).max() < 1e-6
    _, phi_q, gamma = bar.compile("constraints")(run.q, run.v)
    left = np.einsum("kij,kj->ki", phi_q, run.a) - gamma
    assert (np.abs(left).max(axis=1) / size).max() < 1e-12


def test_loads_beside_a_singular_position_go_on_as_on_both_sides_of_it():
    bar = mbd.load(own_urdfs()["four_bar"])
    run = bar.simulate(1.0, q=bar.assemble({"crank": 0.5}).q)
    k = int(np.argmin(np.abs(run.q[:, 0] - np.pi / 2)))
    assert abs(run.q[k, 0] - np.pi / 2) < 3e-4  # flat to a fifth of a millimetre
    assert run.a[k, 0] == pytest.approx(1.2 * 9.81 * np.sin(run.q[k, 0]), rel=1e-6)
    force = run.joint_loads("coupler_pin").force[:, 0]
    for at in range(k - 3, k + 4):  # a polynomial of degree 7 through four records on each side
        near = np.r_[at - 8 : at - 4, at + 5 : at + 9]
        fitted = np.polynomial.Polynomial.fit(near - at, force[near, 2], 7)(0.0)
        assert force[at, 2] == pytest.approx(fitted, rel=1e-5)


def through_flat(**options):
    """A parallelogram that passes flat positions, in steps short enough to record many near one."""
    bar, at = turning(four_bar(), 1.0, 1.2)
    return bar, {"q": at.q, "v": at.v, "step": 5e-5, **options}


def test_a_result_says_which_records_are_near_singular_positions():
    bar, options = through_flat(every=4)
    run = bar.simulate(0.6, **options)
    crank = run.q[:, 0]
    distance = np.abs(crank - np.pi / 2)  # from flat, rad
    assert distance.min() < 1e-3
    assert run.near_singular.any() and not run.near_singular.all()
    assert distance[run.near_singular].max() < 0.02 < distance[~run.near_singular].max()
    assert distance[run.near_singular].max() < distance[~run.near_singular].min() + 1e-9
    assert (run.recovered <= run.near_singular).all()
    away = bar.simulate(0.05, **(options | {"every": 100}))
    assert not away.near_singular.any() and not away.recovered.any()


@pytest.mark.parametrize("told", [{}, {"loads": ["wrist"]}], ids=["plain", "loads told"])
def test_every_road_marks_and_recovers_the_same_records(told):
    """More records than `FEW` are near; a batch asks for the doubtful ones alone."""
    bar, options = through_flat(step=2.5e-5)
    one = bar.simulate(0.5, **options, **told)
    assert one.recovered.sum() > 100
    q, v = (np.array([options.pop(name)] * 5) for name in ("q", "v"))
    many = bar.simulate(0.5, q=q, v=v, **options, **told)
    distance = np.abs(one.q[:, 0] - np.pi / 2)
    border = distance[one.near_singular].max()
    inner, sure = distance < 0.8 * border, np.abs(distance - border) > 1e-3 * border
    for k in range(5):
        assert np.array_equal(many.near_singular[k][sure], one.near_singular[sure])
        assert np.array_equal(many.recovered[k][inner], one.recovered[inner])
        assert np.array_equal(many[k].recovered[inner], one.recovered[inner])
        assert (many.recovered[k] <= many.near_singular[k]).all()
        assert np.abs(many.q[k] - one.q).max() < 1e-9  # no record is left out
        assert np.abs(many.a[k] - one.a).max() < 1e-7 * np.abs(one.a).max()


@pytest.mark.parametrize("way", [{"method": "svd"}, {"integrator": "abm"}])
def test_runs_in_python_mark_them_too(way):
    bar, options = through_flat()
    run = bar.simulate(0.5, **(options | {"step": 1e-2}), **way)
    assert run.near_singular.any() == bool((np.abs(run.q[:, 0] - np.pi / 2) < 2e-3).any())


def test_trees_have_no_such_records():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    jolt = {"jolt": lambda t, q, v: t - 0.0105}
    run = arm.simulate(
        0.02, loads=["joint_4"] if "joint_4" in arm.joint_names else None, events=jolt
    )
    assert not run.near_singular.any() and not run.recovered.any()
    jolt["jolt"] = Terminal()
    run = arm.simulate(0.02, outputs={"x": lambda t, q, v: t}, events=jolt)
    assert run.status == "event" and np.isfinite(run.a).all() and not run.recovered.any()


class Terminal:
    terminal = True

    def __call__(self, t, q, v):
        return t - 0.0105
