"""Raw readings of sensors give back the force that was there, and nothing where nothing touches."""

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pinocchio.twin import to_pinocchio
from tests.external.tables import COMPONENTS, arm, motion_of, wave, write

ROUNDING = 1e-11
"""N, N m: forces of some ten, added and subtracted."""
BIAS = np.array([3.0, -2.0, 1.0, 0.1, 0.2, -0.3])


def moved(robot):
    return motion_of(robot.simulate(1.0, q=[0.3, -0.4, 0.1], every=10))


def readings(path, robot, motion, rows, reads="parent"):
    columns = ["time", *(f"ft.{c}" for c in COMPONENTS)]
    write(path, columns, np.column_stack([motion.time, rows]))
    return robot.read_external(path, sensors={"hand": "ft"}, reads=reads)


def pinocchios_loads(robot, motion, force):
    """Return what the part before the hand exerts on it (N, 6), by pinocchio, under a force."""
    twin = to_pinocchio(robot.model)
    data = twin.model.createData()
    found = []
    for q, v, a, f in zip(motion.q, motion.v, motion.a, force, strict=True):
        acting = [pin.Force.Zero() for _ in range(twin.model.njoints)]
        acting[-1] = pin.Force(f)
        pin.rnea(twin.model, data, q, v, a, acting)
        found.append(data.f[twin.model.njoints - 1].vector.copy())
    return np.array(found)


@pytest.mark.parametrize(("reads", "sign"), [("parent", 1.0), ("environment", -1.0)])
def test_the_force_that_acted_is_found_in_what_another_program_says_the_sensor_reads(
    tmp_path, reads, sign
):
    robot = arm()
    motion = moved(robot)
    force = wave(len(motion.time))[1]
    force[:30] = 0.0
    raw = sign * (pinocchios_loads(robot, motion, force) - BIAS)
    given = readings(tmp_path / "r.csv", robot, motion, raw, reads)
    end = float(motion.time[29])
    for how in ({"bias": BIAS}, {"untouched": (0.0, end)}):
        found = robot.compensate_sensors(given, motion, **how)
        assert np.abs(found.along(motion.time, motion.q)["hand"] - force).max() < ROUNDING
        assert "weight and inertia behind it taken away" in found.said[0]
    loads = robot.joint_loads(motion, joints="slide", external=found)
    assert np.abs(loads.wrench[:, 0] - pinocchios_loads(robot, motion, force)).max() < ROUNDING


def test_at_rest_with_nothing_touching_the_force_is_zero(tmp_path):
    robot = arm()
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 3))
    still, names = np.zeros((20, 3)), (robot.model.coordinate_names, robot.model.velocity_names)
    motion = mbd.Motion(np.arange(20.0), rows, still, still, *names, model=robot.model)
    raw = pinocchios_loads(robot, motion, np.zeros((20, 6)))
    assert np.abs(raw[:, :3]).max() > 0.4 * 9.81 * 0.5
    found = robot.compensate_sensors(readings(tmp_path / "r.csv", robot, motion, raw), motion)
    assert np.abs(found.along(motion.time, motion.q)["hand"]).max() < ROUNDING


def test_a_link_whose_frame_is_not_at_its_joint_has_its_forces_about_its_own_origin(tmp_path):
    file = tmp_path / "offset.sdf"
    file.write_text(
        '<sdf version="1.9"><model name="m"><link name="base"><inertial/></link>'
        '<link name="hand"><inertial><pose>.1 .2 0 0 0 0</pose><mass>2</mass></inertial></link>'
        '<joint name="j" type="revolute"><pose>-.1 .4 .2 .5 .2 .1</pose><parent>base</parent>'
        "<child>hand</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"
    )
    robot = mbd.load(file)
    motion = motion_of(robot.simulate(0.2, q=[0.3], every=10))
    force = wave(len(motion.time))[1]
    body = robot.free_body("hand", motion, external={"hand": force})
    raw = -(body["gravity"].about_origin() + body["inertia"].about_origin() + force)
    found = robot.compensate_sensors(readings(tmp_path / "r.csv", robot, motion, raw), motion)
    assert np.abs(found.along(motion.time, motion.q)["hand"] - force).max() < ROUNDING


def test_what_cannot_be_compensated_is_refused(tmp_path):
    robot = arm()
    motion = moved(robot)
    given = readings(tmp_path / "r.csv", robot, motion, np.zeros((len(motion.time), 6)))
    with pytest.raises(StateError, match="no row from 5 to 6 s"):
        robot.compensate_sensors(given, motion, untouched=(5, 6))
    with pytest.raises(StateError, match="told twice"):
        robot.compensate_sensors(given, motion, untouched=(0, 1), bias=BIAS)
    with pytest.raises(StateError, match="times within the motion's"):
        robot.compensate_sensors(given, motion.part(slice(0, 5)))
    four_bar = mbd.load("urdf/four_bar.urdf")
    with pytest.raises(ModelError, match="without loops"):
        four_bar.compensate_sensors(given, motion)
