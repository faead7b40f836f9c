"""Loads in loops: many states are as one, and the flags tell the truth."""

import tracemalloc

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.api.loops import undetermined
from mbd_bridge.base.errors import StateError
from mbd_bridge.model.spatial import Frame
from tests.machines import MANY, four_bar, n_four_bar, rssr, turning
from tests.tolerances import LOOPS

PLANE = np.array([True, False, True, False, True, False])
"""What a revolute four-bar in the x-z plane determines."""


@pytest.mark.parametrize("make", [four_bar, lambda: n_four_bar(2), rssr])
def test_many_states_through_the_kernel_are_those_of_singular_values_one_by_one(make):
    machine = make()
    first = machine.coordinate_names[0]
    cranks = [name for name in machine.coordinate_names if name.startswith("crank")]
    starts = [
        machine.assemble(dict.fromkeys(cranks, angle), fixed=first, velocity={first: 2.0})
        for angle in np.linspace(0.2, 1.3, MANY)
    ]
    q, v, a = (np.array([getattr(at, x) for at in starts]) for x in "qva")
    actuated = machine.joint_names[:1]
    solver = machine.compile("joint_loads", None, actuated=actuated, reaction=True)
    many = solver(q, v, a, check=machine.nv < 5)  # the rssr's coupler spins freely
    for k in range(0, MANY, 9):
        one = machine.compile("joint_loads", None, actuated=actuated, reaction=True)(
            q[k], v[k], a[k], check=machine.nv < 5
        )
        size = np.abs(one.wrench).max()
        assert np.abs(many.wrench[k] - one.wrench).max() < LOOPS * size
        assert np.abs(many.actuation[k] - one.actuation).max() < LOOPS * size
        assert np.array_equal(many.unique[k], one.unique)
        assert np.array_equal(many.actuation_unique[k], one.actuation_unique)


def test_states_through_a_singular_position_keep_their_flags_and_numbers():
    """The parallelogram folds when flat; the kernel's rows are dependent there."""
    bar = four_bar()
    angles = np.pi / 2 - np.concatenate([np.linspace(0.5, 0.01, MANY), [1e-7, 0.0]])
    q = np.stack([angles, -angles, angles], axis=1)
    rest = np.zeros(3)
    loads = bar.joint_loads(q, rest, rest, ["pin"], actuated="crank", check=False)
    assert np.array_equal(loads.unique[:-2, 0], np.tile(PLANE, (MANY, 1)))
    assert loads.unique[-1, 0].sum() < 3
    assert np.isfinite(loads.wrench).all()
    weights = 9.81 * (np.sin(angles) / 2 + np.sin(angles) + np.sin(angles) / 2)
    actuation = bar.joint_loads(q[:-2], rest, rest, ["crank"], actuated="crank").actuation[:, 0]
    assert np.allclose(actuation, -weights[:-2], rtol=1e-9)


def test_a_four_bar_in_space_has_its_plane_and_with_balls_everything():
    for machine, flags in (
        (four_bar(1, 2, 1.5, 2.5), PLANE),
        (four_bar(1, 2, 1.5, 2.5, wrist="universal", cut="spherical"), np.ones(6, dtype=bool)),
    ):
        at = machine.assemble({"crank": 0.5}, fixed="crank")
        loads = machine.joint_loads(at.q, at.v, at.a, actuated=["crank"])
        assert np.array_equal(loads.unique, np.tile(flags, (4, 1)))
        lost = {} if flags.all() else dict.fromkeys(loads.joints, ("fy", "mx", "mz"))
        assert undetermined(machine.model, at.q) == lost
        assert machine.loops.report(at.q).undetermined == lost


def test_threads_world_wrenches_and_check_are_as_with_trees():
    bar = four_bar(1, 2, 1.5, 2.5)
    starts = [bar.assemble({"crank": x}, fixed="crank") for x in np.linspace(0.1, 1.0, 2 * MANY)]
    q = np.array([at.q for at in starts])
    rest, push = np.zeros(3), np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    options = {"actuated": "crank", "reaction": True, "joints": ["crank", "pin"]}
    one = bar.joint_loads(q, rest, rest, **options)
    two = bar.joint_loads(q, rest, rest, threads=2, **options)
    assert np.array_equal(one.wrench, two.wrench) and np.array_equal(one.unique, two.unique)
    assert np.array_equal(
        one.reaction_moment[:, 1], one.moment[:, 1]
    )  # a cut joint is not actuated
    pushed = bar.joint_loads(
        q, rest, rest, external={"coupler": push}, external_in="world", **options
    )
    turn = bar.placement(q, "coupler")[:, :3, :3]
    own = np.concatenate([np.einsum("nji,j->ni", turn, half) for half in (push[:3], push[3:])], 1)
    same = bar.joint_loads(q, rest, rest, external={"coupler": own}, **options)
    assert np.allclose(pushed.wrench, same.wrench, rtol=1e-10, atol=1e-10)
    assert not np.allclose(pushed.wrench, one.wrench, atol=0.1)
    broken = q.copy()
    broken[3, 1], broken[5, 0] = np.nan, 9.0
    with pytest.raises(StateError, match=r"state 3: q\[1\] \(elbow\) is nan"):
        bar.joint_loads(broken, rest, rest, **options)
    loads = bar.joint_loads(broken, rest, rest, check=False, **options)
    assert np.isnan(loads.force[3]).any() and np.isfinite(loads.force[5]).all()
    assert np.array_equal(loads.force[6:], one.force[6:])
    with pytest.raises(StateError, match="state 1: the position does not satisfy loop 'pin'"):
        bar.joint_loads(np.nan_to_num(broken[4:]), rest, rest, **options | {"joints": None})


