"""A killed run goes on to the same digits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.errors import FileError
from tests.machines import four_bar

STEPS = 300_000

SCRIPT = """
import sys
import mbd_bridge as mbd
from tests.machines import four_bar
from tests.simulate.test_checkpoint import run
print("ready", flush=True)
run(sys.argv[1])
print("done", flush=True)
"""


def run(checkpoint=None, **options):
    bar = four_bar(1, 2, 1.7, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
    wanted = {"step": 1e-4, "every": 100, "q": at.q, "v": at.v, "checkpoint": checkpoint}
    wanted |= {"checkpoint_every": 2000, "torque": friction} | options
    return mbd.simulate(bar, 1e-4 * STEPS, **wanted)


def friction(t, q, v):
    out = np.zeros(3, dtype=np.asarray(q).dtype)
    out[0] = np.sin(t) - 0.05 * v[0]
    return out


def same(a, b):
    columns = ("time", "q", "v", "tau")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in columns)


def test_a_killed_run_goes_on_to_the_same_digits(tmp_path):
    file = tmp_path / "run.npz"
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(file)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["."])},
        text=True,
    )
    try:
        assert child.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.002)
    finally:
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
    assert "done" not in rest
    with np.load(file) as kept:
        assert 0 < kept["counts"][1] < STEPS
    resumed, whole = run(file), run()
    assert same(resumed, whole)
    assert resumed.steps == STEPS


def test_a_run_that_is_done_is_only_read(tmp_path):
    file = tmp_path / "run.npz"
    first = run(file, every=1000)
    told = []
    again = run(file, every=1000, progress=told.append)
    assert same(first, again)
    assert not told
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize(
    "change", [{"step": 2e-4}, {"every": 50}, {"torque": None}, {"v": np.zeros(3)}, {"start": 1.0}]
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change):
    file = tmp_path / "run.npz"
    run(file, every=1000)
    with pytest.raises(FileError, match="another simulation"):
        run(file, **{"every": 1000} | change)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    file = tmp_path / "run.npz"
    file.write_bytes(b"PK nonsense")
    with pytest.raises(FileError, match="no checkpoint"):
        run(file)
    np.savez(file, x=np.zeros(3))
    with pytest.raises(FileError, match="no checkpoint"):
        run(file)
