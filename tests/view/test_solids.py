"""Surfaces are closed, turn their outside out, and have the volume of what they stand for."""

import numpy as np
import pytest

from mbd_bridge.view import solids
from mbd_bridge.view.pieces import shaded

ROUND = 0.02
"""What 24 corners instead of a circle take from areas (1.1 %), and a little more for balls."""


def volume(surface):
    """Volume within a closed surface, by Gauss: negative if its outside is inside."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        (solids.box(1.0, 2.0, 3.0), 6.0),
        (solids.sphere(0.5), np.pi / 6),
        (solids.cylinder(0.5, 2.0), np.pi / 2),
        (solids.rod(0.5, 2.0), np.pi / 2),
        (solids.capsule(0.5, 2.0), np.pi / 2 + np.pi / 6),
        (solids.cone(0.5, 3.0), np.pi / 4),
        (solids.arc(1.0, 0.1, 2.0), 2.0 * np.pi * 0.01),
    ],
)
def test_a_solid_has_its_volume(surface, expected):
    assert volume(surface) == pytest.approx(expected, rel=2.5 * ROUND)
    assert volume(surface) <= expected * (1 + 1e-12)
    edges = np.concatenate([surface.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    points = np.round(surface.vertices / 1e-9).astype(int)
    _, one = np.unique(points, axis=0, return_inverse=True)
    edges = one.reshape(-1)[edges]
    there, back = {tuple(e) for e in edges.tolist()}, {tuple(e[::-1]) for e in edges.tolist()}
    assert there == back  # each edge has a face on either side


def test_shading_keeps_the_surface_and_its_edges():
    (box,) = shaded(solids.box(1.0, 2.0, 3.0))
    assert len(box.vertices) == 24  # three normals at each corner
    assert np.array_equal(np.unique(np.abs(box.normals)), [0.0, 1.0])
    (ball,) = shaded(solids.sphere(2.0))
    radial = ball.vertices / np.linalg.norm(ball.vertices, axis=1, keepdims=True)
    assert np.einsum("ij,ij->i", radial, ball.normals).min() > 0.99


def test_a_large_surface_falls_into_pieces_that_can_be_drawn(monkeypatch):
    from mbd_bridge.view import pieces

    monkeypatch.setattr(pieces, "LARGEST_PIECE", 7)
    pieces = list(shaded(solids.box(1.0, 1.0, 1.0)))
    assert [len(piece.triangles) for piece in pieces] == [7, 5]
