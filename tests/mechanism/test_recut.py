"""Any choice of cut joints is the same machine: same motion, same loads, by name."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import build_model, recut
from mbd_bridge.model.spanning_tree import turn_round
from mbd_bridge.model.spatial import Frame
from mbd_bridge.solve.constrained import ConstrainedDynamics
from tests.carry import carry_state, poses
from tests.machines import cut_everywhere, four_bar, linkage, n_four_bar, rssr, world_state
from tests.mechanism.cuts import carried, check_same_machine, choices
from tests.sample import sample
from tests.trees import random_state, random_tree

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed")


MACHINES = {
    "four_bar": (lambda: four_bar(1, 2, 1.5, 2.5), {"crank": 0.5}),
    "four_bar with balls": (
        lambda: four_bar(1, 2, 1.5, 2.5, wrist="universal", cut="spherical"),
        {"crank": 0.5},
    ),
    "rssr": (rssr, {"crank": 0.3}),
    "two windows": (lambda: n_four_bar(2), {f"crank{k}": 0.4 for k in range(3)}),
}


@pytest.mark.parametrize("name", MACHINES)
def test_motion_and_loads_do_not_depend_on_which_joints_are_cut(name):
    make, near = MACHINES[name]
    machine = make()
    rates = {machine.model.velocity_names[0]: 2.0}
    at = machine.assemble(near, fixed=next(iter(near)), velocity=rates)
    tried = choices(machine.model.description)
    assert len(tried) >= 4
    for k, cuts in enumerate(tried):  # few of two windows' sixteen are moved: each is compiled
        if len(tried) < 6 or k % 4 == 0:
            check_same_machine(machine.model, at.q, at.v, cuts)
        else:
            carried(machine.model, at.q, at.v, cuts)


@sample(3)
@given(SEEDS)
def test_random_linkages_move_alike_with_any_cut(seed):
    rng = np.random.default_rng(seed)
    model, q = linkage(rng)
    assume(model is not None)
    _, phi_q, _ = mbd.Mechanism(model).compile("constraints")(q, np.zeros(model.nv))
    # velocities that the loop allows, away from singular positions
    _, s, Vt = np.linalg.svd(phi_q)
    assume(s.size == 0 or s.min() > 1e-2)
    rank = int(np.sum(s > 1e-9))
    v = Vt[rank:].T @ rng.normal(size=model.nv - rank)
    tried = choices(model.description)
    for k in rng.choice(len(tried), min(2, len(tried)), replace=False):
        check_same_machine(model, q, v, tried[k])


@sample(8)
@given(SEEDS)
def test_a_machine_that_is_cut_everywhere_becomes_its_tree_again(seed):
    """Loops carry the tree, free joints are cut: they forbid nothing. Loads as before."""
    rng = np.random.default_rng(seed)
    description = random_tree(rng, 5, ("revolute", "prismatic")).description()
    tree = build_model(description)
    cut = build_model(cut_everywhere(description), cuts=[f"free link{k}" for k in range(1, 6)])
    assert cut.nv == tree.nv and cut.coordinate_names == tree.coordinate_names
    q, v, a = random_state(tree, rng)
    one = LoadSolver(tree, LoadRequest.of(tree))(q, v, a)
    two = LoadSolver(cut, LoadRequest.of(cut))(q, v, a)
    assert np.allclose(one.wrench, two.wrench, rtol=1e-11, atol=1e-11)
    free = build_model(cut_everywhere(description))
    whole = world_state(tree, q, v, a)
    assert np.allclose(carry_state(free, cut, *whole[:2])[0] % (2 * np.pi), q % (2 * np.pi))


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical", "cylindrical", "universal"])
def test_a_turned_joint_keeps_its_coordinates(kind):
    """A chain on the ground at one end or at the other, welded there: q is the same."""
    b = mbd.Builder("chain", root="ground")
    rng = np.random.default_rng(3)
    for k in range(2):
        b.link(f"link{k}", 1 + k, rng.normal(size=3), (1, 1.1, 1.2))
    axis, across = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    b.joint("weld", "fixed", "ground", "link0", rng.normal(size=3), rng.normal(size=3))
    b.joint("joint", kind, "link0", "link1", (1, 2, 3), (1, 0, 1), axis, across, pitch=0.2)
    ends = ("ground", Frame.identity()), ("link1", Frame.from_rpy((1, 2, 0), (0, 1, 2)))
    b.loop("end", "spherical", *ends)
    model = build_model(b.description())
    other = build_model(b.description(), cuts=["weld"])
    assert other.joint("joint").turned and other.joint("end").type.name == "spherical"
    q, _, _ = random_state(model, rng)
    at = poses(model, q)
    # the weld is open here: where link0 is does not matter to the joint's own coordinates
    R, p = at["link1"]
    names = other.coordinate_names
    there = other.neutral()
    for name, value in zip(model.coordinate_names, q, strict=True):
        there[names.index(name)] = value
    (R0, p0), (R1, p1) = poses(other, there)["link0"], poses(other, there)["link1"]
    here0, here1 = at["link0"], (R, p)
    assert np.allclose(R0.T @ R1, here0[0].T @ here1[0], atol=1e-13)
    assert np.allclose(R0.T @ (p1 - p0), here0[0].T @ (here1[1] - here0[1]), atol=1e-13)
    assert set(model.velocity_names) < set(other.velocity_names)


@pytest.mark.parametrize("at", ["joint", "parent", (0.3, -0.2, 0.5)])
@pytest.mark.parametrize("in_", ["child", "parent", "world"])
@pytest.mark.parametrize("on", ["child", "parent"])
def test_loads_of_turned_joints_are_given_in_every_convention(on, at, in_):
    b = mbd.Builder("chain", root="ground")
    rng = np.random.default_rng(3)
    for k in range(3):
        b.link(f"link{k}", 1 + k, rng.normal(size=3), (1, 1.1, 1.2))
    b.joint("first", "universal", "ground", "link0", (1, 0, 0), (0, 1, 0))
    b.joint("flange", "fixed", "link0", "link1", (1, 2, 3), (1, 0, 1))
    b.joint("slide", "cylindrical", "link1", "link2", (1, 2, 3), (1, 0, 1), (0, 1, 0))
    model = build_model(b.description())
    q, v, a = random_state(model, rng)
    placed = poses(model, q)
    (R, p) = placed["link2"]
    b.loop("end", "spherical", ("ground", Frame(R, p)), ("link2", Frame.identity()))
    closed = build_model(b.description())
    other = build_model(b.description(), cuts=["first"])
    assert other.joint("slide").turned and other.joint("flange").turned
    dynamics = ConstrainedDynamics(closed, actuated=())
    v = np.zeros(closed.nv)
    a, _ = dynamics.forward(q, v, v)
    names = ["flange", "slide"]
    options = {"on": on, "at": at, "in_": in_}
    one = LoadSolver(closed, LoadRequest.of(closed, names, actuated=(), **options))(q, v, a)
    q2, v2 = carry_state(closed, other, q, v)
    a2, _ = ConstrainedDynamics(other).forward(q2, v2, np.zeros(other.nv))
    two = LoadSolver(other, LoadRequest.of(other, names, actuated=(), **options))(q2, v2, a2)
    assert np.allclose(one.wrench, two.wrench, rtol=1e-9, atol=1e-9)


def test_turning_a_joint_twice_gives_the_joint():
    for seed in range(5):
        for joint in random_tree(np.random.default_rng(seed), 8).description().joints:
            twice = turn_round(turn_round(joint))
            assert (twice.parent, twice.child, twice.turned) == (joint.parent, joint.child, False)
            assert np.allclose(twice.axis, joint.axis)
            assert twice.origin is joint.origin


def test_recutting_a_recut_machine_starts_from_what_was_described():
    machine = n_four_bar(2)
    at = machine.assemble({f"crank{k}": 0.4 for k in range(3)}, fixed="crank0")
    once = build_model(machine.model.description, cuts=["crank0", "bar1"])
    back = build_model(once.description, cuts=["pin0", "pin1"])
    q, _ = carry_state(machine.model, back, at.q, at.v)
    assert np.allclose(
        q, [at.q[machine.model.coordinate_names.index(n)] for n in back.coordinate_names]
    )
    assert not any(joint.turned for joint in back.joints)


def test_the_weighted_tree_is_shallow():
    """A chain of ten links, held at both ends: the cut is in the middle."""
    b = mbd.Builder("chain", root="ground")
    for k in range(10):
        b.link(f"link{k}", 1, (0, 0, 0.5), (1, 1, 1))
        b.joint(f"joint{k}", "revolute", f"link{k - 1}" if k else "ground", f"link{k}", (0, 0, 1))
    b.loop("end", "revolute", ("link9", Frame.identity()), ("ground", Frame.identity()))
    model = build_model(b.description(), cuts="weighted")
    assert [cut.name for cut in model.cuts] == ["joint5"]
    assert model.path.sum(axis=1).max() == 6  # bodies on the way, the root too
    assert build_model(b.description()).path.sum(axis=1).max() == 11


def test_a_tree_without_loops_stays_as_it_is():
    description = random_tree(np.random.default_rng(0), 8, mimics=0.3).description()
    assert recut(description, "weighted").joints == description.joints


def test_choices_that_make_no_tree_are_explained():
    description = n_four_bar(2).model.description
    for cuts, message in (
        ("weigted", "use 'authored', 'weighted' or a list"),
        (["pin"], "did you mean 'pin1' or 'pin0'"),
        (["pin0"], r"leave a loop closed: .*pin1.*; add one of these"),
        (["crank0", "bar0"], "closed|without a way"),
        (["crank0", "bar0", "pin0", "pin1"], "leave link 'crank0' without a way"),
    ):
        with pytest.raises(ModelError, match=message):
            recut(description, cuts)


def test_couplings_are_not_cut():
    b = (
        mbd.Builder("gripper")
        .link("left", 1, (1, 0, 0), (1, 1, 1))
        .link("right", 1, (1, 0, 0), (1, 1, 1))
    )
    b.joint("a", "revolute", "base", "left")
    b.joint("b", "revolute", "base", "right", (0, 1, 0), mimic="a", multiplier=-1)
    b.loop("rod", "distance", ("left", Frame.identity()), ("right", Frame.identity()))
    b.loop("tip", "spherical", ("left", Frame.identity()), ("right", Frame.identity()))
    for cut, message in (("a", "another joint follows it"), ("b", "it follows 'a'")):
        with pytest.raises(ModelError, match=message):
            recut(b.description(), [cut, "rod"])
    with pytest.raises(ModelError, match="'rod' is of the type distance"):
        recut(b.description(), ["tip"])
    weighted = recut(b.description(), "weighted")
    assert [joint.name for joint in weighted.joints] == ["a", "b"]


@pytest.mark.parametrize("cut", ["crank", "elbow", "wrist"])
def test_the_tree_of_any_choice_agrees_with_pinocchio(cut):
    bar = mbd.Mechanism.build(four_bar(1, 2, 1.5, 2.5).model.description, cuts=[cut])
    report = bar.crosscheck(states=3, pybullet=False)
    assert report.passed, str(report)


def test_files_and_builders_take_the_choice():
    path = Path(mbd.__file__).parents[1] / "urdf" / "four_bar.urdf"
    authored = mbd.load(path)
    pin = authored.model.cuts[0].name
    joint = next(j.name for j in authored.model.joints[1:] if j.moving)
    other = mbd.load(path, cuts=[joint])
    assert [cut.name for cut in other.model.cuts] == [joint]
    assert {*other.joint_names, joint} == {*authored.joint_names, pin}
    assert mbd.load(path, cuts="weighted").nv == authored.nv
    assert mbd.Mechanism.build(rssr().model.description, cuts=["rocker"]).nv == 7
