"""Claims about systems that the tests do not run on: what these lack is not asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bounds import WAIT
from tests.robots import OWN

LACKING = """
import os, signal, subprocess, sys, tempfile  # these know their system already

for name in ("register_at_fork", "fork", "geteuid", "getuid", "fchmod", "pread", "pwrite",
             "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "mkfifo", "sched_getaffinity",
             "sched_setscheduler", "sched_param", "SCHED_FIFO", "nice", "getloadavg"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGALRM", "setitimer"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "pinocchio", "pybullet", "embreex"):
    sys.modules[name] = None


class Locks:
    LK_NBLCK, held = 2, set()

    def locking(self, handle, mode, count):
        name = os.fstat(handle).st_ino
        if name in self.held:
            raise OSError(13, "Permission denied")
        self.held.add(name)


sys.modules["msvcrt"] = Locks()
"""
"""A Python without what Windows has not, and without the packages that have no wheels there."""


def run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Return what a program writes in such a Python."""
    clean = {k: v for k, v in os.environ.items() if k != "MBD_BRIDGE_CACHE"}
    return subprocess.run(
        [sys.executable, "-c", LACKING + program],
        capture_output=True,
        text=True,
        timeout=WAIT,
        cwd=folder,
        env={**clean, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": os.getcwd()},
    )


LOADS = """
import mbd_bridge as mbd
from mbd_bridge.cli import main

models = mbd.models()
arm = models["kuka_iiwa"]
motion = arm.parent / "kuka_iiwa_motion.csv"
code = main(["loads", str(arm), str(motion), "--joints", "lbr_iiwa_joint_3", "-o", "loads.csv"])
robot = mbd.load(models["crank_rocker"])
start = robot.assemble({"crank": 0.5})
run = robot.simulate(0.1, q=start.q, v=start.v, checkpoint="run.npz")
run.save("run.csv")
print(code, run.finished, sorted(os.listdir(".")))
"""


def test_loads_and_checkpoints_need_nothing_that_windows_lacks(tmp_path: Path) -> None:
    done = run(tmp_path, LOADS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("0 True ['cache', 'loads.csv', 'run.csv', 'run.npz']\n")
    assert list((tmp_path / "cache").rglob("*.kernel"))  # machine code is kept there, too


def test_without_pinocchio_what_needs_it_says_how_to_install_it(tmp_path: Path) -> None:
    program = "from mbd_bridge.cli import main\nmain(['check', 'pendulum.urdf'])"
    shutil.copy(OWN / "pendulum.urdf", tmp_path)
    done = run(tmp_path, program)
    assert "this needs pinocchio: pip install pin" in done.stderr
    assert "nothing compared" in done.stdout


@pytest.mark.parametrize("held", [False, True])
def test_a_checkpoint_is_locked_by_windows_own_locks(tmp_path: Path, held: bool) -> None:
    program = f"""
from mbd_bridge.simulation.run.checkpoint import lock_of, locked
from pathlib import Path

with locked(Path("run.npz")):
    if {held}:
        with locked(Path("run.npz")):
            pass
print(os.listdir("."))
"""
    done = run(tmp_path, program)
    if held:
        assert "another run is writing to this checkpoint (process " in done.stderr
    else:
        assert done.stdout == "[]\n"
