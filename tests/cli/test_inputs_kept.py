"""Claims about outputs: no command, and no conversion, replaces a file that it reads."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError
from mbd_bridge.cli.parser import OutputFile, make_parser
from tests.robots import OWN

MACHINE, FORCES, LOOPS = "bar.urdf", "bar.forces.yaml", "bar.loops.yaml"
MOTION = "motion.csv"
STUDY = "study.yaml"
RUN = ("--near", "crank=0.5", "--seconds", "0.01")
ALONG = (MACHINE, MOTION, "--near", "crank=0.5", "--actuated", "crank")
JOINT = ("--joints", "crank")

WORDS = {
    "bench": {"--json": (MACHINE, "--states", "1")},
    "complete-motion": {"--output": (MACHINE, MOTION, "--near", "crank=0.5")},
    "convert": {"output": (MACHINE,)},
    "export": {"--output": (MACHINE, "--what", "mass_matrix")},
    "free-body": {"--output": (*ALONG, "--link", "coupler")},
    "inverse-kinematics": {"--output": (MACHINE, MOTION)},
    "load-cases": {"--output": (*ALONG, *JOINT)},
    "loads": {"--output": (*ALONG, *JOINT)},
    "vibrations": {"--output": (MACHINE, "--over", "crank=0:1:2")},
    "motors": {"--output": ALONG, "--plot": ALONG},
    "plot": {"--output": ALONG},
    "report": {"--output": ALONG},
    "real-time": {"--output": (MACHINE, *RUN)},
    "sections": {"--output": (MACHINE, MOTION, "--link", "coupler")},
    "simulate": {"--output": (MACHINE, *RUN), "--checkpoint": (MACHINE, *RUN)},
    "spectrum": dict.fromkeys(("--output", "--plot", "--loads"), (*ALONG, *JOINT)),
    "study": {"--output": (STUDY,)},
    "view": {"--record": (MACHINE, MOTION)},
    "worst-pose": {"--output": (MACHINE, *JOINT)},
}
"""By command and option: what else stands on the line."""

SUFFIXES = {"--plot": ".png", "--record": ".html", "--json": ".json", "--checkpoint": ".npz"}
OF_COMMANDS = {"convert": ".urdf", "report": ".html", "plot": ".png", "vibrations": ".png"}

CASES = [
    (command, option, file)
    for command, options in WORDS.items()
    for option, words in options.items()
    for file in dict.fromkeys((*(w for w in words if w in (MOTION, STUDY)), MACHINE, FORCES, LOOPS))
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(OWN / "four_bar.urdf", tmp_path / MACHINE)
    shutil.copy(OWN / "four_bar.loops.yaml", tmp_path / LOOPS)
    (tmp_path / FORCES).write_text(
        "units: SI\nforces:\n- {name: wind, type: JointSpring, joint: crank, stiffness: 1}\n"
    )
    time = np.linspace(0.0, 1.0, 30)
    rows = "".join(f"{t},{0.5 + 0.1 * t * t}\n" for t in time)
    (tmp_path / MOTION).write_text("time,crank\n" + rows)
    (tmp_path / STUDY).write_text(
        f"machine: {MACHINE}\nduration: 0.01\nvary: {{coupler.mass: [1, 2]}}\n"
        "outputs: {q: peak crank}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def test_the_table_below_has_every_output_of_every_command():
    commands = next(a for a in make_parser()._actions if a.dest == "command").choices
    outputs = {
        name: {(a.option_strings or [a.dest])[-1] for a in parser._actions if a.type is OutputFile}
        for name, parser in commands.items()
    }
    assert {name: {*options} for name, options in WORDS.items()} == {
        name: options for name, options in outputs.items() if options
    }
    for parser in commands.values():  # what is written is declared as such
        for action in parser._actions:
            if {"-o", "--output", "--plot", "--record"} & {*action.option_strings}:
                assert action.type is OutputFile, action


@pytest.mark.parametrize(("command", "option", "file"), CASES)
def test_a_file_that_is_read_is_never_written(run, folder, command, option, file):
    suffix = SUFFIXES.get(option) or OF_COMMANDS.get(command, ".csv")
    os.link(folder / file, folder / f"hard{suffix}")
    (folder / f"soft{suffix}").symlink_to(file)
    before = contents(folder)
    names = [f"hard{suffix}", f"./soft{suffix}"]
    names += [f"../{folder.name}/{file}", f"no_folder/../{file}"] if file.endswith(suffix) else []
    for name in names:
        output = (name,) if option == "output" else (option, name)
        code, out, err = run(command, *WORDS[command][option], *output)
        assert (code, out) == (2, ""), err
        assert f"{name}: this file is read" in err
        assert contents(folder) == before


def test_two_outputs_are_two_files(run, folder):
    words = ("spectrum", *ALONG, *JOINT, "-o", "a.csv", "--loads", "./a.csv")
    code, _, err = run(*words)
    assert (code, "two outputs" in err) == (2, True)
    assert not (folder / "a.csv").exists()


def test_a_mesh_of_the_picture_is_an_input(run, folder):
    (folder / "m.stl").write_bytes(b"solid m\nendsolid m\n")
    text = (folder / MACHINE).read_text()
    visual = '<visual><geometry><mesh filename="m.stl"/></geometry></visual>'
    (folder / MACHINE).write_text(text.replace("</inertial>", f"</inertial>{visual}", 1))
    code, _, err = run("export", MACHINE, "--what", "mass_matrix", "-o", "m.stl")
    assert (code, "m.stl: this file is read" in err) == (2, True)
    assert (folder / "m.stl").read_bytes().startswith(b"solid")


def test_an_output_in_the_place_of_another_file_is_written(run, folder):
    (folder / "old.csv").write_text("old")
    for _ in range(2):
        assert run("simulate", MACHINE, *RUN, "-o", "old.csv")[0] == 0
    assert (folder / "old.csv").read_text().startswith("#")


def test_convert_in_python_keeps_its_input(folder):
    before = contents(folder)
    robot = mbd.load(MACHINE)
    for output in (MACHINE, folder / MACHINE):
        with pytest.raises(FileError, match="this file is read"):
            robot.convert(output)
    shutil.copy(MACHINE, "bar")  # NAME.loops.yaml of this one is an input of that
    with pytest.raises(FileError, match=r"bar\.loops\.yaml: this file is read"):
        robot.convert("bar", form="URDF")
    Path("bar").unlink()
    assert contents(folder) == before


def test_a_history_does_not_replace_its_motion(folder):
    before = contents(folder)
    robot = mbd.load(MACHINE)
    options = {"actuated": "crank", "near": {"crank": 0.5}}
    with pytest.raises(FileError, match="this file is read"):
        robot.load_history(MOTION, output=folder / MOTION, **options)
    assert contents(folder) == before
    assert robot.load_history(MOTION, output="loads.csv", **options).rows == 30
