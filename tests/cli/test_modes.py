"""``mbd vibrations``: the figures of the library, in words, and pictures of them."""

from __future__ import annotations

import pytest

from tests.robots import OWN

BICYCLE = OWN / "whipple_bicycle.urdf"
SPEED = ("--velocity", "rear_wheel=16.666666666666668")


def test_modes_of_an_equilibrium_are_shown(run):
    code, out, err = run("vibrations", OWN / "pendulum.urdf")
    assert (code, err) == (0, "")
    assert "equilibrium found, 2 states, stable" in out
    assert "0 ± 3.83601i" in out
    assert "UNSTABLE" in run("vibrations", OWN / "pendulum.urdf", "--near", "hinge=180deg")[1]


def test_modes_of_a_steady_motion_are_shown(run):
    words = ("--coordinates", "frame.rx", "steer", "rear_wheel")
    code, out, err = run("vibrations", BICYCLE, *SPEED, *words)
    assert code == 0
    assert "steady motion found, 10 states, stable" in out
    assert "-0.775342 ± 4.46487i" in out
    assert "nothing resists frame.x, frame.y, frame.rz, rear_wheel, front_wheel" in err
    assert "driven" not in err


def test_eigenvalues_over_a_velocity_are_drawn(run, tmp_path):
    picture = tmp_path / "weave.png"
    code, out, _ = run("vibrations", BICYCLE, "--over", "rear_wheel=12:21:4", "-o", picture)
    assert (code, picture.read_bytes()[:4]) == (0, b"\x89PNG")
    assert "stable at rear_wheel = 15, 18" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--over", "rear_wheel=0:5:3"), "go together"),
        (("--over", "rear_wheel=0:5", "-o", "a.png"), "NAME=FROM:TO:COUNT"),
        (("--over", "rear_whel=0:5:3", "-o", "a.png"), "did you mean 'rear_wheel'"),
        (("--over", "rear_wheel=0:5:3", "-o", "a.doc"), "pictures are"),
        (("--velocity", "wheel=3"), "wheel"),
        (("--coordinates", "stear"), "did you mean 'steer'"),
    ],
)
def test_bad_input_is_told_on_stderr_with_exit_code_2(run, words, told):
    code, out, err = run("vibrations", BICYCLE, *words)
    assert (code, out) == (2, "")
    assert told in err
