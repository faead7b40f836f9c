"""Inverse kinematics: frames are where they are to be, by pinocchio's word, within limits."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import make_interp_spline

import mbd_bridge as mbd
from mbd_bridge.engines.pinocchio.twin import to_pinocchio
from mbd_bridge.motion.path import limits_of
from tests.kinematics.closed_machines import excavator
from tests.robots import installed, robot

ROBOTS = installed(
    "erd/a1/a1", "erd/allegro_hand/allegro_left_hand", "erd/anymal_c_simple/anymal", "erd/b1/b1-z1",
    "erd/bolt/bolt", "erd/double_pendulum/double_pendulum", "erd/finger_edu/finger_edu",
    "erd/go2/go2", "erd/hyq/hyq_no_sensors", "erd/kinova/kinova", "erd/panda/panda",
    "erd/so_arm/so100", "erd/talos/talos_left_arm", "erd/ur/ur5_robot", "erd/xarm/xarm7",
    "erd/z1/z1", "pb/franka_panda/panda", "pb/kuka_iiwa/model", "pb/laikago/laikago",
    "pb/xarm/xarm6_robot",
)  # fmt: skip

EXACT = 1e-9
"""m and rad between where pinocchio has the frame and where it is to be."""

ROWS = 9


def path_of(mechanism, seed=0):
    """Return times, positions (ROWS, nq) within limits, and the link that most joints carry."""
    model = mechanism.model
    link = max(model.links, key=lambda link: int(model.path[link.body].sum())).name
    lower, upper = limits_of(model)
    lower, upper = np.maximum(lower, -1.5), np.minimum(upper, 1.5)
    ends = lower + (upper - lower) * np.random.default_rng(seed).uniform(0.3, 0.7, (2, model.nv))
    time = np.linspace(0.0, 1.0, ROWS)
    part = 0.15 * (1.0 - np.cos(np.pi * time))[:, None]
    return time, ends[0] + (ends[1] - ends[0]) * part, link


def moving_joints(mechanism, link):
    """Return how many joints carry a link."""
    model = mechanism.model
    return int(model.path[model.links[model.link_index[link]].body].sum()) - 1


def poses(twin, link, q):
    """Return pinocchio's positions (N, 3) and rotations (N, 3, 3) of a link."""
    number = twin.model.getFrameId(link, pin.FrameType.BODY)
    found = []
    for own in twin.q(q):
        pin.framesForwardKinematics(twin.model, twin.data, own)
        place = twin.data.oMf[number]
        found.append((place.translation.copy(), place.rotation.copy()))
    return tuple(map(np.array, zip(*found, strict=True)))


@pytest.mark.parametrize("name", ROBOTS)
def test_frames_of_robots_are_where_pinocchio_has_them(name):
    mechanism = mbd.load(robot(name))
    time, q, link = path_of(mechanism)
    twin = to_pinocchio(mechanism.model)
    x, R = poses(twin, link, q)
    whole = moving_joints(mechanism, link) >= 6  # a leg of three joints follows positions only
    path = mechanism.inverse_kinematics(link, x, R if whole else None, time, near=q[0])
    x_found, R_found = poses(twin, link, path.q)
    assert np.abs(x_found - x).max() < EXACT
    assert not whole or np.abs(R_found - R).max() < EXACT
    lower, upper = limits_of(mechanism.model)
    assert (path.q >= lower - EXACT).all() and (path.q <= upper + EXACT).all()
    assert not path.jumps
    number = twin.model.getFrameId(link, pin.FrameType.BODY)
    spline = make_interp_spline(time, x, k=5)
    exact = path.conditioning.min() > 1e-3  # else rates are the nearest that there are
    for k in range(0, ROWS, 4):
        state = twin.q(path.q[k]), twin.v(path.q[k], path.v[k])
        pin.forwardKinematics(
            twin.model, twin.data, *state, twin.a(path.q[k], path.v[k], path.a[k])
        )
        about = twin.model, twin.data, number, pin.LOCAL_WORLD_ALIGNED
        for order, rate in (
            (1, pin.getFrameVelocity(*about).linear),
            (2, pin.getFrameClassicalAcceleration(*about).linear),
        ):
            wanted = spline.derivative(order)(time[k])
            np.testing.assert_allclose(rate, wanted, rtol=0, atol=1e-7 if exact else 0.1)


