"""The worst poses at rest are those that closed forms and brute force find."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.motion.table import COMPONENTS
from tests.kinematics.closed_machines import gripper
from tests.robots import OWN

GRAVITY = 9.81


def arm(limit=None):
    """Return a rod of 2 kg and 1 m that hangs on a pin along y, and one of 1 kg behind it."""
    parts = mbd.Builder("arm", root="wall")
    parts.link("upper", 2.0, (0.5, 0, 0), (0, 1 / 6, 1 / 6))
    parts.link("lower", 1.0, (0.5, 0, 0), (0, 1 / 12, 1 / 12))
    parts.joint("shoulder", "continuous", "wall", "upper", axis=(0, 1, 0))
    parts.joint("elbow", "continuous", "upper", "lower", (1, 0, 0), axis=(0, 1, 0))
    return mbd.Mechanism.build(parts)


def test_a_stretched_arm_has_the_largest_moment_in_its_shoulder():
    worst = arm().worst_pose(samples=256)
    found = worst.worst("shoulder", "actuation")
    assert abs(found.value) == pytest.approx(GRAVITY * (2 * 0.5 + 1 * 1.5), rel=1e-10)
    assert abs(np.sin(found.q)).max() < 1e-5
    assert abs(worst.worst("elbow", "my").value) == pytest.approx(GRAVITY * 0.5, rel=1e-10)
    assert worst.worst("shoulder", "force").value == pytest.approx(3 * GRAVITY, rel=1e-12)


def test_only_coordinates_that_matter_for_a_load_are_named():
    worst = arm().worst_pose(samples=256)
    named = {load: worst.worst(*load.split()).matters for load in ("shoulder my", "shoulder force")}
    assert named == {"shoulder my": ("shoulder", "elbow"), "shoulder force": ()}
    assert worst.worst("elbow", "fx").matters == ("shoulder", "elbow")
    assert "any pose" in str(worst.tables()[0])


def test_a_payload_and_ranges_count():
    worst = arm().worst_pose(
        ["shoulder"],
        payload=("lower", 3.0, (1, 0, 0)),
        ranges={"shoulder": (0.5, 1.0), "elbow": 0.0},
    )
    wanted = GRAVITY * np.cos(0.5) * (2 * 0.5 + 1 * 1.5 + 3 * 2.0)
    found = worst.worst("shoulder", "actuation")
    assert abs(found.value) == pytest.approx(wanted, rel=1e-9)
    np.testing.assert_allclose(found.q, [0.5, 0.0], rtol=0, atol=1e-6)
    assert abs(worst.lowest["shoulder", "actuation"].value) >= wanted - 1e-6


def test_no_random_pose_is_worse():
    robot = mbd.load(OWN / "kuka_iiwa.urdf")
    worst = robot.worst_pose(["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"], samples=2**13)
    rng = np.random.default_rng(5)
    limits = [joint.limits for joint in robot.model.description.joints if joint.type == "revolute"]
    q = rng.uniform([x.lower for x in limits], [x.upper for x in limits], (20_000, 7))
    loads = robot.joint_loads(q, 0 * q, 0 * q, ["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"])
    for name in loads.joints:
        for component, values in (
            ("force", np.linalg.norm(loads[name].force, axis=1)),
            ("moment", np.linalg.norm(loads[name].moment, axis=1)),
            ("mx", loads[name].moment[:, 0]),
            ("actuation", loads[name].actuation[:, 0]),
        ):
            high = worst.highest[name, component]
            assert values.max() <= high.value * (1 + 1e-9) + 1e-9
            again = robot.joint_loads(high.q, 0 * high.q, 0 * high.q, [name])[name]
            if component == "mx":
                assert again.moment[0] == pytest.approx(high.value, rel=1e-9)


def test_sampled_poses_are_spread_evenly_and_close_their_loops():
    """Of two angles spread evenly, the end's mean square distance is that of a random walk."""
    machine = arm()
    q = machine.sample_poses(1000)
    assert q.shape == (1024, 2)
    end = machine.frame_kinematics("tip", q, frames={"tip": ("lower", (1, 0, 0))}).position
    assert np.sum(end**2, axis=1).mean() == pytest.approx(2.0, abs=1e-3)
    assert np.abs(end.mean(axis=0)).max() < 1e-3
    held = machine.sample_poses(64, ranges={"shoulder": 0.3, "elbow": (0.5, 1.0)})
    assert set(held[:, 0]) == {0.3}
    assert 0.5 <= held[:, 1].min() < 0.52
    assert 0.98 < held[:, 1].max() <= 1.0
    closed = mbd.load(OWN / "four_bar.urdf")
    found = closed.sample_poses(64, actuated=["crank"])
    assert 0 < len(found) < 64  # near a singular position there is none
    phi = closed.compile("constraints")(found, np.zeros((len(found), closed.model.nv)))[0]
    assert np.abs(phi).max() < 1e-12


