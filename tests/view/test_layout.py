"""Texts of the window stay in it, and none on another."""

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.view.camera import (
    HIDDEN,
    LETTER,
    PANELS,
    ROW,
    WINDOW_FIELD,
    Camera,
    WindowTexts,
)
from mbd_bridge.view.draw_loads import NUMBERS, Label, Take
from mbd_bridge.view.source import of_motion
from tests.robots import OWN


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


def test_the_ten_longest_arrows_have_numbers_in_the_tables_units_and_the_legend_says_so():
    arm = mbd.load(OWN / "kuka_iiwa.urdf").with_payload("lbr_iiwa_link_ee", 5e4)
    motion = arm.motion(np.arange(4.0), np.full((4, 7), 0.3))
    few, many = (
        Take(of_motion(arm.model, motion, loads)) for loads in (["lbr_iiwa_joint_2"], "all")
    )
    assert len(few.moment(0.0).labels) < NUMBERS == len(many.moment(0.0).labels)
    assert all(label.text.endswith(("kN", "kN m")) for label in many.moment(0.0).labels)
    rows = [[text for text, _ in take.legend()] for take in (few, many)]
    assert [f"numbers at the {NUMBERS} longest" in each for each in rows] == [False, True]
