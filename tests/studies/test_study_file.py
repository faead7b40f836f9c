"""Claims about studies as files, and about `mbd study`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main
from mbd_bridge.studies.file import read_study

GOOD = """\
machine: pendulum.urdf
duration: 0.01
every: 2
torque: {JOINT: 0.1*t}
design: {kind: latin_hypercube, number: 6, seed: 1}
vary:
  JOINT: [-1.0, 1.0]
  JOINT.vel: {mean: 1, deviation: 0.1}
outputs:
  end: final JOINT
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    shutil.copy(mbd.models()["pendulum"], tmp_path)
    robot = mbd.load(tmp_path / "pendulum.urdf")
    file = tmp_path / "study.yaml"
    file.write_text(GOOD.replace("JOINT", robot.coordinate_names[0]))
    return file


def test_a_file_gives_the_numbers_of_the_call(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = read_study(study, mbd.load)
    robot = said.machine
    name = robot.coordinate_names[0]
    found = mbd.study(
        robot,
        said.design,
        duration=0.01,
        every=2,
        torque={name: "0.1*t"},
        outputs={"end": f"final {name}"},
    )
    table = tmp_path / "out.npz"
    parts = ["--folder", str(tmp_path / "parts")]
    assert main(["study", str(study), "-o", str(table), *parts]) == 0
    assert main(["study", str(study), *parts]) == 0
    out = capsys.readouterr()
    assert "6 of 6 variants read from" in out.err
    assert f"{found['end'].max():.5g}" in out.out
    with np.load(table) as kept:
        columns = [kept[key] for key in kept.files]
    assert any(np.array_equal(np.asarray(one).ravel(), found["end"]) for one in columns)


def test_grids_have_levels_in_the_file(study: Path) -> None:
    text = study.read_text().replace("design: {kind: latin_hypercube, number: 6, seed: 1}\n", "")
    text = text.replace("[-1.0, 1.0]", "{from: 0, to: 1, levels: 3}")
    study.write_text(text.replace("{mean: 1, deviation: 0.1}", "[1, 2]"))
    design = read_study(study, mbd.load).design
    assert design.shape == (3, 2)
    assert design.values[:, 0].tolist() == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]


def test_numbers_may_have_units(study: Path) -> None:
    text = (
        study.read_text()
        .replace("[-1.0, 1.0]", "[-90deg, 0.5]")
        .replace("mean: 1", "mean: 60deg/s")
    )
    name = mbd.load(study.parent / "pendulum.urdf").coordinate_names[0]
    study.write_text(f"near: {{{name}: -30 deg}}\n{text}")
    said = read_study(study, mbd.load)
    assert said.options["near"] == {name: pytest.approx(-np.pi / 6)}
    columns = dict(zip(said.design.names, said.design.values.T, strict=True))
    assert -np.pi / 2 < columns[name].min() < -1.0 < 0.2 < columns[name].max() < 0.5
    assert columns[f"{name}.vel"].mean() == pytest.approx(np.pi / 3, abs=0.05)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kind: latin_hypercube", "kind: circle", "yaml:5: .*expected grid"),
        ("number: 6, ", "", "needs a number"),
        ("number: 6", "number: 6.5", "whole number"),
        ("[-1.0, 1.0]", "[1.0, -1.0]", "low < high"),
        ("[-1.0, 1.0]", "[1.0]", r"yaml:7: .*\[low, high\]"),
        ("deviation: 0.1", "deviation: -1", "more than 0"),
        ("{mean: 1, deviation: 0.1}", "{mean: 1}", "deviation"),
        ("[-1.0, 1.0]", "[-1.0, 30mm]", "yaml:7: .*is in rad, which 'mm' is not a unit of"),
        ("[-1.0, 1.0]", "[-1.0, 30 ells]", "yaml:7: .*is in rad, which 'ells' is not a unit of"),
        ("[-1.0, 1.0]", "[-1.0, x]", "yaml:7: .*expected a number"),
        ("machine: pendulum.urdf\n", "", "the key 'machine'"),
        ("every: 2", "evry: 2", "evry"),
        ("machine: pendulum.urdf", "machine: nothing.urdf", "nothing.urdf"),
        ("end: final", "end: worst", "no statistic named 'worst'"),
    ],
)
def test_files_that_say_nothing_that_can_be_are_refused_with_their_place(
    study: Path, old: str, new: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = study.read_text()
    assert old in text
    study.write_text(text.replace(old, new))
    assert main(["study", str(study)]) == 2

    assert re.search(words, capsys.readouterr().err)
