"""A point is seen where the camera says, and the machine fills the picture without leaving it."""

import numpy as np
import pytest

from mbd_bridge.files.surface import Surface
from mbd_bridge.view import solids
from mbd_bridge.view.camera import Camera, direction, framing
from mbd_bridge.view.picture import LIGHT, RayCanvas
from mbd_bridge.view.pieces import CanvasStage, Piece

SIZE = (320, 240)


@pytest.mark.parametrize(("yaw", "pitch"), [(0, 0), (40, 20), (-130, 60), (200, -30), (0, 90)])
def test_a_ball_is_seen_where_the_camera_projects_its_centre(yaw, pitch):
    rng = np.random.default_rng(abs(yaw) + abs(pitch))
    points = rng.uniform(-1, 1, (6, 3)) * [1.0, 0.6, 0.8] + [3.0, -2.0, 1.0]
    camera = framing(points, direction(yaw, pitch), SIZE)
    ball = solids.sphere(0.01)
    canvas = RayCanvas()
    stage = CanvasStage(canvas)
    for point in points:
        pose = np.eye(4)
        pose[:3, 3] = point
        ((body,),) = stage.show([Piece(ball, (1.0, 0.0, 0.0, 1.0), pose)])
        seen = canvas.image(camera.view(), camera.projection(SIZE), SIZE, LIGHT).bodies == body
        rows, columns = np.nonzero(seen)
        there = np.array([columns.mean() + 0.5, rows.mean() + 0.5])
        assert there == pytest.approx(camera.pixels(point, SIZE), abs=0.75)


def test_framing_leaves_a_margin_and_no_more():
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = rng.normal(size=(30, 3)) * rng.uniform(0.01, 10, 3) + rng.normal(size=3) * 100
        towards = direction(*rng.uniform([-180, -80], [180, 80]))
        camera = framing(points, towards, SIZE)
        seen = camera.pixels(points, SIZE)
        assert (seen > 0).all()
        assert (seen < SIZE).all()
        used = np.ptp(seen, axis=0) / SIZE
        assert used.max() > 0.6
        depth = (points - camera.eye) @ camera.axes()[2]
        assert camera.near < -depth.max()
        assert -depth.min() < camera.far


def test_a_pixel_of_a_level_is_where_its_point_is_seen():
    camera = Camera(np.array([2.0, -3.0, 1.5]), np.array([0.1, 0.2, 0.3]))
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (10, 3))
    points[:, 2] = -0.25
    pixels = np.column_stack([camera.pixels(points, SIZE), np.ones(10)])
    back = pixels @ camera.level(-0.25, SIZE).T
    assert back[:, :3] / back[:, 3:] == pytest.approx(points, abs=1e-12)


def test_a_colour_and_a_turned_pose_are_those_of_the_piece():
    """A red plate that faces the camera is seen in red over the share of the picture it covers."""
    plate = Surface(solids.box(1.0, 0.01, 0.5).vertices, solids.box(1.0, 0.01, 0.5).triangles)
    camera = Camera(np.array([0.0, -3.0, 0.0]), np.zeros(3))
    quarter = np.eye(4)
    quarter[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # about y
    canvas = RayCanvas()
    stage = CanvasStage(canvas)
    for pose, shape in ((np.eye(4), (1.0, 0.5)), (quarter, (0.5, 1.0))):
        stage.show([Piece(plate, (0.9, 0.1, 0.1, 1.0), pose)])
        seen = canvas.image(camera.view(), camera.projection(SIZE), SIZE, LIGHT)
        rows, columns = np.nonzero(seen.bodies >= 0)
        focus = 0.5 * SIZE[1] / np.tan(np.deg2rad(camera.field) / 2) / 2.995
        assert np.ptp(columns) + 1 == pytest.approx(shape[0] * focus, abs=1.5)
        assert np.ptp(rows) + 1 == pytest.approx(shape[1] * focus, abs=1.5)
        red, green, blue = seen.colours[seen.bodies >= 0].mean(axis=0)
        assert red > 4 * max(green, blue)


def test_a_finer_picture_looks_at_edges_only_and_shows_the_same():
    """A ball, a plate edge on and one behind: adaptive rays against a ray for every pixel."""
    pieces = []
    for k, surface in enumerate(
        (solids.sphere(0.4), solids.box(0.5, 0.02, 0.5), solids.cylinder(0.05, 2.0))
    ):
        pose = np.eye(4)
        pose[:3, 3] = [0.5 * k - 0.5, 0.3 * k, 0.1 * k]
        pieces.append(Piece(surface, (0.9 - 0.3 * k, 0.4, 0.2 + 0.3 * k, 1.0), pose))
    canvas = RayCanvas()
    CanvasStage(canvas).show(pieces)
    camera = Camera(np.array([0.7, -3.0, 0.8]), np.zeros(3))
    large = 2 * SIZE[0], 2 * SIZE[1]
    exact = canvas.image(camera.view(), camera.projection(SIZE), large, LIGHT)
    quick = canvas.image(camera.view(), camera.projection(SIZE), SIZE, LIGHT, finer=2)
    assert np.array_equal(exact.bodies, quick.bodies)
    assert np.abs(exact.colours.astype(int) - quick.colours).max() < 12
    assert len(np.unique(exact.bodies)) == 4
