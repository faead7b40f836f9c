"""Claims about rotations, frames and inertias."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mbd_bridge.kernels import trace
from mbd_bridge.model.spatial import (
    Frame,
    Inertia,
    axis_angle_matrix,
    cross,
    lump,
    matrix_from_rpy,
    quaternion_matrix,
    rotation_that_takes_z_to,
    skew,
)
from tests.tolerances import ROUNDING

ANGLES = [0.0, 1e-9, 1e-7, 0.3, np.pi / 2, np.pi, 3.0, -2.0]


@pytest.mark.parametrize("angle", ANGLES)
def test_axis_angle_matrix_is_scipys(angle):
    rng = np.random.default_rng(1)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    ours = axis_angle_matrix(axis, np.cos(angle), np.sin(angle))
    assert np.allclose(ours, Rotation.from_rotvec(angle * axis).as_matrix(), atol=ROUNDING)


def test_rpy_is_urdfs_fixed_axis_order():
    rng = np.random.default_rng(2)
    for rpy in rng.uniform(-3, 3, (20, 3)):
        expected = Rotation.from_euler("xyz", rpy).as_matrix()
        assert np.allclose(matrix_from_rpy(*rpy), expected, atol=ROUNDING)


def test_right_angles_are_exact_so_that_kernels_can_drop_them():
    assert np.array_equal(matrix_from_rpy(np.pi / 2, 0, 0), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])


@pytest.mark.parametrize("pitch", [0.3, np.pi / 2, -np.pi / 2])
def test_frames_give_their_angles_back(pitch):
    frame = Frame.from_rpy((1, 2, 3), (0.2, pitch, -0.4))
    again = Frame.from_rpy(frame.translation, frame.rpy())
    assert np.allclose(again.rotation, frame.rotation, atol=ROUNDING)


def test_quaternion_matrix_is_scipys():
    rng = np.random.default_rng(3)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    expected = Rotation.from_quat(q).as_matrix()
    assert np.allclose(quaternion_matrix(q), expected, atol=ROUNDING)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (0.6, 0, 0.8)])
def test_rotation_that_takes_z_to_an_axis_is_proper_and_keeps_zeros(axis):
    turn = rotation_that_takes_z_to(np.array(axis, dtype=float))
    assert np.allclose(turn @ [0, 0, 1], axis, atol=1e-15)
    assert np.isclose(np.linalg.det(turn), 1.0)
    if max(np.abs(axis)) == 1:
        assert set(np.abs(turn).ravel()) == {0.0, 1.0}


def test_cross_and_skew_agree():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 3))
    assert np.allclose(cross(a, b), np.cross(a, b))
    assert np.allclose(skew(a) @ b, np.cross(a, b))


def test_inertia_seen_from_elsewhere_gives_the_same_kinetic_energy():
    rng = np.random.default_rng(5)
    J = np.diag([0.2, 0.3, 0.4])
    body = Inertia(2.0, rng.normal(size=3), J)
    frame = Frame.from_rpy(rng.normal(size=3), rng.normal(size=3))
    moved = body.seen_from(frame)
    omega = rng.normal(size=3)  # about the parent's origin, parent's axes
    velocity = np.cross(omega, moved.centre)
    there = 0.5 * moved.mass * velocity @ velocity + 0.5 * omega @ moved.central @ omega
    assert np.isclose(there, 0.5 * omega @ moved.about_origin() @ omega, rtol=ROUNDING)
    local = frame.rotation.T @ omega
    assert np.isclose(local @ J @ local, omega @ moved.central @ omega, rtol=ROUNDING)


def test_lumped_bodies_have_the_sum_of_their_moments_about_any_point():
    rng = np.random.default_rng(6)
    parts = [Inertia(m, rng.normal(size=3), np.diag([1.0, 2.0, 2.5])) for m in (1.0, 2.0, 0.0)]
    whole = lump(parts)
    assert np.isclose(whole.mass, 3.0)
    total = sum(part.about_origin() for part in parts)
    assert np.allclose(whole.about_origin(), total, rtol=ROUNDING)


def test_symbols_pass_through_every_function_that_equations_use():
    graph = trace(
        lambda q: (axis_angle_matrix(np.array([0.0, 0, 1]), *(np.cos(q)[0], np.sin(q)[0])),),
        {"q": 1},
    )
    assert graph.counts() == {"cos": 1, "sin": 1, "neg": 1}  # no product with 0 or 1 is left
