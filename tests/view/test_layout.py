"""Texts of the window stay in it, and none on another."""

import numpy as np

from mbd_bridge.view.camera import (
    HIDDEN,
    LETTER,
    PANELS,
    ROW,
    WINDOW_FIELD,
    Camera,
    WindowTexts,
)
from mbd_bridge.view.draw_loads import Label


def test_numbers_and_rows_of_text_stay_in_the_window_and_apart():
    size, colour = (900, 640), (0.0, 0.0, 0.0, 1.0)
    camera = Camera(np.array([0.3, -2.0, 0.5]), np.zeros(3), WINDOW_FIELD)
    places = np.array([[3.0, 0, 0], [-9, 1, 0], [0, 0, 5], [0, 0, -5], [0, 0, 0], [0.02, 0, 0]])
    labels = [Label(place, f"{k}23.4 N m", colour) for k, place in enumerate(places)]
    behind = Label(np.array([0.0, -9.0, 0.0]), "behind", colour)
    for margins in (HIDDEN, PANELS):
        texts = WindowTexts(camera, size, margins)
        found, last = texts.numbers([*labels, behind]), texts.row_below("keys")
        rows = texts.rows_above(["t = 1 s", "force"])
        assert [label.text for label in found] == [label.text for label in labels]
        seen = camera.pixels([label.point for label in [*found, *rows, last]], size)
        width = LETTER * len(labels[0].text)
        assert seen[:, 0].min() >= margins.side - 1e-6
        assert seen[: len(found), 0].max() <= size[0] - margins.side - width
        assert seen[:, 1].min() >= ROW  # a text is above its point
        assert (
            seen[:, 1].max() <= size[1] - (margins.bottom if margins == PANELS else 0) + 28 + 1e-6
        )
        for k, one in enumerate(seen):
            for other in seen[:k]:
                assert abs(one[1] - other[1]) >= ROW - 1e-6 or abs(one[0] - other[0]) > width
