"""A part of a motion is enough: the loads are those of the whole one."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import mbd_bridge as mbd
from mbd_bridge.engines.pinocchio.twin import to_pinocchio
from mbd_bridge.files.tables import open_table
from mbd_bridge.motion import motion_pieces
from tests.delta import MOTORS, delta
from tests.kinematics.closed_machines import along, excavator, gripper, press
from tests.robots import OWN

SAME = 1e-9
"""Loads beside the largest of the machine: completed from columns with all digits."""

LEGS = [f"leg_{k}" for k in range(1, 7)]


def stewart():
    return mbd.load("urdf/stewart.urdf"), LEGS


def delta_robot():
    return delta(), list(MOTORS)


MACHINES = {
    "stewart": (stewart, [0.03, 0.02, -0.03, 0.02, 0.01, -0.02], None, "platform"),
    "delta": (delta_robot, [0.2, -0.15, 0.1], dict.fromkeys(MOTORS, 0.3), "platform"),
    "excavator": (excavator, [0.15, -0.1, 0.08], None, "bucket"),
    "gripper": (gripper, [0.3], {"left_crank": 0.2}, "left_finger"),
    "press": (press, [0.25], {"crank": 0.9, "rod": 0.3, "top": 0.3, "knee": -0.6}, "ram"),
}


@pytest.fixture(scope="module")
def motions():
    """Machines with their whole motions, found row by row by `assemble`, which are the truth."""
    found = {}

    def of(name):
        if name not in found:
            make, amplitudes, near, *_ = MACHINES[name]
            robot, actuated = make()
            found[name] = robot, actuated, along(robot, actuated, amplitudes, near=near)
        return found[name]

    return of


def columns(robot, motion, joints):
    """Return the columns of some joints, rates and all."""
    model, (time, *parts) = robot.model, motion
    out = {"time": time}
    for joint in joints:
        body = model.bodies[model.joint(joint).body]
        for suffix, values in zip(("", ".vel", ".acc"), parts, strict=True):
            names, place = (
                (model.velocity_names, body.v) if suffix else (model.coordinate_names, body.q)
            )
            for k in range(place.start, place.stop):
                out[names[k] + suffix] = values[:, k]
    return out


def pose_columns(robot, motion, link, name="tool"):
    """Return the pose of a link in the world, its velocity and acceleration, from pinocchio."""
    time, q, v, a = motion
    twin = to_pinocchio(robot.model)
    number, aligned, own = (
        twin.model.getFrameId(link, pin.FrameType.BODY),
        pin.LOCAL_WORLD_ALIGNED,
        pin.ReferenceFrame.LOCAL,
    )
    rows = []
    for state in zip(twin.q(q), twin.v(q, v), twin.a(q, v, a), strict=True):
        pin.forwardKinematics(twin.model, twin.data, *state)
        pin.updateFramePlacements(twin.model, twin.data)
        place = twin.data.oMf[number]
        about = twin.model, twin.data, number
        rows.append(
            [
                *place.translation,
                *pin.Quaternion(place.rotation).coeffs(),
                *pin.getFrameVelocity(*about, aligned).linear,
                *pin.getFrameVelocity(*about, own).angular,
                *pin.getFrameClassicalAcceleration(*about, aligned).linear,
                *pin.getFrameAcceleration(*about, own).angular,
            ]
        )
    origin, turn = ("x", "y", "z"), ("wx", "wy", "wz")
    heads = [*origin, "qx", "qy", "qz", "qw"]
    heads += [f"{part}.{rate}" for rate in ("vel", "acc") for part in (*origin, *turn)]
    table = {f"{name}.{head}": column for head, column in zip(heads, np.array(rows).T, strict=True)}
    return {"time": time} | table


def save(path, table):
    np.savez(path, **table)
    return path


def largest_apart(robot, actuated, motion, other):
    """Return how far determined loads of all joints are apart, relative to the largest load."""
    names = [*robot.joint_names, *robot.loops.names]
    both = [
        robot.joint_loads(*states, joints=names, actuated=actuated, in_="world")
        for states in (motion[1:], (other.q, other.v, other.a))
    ]
    sure = both[0].determined & both[1].determined
    six = [np.concatenate([loads.force, loads.moment], axis=-1) for loads in both]
    assert sure.any()
    apart = np.where(sure, np.abs(six[0] - six[1]), 0.0)
    return apart.max() / np.abs(np.where(sure, six[0], 0.0)).max()


@pytest.mark.parametrize("name", MACHINES)
def test_loads_of_the_actuated_side_alone_are_those_of_the_whole_motion(name, motions, tmp_path):
    robot, actuated, motion = motions(name)
    path = save(tmp_path / "actuated.npz", columns(robot, motion, actuated))
    near = dict(zip(robot.coordinate_names, motion[1][0], strict=True))
    completed = robot.read_motion(path, near=near)
    assert completed.completed.residual.max() < 1e-12
    assert largest_apart(robot, actuated, motion, completed) < SAME


@pytest.mark.parametrize("name", MACHINES)
def test_loads_of_the_platform_alone_are_those_of_the_whole_motion(name, motions, tmp_path):
    robot, actuated, motion = motions(name)
    link = MACHINES[name][3]
    path = save(tmp_path / "platform.npz", pose_columns(robot, motion, link))
    near = dict(zip(robot.coordinate_names, motion[1][0], strict=True))
    completed = robot.read_motion(path, near=near, frames={"tool": link})
    assert completed.completed.residual.max() < 1e-12
    assert largest_apart(robot, actuated, motion, completed) < SAME


@pytest.fixture(scope="module")
def crank_rocker():
    return mbd.load("urdf/crank_rocker.urdf")


def test_a_motion_in_pieces_is_completed_as_the_whole_one(crank_rocker, tmp_path):
    time = np.linspace(0.0, 3.0, 700)
    np.savez(tmp_path / "crank.npz", time=time, crank=4.0 * time)
    whole = crank_rocker.read_motion(tmp_path / "crank.npz")
    pieces = motion_pieces(open_table(tmp_path / "crank.npz"), crank_rocker.model, rows=150)
    parts = list(pieces)
    assert len(parts) > 3
    for name, off in (("q", 1e-9), ("v", 1e-9), ("a", 1e-8)):  # a at the end: rounding of q / h²
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_allclose(joined, getattr(whole, name), rtol=0, atol=off)
    assert any("completed from crank" in note for note in pieces.notes)


def test_completed_rates_are_those_of_the_completed_positions(crank_rocker):
    """By differences: velocities and accelerations come from equations, never from positions."""
    time = np.linspace(0.0, 1.0, 2001)
    motion = crank_rocker.complete({"crank": 1.0 + np.sin(2.0 * time)}, time)
    step = time[1] - time[0]
    for values, rates in ((motion.q, motion.v), (motion.v, motion.a)):
        slope = (values[2:] - values[:-2]) / (2.0 * step)
        np.testing.assert_allclose(slope, rates[1:-1], rtol=0, atol=2e-5 * np.abs(rates).max())


def test_the_start_decides_the_branch(crank_rocker):
    time = np.linspace(0.0, 1.0, 20)
    near = [{}, {"rocker": 3.4}]
    ends = [crank_rocker.complete({"crank": 0.5 + time}, time, near=at).q[-1] for at in near]
    assert abs(ends[0][2] - ends[1][2]) > 1.0
    for at, end in zip(near, ends, strict=True):
        alone = crank_rocker.assemble({"crank": 1.5, **at}, fixed="crank").q
        np.testing.assert_allclose(end, alone, rtol=0, atol=1e-9)


def test_what_is_missing_is_named_or_held_at_rest():
    robot, actuated = excavator()
    time = np.linspace(0.0, 0.2, 6)
    recorded = {"boom_cylinder": 0.05 + 0.1 * time}
    with pytest.raises(mbd.errors.ModelError, match=r"determine 1 of 3 .*add 2 more, such as"):
        robot.complete(recorded, time)
    start = robot.assemble({"stick_cylinder": 0.1, "bucket_cylinder": 0.1}, fixed=actuated[1:]).q
    motion = robot.complete(recorded, time, near=start, rest=True)
    held = [robot.coordinate_names.index(name) for name in actuated[1:]]
    assert np.ptp(motion.q[:, held], axis=0).max() < 1e-12
    assert any("at rest: " in note for note in motion.notes)


def test_columns_that_do_not_determine_a_tree_are_told_too():
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    time = np.linspace(0.0, 1.0, 5)
    with pytest.raises(mbd.errors.ModelError, match=r"determine 1 of 7 .*add 6 more, such as"):
        arm.complete({"lbr_iiwa_joint_1": time}, time)


def test_a_row_that_cannot_be_reached_is_named(crank_rocker):
    time = np.linspace(0.0, 1.0, 11)
    angle = np.where(time > 0.65, 9.0, 0.2)
    with pytest.raises(mbd.errors.SolveError, match=r"row 7 \(t = 0.7 s\)"):
        crank_rocker.complete({"rocker": angle}, time)
    motion = crank_rocker.complete({"rocker": angle}, time, check=False)
    assert list(np.flatnonzero(~motion.completed.reached)) == [7, 8, 9, 10]
    assert np.isnan(motion.q[7:]).all() and np.isfinite(motion.a[:7]).all()


def test_singular_positions_and_other_branches_are_told(crank_rocker):
    """The rocker turns back where crank and coupler are in line: beyond, its angle has no crank."""
    time = np.linspace(0.0, 1.0, 201)
    whole = crank_rocker.complete({"crank": 0.3 + 6.0 * time}, time)
    rocker = whole.q[:, 2]
    back = crank_rocker.complete({"rocker": rocker}, time, near=whole.q[0], check=False)
    assert any("singular position" in note or "hardly determine" in note for note in back.notes)


def test_more_than_is_needed_is_compared(crank_rocker):
    time = np.linspace(0.0, 1.0, 30)
    whole = crank_rocker.complete({"crank": 0.5 + time}, time)
    more = {"crank": whole.q[:, 0], "rocker": whole.q[:, 2] + 1e-3}
    motion = crank_rocker.complete(more, time, given="crank")
    assert motion.completed.compared["rocker"] == pytest.approx(1e-3)
    assert any("rocker 0.001" in note for note in motion.notes)
    np.testing.assert_allclose(motion.q, whole.q, rtol=0, atol=1e-12)


def test_a_joint_that_mimics_stands_for_its_leader():
    robot, _ = gripper()
    time = np.linspace(0.0, 1.0, 12)
    one = robot.complete({"left_crank": 0.2 + 0.1 * time}, time)
    other = robot.complete({"right_crank": -0.2 - 0.1 * time}, time)
    np.testing.assert_allclose(one.q, other.q, rtol=0, atol=1e-12)


def test_roll_pitch_and_yaw_are_the_quaternion(motions):
    robot, _, (time, q, *_) = motions("stewart")
    first = robot.model.coordinate_names.index("platform.x")
    names = ("x", "y", "z", "qx", "qy", "qz", "qw")
    pose = {f"platform.{n}": q[:, first + k] for k, n in enumerate(names)}
    angles = Rotation.from_quat(q[:, first + 3 : first + 7]).as_euler("xyz")
    turned = {f"platform.{n}": angles[:, k] for k, n in enumerate(("roll", "pitch", "yaw"))}
    place = {name: pose[name] for name in list(pose)[:3]}
    both = [robot.complete(one, time, near=q[0]) for one in (pose, place | turned)]
    np.testing.assert_allclose(both[0].q, both[1].q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(both[0].a, both[1].a, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("krank", "did you mean 'crank'"),
        ("coupler.colour", "no coordinate, rate or pose"),
        ("rocker.vel", "none for the position"),
        ("coupler.roll.vel", "rates of angles are not read"),
    ],
)
def test_columns_that_mean_nothing_are_refused(crank_rocker, name, match):
    time = np.linspace(0.0, 1.0, 6)
    with pytest.raises(mbd.errors.FileError, match=match):
        crank_rocker.complete({"crank": time, name: time}, time)
