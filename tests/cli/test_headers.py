"""Claims about headers of tables: every command reads the same words, in every usual spelling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mbd_bridge.files.tables import read_table
from tests.robots import OWN

ROD = str(OWN / "pendulum.urdf")
DEG, TURN = math.pi / 180.0, 2.0 * math.pi
TIME = np.linspace(0.0, 1.0, 41)
ANGLE = 0.2 + 0.3 * np.sin(3.0 * TIME)
SPEED, ACCELERATION = 0.9 * np.cos(3.0 * TIME), -2.7 * np.sin(3.0 * TIME)
FORCE = 5.0 + TIME

MOTIONS = {
    "SI": (["time,hinge"], 1.0, 1.0),
    "in brackets": (["t [ms],hinge [deg]"], 1e-3, DEG),
    "in parentheses": (["Time (ms),Hinge (°)"], 1e-3, DEG),
    "in parentheses, German": (["Zeit (Sekunden),hinge (Grad)"], 1.0, DEG),
    "behind the name": (["timestamp_us,hinge_deg"], 1e-6, DEG),
    "turns and minutes": (["time [min],hinge [rev]"], 60.0, TURN),
    "second line": (["time;hinge", "[s];[deg]"], 1.0, DEG),
    "second line, German": (["Zeit;hinge", "Sekunden;Grad"], 1.0, DEG),
    "second line, English": (["Time;Hinge", "milliseconds;degrees"], 1e-3, DEG),
    "second line, one unknown": (["Zeit;hinge;Temperatur", "ms;°;Grad Celsius"], 1e-3, DEG),
    "a title before": (["Versuch 7;;", "Zeit;hinge;Druck", "s;Umdrehungen;bar"], 1.0, TURN),
}
"""Lines before the numbers, seconds of a time and radians of an angle."""

SPEEDS = {
    "[rad/s]": 1.0,
    "[rpm]": TURN / 60.0,
    "[1/min]": TURN / 60.0,
    "[U/min]": TURN / 60.0,
    "(min^-1)": TURN / 60.0,
    "[min⁻¹]": TURN / 60.0,
    "[°/s]": DEG,
    "[Grad/Sekunde]": DEG,
    "[deg_per_s]": DEG,
}
FORCES = {
    "SI": (["time,rod.fx"], 1.0, 1.0),
    "in brackets": (["Zeit [ms],rod.fx [kN]"], 1e-3, 1e3),
    "in parentheses": (["t (s),rod.fx (mN)"], 1.0, 1e-3),
    "behind the name": (["Timestamp,rod_fx_kN"], 1.0, 1e3),
    "second line": (["Zeit;rod.Fx", "s;Kilonewton"], 1.0, 1e3),
    "second line, one unknown": (["time;rod.fx;rod.fy", "seconds;Newton;"], 1.0, 1.0),
}


def written(path, header, *columns):
    """Write columns below a header, all with as many cells as its last line."""
    sign = ";" if ";" in header[-1] else ","
    width = header[-1].count(sign) + 1
    columns = [*columns, *[np.zeros(len(TIME))] * (width - len(columns))]
    lines = [*header, *(sign.join(map(repr, row)) for row in np.column_stack(columns).tolist())]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def numbers(run, *words, out):
    """Run a command that writes a table; return its columns behind the time."""
    code, _, err = run(*words, "-o", out)
    assert code == 0, err
    return read_table(out).values[:, 1:]


LOADS = ["loads", ROD, "--joints", "hinge", "--digits", "17", "--smooth", "off"]
MOVES = ["simulate", ROD, "--seconds", "0.5", "--joints", "hinge"]


@pytest.mark.parametrize("name", MOTIONS)
def test_motions_are_read_in_the_same_words_along_which_loads_are_and_which_are_prescribed(
    name, run, tmp_path
):
    header, second, radian = MOTIONS[name]
    plain = written(tmp_path / "si.csv", MOTIONS["SI"][0], TIME, ANGLE)
    other = written(tmp_path / "other.csv", header, TIME / second, ANGLE / radian)
    for command in ([*LOADS, "MOTION"], [*MOVES, "--prescribe", "hinge=MOTION"]):
        found = [
            numbers(run, *(w.replace("MOTION", str(path)) for w in command), out=tmp_path / "o.csv")
            for path in (plain, other)
        ]
        assert np.abs(found[0]).max() > 1.0
        assert np.allclose(found[1], found[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("unit", SPEEDS)
def test_speeds_are_read_in_every_unit(unit, run, tmp_path):
    columns = TIME, ANGLE, SPEED, ACCELERATION
    header = "time,hinge,hinge.vel {},hinge.acc [rad/s^2]"
    plain = written(tmp_path / "si.csv", [header.format("[rad/s]")], *columns)
    scaled = TIME, ANGLE, SPEED / SPEEDS[unit], ACCELERATION
    other = written(tmp_path / "other.csv", [header.format(unit)], *scaled)
    found = [numbers(run, *LOADS, path, out=tmp_path / "o.csv") for path in (plain, other)]
    assert np.allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("name", FORCES)
def test_forces_are_read_in_the_same_words_in_loads_and_simulations(name, run, tmp_path):
    header, second, newton = FORCES[name]
    motion = written(tmp_path / "m.csv", MOTIONS["SI"][0], TIME, ANGLE)
    plain = written(tmp_path / "si.csv", FORCES["SI"][0], TIME, FORCE)
    other = written(tmp_path / "other.csv", header, TIME / second, FORCE / newton)
    for command in ([*LOADS, motion], [*MOVES]):
        found = [
            numbers(run, *command, "--external", path, out=tmp_path / "o.csv")
            for path in (plain, other)
        ]
        assert np.allclose(found[1], found[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cell", ["#DIV/0!", "#N/A", "#WERT!", "#BEZUG!", "", "n/a"])
@pytest.mark.parametrize("column", [0, 1])
def test_failed_formulas_are_gaps_and_are_refused_by_default(cell, column, run, tmp_path):
    path = written(tmp_path / "gaps.csv", ["Zeit;hinge"], TIME, ANGLE)
    lines = path.read_text().splitlines()
    for row in (1, 7):
        cells = lines[row].split(";")
        cells[column] = cell
        lines[row] = ";".join(cells)
    path.write_text("\n".join(lines))
    code, _, err = run(*LOADS, path)
    assert code == 2 and "--gaps drop" in err and "gaps.csv:2" in err
    rows = numbers(run, *LOADS, path, "--gaps", "drop", out=tmp_path / "o.csv")
    assert len(rows) == len(TIME) - 2


@pytest.mark.parametrize("options", [[], ["--gaps", "drop"]])
def test_rows_without_a_number_at_the_end_are_nothing(options, run, tmp_path):
    whole = written(tmp_path / "m.csv", ["Zeit;hinge"], TIME, ANGLE)
    ends = tmp_path / "ends.csv"
    ends.write_text(whole.read_text() + "\n;\n;\n ; \n\n;\n")
    found = [numbers(run, *LOADS, path, *options, out=tmp_path / "o.csv") for path in (whole, ends)]
    assert np.array_equal(found[0], found[1])
    ends.write_text(whole.read_text() + "\n;\n;\n2.0;0.1\n")
    code, _, err = run(*LOADS, ends)
    assert code == 2 and f"ends.csv:{len(TIME) + 2}" in err and "empty cell" in err
