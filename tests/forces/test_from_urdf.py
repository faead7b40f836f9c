"""Damping, friction and limits of a URDF act when they are asked for, and the notes say so."""

import re
import warnings

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning
from mbd_bridge.cli import main
from mbd_bridge.forces import from_urdf
from tests.robots import own_urdfs


@pytest.fixture
def damped(tmp_path):
    """The pendulum with damping and friction, and limits."""
    text = own_urdfs()["pendulum"].read_text()
    found = re.search(r'<joint name="(\w+)" type="(revolute|continuous)">.*?</joint>', text, re.S)
    more = '<dynamics damping="0.3" friction="0.2"/>'
    more += '<limit lower="-0.4" upper="0.4" effort="9" velocity="9"/></joint>'
    joint = re.sub(r"<limit[^>]*/>", "", found[0]).replace("</joint>", more)
    path = tmp_path / "damped.urdf"
    path.write_text(text.replace(found[0], joint.replace("continuous", "revolute")))
    return mbd.load(path), found[1]


def test_what_is_used_is_not_said_to_be_left_out(damped):
    robot, joint = damped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = robot.simulate(1.0, q=[0.3], v=[3.0], forces=from_urdf(robot, limits=(5e3, 20.0)))
        many = robot.simulate(0.1, q=[[0.3]], forces=from_urdf(robot))
        robot.right_hand_side(forces=from_urdf(robot))
    assert run.notes == many.notes == ()
    assert run.q.max() < 0.45
    report = run.force_elements[f"{joint} friction"]
    expected = -0.2 * np.tanh(run.v[:, 0] / 0.01) - 0.3 * run.v[:, 0]
    assert np.abs(report["force"] - expected).max() < 1e-12


def test_what_is_not_used_is_still_said(damped):
    robot, _ = damped
    for options, said in (
        ({"friction": False}, "friction of 1 joint is not part"),
        ({"damping": False}, "damping of 1 joint is not part"),
    ):
        with pytest.warns(MbdWarning, match=said):
            run = robot.simulate(0.5, q=[0.3], v=[3.0], forces=from_urdf(robot, **options))
        assert any("nothing stops it" in note for note in run.notes)


def test_every_road_says_what_of_the_file_is_not_used(damped, capsys):
    robot, _ = damped
    said = pytest.warns(MbdWarning, match="damping and friction of 1 joint are not part of this")
    roads = (
        lambda: robot.simulate(0.01),
        lambda: robot.simulate(0.01, method="multipliers"),
        lambda: robot.simulate(0.01, q=[[0.1]]),
        lambda: robot.right_hand_side(),
        lambda: mbd.Equations(mbd.System(robot)),
    )
    for road in roads:
        with said:
            road()
    path = str(robot.model.description.source)
    for command in (["simulate", path, "--seconds", "0.01"], ["export", path, "--what", "step"]):
        assert main(command) == 0
        assert "damping and friction of 1 joint are not part of" in capsys.readouterr().err
    assert main(["info", path]) == 0
    assert "damping and friction of 1 joint are not part of" in capsys.readouterr().out
