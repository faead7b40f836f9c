"""A link cut free: equilibrium on every link of trees and loops, by motions that know no loads."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.free_body import free_body, joints_of
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.crosscheck.compare import random_states
from mbd_bridge.motion.peak import SAME
from tests.machines import four_bar, n_four_bar, rssr
from tests.tolerances import KERNEL
from tests.trees import random_tree

EVERY = ("revolute", "prismatic", "spherical", "universal", "cylindrical", "planar", "floating")


def balanced(mechanism, q, v, a, links=None, **options):
    """The largest residual over links, all of them unless some are named."""
    links = links or [link.name for link in mechanism.model.links]
    bodies = [mechanism.free_body(link, q, v, a, **options) for link in links]
    return max(body.residual.max() for body in bodies)


@pytest.mark.parametrize(
    ("robot", "floating", "some"),
    [("kuka_iiwa", False, 1), ("rrc_arm", True, 3), ("humanoid", True, 12)],
)
def test_links_of_a_robot_are_in_equilibrium(robot, floating, some):
    mechanism = mbd.load(f"urdf/{robot}.urdf", floating=floating)
    states = random_states(mechanism.model, 3, np.random.default_rng(0))
    links = [link.name for link in mechanism.model.links[::some]]
    assert balanced(mechanism, *states, links) < KERNEL


@pytest.mark.parametrize("seed", range(2))
def test_every_link_of_a_random_tree_is_in_equilibrium(seed):
    rng = np.random.default_rng(seed)
    tree = mbd.Mechanism.build(random_tree(rng, 7, EVERY, mimics=0.3))
    states = random_states(tree.model, 3, rng)
    hand = tree.model.links[-1].name
    push = {hand: rng.normal(size=(3, 6)), tree.model.links[2].name: rng.normal(size=6)}
    assert balanced(tree, *states) < KERNEL
    for axes in ("link", "world"):
        assert balanced(tree, *states, [*push], external=push, external_in=axes) < KERNEL
    assert "external" in [x.name for x in tree.free_body(hand, *states, external=push).acting]


def test_fixed_joints_load_the_links_that_they_join():
    b = mbd.Builder("frame", root="base")
    for k, mass in enumerate((2.0, 3.0, 1.0)):
        b.link(f"part{k}", mass, (0.1, 0.2 * k, 0), (0.1, 0.2, 0.2))
    b.joint("hinge", "revolute", "base", "part0", axis=(0, 1, 0))
    b.joint("weld", "fixed", "part0", "part1", (0.5, 0, 0.1), rpy=(0.3, 0.2, 0.1))
    b.joint("slide", "prismatic", "part1", "part2", (0, 0.4, 0), axis=(1, 0, 1))
    frame = mbd.Mechanism.build(b)
    states = random_states(frame.model, 3, np.random.default_rng(1))
    assert balanced(frame, *states) < KERNEL
    body = frame.free_body("part1", *states)
    assert [(one.name, one.other) for one in body.joints] == [("weld", "part0"), ("slide", "part2")]
    assert np.allclose(body["slide"].point, (0, 0.4, 0))  # on the link, though the child slides


def test_a_payload_is_part_of_its_link():
    arm, link = mbd.load("urdf/kuka_iiwa.urdf"), "lbr_iiwa_link_ee"
    loaded = arm.with_payload(link, 3.0, (0.1, 0, 0.2))
    states = random_states(arm.model, 2, np.random.default_rng(1))
    body = loaded.free_body(link, *states)
    assert body.residual.max() < KERNEL
    assert body.inertia.mass == arm.free_body(link, *states).inertia.mass + 3.0


@pytest.mark.parametrize("cuts", ["authored", "weighted", ["crank"], ["wrist"]])
def test_links_of_a_loop_are_in_equilibrium_whichever_joint_is_cut(cuts):
    from mbd_bridge.model import build_model

    authored = four_bar(coupler=1.3)
    q0 = authored.assemble(near={"crank": 0.7, "wrist": 1.0}, fixed="crank").q
    names = ("ground", "crank", "coupler", "rocker")
    run = authored.simulate(0.001, step=1e-3, q=q0)
    wanted = {name: run.free_body(name, [0.0]) for name in names}
    bar = mbd.Mechanism(build_model(authored.model.description, cuts=cuts))
    angles = dict(zip(authored.coordinate_names, q0.tolist(), strict=True))
    angles["pin"] = -sum(angles.values())  # closes the loop, where it carries the tree
    q = bar.assemble(near={name: angles[name] for name in bar.coordinate_names}).q
    here = bar.simulate(0.001, step=1e-3, q=q)
    for name, other in wanted.items():
        body = here.free_body(name, [0.0])
        assert body.residual.max() < KERNEL
        assert {x.name for x in body.joints} == {x.name for x in other.joints}
        for one in body.joints:
            same = other[one.name]
            assert np.allclose(one.point, same.point, atol=1e-12)
            assert np.array_equal(one.unique, same.unique)
            assert np.allclose(one.wrench[0, one.unique], same.wrench[0, one.unique], atol=1e-9)


@pytest.mark.parametrize("machine", [rssr, lambda: n_four_bar(2)], ids=["rssr", "n-four-bar"])
def test_links_of_loops_in_motion_are_in_equilibrium(machine):
    built = machine()
    run = built.simulate(0.1, step=1e-3, q=built.assemble().q)
    for link in built.model.links:
        body = run.free_body(link.name, [0.0, 0.05, 0.1])
        assert body.residual.max() < 1e-9, link.name  # the motion satisfies its loops so well


@pytest.mark.parametrize("kind", ["cylindrical", "universal", "spherical"])
def test_cut_joints_of_other_kinds_act_on_both_their_links(kind):
    bar = four_bar(cut=kind)
    run = bar.simulate(0.02, step=1e-3, q=bar.assemble(near={"crank": 0.5}).q)
    for link in ("ground", "rocker"):
        assert "pin" in joints_of(bar.model, link)
        assert run.free_body(link, [0.02]).residual.max() < 1e-9


def test_gears_act_through_the_joints_that_they_couple():
    b = mbd.Builder("gears", root="base")
    b.link("wheel", 2.0, (0.1, 0, 0), (0.1, 0.1, 0.2))
    b.link("arm", 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
    b.joint("wheel", "revolute", "base", "wheel", axis=(0, 1, 0))
    b.joint("arm", "revolute", "wheel", "arm", (0.5, 0, 0), axis=(0, 1, 0))
    b.couple("teeth", "arm", "wheel", -2.0)
    machine = mbd.Mechanism.build(b)
    run = machine.simulate(0.1, step=1e-3, v=np.array([1.0, -2.0]))
    body = run.free_body("arm", [0.1])
    assert [x.name for x in body.joints] == ["arm"]
    assert abs(body["arm"].moment[0, 1]) > 0.1  # what the teeth do
    for link in ("base", "wheel", "arm"):
        assert run.free_body(link, [0.0, 0.1]).residual.max() < 1e-10


def test_a_actuated_machine_and_a_push_on_it():
    bar = four_bar()
    q = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    push = {"coupler": (3.0, 0.0, 1.0, 0.0, 0.5, 0.0)}
    run = bar.simulate(0.05, step=1e-3, q=q, external=push)
    body = run.free_body("coupler", [0.0, 0.05])
    assert body.residual.max() < 1e-11
    assert np.allclose(body["external"].wrench, push["coupler"])


def test_prescribed_motions_act_through_the_joints_that_they_actuator():
    bar = four_bar()
    q = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    prescribed = {"crank": lambda t: 0.5 + 8.0 * t * t}
    run = bar.simulate(0.1, step=1e-3, q=q, prescribed=prescribed)
    for link in ("ground", "crank", "coupler", "rocker"):
        assert run.free_body(link, [0.0, 0.05, 0.1]).residual.max() < 1e-12
    assert abs(run.free_body("crank", [0.1])["crank"].moment[0, 1]) > 1.0  # the motor's


def test_inertia_is_that_of_a_motion_differentiated_by_hand():
    """Positions alone: the centre's second difference and the rotation's, beside the free body."""
    from scipy.spatial.transform import Rotation

    arm = mbd.load("urdf/kuka_iiwa.urdf")
    rng = np.random.default_rng(4)
    q0, v0, a0 = rng.normal(size=(3, 7))
    step, link = 1e-4, "lbr_iiwa_link_5"
    times = np.arange(-2, 3) * step
    q = q0 + times[:, None] * v0 + 0.5 * times[:, None] ** 2 * a0
    place = arm.placement(q, link)
    body = arm.free_body(link, q0, v0, a0)
    own = next(x for x in arm.model.description.links if x.name == link).inertia
    centres = place[:, :3, :3] @ own.centre + place[:, :3, 3]
    second = (-centres[0] + 16 * centres[1] - 30 * centres[2] + 16 * centres[3] - centres[4]) / 12
    turn = place[2, :3, :3]
    assert np.allclose(-own.mass * turn.T @ second / step**2, body["inertia"].force[0], atol=1e-5)
    assert np.allclose(own.mass * turn.T @ [0, 0, -9.81], body["gravity"].force[0], atol=1e-12)
    turns = Rotation.from_matrix(place[:, :3, :3])
    rates = (turns[:-1].inv() * turns[1:]).as_rotvec() / step
    middle = [turns[k] * Rotation.from_rotvec(rates[k] * step / 2) for k in range(4)]
    momentum = [
        m.as_matrix() @ own.central @ w for m, w in zip(middle, rates, strict=True)
    ]  # in the world's axes, half way between
    rate = (momentum[0] - 27 * momentum[1] + 27 * momentum[2] - momentum[3]) / (24 * step)
    assert np.allclose(-turn.T @ rate, body["inertia"].moment[0], atol=1e-5)


def test_wrong_loads_are_found_by_the_residual():
    arm = mbd.load("urdf/kuka_iiwa.urdf")
    states = random_states(arm.model, 1, np.random.default_rng(2))
    link = "lbr_iiwa_link_3"
    loads = arm.joint_loads(*states, joints_of(arm.model, link))
    assert free_body(arm.model, link, *states, loads).residual.max() < KERNEL
    for part in ("force", "moment"):
        wrong = getattr(loads, part).copy()
        wrong[:, 0] *= 1.0 + 1e-6
        spoilt = free_body(arm.model, link, *states, replace(loads, **{part: wrong}))
        assert 1e-8 < spoilt.residual.max() < 1e-5
    opposite = arm.joint_loads(*states, joints_of(arm.model, link), on="parent")
    with pytest.raises(StateError, match="default convention"):
        free_body(arm.model, link, *states, opposite)


def test_a_link_far_from_the_origin_keeps_its_digits():
    robot = mbd.load("urdf/humanoid.urdf", floating=True)
    q, v, a = random_states(robot.model, 2, np.random.default_rng(3))
    q[:, :3] += 1e3
    links = [link.name for link in robot.model.links[::12]]
    assert balanced(robot, q, v, a, links) < KERNEL


def iiwa_along_its_motion():
    arm = mbd.load("urdf/kuka_iiwa.urdf")
    motion = arm.read_motion("urdf/kuka_iiwa_motion.csv")
    return arm, motion


def test_peaks_are_the_largest_components_along_the_motion():
    arm, motion = iiwa_along_its_motion()
    body = arm.free_body("lbr_iiwa_link_3", motion)
    peaks = body.at("peak")
    for one in body.joints:
        largest = np.abs(one.wrench).max(axis=0)
        found = np.abs(peaks[one.name].wrench).max(axis=0)
        assert (np.abs(largest - found) <= SAME * largest).all()  # the first of equal ones
    assert len(set(peaks.time)) == len(peaks.time) < 12
    single = body.at("lbr_iiwa_joint_4.mz")
    assert single.labels == ("peak of lbr_iiwa_joint_4.mz",)
    assert (
        abs(single["lbr_iiwa_joint_4"].moment[0, 2])
        == np.abs(body["lbr_iiwa_joint_4"].moment[:, 2]).max()
    )
    chosen = body.at([0.5, 1.0])
    assert chosen.time.tolist() == [0.5, 1.0]
    row = int(np.argmin(np.abs(motion.time - 0.5)))
    assert np.array_equal(chosen["inertia"].force[0], body["inertia"].force[row])


def test_states_without_times_have_peaks_too():
    arm, motion = iiwa_along_its_motion()
    timed = arm.free_body("lbr_iiwa_link_3", motion).at("peak")
    bare = arm.free_body("lbr_iiwa_link_3", motion.q, motion.v, motion.a).at("peak")
    assert bare.labels == timed.labels and np.isnan(bare.time).all()
    assert np.array_equal(bare.joints[0].force, timed.joints[0].force)


def test_bad_questions_are_refused():
    arm, motion = iiwa_along_its_motion()
    body = arm.free_body("lbr_iiwa_link_3", motion)
    with pytest.raises(ModelError, match="did you mean 'lbr_iiwa_link_3'"):
        arm.free_body("lbr_iiwa_lnk_3", motion)
    step, end = motion.time[1] - motion.time[0], motion.time[-1]
    assert body.at([end + 0.4 * step]).time[0] == end
    for beyond in (99.0, end + 0.6 * step):
        with pytest.raises(StateError, match="not in the motion"):
            body.at([beyond])
    with pytest.raises(StateError, match="joint or component"):
        body.at("lbr_iiwa_joint_9.fx")
    with pytest.raises(StateError, match="no wrench on 'lbr_iiwa_link_3' named 'wind'"):
        body["wind"]
    weightless = mbd.load("urdf/kuka_iiwa.urdf", gravity=(0, 0, 0))
    nothing = weightless.free_body("lbr_iiwa_link_3", *np.zeros((3, 7)))
    with pytest.raises(StateError, match="has a peak"):
        nothing.at("peak")


def test_the_table_says_the_same(tmp_path):
    arm, motion = iiwa_along_its_motion()
    body = arm.free_body("lbr_iiwa_link_3", motion).at()
    body.write(tmp_path / "body.csv")
    lines = (tmp_path / "body.csv").read_text(encoding="utf-8").splitlines()
    assert any("residual" in line for line in lines if line.startswith("#"))
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(rows) == len(body.time) * len(body.acting)
    for k, instant in enumerate(body.time):
        own = [row for row in rows if row["instant"] == str(k + 1)]
        total, size = np.zeros(6), 0.0
        for row, one in zip(own, body.acting, strict=True):
            assert row["name"] == one.name and float(row["time [s]"]) == instant
            point = np.array([float(row[f"{x} [m]"]) for x in "xyz"])
            force = np.array([float(row[f"f{x} [N]"]) for x in "xyz"])
            moment = np.array([float(row[f"m{x} [N m]"]) for x in "xyz"])
            assert np.array_equal(np.concatenate([force, moment]), one.wrench[k])
            total += np.concatenate([force, moment + np.cross(point, force)])
            size = max(size, np.abs(force).max())
        assert np.abs(total).max() < 1e-12 * size
    with pytest.raises(StateError, match=r"available: \.csv, \.bdf"):
        body.write(tmp_path / "body.xlsx")


def test_flags_of_one_joint_are_its_own_at_every_state():
    bar = four_bar()
    q = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    loads = bar.joint_loads(
        np.tile(q, (5, 1)), *np.zeros((2, 5, 3)), ["crank", "pin"], actuated="crank"
    )
    assert np.array_equal(loads["pin"].unique, loads.unique[:, 1])
    states = np.tile(q, (5, 1)), *np.zeros((2, 5, 3))
    assert bar.free_body("rocker", *states, actuated="crank").residual.max() < KERNEL
