"""Closed loops: closed forms, every joint cut, four roads to one motion, what is determined."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, SolveError, StateError
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import build_model
from mbd_bridge.model.spatial import Frame
from mbd_bridge.solve.rank import decompose
from mbd_bridge.solve.reduced import METHODS, by_method
from mbd_bridge.solve.row_choice import row_choice
from tests.machines import cut_everywhere, four_bar, rssr, turning, world_state
from tests.sample import sample
from tests.trees import random_state, random_tree

SEEDS = st.integers(0, 2**32 - 1)
CUTTABLE = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar")


def terms(m, q, v):
    """M, h, Φ_q and γ at one state."""
    (M,), (h,) = m.compile("mass_matrix")(q), m.compile("bias_forces")(q, v)
    _, phi_q, gamma = m.compile("constraints")(q, v)
    return M, h, phi_q, gamma


def test_parallelogram_closed_form():
    """Three uniform links of 1 m and 1 kg, crank at 60 degrees, at rest: published closed form."""
    bar = four_bar()
    at = bar.assemble({"crank": np.pi / 6}, fixed="crank")
    a, _ = bar.constrained_dynamics().forward(at.q, at.v, np.zeros(3))
    assert np.allclose(a, [5.886, -5.886, 5.886], rtol=1e-12)
    loads = bar.joint_loads(at.q, at.v, a, ["crank", "pin"], actuated=["crank"])
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    crank = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ loads["crank"].force
    assert np.allclose(crank, [5.09742553, 0, 11.772], rtol=1e-8, atol=1e-10)
    assert np.allclose(-loads["pin"].force, [5.09742553, 0, 11.772], rtol=1e-8, atol=1e-10)
    assert abs(loads["crank"].actuation[0]) < 1e-12


@pytest.mark.parametrize("lengths", [(1, 1, 1, 1), (1, 2, 1.5, 2.5), (0.7, 1.3, 1.1, 1.4)])
def test_four_roads_give_one_motion(lengths):
    bar, at = turning(four_bar(*lengths), 2.0, 0.4)
    M, h, phi_q, gamma = terms(bar, at.q, at.v)
    Q = np.array([0.3, -0.2, 0.1]) - h
    rows = row_choice(bar.model).at(bar.model.scaled_jacobian(phi_q))
    motions = [by_method(M, Q, phi_q, gamma, method, rows) for method in METHODS]
    for motion in motions:
        assert np.allclose(motion.a, motions[0].a, rtol=1e-10, atol=1e-10)
        assert np.allclose(motion.lam, motions[0].lam, rtol=1e-10, atol=1e-10)
        assert np.allclose(M @ motion.a + phi_q.T @ motion.lam, Q, atol=1e-10)
        assert np.allclose(phi_q @ motion.a, gamma, atol=1e-10)


@sample(5)
@given(SEEDS)
def test_cutting_every_joint_of_a_tree_changes_no_acceleration_and_no_load(seed):
    rng = np.random.default_rng(seed)
    description = random_tree(rng, 3, CUTTABLE).description()
    tree = build_model(description)
    q, v, _ = random_state(tree, rng)
    whole = mbd.Mechanism(tree)
    tau = np.zeros(tree.nv)
    a = whole.forward_dynamics(q, v, tau)
    loads = whole.joint_loads(q, v, a)
    cut = mbd.Mechanism.build(cut_everywhere(description))
    free_q, free_v, free_a = world_state(tree, q, v, a)
    phi, _, _ = cut.compile("constraints")(free_q, free_v)
    assert np.abs(phi).max() < 1e-12
    scale = 10 + np.abs(free_a).max()
    dynamics = cut.constrained_dynamics(actuated=())
    motions = [
        dynamics.forward(free_q, free_v, np.zeros(cut.nv), method=method) for method in METHODS
    ]
    for found, lam in motions:
        assert np.abs(found - free_a).max() <= 1e-10 * scale
        assert np.allclose(lam, motions[0][1], rtol=1e-8, atol=1e-8 * np.abs(lam).max())
    names = [joint.name for joint in tree.joints[1:]]
    inside = cut.joint_loads(free_q, free_v, motions[0][0], names, actuated=())
    size = np.abs(loads.wrench).max()
    assert np.abs(inside.wrench - loads.wrench).max() <= 1e-9 * size
    assert inside.unique.all()


@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (0.3, 1.7)])
@pytest.mark.parametrize("angle", [0.1, 1.0, 2.5, -0.7])
def test_null_space_of_the_rigid_parallelogram(lengths, angle):
    """LeeJoo90 (71): with relative angles, V2 has no other entries than 0, 1 and 1/sqrt 3."""
    short, long = lengths
    bar = four_bar(short, long, short, long)
    at = bar.assemble({"crank": angle, "elbow": -angle, "wrist": angle}, fixed="crank")
    _, phi_q, _ = bar.compile("constraints")(at.q, at.v)
    motions = decompose(bar.model, phi_q, 2).motions
    assert motions.shape == (3, 1)
    assert np.allclose(np.abs(motions), 1 / np.sqrt(3), atol=1e-12)
    assert np.allclose(motions[:, 0] * np.sign(motions[0, 0]), np.array([1, -1, 1]) / np.sqrt(3))


def test_flags_of_a_planar_four_bar_in_space():
    """Forces in the plane and the moment about the pins are determined, the rest is not."""
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    a, _ = bar.constrained_dynamics().forward(at.q, at.v, np.zeros(3))
    loads = bar.joint_loads(at.q, at.v, a, actuated=["crank"])
    in_plane = np.array([True, False, True, False, True, False])
    assert np.array_equal(loads.unique, np.tile(in_plane, (4, 1)))
    assert bar.loops.report(at.q).redundant == {"pin": 3}


def test_the_same_four_bar_with_balls_is_determined():
    bar = four_bar(1, 2, 1.5, 2.5, wrist="universal", cut="spherical")
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    a, _ = bar.constrained_dynamics().forward(at.q, at.v, np.zeros(bar.nv))
    loads = bar.joint_loads(at.q, at.v, a, actuated=["crank"])
    assert loads.unique.all()
    assert bar.loops.report(at.q).redundant == {"pin": 0}


def test_determined_components_do_not_depend_on_the_choice_of_multipliers():
    bar, at = turning(four_bar(1, 2, 1.5, 2.5), 3.0)
    balls, other = turning(four_bar(1, 2, 1.5, 2.5, wrist="universal", cut="spherical"), 3.0)
    one = bar.joint_loads(at.q, at.v, at.a, ["crank", "pin"], actuated=["crank"])
    two = balls.joint_loads(other.q, other.v, other.a, ["crank", "pin"], actuated=["crank"])
    flags = one.unique
    assert np.allclose(one.wrench[flags], two.wrench[flags], atol=1e-9)


def test_rssr_has_one_passive_degree_of_freedom_and_names_it():
    m = rssr()
    at = m.assemble({"crank": 0.3}, fixed="crank")
    report = m.loops.report(at.q)
    assert (m.nv, report.rows, report.rank, report.dof) == (5, 3, 3, 2)
    assert report.passive == ("ball",)
    assert "ball" in str(report)


def test_actuators_of_a_closed_machine_are_those_that_make_the_motion():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble(
        {"crank": 0.5}, fixed="crank", velocity={"crank": 2.0}, acceleration={"crank": 1.0}
    )
    dynamics = bar.constrained_dynamics(actuated=["crank"])
    inverse = dynamics.inverse(at.q, at.v, at.a)
    assert np.count_nonzero(inverse.tau) == 1
    a, _ = dynamics.forward(at.q, at.v, inverse.tau)
    assert np.allclose(a, at.a, atol=1e-10)


def test_power_in_is_the_rate_of_energy_with_loops():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble(
        {"crank": 0.5}, fixed="crank", velocity={"crank": 2.0}, acceleration={"crank": 1.0}
    )
    inverse = bar.constrained_dynamics(actuated=["crank"]).inverse(at.q, at.v, at.a)
    h = 1e-5

    def energy(t):
        rate = 2.0 + t
        there = bar.assemble(
            {"crank": 0.5 + 2 * t + t * t / 2, "elbow": at.q[1], "wrist": at.q[2]},
            fixed="crank",
            velocity={"crank": rate},
        )
        M, _, _, _ = terms(bar, there.q, there.v)
        state = state_vectors(bar.model, there.q, there.v)
        height = sum(
            b.inertia.mass * (s.position + s.rotation @ b.inertia.centre)[2]
            for b, s in zip(bar.model.bodies, state.bodies, strict=True)
        )
        return 0.5 * there.v @ M @ there.v + 9.81 * height

    rate = (energy(h) - energy(-h)) / (2 * h)
    assert np.isclose(inverse.tau @ at.v, rate, rtol=1e-6)


def test_states_off_the_constraints_are_refused():
    bar, at = turning(four_bar(1, 2, 1.5, 2.5), 1.0)
    off = np.array([0.1, 0.0, 0.0])
    for q, v, a, what in (
        (at.q + off, at.v, at.a, "position"),
        (at.q, at.v + off, at.a, "velocity"),
        (at.q, at.v, at.a + off, "acceleration"),
    ):
        with pytest.raises(StateError, match=f"the {what} does not satisfy loop 'pin'"):
            bar.joint_loads(q, v, a, ["crank"], actuated=["crank"])


def test_odd_calls_for_loads_in_loops():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    solver = bar.compile("joint_loads", [1, "pin"], actuated="crank")
    assert solver.joints == ("crank", "pin")
    one = solver(at.q, at.v, at.a)
    many = solver(at.q, np.tile(at.v, (3, 1)), at.a)
    assert many.unique.shape == many.wrench.shape == (3, 2, 6)
    assert np.allclose(many.wrench, one.wrench)
    none = solver(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
    assert none.wrench.shape == none.unique.shape == (0, 2, 6)
    with pytest.raises(StateError, match=r"q\[1\] \(elbow\) is nan"):
        solver(at.q * [1, np.nan, 1], at.v, at.a)
    with pytest.raises(StateError, match=r"v\[1\] \(elbow\) is nan"):
        bar.forward_dynamics(at.q, at.v * [1, np.nan, 1], np.zeros(3))


def test_loads_of_the_open_tree_are_given_only_when_asked_for():
    bar = four_bar()
    with pytest.raises(ModelError, match="with loops say which joints"):
        bar.compile("joint_loads", ["crank"])
    assert bar.compile("joint_loads", ["crank"], open_tree=True).joints == ("crank",)
    assert any("loops (pin)" in reason for reason in bar.crosscheck(states=2).absent)


def test_assembly_is_consistent_to_rounding():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble(
        {"crank": 0.5}, fixed="crank", velocity={"crank": 2.0}, acceleration={"crank": 1.0}
    )
    phi, phi_q, gamma = bar.compile("constraints")(at.q, at.v)
    assert np.abs(phi).max() < 1e-14
    assert np.abs(phi_q @ at.v).max() < 1e-14
    assert np.abs(phi_q @ at.a - gamma).max() < 1e-13
    assert (at.q[0], at.v[0], at.a[0]) == (0.5, 2.0, 1.0)


def test_both_branches_are_found_from_their_own_side():
    bar = four_bar(1, 2, 1.5, 2.5)
    up = bar.assemble({"crank": 0.5, "elbow": -1.0, "wrist": 0.3}, fixed="crank")
    down = bar.assemble({"crank": 0.5, "elbow": 1.0, "wrist": 2.5}, fixed="crank")
    assert up.closed and down.closed
    assert abs(up.q[1] - down.q[1]) > 0.5


def test_loops_that_cannot_be_closed_say_which_and_by_how_much():
    bar = four_bar(1, 1, 1, 10)
    with pytest.raises(SolveError, match=r"pin by 7\.\d+ m") as problem:
        bar.assemble({"crank": 0.5}, fixed="crank")
    assert "release one of fixed=['crank']" in str(problem.value)
    reached = bar.assemble({"crank": 0.5}, check=False)
    assert not reached.closed and reached.loops["pin"] > 0.1


def test_an_axis_that_comes_out_reversed_is_said():
    b = mbd.Builder("flip").link("arm", 1, (1, 0, 0), (1, 1, 1))
    b.joint("ball", "spherical", "base", "arm")
    ends = ("arm", Frame.identity()), ("base", Frame.from_rpy((0, 0, 0), (np.pi, 0, 0)))
    b.loop("pin", "revolute", *ends, axis=(0, 0, 1))
    at = mbd.Mechanism.build(b).assemble()
    assert at.closed
    assert at.reversed == ("pin",)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("rows", [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1)])
def test_a_loop_that_closes_half_a_turn_off_is_said(rows, axis):
    """A hinge whose turn a mask forbids is closed at 0, as described, and at π."""
    b = mbd.Builder("lock").link("arm", 1, (0.1, 0.2, 0.3), (1, 1, 1))
    b.joint("hinge", "revolute", "base", "arm", axis=np.eye(3)[axis])
    ends = ("base", Frame.identity()), ("arm", Frame.identity())
    b.loop("lock", "mask", *ends, rows=(0, 0, 0, *rows))
    lock = mbd.Mechanism.build(b)
    for near, reversed_ in ((0.3, ()), (3.0, ("lock",)), (-2.9, ("lock",))):
        at = lock.assemble({"hinge": near})
        if rows[axis]:
            assert at.closed and abs(np.sin(at.q[0])) < 1e-9
            assert at.reversed == reversed_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"near": {"crnk": 1.0}}, "did you mean 'crank'"),
        ({"near": [0.0, 1.0]}, "expected"),
        ({"near": {"crank": np.nan}}, "finite"),
        ({"fixed": "crnk"}, "did you mean 'crank'"),
        ({"weights": {"crank": -1.0}}, "positive"),
    ],
)
def test_guesses_that_make_no_sense_are_named(options, message):
    with pytest.raises(StateError, match=message):
        four_bar().assemble(**options)


def test_loops_on_one_link_and_of_no_length_are_refused():
    def with_loop(kind, first, second):
        b = mbd.Builder("b").link("arm", 1, (1, 0, 0), (1, 1, 1))
        b.joint("pin", "revolute", "base", "arm")
        b.loop("loop", kind, (first, Frame.identity()), (second, Frame.identity()))
        return mbd.Mechanism.build(b)

    with pytest.raises(ModelError, match="move together"):
        with_loop("revolute", "arm", "arm")
    with pytest.raises(ModelError, match="length 0"):
        with_loop("distance", "base", "arm")


def test_with_two_names_exchanged_another_joint_is_asked_for():
    bar = four_bar()
    names = {"crank": "wrist", "wrist": "crank"}
    description = bar.model.description
    joints = [replace(j, name=names.get(j.name, j.name)) for j in description.joints]
    renamed = mbd.Mechanism.build(replace(description, joints=tuple(joints)))
    still = np.zeros(3)
    before = bar.joint_loads(still, still, still, ["crank"], actuated=["crank"])
    after = renamed.joint_loads(still, still, still, ["crank"], actuated=["wrist"])
    expected = bar.joint_loads(still, still, still, ["wrist"], actuated=["crank"])
    assert np.array_equal(after.wrench, expected.wrench)
    assert not np.allclose(after.wrench, before.wrench)


@pytest.mark.parametrize("count", [None, 100])
def test_what_moves_no_mass_is_said_however_it_is_rounded(count):
    """A massless pointer beside a linkage in a plane askew: rounding leaves 1e-17 of inertia."""
    rpy, y = (0.2, -0.6, -0.5), (0, 1, 0)
    turn = Frame.from_rpy((0, 0, 0), rpy).rotation
    b = mbd.Builder("askew", root="ground")
    for name, x in (("crank", 0), ("pointer", 2), ("rocker", 1)):
        mass = float(name != "pointer")
        b.link(name, mass, (0, 0.1 * mass, 0.4 * mass), np.array([0.1, 0.1, 0.05]) * mass)
        b.joint(name, "revolute", "ground", name, turn @ (x, 0, 0), rpy, axis=y)
    b.link("bar", 1, (0.5, 0, 0), (0.02, 0.1, 0.1))
    b.joint("bar", "revolute", "rocker", "bar", (0, 0, 1), axis=y)
    ends = ("bar", Frame.from_rpy((-1, 0, 0))), ("crank", Frame.from_rpy((0, 0, 1)))
    m = mbd.Mechanism.build(b.loop("pin", "revolute", *ends, axis=y))
    still = np.zeros(m.nq) if count is None else np.zeros((count, m.nq))
    for method in (None, *METHODS):
        with pytest.raises(SolveError, match="no mass"):
            m.constrained_dynamics().forward(still, still, still, method=method)
