"""The film on the first page shows what its script computes, and its loop is closed."""

from __future__ import annotations

import importlib.util

import numpy as np
from PIL import Image

from mbd_bridge.view.draw_loads import Take
from mbd_bridge.view.marks import CUT, PIN
from mbd_bridge.view.record import Shot, camera_of
from mbd_bridge.view.source import of_simulation
from tests.docs.pages import ROOT

FILM = ROOT / "docs" / "guides" / "four_bar.gif"
APART = 2.5
"""Pixels between the middles of a pin's two halves, as far as they are seen: some 5 mm."""


def script():
    spec = importlib.util.spec_from_file_location("make_films", FILM.parent / "make_films.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def middle(picture, colour, at):
    """Middle of the pixels with the hue of a colour within a pin's size of a place."""
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]]
    near = np.hypot(columns + 0.5 - at[0], rows + 0.5 - at[1]) < 13
    bright = picture.max(axis=-1, keepdims=True)
    hue = np.abs(picture / bright - np.array(colour[:3]) / max(colour[:3])).max(axis=-1) < 0.25
    dark = bright[..., 0] < 70
    rows, columns = np.nonzero(near & hue & (dark == (max(colour[:3]) < 0.5)))
    assert len(rows) > 20
    return np.array([0.5 * (x.min() + x.max()) + 0.5 for x in (columns, rows)])


def test_both_halves_of_the_pin_that_closes_the_loop_are_where_the_joint_is():
    made = script()
    run = made.turn()
    take = Take(of_simulation(run, made.LOADS))
    camera = camera_of(take, Shot(made.SIZE, made.FPS))
    (cut,) = run.model.cuts
    pins = (mark.surface for mark in take.marks.joints() if mark.colour == PIN)
    face = max(next(pins).vertices[:, 2])  # of a pin, which is what is seen of it
    with Image.open(FILM) as film:
        assert f"({FILM.relative_to(ROOT)})" in (ROOT / "README.md").read_text()
        assert film.size == made.SIZE
        assert film.n_frames == 2.0 * made.FPS + 1
        for k in range(film.n_frames):
            film.seek(k)
            picture = np.asarray(film.convert("RGB")).astype(float)
            row = int(np.argmin(np.abs(run.time - k / made.FPS)))
            body = take.bodies(run.q[row : row + 1])[0, cut.predecessor]
            ends = [(body @ cut.a.matrix() @ [0, 0, z, 1])[:3] for z in (face, -face)]
            seen = min(ends, key=lambda end: np.linalg.norm(end - camera.eye))
            pin = camera.pixels(seen, made.SIZE)
            halves = [middle(picture, colour, pin) for colour in (PIN, CUT)]
            assert np.linalg.norm(halves[0] - halves[1]) < APART, k
            assert np.linalg.norm(halves[0] - pin) < APART, k