def test_what_is_left_of_a_redundant_arm_is_nearest_to_the_reference(arm):
    """Moving along what the frame does not notice only leads away from the reference."""
    _, q, link = path_of(arm)
    place = arm.placement(q[-1], link)
    found = arm.inverse_kinematics(link, place[:3, 3], place[:3, :3], near=q[0])
    assert found.reached.all() and not found.at_limits.any()
    twin = to_pinocchio(arm.model)
    own = twin.q(found.q[0])
    number = twin.model.getFrameId(link, pin.FrameType.BODY)
    J = pin.computeFrameJacobian(twin.model, twin.data, own, number)
    assert np.linalg.norm(found.q[0] - q[0]) <= np.linalg.norm(q[-1] - q[0])
    nothing = np.linalg.svd(J)[2][6:]
    assert np.abs(nothing @ (found.q[0] - q[0])).max() < 1e-7


def test_a_position_alone_leaves_the_orientation_free(arm):
    time, q, link = path_of(arm)
    x = arm.placement(q, link)[:, :3, 3]
    path = arm.inverse_kinematics(link, x, time=time, near=q[0])
    np.testing.assert_allclose(arm.placement(path.q, link)[:, :3, 3], x, rtol=0, atol=EXACT)
    assert (path.orientation_residual == 0.0).all()


def test_rows_out_of_reach_are_told_and_come_as_near_as_they_can(arm):
    _, q, link = path_of(arm)
    x = np.array([arm.placement(q[0], link)[:3, 3], [3.0, 0.0, 0.5]])
    with pytest.raises(mbd.errors.SolveError, match=r"row 1 cannot be reached: .* leaves [\d.]+ m"):
        arm.inverse_kinematics(link, x, near=q[0])
    path = arm.inverse_kinematics(link, x, near=q[0], check=False)
    assert list(path.reached) == [True, False]
    tip = arm.placement(path.q[1], link)[:3, 3]
    way = x[1] - tip
    shoulder = arm.placement(path.q[1], "lbr_iiwa_link_2")[:3, 3]
    straight = np.cross(way, tip - shoulder) / np.linalg.norm(way) / np.linalg.norm(tip - shoulder)
    assert np.abs(straight).max() < 1e-3  # stretched towards it


def test_limits_hold_and_can_be_taken_away(arm):
    upper = limits_of(arm.model)[1]
    q = 0.4 * upper
    q[3] = upper[3] + 0.2
    link = arm.model.links[-1].name
    place = arm.placement(q, link)
    free = arm.inverse_kinematics(link, place[:3, 3], near=q, limits=False)
    np.testing.assert_allclose(free.q[0], q, rtol=0, atol=1e-9)
    held = arm.inverse_kinematics(link, place[:3, 3], near=q)
    assert (held.q[0] <= upper).all() and held.reached[0]
    assert held.at_limits[0, 3]


def test_a_machine_with_loops_is_put_on_a_path_with_its_loops_closed():
    machine, _ = excavator()
    start = machine.assemble()
    place = machine.placement(start.q, "bucket")[:3, 3]
    x = place + np.linspace(0.0, 1.0, 6)[:, None] * [-0.4, 0.0, 0.3]
    path = machine.inverse_kinematics("bucket", x, near=start.q)
    np.testing.assert_allclose(machine.placement(path.q, "bucket")[:, :3, 3], x, rtol=0, atol=EXACT)
    for q in path.q:
        assert max(machine.assemble(q, check=False).loops.values()) < 1e-9
        np.testing.assert_allclose(machine.assemble(q).q, q, rtol=0, atol=1e-8)
