"""Claims about every command: bad input, help, faults of ours, pipes and full disks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mbd_bridge as mbd
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
MOTION = str(OWN / "kuka_iiwa_motion.csv")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("info", "none.urdf"), "none.urdf"),
        (("loads", ARM, MOTION, "--joints", "lbr_iiwa_joint_33"), "did you mean"),
        (("loads", ARM, "none.csv", "--joints", "all"), "none.csv"),
        (("loads", ARM, ARM, "--joints", "all"), "kuka_iiwa.urdf:1: this is XML, not a table"),
        (("loads", ARM, MOTION, "--joints", "all", "--at", "1,2"), "'parent' or a point x,y,z"),
        (("loads", ARM, MOTION, "--joints", "all", "--threads", "0"), "from 1"),
        (("loads", ARM, MOTION), "--joints"),
        (("loads", ARM, MOTION, "--joints", "all", "--in", "moon"), "invalid choice"),
        (("check", ARM, "--states", "none"), "from 1"),
        (("check", ARM, "--seed", "-1"), "from 0"),
        (("export", ARM, "--c"), "--what"),
        (("export", ARM, "--c", "--what", "bias_forces", "--joints", "a"), "leave it out"),
        (("bench", MOTION), "kuka_iiwa_motion.csv"),
        (("dance",), "invalid choice"),
    ],
)
def test_bad_input_is_told_on_stderr_with_exit_code_2(run, words, told):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


def test_a_fault_of_ours_is_told_apart_from_a_disagreement(run, monkeypatch):
    from mbd_bridge.model import outline

    monkeypatch.setattr(outline, "joint_table", lambda model: 1 / 0)
    code, _, err = run("info", ARM)
    assert code == 70
    assert "ZeroDivisionError" in err
    assert "please report" in err


@pytest.mark.parametrize("command", ["info", "loads", "check", "bench", "export"])
def test_help_teaches_with_an_example(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert f"\n  mbd {command} " in out


def test_the_examples_of_the_help_name_files_that_exist(run):
    words = " ".join(run(c, "--help")[1] for c in ("info", "loads", "check", "bench", "export"))
    named = {word for word in words.split() if word.startswith("urdf/")}
    assert named
    assert all((OWN.parent / name).exists() for name in named)


def test_a_terminal_gets_colours_unless_no_color_is_set(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[1" in run("info", ARM)[1]
    assert "\x1b[" in run("info", "none.urdf")[2]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run("info", "none.urdf")[2]


def test_the_module_runs_as_a_program_and_tells_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "mbd_bridge", "--version"],
        capture_output=True, text=True, check=True, cwd=OWN.parent,
    )  # fmt: skip
    assert done.stdout == f"mbd_bridge {mbd.__version__}\n"


def test_help_loads_neither_tables_nor_splines_nor_engines():
    heavy = ("scipy", "pinocchio", "pybullet", "rich")
    code = (
        "import sys; from mbd_bridge.cli import main; main(['loads', '--help']);"
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=OWN.parent
    )
    assert done.stderr.strip() == "[]"


def test_a_closed_pipe_is_no_error():
    script = f'"{sys.executable}" -m mbd_bridge loads "{ARM}" "{MOTION}" --joints all | head -1'
    done = subprocess.run(
        script, shell=True, capture_output=True, text=True, check=True, cwd=OWN.parent
    )
    assert done.stdout.startswith("# content: joint loads of kuka_iiwa")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mbd_bridge", "loads", ARM, MOTION, "--joints", "all"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=OWN.parent,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
