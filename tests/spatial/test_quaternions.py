"""Quaternions of one rotation and of many: against matrices, scipy and each other."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mbd_bridge.model import quaternions as of
from mbd_bridge.model.spatial import matrix_from_rpy, quaternion_matrix

ROUNDING = 1e-14


@pytest.fixture(params=[(), (5,), (2, 3)], ids=["one", "a row", "a table"])
def pair(request):
    s = np.random.default_rng(0).standard_normal((2, *request.param, 4))
    return s / np.linalg.norm(s, axis=-1, keepdims=True)


def alike(ours, expected, tolerance=ROUNDING):
    np.testing.assert_allclose(ours, expected, rtol=0.0, atol=tolerance)


def test_products_and_vectors_are_those_of_the_matrices(pair):
    s, t = pair
    R, T = of.matrices_of(s), of.matrices_of(t)
    x = np.random.default_rng(1).standard_normal((*s.shape[:-1], 3))
    alike(of.matrices_of(of.product(s, t)), R @ T)
    alike(of.matrices_of(of.conjugate(s)), np.swapaxes(R, -1, -2))
    alike(of.in_parent(s, x), (R @ x[..., None])[..., 0])
    alike(of.in_child(s, of.in_parent(s, x)), x)
    alike(R.reshape(-1, 3, 3), [quaternion_matrix(one) for one in s.reshape(-1, 4)])


def test_matrices_have_the_quaternions_that_they_came_from(pair):
    turns = of.matrices_of(pair[0]).reshape(-1, 3, 3)
    half_turns = [np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, 1.0, -1.0]), np.diag([-1.0, -1.0, 1])]
    turns = np.concatenate([turns, half_turns, [np.eye(3)]])
    alike(of.matrices_of(of.quaternions_of(turns)), turns)
    assert of.quaternions_of(turns[0]).shape == (4,)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, np.pi - 1e-6])
def test_the_logarithm_undoes_the_exponential(pair, size):
    turn = size * pair[0][..., :3] / np.linalg.norm(pair[0][..., :3], axis=-1, keepdims=True)
    s = of.exponential(turn)
    alike(of.logarithm(s), turn)
    alike(of.logarithm(-s), turn)
    alike(
        of.matrices_of(s).reshape(-1, 3, 3), Rotation.from_rotvec(turn.reshape(-1, 3)).as_matrix()
    )


@pytest.mark.parametrize("size", [1e-7, 5e-5, 2e-4, 2.0])
def test_the_left_jacobian_is_the_derivative_of_the_exponential(pair, size):
    turn, way, h = size * pair[0][..., :3], pair[1][..., :3], 1e-6
    ahead, behind = (of.exponential(turn + sign * h * way) for sign in (1.0, -1.0))
    change = of.logarithm(of.product(ahead, of.conjugate(behind))) / (2.0 * h)
    alike(change, (of.left_jacobian(turn) @ way[..., None])[..., 0], 1e-9)


def test_angles_are_those_of_the_matrix_of_a_file():
    angles = np.random.default_rng(2).uniform(-3.0, 3.0, (3, 7))
    s = of.quaternions_of_angles(*angles)
    alike(of.matrices_of(s), [matrix_from_rpy(*one) for one in angles.T])


def test_signs_follow_each_other_of_many_bodies_at_once():
    turn = np.linspace(0.0, 20.0, 50)[:, None, None] * np.eye(3)[:2]
    s = of.quaternions_of(of.matrices_of(of.exponential(turn)))
    followed = s * of.near_signs(s)[..., None]
    assert ((followed[1:] * followed[:-1]).sum(axis=-1) > 0.9).all()
    assert not ((s[1:] * s[:-1]).sum(axis=-1) > 0.0).all()
