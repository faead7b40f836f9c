"""Wrong force elements are refused with what was expected, and by their name."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.forces import (
    Bushing,
    Drag,
    JointFriction,
    JointSpring,
    JointStop,
    PointSpring,
    from_urdf,
)
from mbd_bridge.functions import Lookup
from tests.forces.elements import Q, machine
from tests.machines import four_bar

TWO = ("ground", "hand")

BAD = {
    "no list": (JointSpring("wrist"), "expected a list of force elements"),
    "no element": ([3], "expected a list of force elements.*got 3"),
    "two of a name": ([JointSpring("wrist", name="a")] * 2, "1 and 2 are both named 'a'"),
    "no such link": ([PointSpring(("ground", "hnd"), name="s")], "'s'.*'hnd'.*did you mean 'hand'"),
    "one link": (
        [PointSpring(("hand", "hand"), name="s")],
        "two different links, got 'hand' twice",
    ),
    "the ground twice": ([PointSpring(("ground", "ground"))], "two different links"),
    "three links": ([PointSpring(("hand", "arm", "base"))], "links: expected two names"),
    "negative stiffness": ([PointSpring(TWO, stiffness=-3.0)], "stiffness.*at least 0.*-3"),
    "a text": ([PointSpring(TWO, stiffness="soft")], "stiffness: expected a number.*'soft'"),
    "negative damping": ([JointSpring("wrist", damping=-1.0)], "damping.*at least 0, got -1"),
    "an array": ([JointSpring("wrist", rest=np.ones(3))], "are parameters of a batch"),
    "damper": (
        [JointSpring("wrist", damping=Lookup([-1, 0, 1], [1, 0, 1]))],
        "sign of the rate and is 0 at rate 0, got 1 at -1",
    ),
    "damper at rest": (
        [JointSpring("wrist", damping=Lookup([-1, 1], [-1, 2]))],
        "is 0 at rate 0, got 0.5 at 0",
    ),
    "pulling stop": (
        [JointStop("rail", 0.0, stiffness=(5.0, -1.0))],
        "at least 0, since it only pushes, got -1",
    ),
    "pressed stop": (
        [JointStop("rail", 0.0, stiffness=Lookup([0, 1], [3, 4]))],
        "a table that is 0 at depth 0, got 3",
    ),
    "nan": ([JointSpring("wrist", rest=np.nan)], "rest: expected one number, rad"),
    "negative length": ([PointSpring(TWO, free_length=-0.1)], "free_length.*at least 0"),
    "flat points": ([PointSpring(TWO, points=(0, 0, 0))], "expected two points"),
    "a joint": ([JointSpring("wrst")], "no coordinate named 'wrst'.*did you mean 'wrist'"),
    "bushing": ([Bushing(TWO, stiffness=(1, 2, 3))], r"stiffness: expected \(6,\)"),
    "bushing sign": ([Bushing(TWO, damping=(0, 0, 0, 0, 0, -1))], "at least 0"),
    "static": ([JointFriction("wrist", 2.0, 1.0)], "static.*at least 2, got 1"),
    "no speed": ([JointFriction("wrist", smoothing_velocity=0.0)], "above 0, rad/s"),
    "no stop": ([JointStop("rail", stiffness=1.0)], "expected lower, upper or both, m"),
    "turned stops": ([JointStop("rail", 1.0, -1.0)], "lower below upper, got 1 and -1 m"),
    "drag on nothing": ([Drag("hnd", 1.0, name="air")], "Drag 'air': no link named 'hnd'"),
    "drag": ([Drag("hand", -1.0)], "coefficient.*at least 0"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_element_is_refused_by_name(what):
    given, said = BAD[what]
    with pytest.raises(MbdError, match=said):
        mbd.System(machine(), forces=given)


def test_a_machine_with_loops_has_no_default_length():
    bar = four_bar()
    spring = PointSpring(("ground", "coupler"), ((0.1, 0, 0), (0, 0, 0)), 5.0)
    with pytest.raises(MbdError, match="relaxed_at"):
        mbd.System(bar, forces=[PointSpring(("crank", "rocker"), stiffness=5.0)])
    q = bar.assemble({"crank": 0.7}, fixed="crank").q
    (element,) = mbd.System(bar, forces=[spring.relaxed_at(bar, q)]).forces
    effect = element.effect(bar.model, 0.0, q, 0 * q)
    assert abs(effect.report["extension"]) < 1e-15


def test_without_loops_the_default_length_is_that_at_zero():
    robot = machine()
    (element,) = mbd.System(robot, forces=[PointSpring(("base", "hand"))]).forces
    pose = robot.placement(np.zeros(3), "hand")
    assert abs(element.free_length - np.linalg.norm(pose[:3, 3])) < 1e-15


def test_a_quaternion_joint_has_no_coordinate_for_a_spring():
    builder = mbd.Builder().link("ball", 1.0).joint("socket", "spherical", "base", "ball")
    with pytest.raises(MbdError, match="a spherical joint; use a Bushing"):
        mbd.System(mbd.Mechanism.build(builder), forces=[JointSpring("socket", 1.0)])


def test_a_system_has_its_own_elements():
    system = mbd.System(machine(), forces=[JointSpring("wrist", 1.0)])
    with pytest.raises(MbdError, match="a System has its own"):
        system.simulate(0.01, q=Q, forces=[JointSpring("wrist", 1.0)])


def test_what_a_file_is_asked_for_is_checked():
    with pytest.raises(MbdError, match="expected a Mechanism, got str"):
        from_urdf("arm.urdf")
    with pytest.raises(MbdError, match=r"limits: expected \(stiffness, damping\)"):
        from_urdf(machine(), limits=3.0)
