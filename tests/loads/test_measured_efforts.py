"""Measured efforts are read beside a motion, compared with the loads, and never used for them."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.cli import main
from mbd_bridge.engines.pinocchio.twin import to_pinocchio
from mbd_bridge.files.tables import open_table
from mbd_bridge.motion.pieces import MotionPieces
from tests.external.tables import arm, write

ROUNDING = 1e-12
"""Of the largest effort: what inverse dynamics of two programs may differ by."""
COULOMB = 0.75
"""N m or N, added to an effort by hand, against the velocity."""
JOINTS = ("shoulder", "elbow", "slide")


def states(rows=60):
    time, w = np.linspace(0.0, 1.0, rows), np.array([3.0, 5.0, 2.0])
    phase = np.outer(time, w)
    return time, 0.4 * np.sin(phase), 0.4 * w * np.cos(phase), -0.4 * w**2 * np.sin(phase)


def rnea(robot):
    twin = to_pinocchio(robot.model)
    _, q, v, a = states()
    data = twin.model.createData()
    return np.array([pin.rnea(twin.model, data, *row) for row in zip(q, v, a, strict=True)])


def recording(path, efforts, names=tuple(f"{joint}.effort" for joint in JOINTS)):
    columns = ["time", *JOINTS, *(f"{j}.vel" for j in JOINTS), *(f"{j}.acc" for j in JOINTS)]
    return write(path, [*columns, *names], np.column_stack([*states(), efforts]))


def test_efforts_of_another_programs_inverse_dynamics_differ_by_rounding(tmp_path):
    robot = arm()
    tau = rnea(robot)
    path = recording(tmp_path / "m.csv", tau)
    motion = robot.read_motion(path)
    assert np.array_equal(motion.efforts, tau)
    found = robot.joint_loads(motion).effort_differences
    assert [one.name for one in found.entries] == list(JOINTS)
    assert [one.unit for one in found.entries] == ["N m", "N m", "N"]
    for k, one in enumerate(found.entries):
        assert one.largest <= ROUNDING * np.abs(tau).max()
        assert one.measured_rms == pytest.approx(np.sqrt(np.mean(tau[:, k] ** 2)), rel=1e-12)


def test_a_friction_that_the_model_has_not_is_the_difference(tmp_path):
    robot = arm()
    tau, v = rnea(robot), states()[2]
    tau[:, 1] += COULOMB * np.sign(v[:, 1])
    path = recording(tmp_path / "m.csv", tau)
    history = robot.load_history(path)
    one = history.effort_differences["elbow"]
    assert one.rms == pytest.approx(COULOMB, rel=1e-9)
    assert one.largest == pytest.approx(COULOMB, rel=1e-9)
    assert one.share == pytest.approx(COULOMB / np.sqrt(np.mean(tau[:, 1] ** 2)))
    assert history.effort_differences["shoulder"].rms <= 1e-9
    (said,) = history.assumptions["efforts"]
    assert "elbow differs by 0.75 N m RMS" in said.text
    assert said.text.endswith("not used for the loads")


def test_loads_are_the_same_without_the_measured_efforts(tmp_path):
    robot = arm()
    with_them = robot.read_motion(recording(tmp_path / "m.csv", 1e3 + rnea(robot)))
    plain = robot.read_motion(recording(tmp_path / "n.csv", np.zeros((60, 0)), ()))
    assert plain.efforts is None
    one, other = robot.joint_loads(with_them), robot.joint_loads(plain)
    assert np.array_equal(one.wrench, other.wrench)
    assert np.array_equal(one.actuation, other.actuation)
    assert other.effort_differences is None
    assert other.assumptions["efforts"][0].text == "none"


SPELLINGS = {
    "units": ("shoulder.effort [N mm]", "elbow.effort [Nm]", "slide.effort [kN]"),
    "ROS": tuple(f"/joint_states/{joint}/effort" for joint in JOINTS),
    "words": ("shoulder_torque", "Elbow Torque", "slide_force"),
}


@pytest.mark.parametrize("names", SPELLINGS.values(), ids=SPELLINGS)
def test_efforts_are_known_by_their_usual_names_in_their_units(tmp_path, names):
    robot = arm()
    tau = rnea(robot)
    factor = np.array([1e-3, 1.0, 1e3]) if "[" in names[0] else 1.0
    motion = robot.read_motion(recording(tmp_path / "m.csv", tau / factor, names))
    assert np.allclose(motion.efforts, tau, rtol=1e-14)


def test_what_may_be_something_else_is_left_out_and_said(tmp_path):
    robot = arm()
    names = ("shoulder.effort [A]", "actual_current_1", "slide_torque")
    motion = robot.read_motion(recording(tmp_path / "m.csv", rnea(robot), names))
    assert motion.efforts is None
    (note,) = [note for note in motion.notes if "left out" in note]
    assert all(word in note for word in ("shoulder.effort", "actual_current_1", "slide_torque"))


def test_gaps_in_efforts_are_not_measured_and_gaps_in_positions_are_refused(tmp_path):
    robot = arm()
    tau = rnea(robot)
    path = recording(tmp_path / "m.csv", tau)
    lines = path.read_text().split("\n")
    for row in (5, 6):
        lines[row] = ",".join([*lines[row].split(",")[:-1], ""])
    path.write_text("\n".join(lines))
    motion = robot.read_motion(path)
    assert np.flatnonzero(np.isnan(motion.efforts[:, 2])).tolist() == [4, 5]
    assert robot.joint_loads(motion).effort_differences["slide"].rows == 58
    again = tmp_path / "again.csv"
    motion.save(again)
    assert np.array_equal(robot.read_motion(again).efforts, motion.efforts, equal_nan=True)
    lines[9] = "," + lines[9].split(",", 1)[1].replace(lines[9].split(",")[1], "", 1)
    path.write_text("\n".join(lines))
    with pytest.raises(FileError, match="finite number"):
        robot.read_motion(path)


def test_a_motion_in_pieces_has_the_efforts_of_the_whole(tmp_path):
    robot = arm()
    tau = np.tile(rnea(robot), (5, 1))
    rows = np.column_stack([0.01 * np.arange(300), *(np.tile(x, (5, 1)) for x in states()[1:])])
    columns = ["time", *JOINTS, *(f"{j}.vel" for j in JOINTS), *(f"{j}.acc" for j in JOINTS)]
    columns += [f"{joint}.effort" for joint in JOINTS]
    path = write(tmp_path / "m.csv", columns, np.column_stack([rows, tau]))
    pieces = list(MotionPieces(open_table(path), robot.model, rows=120))
    assert len(pieces) > 1
    assert np.array_equal(np.concatenate([piece.efforts for piece in pieces]), tau)


def test_the_command_line_and_the_report_say_the_difference(tmp_path, capfd):
    robot = arm()
    tau = rnea(robot)
    tau[:, 1] += COULOMB
    path, urdf = recording(tmp_path / "m.csv", tau), tmp_path / "arm.urdf"
    robot.convert(urdf)
    words = ["loads", str(urdf), str(path), "--joints", "all"]
    assert main([*words, "-o", str(tmp_path / "loads.csv")]) == 0
    said = capfd.readouterr().err
    (line,) = [x for x in said.splitlines() if x.startswith("elbow ") and "0.75" in x]
    assert "N m" in line
    assert "Measured efforts" in said
    assert main(words) == 0
    assert "measured effort of elbow differs by 0.75 N m RMS" in capfd.readouterr().err
    page = tmp_path / "page.html"
    robot.report(page, robot.read_motion(path), picture=False, check=False)
    text = page.read_text()
    assert "Measured efforts" in text
    assert "not used for the loads" in text


def test_efforts_of_another_shape_are_refused(tmp_path):
    robot = arm()
    motion = robot.read_motion(recording(tmp_path / "m.csv", rnea(robot)))
    with pytest.raises(StateError, match=r"motion.efforts: expected \(60, 3\)"):
        robot.joint_loads(replace(motion, efforts=motion.efforts[:, 0]))
