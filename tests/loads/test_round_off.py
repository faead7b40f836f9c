"""Claims: one threshold says what is zero, everywhere; units are those that people read."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from mbd_bridge.base.readable import number, quantity, shown_in
from mbd_bridge.cli import main
from mbd_bridge.loads.round_off import ROUND_OFF, RoundOff
from tests.robots import own_urdfs


@pytest.fixture(scope="module")
def run(bar):
    start = bar.assemble(near={"crank": 0.5}, fixed="crank")
    return bar.simulate(0.2, q=start.q, v=start.v)


def test_the_threshold_grows_with_the_machine_and_not_with_one_joint(bar, run):
    loads = run.joint_loads()
    floors, one = loads.round_off, run.joint_loads(["crank"]).round_off
    weight = sum(link.inertia.mass for link in bar.model.links) * 9.81
    assert floors.force >= one.force >= ROUND_OFF * weight * 0.999
    assert floors.force == pytest.approx(
        ROUND_OFF * max(weight, np.linalg.norm(loads.force, axis=-1).max())
    )
    assert floors.moment >= floors.force * bar.model.size
    assert floors.including(1e9, 0.0).moment == pytest.approx(ROUND_OFF * 1e9 * bar.model.size)
    free = RoundOff.of(None)
    assert (free.force, free.moment) == (0.0, 0.0)
    assert free.including(2.0, 3.0).joined(floors).force == max(2.0 * ROUND_OFF, floors.force)


def test_a_planar_linkage_has_no_loads_out_of_its_plane_in_anything_people_read(
    bar, run, tmp_path, capsys
):
    loads = run.joint_loads()
    raw = np.abs(loads.wrench).max(axis=0)
    clean = np.abs(loads.round_off.cleaned_wrench(loads.wrench)).max(axis=0)
    assert ((raw > 0) & (clean == 0)).any()  # there is rounding in this case
    assert (clean[clean > 0] > 1e-6).all()  # and nothing between it and real loads
    moment = loads["crank"].moment[:, :2]  # about axes in the plane: nothing but rounding
    assert 0 < np.abs(moment).max() < loads.round_off.moment
    flat = replace(loads, moment=np.where([True, True, False], loads.moment, 0.0))
    (axes,) = flat.plot(["crank"], "moment")
    assert axes.get_ylim() == (-1.0, 1.0)
    body = run.free_body("coupler", at="peak")
    body.write(tmp_path / "coupler.bdf")
    cards = (tmp_path / "coupler.bdf").read_text()
    for line in re.findall(r"^(?:FORCE|MOMENT)\*.*\n\*.*", cards, re.M):
        for field in re.findall(r"-?\d+\.\d*[+-]\d+(?!\S)", line):
            assert "-1" not in field[-3:-1], line  # exponents of -10 and less
    motion, table = tmp_path / "run.csv", tmp_path / "loads.csv"
    run.save(motion)
    words = ["loads", str(own_urdfs()["four_bar"]), str(motion), "--joints", "all"]
    assert main([*words, "--actuated", "crank", "--minimum-norm", "-o", str(table)]) == 0
    shown = capsys.readouterr().err
    assert not re.search(r"\de-1\d", shown.split("assumed")[0]), shown
    values = np.abs(bar.read_loads(table).wrench)
    assert ((values > 0) & (values < 1e-12)).any()  # files keep what was computed


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (9999.0, "N", "9999 N"),
        (10_000.0, "N", "10 kN"),
        (-12_345.678, "N m", "-12.346 kN m"),
        (1.5e7, "N", "15 MN"),
        (0.01, "N", "0.01 N"),
        (0.0099, "N m", "9.9 mN m"),
        (2e-6, "N", "2 µN"),
        (2e7, "W", "20 MW"),
        (12_345.0, "rad/s", "12345 rad/s"),
        (0.0, "N", "0 N"),
        (float("inf"), "N", "inf N"),
        (float("nan"), "N", "nan N"),
    ],
)
def test_units_are_those_that_people_read(value, unit, text):
    assert quantity(value, unit) == text


def test_what_is_zero_is_zero_in_any_unit():
    assert quantity(1e-9, "N", floor=1e-8) == "0 N" and number(-1e-9, 1e-8) == "0"
    assert shown_in("N", 1e-13).unit == "N"


def test_axes_are_in_kilonewtons_but_hold_newtons(run):
    loads = run.joint_loads(["crank"])
    heavy = np.asarray(loads.force) * 1e4
    (axes,) = replace(loads, force=heavy).plot(["crank"], "force")
    assert axes.get_ylabel() == "force [kN]"
    drawn = [np.nanmax(np.abs(np.asarray(line.get_ydata(), dtype=float))) for line in axes.lines]
    assert max(drawn) == pytest.approx(np.abs(heavy).max())
    axes.figure.canvas.draw()
    ticks = [text.get_text() for text in axes.get_yticklabels()]
    at = axes.get_yticks()
    assert [float(t.replace("\u2212", "-")) for t in ticks] == pytest.approx(at / 1e3)
