"""``mbd real-time``: a motion at wall-clock pace, and what it says of it."""

import contextlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.files.tables import read_table
from tests.robots import OWN

ROCKER = OWN / "crank_rocker.urdf"


def test_a_run_says_how_punctual_it_was_and_writes_the_motion(run, tmp_path):
    table = tmp_path / "run.npz"
    code, _, err = run(
        "real-time", ROCKER, "--seconds", "0.05", "--rate", "100", "--near", "crank=0.5",
        "--torque", "crank=0.2", "-o", table,
    )  # fmt: skip
    assert code == 0
    for said in ("50 steps of 0.001 s to t = 0.05 s", "99.9 %", "begins late", "deadlines missed"):
        assert said in err
    robot = mbd.load(ROCKER)
    start = robot.assemble({"crank": 0.5})
    same = robot.simulate(0.05, q=start.q, torque={"crank": "0.2"})
    assert np.abs(robot.read_motion(table).q - same.q).max() < 1e-12


def test_a_step_that_is_none_is_refused(run):
    code, _, err = run("real-time", ROCKER, "--seconds", "1", "--step", "0", "--near", "crank=0.5")
    assert code == 2
    assert "step: expected a time step in s" in err


def hears_signals():
    """In the new process: one that was started in the background would ignore them."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def command(*words):
    """A running command, which does not outlive a test that fails."""
    with subprocess.Popen(
        [sys.executable, "-m", "mbd_bridge", *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_signals,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_a_run_with_its_file(tmp_path, name):
    table, number = tmp_path / "run.csv", getattr(signal, name)
    with command("real-time", ROCKER, "--near", "crank=0.5", "-o", table) as process:
        assert "starts at" in process.stderr.readline()  # all is compiled
        time.sleep(0.5)
        process.send_signal(number)
        if name != "SIGINT":
            time.sleep(0.02)
            process.send_signal(number)  # as shells do that end
        if name == "SIGHUP":
            process.stderr.close()  # there is no terminal any more
        code = process.wait(30.0)
    assert code == (0 if name == "SIGINT" else 128 + number)
    rows = read_table(table)
    assert len(rows.values) > 10 and rows.column("time")[0] == 0.0


def test_a_signal_ends_other_commands_without_traces(tmp_path):
    long = ("--near", "crank=0.5", "--seconds", "3e4", "--every", "1000")
    with command("simulate", ROCKER, *long, "-o", tmp_path / "x.csv") as process:
        assert "starts at" in process.stderr.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        process.wait(30.0)
    assert process.returncode == 128 + signal.SIGTERM
    assert said == "interrupted\n"
    assert not [*tmp_path.iterdir()]


def test_warnings_that_a_command_does_not_take_up_are_said_without_lines_of_python():
    with command("real-time", OWN / "kuka_iiwa.urdf", "--seconds", "0.01") as process:
        said = process.stderr.read()
    assert "warning: damping of 7 joints is not part of this motion\n" in said
    assert "MbdWarning" not in said