def test_loops_are_closed_and_singular_poses_left_out():
    robot, actuated = gripper()
    worst = robot.worst_pose(
        ["left_crank", "left_pin"], actuated=actuated, ranges={"left_crank": (-1, 1)}, samples=64
    )
    found = worst.worst("left_crank", "actuation")
    still = np.zeros(robot.nv)
    again = robot.joint_loads(found.q, still, still, ["left_crank"], actuated=actuated)
    assert again.actuation[0] == pytest.approx(found.value, rel=1e-9)
    assert ("left_pin", "fy") not in worst.highest  # not determined
    bar = mbd.load(OWN / "four_bar.urdf")
    worst = bar.worst_pose(["coupler_pin"], actuated=["crank"], samples=128)
    assert worst.existing < worst.samples
    assert worst.worst("coupler_pin", "fz").value < 1e4


def test_a_slide_without_limits_needs_a_range():
    parts = mbd.Builder("slide", root="wall")
    parts.link("cart", 1.0)
    parts.joint("rail", "prismatic", "wall", "cart")
    robot = mbd.Mechanism.build(parts)
    with pytest.raises(
        mbd.errors.StateError, match="rail has no limits in the file: give its range"
    ):
        robot.worst_pose()
    assert robot.worst_pose(ranges={"rail": (0, 1)}).worst("rail", "fz").value == pytest.approx(
        9.81
    )


def test_commands_take_poses(tmp_path, capsys):
    from mbd_bridge.cli import main

    iiwa, joint = str(OWN / "kuka_iiwa.urdf"), "lbr_iiwa_joint_2"
    out = tmp_path / "loads.npz"
    assert main(["loads", iiwa, "--q", f"{joint}=90deg", "--joints", joint, "-o", str(out)]) == 0
    robot = mbd.load(iiwa)
    q, still = np.zeros(7), np.zeros(7)
    q[1] = np.pi / 2
    wanted = robot.joint_loads(q, still, still, [joint])
    np.testing.assert_allclose(robot.read_loads(out).actuation[0], wanted.actuation, atol=1e-9)
    bar = str(OWN / "four_bar.urdf")
    words = ["free-body", bar, "--q", "crank=0.5", "--actuated", "crank", "--link", "rocker"]
    assert main(words) == 0
    assert "coupler_pin" in capsys.readouterr().out
    found = tmp_path / "worst.json"
    words = [
        "worst-pose",
        iiwa,
        "--joints",
        joint,
        "--samples",
        "500",
        "--range",
        f"{joint}=-90deg:0",
    ]
    assert main([*words, "-o", str(found)]) == 0
    entries = json.loads(found.read_text())["highest"]
    assert all(-np.pi / 2 - 1e-9 <= one["q"][joint] <= 1e-9 for one in entries)
    assert main(["loads", iiwa, "--joints", "all"]) == 2
    assert "--q NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize("seed", [3, 4])
def test_extremes_in_corners_of_the_ranges_are_found_where_a_grid_has_them(seed):
    rng, ranges = np.random.default_rng(seed), {}
    built, parent = mbd.Builder("arm", root="base"), "base"
    for k in range(3):
        built.link(f"l{k}", 1.0 + k, 0.3 * rng.normal(size=3), (1.0, 1.0, 1.0))
        place = {"xyz": 0.5 * rng.normal(size=3), "rpy": rng.normal(size=3)}
        place["axis"] = rng.normal(size=3)
        built.joint(f"j{k}", "revolute", parent, f"l{k}", **place)
        ranges[f"j{k}"], parent = tuple(np.sort(rng.uniform(-2.5, 2.5, 2))), f"l{k}"
    arm = mbd.Mechanism.build(built)
    q = np.array(list(product(*(np.linspace(*ends, 11) for ends in ranges.values()))))
    grid = arm.joint_loads(q, 0 * q, 0 * q).wrench
    worst = arm.worst_pose(ranges=ranges, samples=2**12)
    for k, name in enumerate(arm.joint_names):
        for part, values in zip(COMPONENTS, grid[:, k].T, strict=True):
            assert worst.highest[name, part].value >= values.max() - 1e-9, (name, part)
            assert worst.lowest[name, part].value <= values.min() + 1e-9, (name, part)
