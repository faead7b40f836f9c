"""Claims about angles in degrees or within one turn: none is taken for another in silence."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.files.tables import open_table, read_table
from mbd_bridge.motion.pieces import motion_pieces
from mbd_bridge.motion.reading import Reading
from tests.robots import OWN

ROD = str(OWN / "pendulum.urdf")
TIME = np.linspace(0.0, 4.0, 401)
SWING = 60.0 * np.sin(3.0 * TIME)
QUESTION = "are these degrees? Then the header says 'hinge [deg]'"
COMMANDS = {
    "loads": ["--joints", "hinge"],
    "spectrum": ["--joints", "hinge"],
    "free-body": ["--link", "rod"],
    "motors": [],
    "bearings": ["--joints", "hinge"],
    "load-cases": ["--joints", "hinge"],
    "plot": ["-o", "p.png"],
    "view": ["--record", "v.png", "--size", "64x48"],
    "complete-motion": ["-o", "c.csv"],
    "report": ["--no-picture", "--no-check", "-o", "r.html"],
}


def written(path, heading, angle, time=TIME):
    """Write a motion of the hinge."""
    rows = [f"{t!r},{x!r}" for t, x in zip(time.tolist(), angle.tolist(), strict=True)]
    path.write_text("\n".join([f"time,{heading}", *rows]))
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_asks_whether_large_angles_without_a_unit_are_degrees(
    command, run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path / "m.csv", "hinge", SWING)
    code, out, err = run(command, ROD, path, *COMMANDS[command])
    assert code == 0, err
    assert QUESTION in out + err
    assert "hinge.vel (180 above 20 rad/s)" in out + err
    code, out, err = run(command, ROD, path, *COMMANDS[command], "--unit", "deg")
    assert code == 0 and QUESTION not in out + err and "beyond the limits" not in out + err


def test_the_assumptions_say_it_too_and_a_unit_ends_the_question(tmp_path):
    rod = mbd.load(ROD)
    asked = rod.read_motion(written(tmp_path / "m.csv", "hinge", SWING))
    limits = rod.joint_loads(asked).assumptions["limits"][0].text
    assert QUESTION in limits and "hinge.vel (180 above 20 rad/s)" in limits
    stated = rod.read_motion(written(tmp_path / "m.csv", "hinge [rad]", SWING))
    limits = rod.joint_loads(stated).assumptions["limits"][0].text
    assert QUESTION not in limits and "hinge.vel (180 above 20 rad/s)" in limits
    degrees = rod.read_motion(written(tmp_path / "m.csv", "hinge [deg]", SWING))
    limits = rod.joint_loads(degrees).assumptions["limits"][0].text
    assert limits == (
        "of position and speed: compared with, never enforced; "
        "of effort: compared with in mbd loads, motors, plots and reports"
    )


def test_a_simulation_says_how_far_beyond_the_limit_of_speed_it_is():
    run = mbd.load(ROD).simulate(0.1, v=[25.0])
    assert [note for note in run.notes if "hinge.vel (25 above 20 rad/s)" in note]


@pytest.mark.parametrize(("unit", "turn"), [("deg", 360.0), ("rad", math.tau), ("rev", 1.0)])
@pytest.mark.parametrize("seed", range(4))
def test_wrapped_angles_are_those_that_were_wrapped_whole_and_in_pieces(unit, turn, seed, tmp_path):
    draw = np.random.default_rng(seed)
    speed = draw.uniform(-0.9, 0.9) + 0.8 * np.sin(draw.uniform(1.0, 4.0) * TIME)
    turns = draw.uniform(-3.0, 3.0) + np.cumsum(speed) * 0.08  # up to 0.14 of a turn a row
    low = draw.choice([0.0, -0.5])
    path = written(tmp_path / "m.csv", f"hinge [{unit}]", (low + (turns - low) % 1.0) * turn)
    rod = mbd.load(ROD)
    motion = rod.read_motion(path, smooth="off")
    moved = (motion.q[:, 0] - motion.q[0, 0]) / math.tau
    assert np.allclose(moved, turns - turns[0], atol=1e-9)
    pieces = motion_pieces(open_table(path), rod.model, Reading.of(smooth="off"), rows=100)
    parts = list(pieces)
    assert np.allclose(np.concatenate([part.q for part in parts]), motion.q, rtol=1e-12)
    jumps = np.count_nonzero(np.diff(np.floor(turns - low)))
    assert jumps > 1, "the claim is about wrapped angles"
    said = f"angles that begin again after a turn are counted on: hinge ({jumps} jumps)"
    assert [note for note in motion.notes if note.startswith(said)]
    assert [one.text for one in motion.assumed if one.topic == "completed"] == [said]
    assert [one.text for one in pieces.assumed if one.topic == "completed"] == [said]


def test_what_is_counted_or_limited_stays_and_what_is_named_is_unwrapped(tmp_path):
    rod, arm = mbd.load(ROD), mbd.load(str(OWN / "kuka_iiwa.urdf"))
    counted = 0.61 * TIME / TIME[1] % 37.0  # turns: more than half of one a row
    motion = rod.read_motion(written(tmp_path / "m.csv", "hinge [rev]", counted), smooth="off")
    assert np.allclose(motion.q[5:, 0] - motion.q[5, 0], (counted[5:] - counted[5]) * math.tau)
    swung = 0.45 * (np.arange(len(TIME)) % 2)  # turns: less than half of one a row
    motion = rod.read_motion(written(tmp_path / "s.csv", "hinge [rev]", swung), smooth="off")
    assert np.allclose(motion.q[:, 0], swung * math.tau)
    assert not [one for one in motion.assumed if one.topic == "completed"]
    wrapped = written(tmp_path / "w.csv", "hinge [deg]", 200.0 * TIME % 360.0)
    kept = rod.read_motion(wrapped, unwrap="none", smooth="off")
    assert np.allclose(kept.q[:, 0], np.radians(200.0 * TIME % 360.0))
    assert [note for note in kept.notes if "--unwrap hinge (unwrap='hinge')" in note]
    joint = arm.coordinate_names[2]
    path = written(tmp_path / "a.csv", f"{joint} [deg]", (200.0 * TIME + 180.0) % 360.0 - 180.0)
    limited = arm.read_motion(path, rest=True, smooth="off")
    assert np.ptp(limited.q[:, 2]) < math.tau
    for names in (joint, "all", [joint]):
        named = arm.read_motion(path, rest=True, smooth="off", unwrap=names)
        assert np.allclose(named.q[:, 2], np.radians(200.0 * TIME))
    with pytest.raises(StateError, match=r"unwrap: no angle of a joint named 'hing'.*'?hinge"):
        rod.read_motion(wrapped, unwrap="hing")


def test_a_wrapped_table_is_counted_on_where_it_is_prescribed(run, tmp_path):
    tables = []
    for angle in (200.0 * TIME, 200.0 * TIME % 360.0):
        path = written(tmp_path / "m.csv", "hinge [deg]", angle)
        words = ["--seconds", "3", "--prescribe", f"hinge={path}", "-o", tmp_path / "o.csv"]
        code, _, err = run("simulate", ROD, *words, "--joints", "hinge")
        assert code == 0 and ("counted on: hinge (2 jumps)" in err) == (len(tables) == 1)
        tables.append(read_table(tmp_path / "o.csv").values)
    assert np.allclose(tables[0], tables[1], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("command", ["simulate", "real-time", "export"])
def test_a_prescribed_table_of_large_angles_without_a_unit_is_asked_about(command, run, tmp_path):
    more = {
        "simulate": ["--seconds", "0.1", "-o", tmp_path / "o.csv"],
        "real-time": ["--seconds", "0.1", "-o", tmp_path / "r.csv"],
        "export": ["--what", "step", "-o", tmp_path / "step.c"],
    }[command]
    for heading, asked in (("hinge", True), ("hinge [rad]", False), ("hinge [deg]", False)):
        path = written(tmp_path / "m.csv", heading, SWING)
        code, _, err = run(command, ROD, "--prescribe", f"hinge={path}", *more)
        assert code == 0, err
        assert (f"{QUESTION}; if not, 'hinge [rad]'" in err) == asked