def test_actuators_of_many_states_are_written_where_they_stay():
    bar, at = turning(four_bar(1, 2, 1.5, 2.5), 1.0)
    q = np.tile(at.q, (300_000, 1))
    solver = bar.constrained_dynamics(actuated=["crank"])
    solver.inverse(q[:2], at.v, at.a)
    tracemalloc.start()
    found = solver.inverse(q, at.v, at.a)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    own = sum(x.nbytes for x in (found.tau, found.lam, found.open))
    assert most < 1.5 * own
    assert (found.a == at.a).all()


def test_flags_are_shaped_as_the_numbers_that_they_flag():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    for count in (None, 0, 1, 3, MANY):
        q = at.q if count is None else np.tile(at.q, (count, 1))
        loads = bar.joint_loads(q, at.v, at.a, actuated="crank", reaction=True)
        lead = () if count is None else (count,)
        assert loads.unique.shape == loads.wrench.shape == (*lead, 4, 6)
        assert loads.reaction_unique.shape == (*lead, 4, 6)
        assert loads.actuation_unique.shape == loads.actuation.shape == (*lead, 3)
        assert loads["pin"].unique.shape == (*lead, 6)
        assert loads.determined.shape == (4, 6)
        assert np.array_equal(loads.determined, np.tile(PLANE, (4, 1))) or count == 0
    moving = bar.joint_loads(at.q, np.zeros((5, 3)), at.a, actuated="crank")
    assert moving.unique.shape == (5, 4, 6)


def test_a_simulations_loads_are_flagged_at_every_record():
    bar = four_bar(1, 2, 1.5, 2.5)
    run = bar.simulate(0.2, q=bar.assemble({"crank": 0.5}, fixed="crank").q, torque={"crank": 3})
    loads = run.joint_loads(reaction=True, in_="world", at="parent")
    assert loads.unique.shape == (201, 4, 6)
    assert np.array_equal(loads.determined[0], PLANE)
    assert np.allclose(loads["crank"].actuation, 3.0, atol=1e-9)
    tau = bar.inverse_dynamics(run.q, run.v, run.a, actuated="crank")
    assert np.allclose(tau, [3.0, 0.0, 0.0], atol=1e-9)
    assert np.allclose(bar.forward_dynamics(run.q, run.v, tau), run.a, atol=1e-8)


def test_dynamics_of_a_closed_machine_go_round():
    """Actuators of accelerations, accelerations of actuators; open states are refused."""
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble(
        {"crank": 0.5}, fixed="crank", velocity={"crank": 2.0}, acceleration={"crank": 3.0}
    )
    push = {"coupler": (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)}
    options = {"external": push, "external_in": "world"}
    tau = bar.inverse_dynamics(at.q, at.v, at.a, actuated="crank", **options)
    for count in (1, MANY):
        states = (np.tile(x, (count, 1)) for x in (at.q, at.v, tau))
        assert np.allclose(bar.forward_dynamics(*states, **options), at.a, atol=1e-10)
    off = np.array([0.1, 0.0, 0.0])
    for q, v, what in ((at.q + off, at.v, "position"), (at.q, at.v + off, "velocity")):
        for count in (1, MANY):
            with pytest.raises(StateError, match=f"the {what} does not satisfy loop 'pin'"):
                bar.forward_dynamics(*(np.tile(x, (count, 1)) for x in (q, v, tau)))
    with pytest.raises(StateError, match=r"v\[1\] \(elbow\) is nan"):
        bar.forward_dynamics(at.q, at.v * [1, np.nan, 1], tau)
    some = np.tile(at.v, (3, 1))
    some[1, 0] = np.nan
    a = bar.forward_dynamics(at.q, some, tau, check=False, **options)
    assert np.isnan(a[1]).all() and np.allclose(a[[0, 2]], at.a, atol=1e-10)


def test_a_massless_link_that_only_the_loop_holds_goes_by_singular_values():
    b = mbd.Builder("toggle", root="ground")
    b.link("crank", 1, (0, 0, 0.5), (0.1, 0.1, 0))
    b.link("rod", 0.0).link("rocker", 1, (0, 0, -0.5), (0.1, 0.1, 0))
    y = (0, 1, 0)
    b.joint("crank", "revolute", "ground", "crank", axis=y)
    b.joint("elbow", "revolute", "crank", "rod", (0, 0, 1), axis=y)
    b.joint("far", "revolute", "ground", "rocker", (1, 0, 0), axis=y)
    ends = ("rod", Frame.from_rpy((1, 0, 0))), ("rocker", Frame.from_rpy((0, 0, 1)))
    b.loop("pin", "revolute", *ends, axis=y)
    machine = mbd.Mechanism.build(b)
    at = machine.assemble({"crank": 0.3, "far": 0.3}, fixed="crank")
    states = [np.tile(x, (MANY, 1)) for x in (at.q, at.v, np.zeros(3))]
    a = machine.forward_dynamics(*states)
    assert np.isfinite(a).all()
    actuation = machine.inverse_dynamics(*states[:2], a, actuated="crank")
    assert np.abs(actuation).max() < 1e-10
