"""URDF 1.2's limits of acceleration, deceleration and jerk, beside motions."""

import re

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.formats.texts import limited_arm


def beyond(robot, tmp_path, t):
    """Return what is said of sin 2t: a = -4 sin 2t brakes it until t = π/4, then drives it."""
    columns = np.column_stack([t, np.sin(2 * t)])
    np.savetxt(tmp_path / "m.csv", columns, "%.17g", ",", header="time,hinge", comments="")
    notes = robot.read_motion(tmp_path / "m.csv").notes
    (note,) = [note for note in notes if note.startswith("beyond")]
    return note


def test_limits_of_urdf_1_2_are_read_listed_written_and_compared_with_motions(tmp_path):
    limits = {"acceleration": 3.5, "deceleration": 1.5, "jerk": 9.0}
    robot = limited_arm(tmp_path, **limits)
    (joint,) = robot.model.description.joints
    assert {name: getattr(joint.limits, name) for name in limits} == limits
    assert "rad/s³" in str(robot.tables()[0])
    robot.convert(tmp_path / "again.urdf")
    assert mbd.load(tmp_path / "again.urdf").model.description.joints[0].limits == joint.limits
    t = np.linspace(0, np.pi / 2, 400)
    note = beyond(robot, tmp_path, t)
    assert "hinge.dec (4 above 1.5 rad/s²)" in note
    assert "hinge.acc (4 above 3.5 rad/s²)" in note
    assert "hinge.jerk" not in note  # 8
    strict = limited_arm(tmp_path, **limits | {"jerk": 7.0})
    assert re.search(r"hinge\.jerk \((8|7\.99\d*) above 7 rad/s³\)", beyond(strict, tmp_path, t))


def test_without_a_limit_of_deceleration_that_of_acceleration_holds(tmp_path):
    robot = limited_arm(tmp_path, acceleration=3.5)
    t = np.linspace(0, np.pi / 4, 200)
    note = beyond(robot, tmp_path, t)
    assert note.endswith("hinge.dec (4 above 3.5 rad/s²)")


@pytest.mark.parametrize("name", ["arm.sdf", "arm.xml"])
def test_formats_without_limits_of_acceleration_say_so(name, tmp_path):
    robot = limited_arm(tmp_path, acceleration=3.5)
    with pytest.warns(mbd.errors.MbdWarning, match=r"limits of accelerations and jerks \(hinge"):
        robot.convert(tmp_path / name)
