"""Claims about commands that are given a part of a motion."""

from __future__ import annotations

import numpy as np

import mbd_bridge as mbd
from tests.robots import OWN

STEWART = str(OWN / "stewart.urdf")
LEGS = [f"leg_{k}" for k in range(1, 7)]


def test_loads_of_legs_from_the_pose_of_the_platform(run, tmp_path):
    time = np.linspace(0.0, 1.0, 21)
    heads = ["x", "y", "z [mm]", "roll [deg]", "pitch", "yaw"]
    zero = 0.0 * time
    values = [0.1 * np.sin(time), zero, 1100.0 + 50.0 * time, 5.0 * np.sin(time), zero, zero]
    rows = np.column_stack([time, *values])
    path = tmp_path / "pose.csv"
    lines = [",".join(map(repr, map(float, row))) for row in rows]
    path.write_text("\n".join([",".join(["time", *(f"top.{head}" for head in heads)]), *lines]))
    place = "--frame", "top=platform,0,0,0"
    code, _, err = run(
        "loads", STEWART, path, *place, "--joints", *LEGS, "--actuated", *LEGS, "--digits", "17",
        "-o", tmp_path / "loads.npz",
    )  # fmt: skip
    assert code == 0, err
    assert "completed from top.x" in err
    robot = mbd.load(STEWART)
    motion = robot.read_motion(path, frames={"top": "platform"})
    loads = robot.joint_loads(motion, joints=LEGS, actuated=LEGS)
    written = robot.read_loads(tmp_path / "loads.npz")
    np.testing.assert_allclose(written.force, loads.force, rtol=0, atol=1e-6)
    code, _, err = run("complete-motion", STEWART, path, *place, "-o", tmp_path / "whole.npz")
    assert code == 0, err
    whole = robot.read_motion(tmp_path / "whole.npz")
    np.testing.assert_allclose(whole.q, motion.q, rtol=0, atol=1e-14)


def test_what_is_missing_is_said_in_words_of_the_shell(run, tmp_path):
    path = tmp_path / "legs.csv"
    path.write_text("time,leg_1\n0,0\n1,0\n2,0\n3,0\n")
    code, _, err = run("complete-motion", STEWART, path)
    assert code == 2
    assert "determine 1 of 6 degrees of freedom: add 5 more" in err and "--rest" in err


def test_a_path_of_the_tool_becomes_a_motion_that_other_commands_take(run, tmp_path):
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    time = np.linspace(0.0, 1.0, 8)
    x = np.column_stack([0.6 + 0 * time, 0.1 * time, 0.5 + 0.05 * time])
    named = {f"tool.{axis}": x[:, k] for k, axis in enumerate("xyz")}
    np.savez(tmp_path / "path.npz", time=time, **named)
    code, _, err = run(
        "inverse-kinematics", OWN / "kuka_iiwa.urdf", tmp_path / "path.npz", "--frame",
        "tool=lbr_iiwa_link_ee,0,0,0.1", "--near", "lbr_iiwa_joint_4=-90deg", "-o",
        tmp_path / "motion.npz",
    )  # fmt: skip
    assert code == 0, err
    assert "8 of 8 rows of tool reached" in err
    motion = arm.read_motion(tmp_path / "motion.npz")
    place = arm.placement(motion.q, "lbr_iiwa_link_ee")
    tip = place[:, :3, 3] + 0.1 * place[:, :3, 2]
    np.testing.assert_allclose(tip, x, rtol=0, atol=1e-9)
    np.savez(tmp_path / "far.npz", time=time, **{name: 9.0 + own for name, own in named.items()})
    code, _, err = run(
        "inverse-kinematics", OWN / "kuka_iiwa.urdf", tmp_path / "far.npz",
        "--frame", "tool=lbr_iiwa_link_ee",
        "-o", tmp_path / "near.npz",
    )  # fmt: skip
    assert code == 1
    assert "0 of 8 rows" in err
