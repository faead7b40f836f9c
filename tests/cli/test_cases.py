"""Claims about ``mbd load-cases``: the same numbers as the library, cases and variants by name."""

from __future__ import annotations

import csv

import numpy as np

import mbd_bridge as mbd
from tests.external.tables import write
from tests.robots import OWN

PENDULUM = str(OWN / "pendulum.urdf")


def swing(path, amplitude):
    time = np.linspace(0.0, 2.0, 201)
    x = amplitude * np.sin(np.pi * time)
    rows = [time, x, np.pi * amplitude * np.cos(np.pi * time), -(np.pi**2) * x]
    return write(path, ["time", "hinge", "hinge.vel", "hinge.acc"], np.column_stack(rows))


SWINGS = {"small": 0.1, "wide": 0.8}
"""rad, by name."""


def test_an_envelope_and_equivalent_ranges_are_those_of_the_library(run, tmp_path):
    small, wide = swing(tmp_path / "s.csv", 0.1), swing(tmp_path / "w.csv", 0.8)
    words = ["load-cases", PENDULUM, f"small={small}", f"wide={wide}"]
    words += ["--weight", "small=1000", "--joints", "hinge", "--exponent", "3"]
    code, out, _ = run(*words)
    assert code == 0
    robot = mbd.load(PENDULUM)
    histories = [robot.load_history(p, ["hinge"], exponents=[3]) for p in (small, wide)]
    cases = mbd.loads.LoadCases(
        [mbd.loads.LoadCase("small", histories[0], 1000), mbd.loads.LoadCase("wide", histories[1])]
    )
    (row,) = [line.split() for line in out.splitlines() if " fx " in line]
    assert row[:3] == ["hinge", "fx", f"{cases.largest('hinge.fx').extreme.value:.5g}"]
    assert row[3] == "wide"
    assert row[-4] == f"{cases.damage_equivalent('hinge.fx', 3):.5g}"
    shares = cases.damage_shares("hinge.fx", 3)
    assert row[-2:] == ["small", f"({shares['small']:.0%})"] and shares["small"] > 0.5


def test_a_variant_stands_beside_the_machine_with_ratios(run, tmp_path):
    motion = swing(tmp_path / "w.csv", 0.8)
    variant = tmp_path / "heavy.urdf"
    text = (OWN / "pendulum.urdf").read_text()
    variant.write_text(text.replace('<mass value="', '<mass value="1'))
    words = ["load-cases", PENDULUM, f"wide={motion}", "--joints", "hinge"]
    code, out, err = run(*words, "--compare", variant)
    assert code == 0, err
    peaks = [
        mbd.load(p).load_history(motion, ["hinge"])["hinge.fx"].peak.value
        for p in (PENDULUM, variant)
    ]
    (row,) = [line.split() for line in out.splitlines() if " fx " in line]
    assert row[-1] == f"{abs(peaks[1] / peaks[0]):.4g}"


def test_the_envelope_is_written_in_si_units(run, tmp_path):
    motions = [f"{name}={swing(tmp_path / f'{name}.csv', size)}" for name, size in SWINGS.items()]
    words = ["load-cases", PENDULUM, *motions, "--joints", "hinge", "-o"]
    code, out, err = run(*words, tmp_path / "cases.csv")
    assert code == 0 and "rows written to" in err
    convention, *lines = (tmp_path / "cases.csv").read_text().splitlines()
    rows = {row["quantity"]: row for row in csv.DictReader(lines)}
    history = mbd.load(PENDULUM).load_history(tmp_path / "wide.csv", ["hinge"])
    assert convention == f"# {history.convention}" and history.convention in out
    assert float(rows["fx"]["largest"]) == history["hinge.fx"].largest.value
    assert rows["fx"]["largest in"] == "wide" and rows["mx"]["unit"] == "N m"
    code, _, err = run(*words, tmp_path / "cases.xlsx")
    assert code == 2 and "ends with .csv" in err


def test_words_that_name_no_case_are_told(run, tmp_path):
    motion = swing(tmp_path / "w.csv", 0.8)
    one = ["load-cases", PENDULUM, f"wide={motion}"]
    for words, said in (
        ((*one, "--weight", "wade=3"), "did you mean 'wide'"),
        ((*one, "--weight", "wide=many"), "expected NAME=N"),
        ((*one, f"wide={motion}"), "two load cases are called 'wide'"),
        (("loads", PENDULUM, motion, motion, "--joints", "hinge"), "mbd load-cases ROBOT"),
        ((*one, "--weight", "wide=-1"), "repetitions above 0"),
    ):
        code, _, err = run(*words)
        assert code == 2
        assert said in err
