"""``mbd view --record``: what it writes, and what it says when it cannot."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mbd_bridge.view.web.web_view import ViewServer
from tests.robots import own_urdfs

ARM, BAR = own_urdfs()["kuka_iiwa"], own_urdfs()["four_bar"]
MOTION = Path(ARM).with_name("kuka_iiwa_motion.csv")
FLANGE = "lbr_iiwa_joint_ee"


@pytest.fixture
def view(run, tmp_path, monkeypatch):
    """Return a function that shows a small picture in an empty folder: exit code, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)

    def command(*words):
        code, out, err = run("view", *words, "--size", "160x120")
        assert out == ""
        return code, err

    return command


def pixels(name):
    with Image.open(name) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_options_change_what_is_seen(view):
    plain = ("--near", "lbr_iiwa_joint_2=1", "--record", "a.png")
    assert view(ARM, *plain) == (0, "note: a.png written\n")
    first = pixels("a.png")
    for more in (
        ("--centre",),
        ("--pins",),
        ("--frames", "lbr_iiwa_link_ee"),
        ("--loads", FLANGE),
        ("--no-ground",),
        ("--camera=-30,40",),
        ("--floating",),
    ):
        assert view(ARM, *plain, *more)[0] == 0
        changed = np.abs(pixels("a.png") - first).max()
        assert (changed > 30) == (more != ("--floating",)), more


def test_a_motion_is_filmed_and_its_notes_are_said(view):
    words = (ARM, MOTION, "--fps", 2, "--speed", 2, "--record", "a.gif", "--loads", FLANGE)
    code, err = view(*words)
    assert code == 0
    assert "rates derived" in err
    with Image.open("a.gif") as film:
        assert film.n_frames == 3
        assert film.size == (160, 120)


def test_a_simulation_is_filmed(view):
    start = ("--near", "crank=30deg", "--fixed", "crank", "--seconds", 0.2, "--fps", 10)
    assert view(BAR, *start, "--loads", "coupler_pin", "--record", "a.gif")[0] == 0
    with Image.open("a.gif") as film:
        assert film.n_frames == 3


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((ARM, MOTION, "--seconds", 1, "--record", "a.gif"), 2, "not both"),
        ((ARM, "--record", "a.gif"), 2, "a film needs a motion"),
        ((ARM, "--record", "nowhere/a.png"), 2, "is there a folder"),
        ((ARM, "--record", "a.xyz"), 2, ".png"),
        ((ARM, "--record", "a.png", "--loads", "elbow"), 2, "no joint named 'elbow'"),
        ((ARM, "--record", "a.png", "--camera", "up"), 2, "YAW,PITCH"),
        ((BAR, "--record", "a.png", "--loads", "crank"), 2, "--actuated"),
        ((BAR, "--near", "crank=1m", "--record", "a.png"), 2, "rad"),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_line(view, words, code, told, tmp_path):
    got, err = view(*words)
    assert got == code
    assert told in err
    assert "Traceback" not in err
    assert not [path for path in tmp_path.iterdir() if "png" in path.name or "gif" in path.name]


def test_a_window_without_a_display_is_refused_with_what_works(view, monkeypatch):
    for module in ("cli.view", "api.pictures", "view.show"):  # as if pybullet were installed
        monkeypatch.setattr(f"mbd_bridge.{module}.find_spec", lambda _: True)
    code, err = view(ARM)
    assert code == 2 and "--record motion.gif" in err


def test_without_pybullet_the_page_is_served_and_its_address_told(view, monkeypatch):
    monkeypatch.setattr("mbd_bridge.cli.view.find_spec", lambda _: None)
    monkeypatch.setattr(ViewServer, "wait", lambda _: None)
    code, err = view(ARM)
    assert code == 0 and "pybullet" in err and "http://127.0.0.1:" in err


def test_what_is_not_drawn_is_a_warning(view, tmp_path):
    (tmp_path / "r.urdf").write_text(
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="package://no/b.stl"/>'
        "</geometry></visual></link></robot>"
    )
    code, err = view("r.urdf", "--record", "a.png")
    assert code == 0
    assert "warning: 1 shape not drawn: a: mesh package://no/b.stl not found. Name the fo" in err
    assert err.count("b.stl") == 1
    (tmp_path / "no").mkdir()
    (tmp_path / "no" / "b.stl").write_text(
        "solid\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendsolid\n"
    )
    assert "warning" not in view("r.urdf", "--record", "a.png", "--package-path", tmp_path)[1]
