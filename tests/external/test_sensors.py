"""Force/torque sensors: what the columns of a recording do as external forces."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.motion.external.files import sensor_columns
from tests.external.tables import COMPONENTS, arm, motion_of, press, wave, write


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("ft", [f"ft.{c}" for c in COMPONENTS]),
        ("ft", [f"ft_{c}" for c in COMPONENTS]),
        ("F", ["Fx", "Fy", "Fz", "F_tx", "F_ty", "F_tz"]),
        ("/ft/wrench", [f"/ft/wrench/{k}/{x}" for k in ("force", "torque") for x in "xyz"]),
        ("/ft", [f"/ft/wrench/{k}/{x}" for k in ("force", "torque") for x in "xyz"]),
        ("wrench", [f"wrench.{k}.{x}" for k in ("force", "torque") for x in "xyz"]),
        ("wrist", [f"wrist_{k}_{x}" for k in ("force", "moment") for x in "xyz"]),
        ("actual_TCP_force", [f"actual_TCP_force_{k}" for k in range(6)]),
    ],
)
def test_components_are_found_in_the_usual_spellings(prefix, names):
    others = ("time", "elbow", f"{prefix}.status", f"{prefix}_9", f"{prefix}.fxy")
    if prefix == "F":
        names = names[3:]  # "Fx" is the prefix "F" and an axis: no force is told
        assert sensor_columns((*others, *names), prefix) == dict(
            zip(COMPONENTS[3:], names, strict=True)
        )
        return
    found = sensor_columns((*others, *names), prefix)
    assert found == dict(zip(COMPONENTS, names, strict=True))


def recording(tmp_path, robot, rows):
    """Write a motion of the arm with the columns of a sensor; return its path and the motion."""
    motion = motion_of(robot.simulate(1.0, q=[0.3, -0.4, 0.1], every=10))
    parts = [motion.time, motion.q, motion.v, motion.a, rows]
    columns = ["time", *robot.coordinate_names]
    columns += [f"{n}{rate}" for rate in (".vel", ".acc") for n in robot.coordinate_names]
    columns += [f"wrist/force/{x}" for x in "xyz"] + [f"wrist/torque/{x}" for x in "xyz"]
    return write(tmp_path / "recording.csv", columns, np.column_stack(parts)), motion


def test_a_sensor_acts_as_the_force_that_it_reads(tmp_path):
    robot = arm()
    rows = wave(101)[1]
    path, motion = recording(tmp_path, robot, rows)
    expected = robot.joint_loads(motion, external={"hand": rows})
    for reads, sign in (("environment", 1.0), ("parent", -1.0)):
        given = robot.read_external(path, sensors={"hand": "wrist"}, reads=reads)
        assert np.array_equal(given.along(motion.time, motion.q)["hand"], sign * rows)
        assert f"reads {reads}" in given.said[0]
    again = robot.read_motion(path, ignore="wrist*")
    given = robot.read_external(path, sensors={"hand": "wrist"})
    assert np.array_equal(robot.joint_loads(again, external=given).wrench, expected.wrench)


def test_a_sensor_that_reads_its_parent_reads_the_load_of_its_joint(tmp_path):
    """In a load cell without mass below it: its bolts carry what the sensor says, to the digit."""
    machine = press()
    rows = wave(21)[1]
    columns = ["time", *(f"cell.{c}" for c in COMPONENTS)]
    path = write(tmp_path / "s.csv", columns, np.column_stack([wave(21)[0], rows]))
    given = machine.read_external(path, sensors={"cell": "cell"}, reads="parent")
    still = np.zeros((21, 1))
    loads = machine.joint_loads(still, still, still, ["bolts"], external=given, t=wave(21)[0])
    assert np.allclose(loads.wrench[:, 0], rows, rtol=1e-13, atol=1e-13)


def test_commands_take_sensors_from_the_motion_itself(tmp_path, capsys):
    from mbd_bridge.cli import main

    robot, rows = mbd.load("urdf/kuka_iiwa.urdf"), wave(201, 2.0)[1]
    motion = robot.read_motion("urdf/kuka_iiwa_motion.csv")
    columns = ["time", *robot.coordinate_names, *(f"ft_{k}" for k in range(6))]
    path = write(tmp_path / "m.csv", columns, np.column_stack([motion.time, motion.q, rows]))
    joint = "lbr_iiwa_joint_4"
    words = ["loads", "urdf/kuka_iiwa.urdf", str(path), "--joints", joint, "--digits", "17"]
    words += ["--sensor", "lbr_iiwa_link_ee=ft", "-o", str(tmp_path / "l.npz")]
    assert main(words) == 0
    assert "sensor 'ft', reads environment" in capsys.readouterr().err
    loads = robot.read_loads(tmp_path / "l.npz")
    expected = robot.joint_loads(motion, joints=joint, external={"lbr_iiwa_link_ee": rows})
    assert np.abs(loads.wrench - expected.wrench).max() < 1e-12 * np.abs(expected.wrench).max()
    assert main([*words[:-3], "hand"]) == 2
    assert "--sensor: expected LINK=PREFIX" in capsys.readouterr().err


def test_sensors_that_are_not_there_are_told(tmp_path):
    robot = arm()
    path, _ = recording(tmp_path, robot, wave(101)[1])
    with pytest.raises(FileError, match=r"no columns of a sensor begin with 'fist'.*wrist/force"):
        robot.read_external(path, sensors={"hand": "fist"})
    with pytest.raises(StateError, match="use one of environment, parent"):
        robot.read_external(path, sensors={"hand": "wrist"}, reads="tool")
