"""Claims about studies as files, and about `mbd study`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.studies.study_file import read_study
from mbd_bridge.base.errors import FileError
from mbd_bridge.cli import main

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
    found = robot.study(
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
    study.write_text(study.read_text().replace(", levels: 3", ""))
    with pytest.raises(FileError, match=r"expected \{from: 0, to: 1, levels: 11\} or a list"):
        read_study(study, mbd.load)


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


ROCKER = """\
machine: crank_rocker.urdf
duration: 20ms
step: 500us
every: 4
torque: {crank: 200 N mm, rocker: 2 mm N sin(t)}
near: {crank: 30deg}
design: {kind: sobol, number: 4}
vary:
  coupler_pin.predecessor.xyz.x: [440mm, 46cm]
  rocker.rpy.pitch: [-1deg, 1deg]
  coupler.inertia.yy: [0.0240 kg m^2, 240.5 kg cm^2]
  gravity.z: [-9.82m/s^2, -9.80 m/s2]
  spring.stiffness: {mean: 1.5kN/m, deviation: 10N/m}
  crank.vel: [50rpm, 60 1/min]
outputs: [peak coupler_pin.force]
"""


def sprung(folder: Path, text: str) -> Path:
    """Return the file of a study of a crank-rocker with a spring."""
    shutil.copy(mbd.models()["crank_rocker"], folder)
    (folder / "crank_rocker.forces.yaml").write_text(
        "units: SI\nforces:\n- {name: spring, type: PointSpring, links: [ground, rocker],\n"
        "   points: [[0, 0, 0.5], [0, 0, 0.2]], stiffness: 1000, free_length: 0.3}\n"
    )
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def test_lengths_and_all_numbers_of_a_file_have_units(tmp_path: Path) -> None:
    said = read_study(sprung(tmp_path, ROCKER), mbd.load)
    values = dict(zip(said.design.names, said.design.values.T, strict=True))
    bounds = {
        "coupler_pin.predecessor.xyz.x": (0.44, 0.46),
        "rocker.rpy.pitch": (-np.pi / 180.0, np.pi / 180.0),
        "coupler.inertia.yy": (0.0240, 0.02405),
        "gravity.z": (-9.82, -9.80),
        "spring.stiffness": (1450.0, 1550.0),
        "crank.vel": (50.0 * np.pi / 30.0, 2.0 * np.pi),
    }
    for name, (low, high) in bounds.items():
        assert np.all((low <= values[name]) & (values[name] <= high)), name
    assert said.options["duration"] == 0.02 and said.options["step"] == pytest.approx(5e-4)
    assert said.options["torque"] == {"crank": pytest.approx(0.2), "rocker": "2 mm N sin(t)"}
    found = said.machine.study(said.design, **said.options)
    assert found["finished"].all()
    names = list(bounds)
    assert [found.units[name] for name in names] == ["m", "rad", "kg m^2", "m/s^2", "N/m", "rad/s"]


def test_the_file_of_the_manual_is_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[2] / "docs" / "guides" / "studies.md"
    (text,) = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    shutil.copy(mbd.models()["crank_rocker"], tmp_path)
    file = tmp_path / "study.yaml"
    file.write_text(text.replace("number: 1000", "number: 4").replace("500ms", "20ms"))
    assert main(["study", str(file)]) == 0
    assert re.search(r"finished +4 +1 ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("20ms", "20mm", "yaml:2: .*duration is in s, which 'mm' is not"),
        ("200 N mm", "200 N", "yaml:5: .*crank is in N m, which 'N' is not"),
        ("46cm", "46deg", "xyz.x is in m, which 'deg' is not"),
        ("10N/m", "10N", "spring.stiffness is in N/m, which 'N' is not"),
        ("xyz.x", "xyz.w", "no parameter 'coupler_pin.predecessor.xyz.w'.*such as JOINT.xyz.x"),
    ],
)
def test_units_of_something_else_are_refused_with_their_line(
    tmp_path: Path, old: str, new: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", str(sprung(tmp_path, ROCKER.replace(old, new)))]) == 2
    assert re.search(words, capsys.readouterr().err)


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
