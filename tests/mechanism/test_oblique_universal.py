"""Universal joints whose axes are not perpendicular: two revolute joints, another engine, cuts."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, ModelError
from mbd_bridge.model import build_model
from mbd_bridge.model.spatial import Frame
from tests.carry import carry_state
from tests.mechanism.cuts import check_same_machine
from tests.tolerances import ROUNDING
from tests.trees import random_state

AXIS, AXIS2 = (1.0, 2.0, 2.0), (0.5, -0.2, 1.0)
PLACE, TURN = (0.3, -0.2, 0.5), (0.4, 0.5, -0.6)
BODY = (2.0, (0.3, 0.1, -0.2), (0.4, 0.5, 0.3))
ENDS = ("base", Frame.identity()), ("hand", Frame.identity())
SLIGHTLY = (2.0, 1.0, -1.9)
"""A second axis 1.3 degrees off the perpendicular one."""


def arm(one_joint, axis2=AXIS2):
    """A body on a turning base, by a universal joint or by two revolute ones; a forearm on it."""
    b = mbd.Builder("arm").link("base", *BODY).link("body", *BODY).link("hand", *BODY)
    if one_joint:
        b.joint("cross", "universal", "base", "body", PLACE, TURN, AXIS, axis2)
    else:
        b.joint("cross.first", "revolute", "base", "between", PLACE, TURN, AXIS)
        b.joint("cross.second", "revolute", "between", "body", axis=axis2)
    b.joint("wrist", "revolute", "body", "hand", (0.5, 0, 0), axis=(0, 1, 0))
    return b


@pytest.mark.parametrize("axis2", [AXIS2, SLIGHTLY], ids=["oblique", "slightly oblique"])
@pytest.mark.parametrize("floating", [False, True])
def test_it_is_two_revolute_joints_with_a_massless_link_between(floating, axis2):
    one, two = (mbd.Mechanism.build(arm(x, axis2), floating=floating) for x in (True, False))
    assert one.model.velocity_names == two.model.velocity_names
    q, v, a = random_state(one.model, np.random.default_rng(1))
    for states in (slice(None), np.newaxis):  # one state, and lanes
        at = [x[states] for x in (q, v, a)]
        tau, expected = (m.inverse_dynamics(*at) for m in (one, two))
        assert np.abs(tau - expected).max() < ROUNDING * np.abs(expected).max()
        back = one.forward_dynamics(at[0], at[1], expected)
        assert np.abs(back - at[2]).max() < 1e3 * ROUNDING * np.abs(a).max()
        ours = one.joint_loads(*at, joints=["cross", "wrist"])
        theirs = two.joint_loads(*at, joints=["cross.second", "wrist"])
        for quantity in ("force", "moment"):
            x, y = getattr(ours, quantity), getattr(theirs, quantity)
            assert np.abs(x - y).max() < ROUNDING * np.abs(y).max()


def test_pinocchio_agrees():
    robot = mbd.Mechanism.build(arm(True))
    report = robot.crosscheck(states=3, pybullet=False)
    assert report.passed, str(report)
    back = mbd.Mechanism.from_pinocchio(robot.to_pinocchio())
    q, v, a = random_state(robot.model, np.random.default_rng(2))
    tau, expected = back.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a)
    assert np.abs(tau - expected).max() < 10 * ROUNDING * np.abs(expected).max()


URDF = """<robot name="r">
<link name="a"/>
<link name="b"><inertial><mass value="2"/><origin xyz="0.3 0.1 -0.2"/>
<inertia ixx="0.4" iyy="0.5" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
"""


def test_a_file_may_have_it_and_pybullet_says_that_it_has_no_such_joint(tmp_path):
    joint = """<joint name="j" type="universal"><parent link="a"/><child link="b"/>
    <axis xyz="0 0 1"/><axis2 xyz="1 0 1"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(URDF + joint)
    report = mbd.load(tmp_path / "r.urdf").crosscheck(states=1)
    assert report.passed, str(report)
    assert "pybullet is not asked about universal joints" in str(report)


def linkage(axis2=AXIS2):
    """A closed chain of six coordinates; its rail takes four of them."""
    b = mbd.Builder("linkage", root="ground")
    b.link("one", *BODY).link("two", *BODY).link("three", *BODY)
    b.joint("pin", "revolute", "ground", "one", axis=(0, 0, 1))
    b.joint("ball", "spherical", "one", "two", (1, 0, 0))
    b.joint("cross", "universal", "two", "three", PLACE, TURN, AXIS, axis2)
    tree = mbd.Mechanism.build(b)
    q, _, _ = random_state(tree.model, np.random.default_rng(5))
    P = tree.placement(q, "three")
    rail = ("ground", Frame(P[:3, :3], P[:3, 3])), ("three", Frame.identity())
    return mbd.Mechanism.build(b.loop("rail", "cylindrical", *rail, (0, 1, 0.2))), q


def test_a_linkage_moves_alike_whether_it_is_cut_or_not():
    """Accelerations, loads and a simulated motion, with the cross in the tree and as the cut."""
    machine, q = linkage()
    at = machine.assemble(q, velocity={"pin": 1.0})
    assert np.abs(at.q - q).max() < 1e-12
    for cuts in (["cross"], ["pin"], ["ball"]):
        check_same_machine(machine.model, at.q, at.v, cuts)
    other = mbd.Mechanism(build_model(machine.model.description, cuts=["cross"]))
    there = carry_state(machine.model, other.model, at.q, at.v)
    one = machine.simulate(0.2, q=at.q, v=at.v)
    two = other.simulate(0.2, q=there[0], v=there[1])
    for k in (0, -1):
        here, moved = machine.placement(one.q[k], "three"), other.placement(two.q[k], "three")
        assert np.abs(here - moved).max() < 1e-9


def test_a_cut_that_files_give_with_axes_at_an_angle_closes():
    """Assembled, the axes have the angle that they have in the file."""
    machine, q = linkage()
    model = build_model(machine.model.description, cuts=["cross"])
    near = carry_state(machine.model, model, q, np.zeros(machine.nv))[0]
    other = mbd.Mechanism(model)
    at = other.assemble(near + 0.05 * np.arange(model.nq))
    frame = Frame.from_rpy(PLACE, TURN).rotation
    unit = [np.asarray(axis) / np.linalg.norm(axis) for axis in (AXIS, AXIS2)]
    first = other.placement(at.q, "two")[:3, :3] @ frame @ unit[0]
    second = other.placement(at.q, "three")[:3, :3] @ unit[1]
    assert abs(first @ second - unit[0] @ unit[1]) < 1e-12


def test_axes_that_are_one_are_refused():
    for build in (
        lambda: arm(True, AXIS),
        lambda: arm(False).loop("x", "universal", *ENDS, AXIS, [-x for x in AXIS]),
    ):
        with pytest.raises(ModelError, match="must differ"):
            build_model(build().description())


def test_a_constraint_element_does_not_tell_the_angle_of_its_cross(tmp_path):
    """Its axes stand in two frames that need not agree."""
    text = """<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>
    <constraint name="c" type="universal"><parent link="a"/><child link="b"/>
    <parent_axis xyz="0 0 1"/><child_axis xyz="1 0 1"/></constraint></robot>"""
    (tmp_path / "r.urdf").write_text(URDF + text)
    with pytest.raises(MbdError, match=r"r.urdf:6: .*not perpendicular.*<loop_joint>"):
        mbd.load(tmp_path / "r.urdf")
