"""A killed run goes on to the same digits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError
from mbd_bridge.simulation.run.checkpoint import WORDS, lock_of
from tests.curves import FLAT
from tests.machines import n_four_bar
from tests.simulate.killed import STEPS, in_python, run

SHORT = 0.6
"""s, of a run in Python that nobody kills: 600 steps."""

WAYS = [
    ("multipliers", "ab3"),
    ("multipliers", "abm"),
    ("multipliers", "scipy:RK45"),
    ("multipliers", "scipy:LSODA"),
    ("qr", "ab3"),
    ("projection", "abm"),
]
"""Methods and integrators beside the compiled step."""

IN_PYTHON = """
import sys
from tests.simulate.killed import in_python
print("ready", flush=True)
in_python(sys.argv[2], sys.argv[3], sys.argv[1])
print("done", flush=True)
"""

SCRIPT = """
import sys
import mbd_bridge as mbd
from tests.machines import four_bar
from tests.simulate.killed import run
print("ready", flush=True)
run(sys.argv[1], method=sys.argv[2])
print("done", flush=True)
"""


def killed(script, file, *words, after):
    """Kill a run with SIGKILL when its checkpoint satisfies a condition."""
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(file), *words],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["."])},
        text=True,
    )
    try:
        assert child.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 60
        while not after(file) and time.monotonic() < deadline:
            time.sleep(0.002)
    finally:
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
    assert "done" not in rest


def same(a, b):
    columns = ("time", "q", "v", "tau")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in columns)


@pytest.mark.parametrize("method", ["multipliers", "svd"])
def test_a_killed_run_goes_on_to_the_same_digits(tmp_path, method):
    file = tmp_path / "run.npz"
    killed(SCRIPT, file, method, after=lambda file: file.exists())
    with np.load(file) as kept:
        assert 0 < kept["counts"][1] < STEPS
    resumed, whole = run(file, method=method), run(method=method)
    assert same(resumed, whole)
    assert resumed.steps == STEPS


@pytest.mark.parametrize(("method", "integrator"), WAYS)
def test_every_way_goes_on_to_the_same_digits(tmp_path, method, integrator):
    """Interrupted in the middle of a stretch: what came after the last checkpoint is done again."""

    class Killed(BaseException):
        pass

    told = []

    def interrupt(steps):
        told.append(steps)
        if sum(told) > 450:
            raise Killed

    file, other, way = tmp_path / "run.npz", tmp_path / "other.npz", (method, integrator)
    with pytest.raises(Killed):
        in_python(*way, file, SHORT, progress=interrupt)
    with np.load(file) as kept:
        assert kept["counts"][1] == 400
    resumed, whole = in_python(*way, file, SHORT), in_python(*way, other, SHORT)
    assert same(resumed, whole)
    assert resumed.steps == whole.steps and resumed.finished
    plain = in_python(*way, seconds=SHORT)  # starting anew changes the last digits only
    assert np.abs(plain.q - whole.q).max() < 1e-6


def test_steps_of_variable_length_go_on_to_the_same_digits(tmp_path):
    """What has been counted, too."""
    m = n_four_bar(1)
    options = {"step": 1e-3, "every": 5, "q": m.assemble({"crank0": 0.5}, fixed="crank0").q}
    options |= {"integrator": mbd.integrators.HHT(tolerance=1e-6), "checkpoint_every": 50}
    file = tmp_path / "run.npz"
    with pytest.raises(ZeroDivisionError):
        m.simulate(0.3, progress=lambda _: 1 / (not file.exists()), checkpoint=file, **options)
    resumed, whole = (m.simulate(0.3, checkpoint=one, **options) for one in (file, None))
    assert same(resumed, whole)
    assert resumed.facts == whole.facts
    assert resumed.facts["rejected"] + resumed.facts["steps"] > 20


@pytest.mark.parametrize(("method", "integrator"), [("qr", "ab3"), ("multipliers", "scipy:LSODA")])
def test_a_run_in_python_that_is_killed_goes_on_to_the_same_digits(tmp_path, method, integrator):
    file = tmp_path / "run.npz"
    killed(IN_PYTHON, file, method, integrator, after=lambda file: file.exists())
    resumed = in_python(method, integrator, file)
    assert same(resumed, in_python(method, integrator, tmp_path / "other.npz"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.npz", "run.npz"]


def test_through_singular_positions_to_the_same_digits(tmp_path):
    """Detours start methods anew; a checkpoint between them changes nothing."""
    m = n_four_bar(1)
    v = np.array([3.0, -3.0, 3.0])
    options = {"step": 1e-3, "q": m.assemble(FLAT, fixed=FLAT).q, "v": v, "method": "svd"}
    file = tmp_path / "run.npz"
    options |= {"checkpoint": file, "checkpoint_every": 50}
    with pytest.raises(ZeroDivisionError):
        m.simulate(0.3, progress=lambda _: 1 / (not file.exists()), **options)
    resumed = m.simulate(0.3, **options)
    whole = m.simulate(0.3, **options | {"checkpoint": tmp_path / "other.npz"})
    assert same(resumed, whole)
    assert resumed.detours == whole.detours > 0


@pytest.fixture(scope="module")
def kept_in_python(tmp_path_factory):
    file = tmp_path_factory.mktemp("by_hand") / "run.npz"
    in_python("svd", "abm", file, SHORT)
    return file


@pytest.mark.parametrize("change", [{"tolerance": 1e-7}, {"method": "qr"}, {"integrator": "rk4"}])
def test_a_checkpoint_of_another_method_is_refused(kept_in_python, change):
    options = {"method": "svd", "integrator": "abm", "seconds": SHORT} | change
    with pytest.raises(FileError, match="another simulation"):
        in_python(checkpoint=kept_in_python, **options)


def test_two_runs_cannot_have_one_file(tmp_path):
    file = tmp_path / "run.npz"
    met = []

    def second(steps):
        if not met:
            with pytest.raises(FileError, match=f"another run .*process {os.getpid()}.*Wait"):
                run(file, every=1000)
            met.append(True)

    first = run(file, every=1000, progress=second)
    assert met
    assert same(first, run(file, every=1000))
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_two_processes_cannot_have_one_file_until_one_is_killed(tmp_path):
    file = tmp_path / "run.npz"
    child = subprocess.Popen(
        [sys.executable, "-c", IN_PYTHON, str(file), "svd", "rk4"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["."])},
    )
    try:
        child.stdout.readline()
        lock = lock_of(tmp_path / "run.npz")
        deadline = time.monotonic() + 60
        while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
            time.sleep(0.002)
        with pytest.raises(FileError, match=f"another run .*process {child.pid}"):
            in_python("svd", "rk4", file)
    finally:
        child.kill()
        child.communicate()
    assert in_python("svd", "rk4", file).finished


def test_what_a_killed_run_left_behind_is_cleared_away(tmp_path):
    file = tmp_path / "run.npz"
    (tmp_path / ".run.npz.abcd_012.part").write_bytes(b"half")
    lock_of(file).write_text(f"{WORDS}1\n")
    run(file, every=1000)
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_a_run_that_is_done_is_only_read(tmp_path):
    file = tmp_path / "run.npz"
    first = run(file, every=1000)
    told = []
    again = run(file, every=1000, progress=told.append)
    assert same(first, again)
    assert not told
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    file = tmp_path_factory.mktemp("run") / "run.npz"
    run(file, every=1000)
    return file


@pytest.mark.parametrize(
    "change", [{"step": 2e-4}, {"every": 50}, {"torque": None}, {"v": np.zeros(3)}, {"start": 1.0}]
)
def test_a_checkpoint_of_another_run_is_refused(kept, change):
    with pytest.raises(FileError, match="another simulation"):
        run(kept, **{"every": 1000} | change)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    file = tmp_path / "run.npz"
    file.write_bytes(b"PK nonsense")
    with pytest.raises(FileError, match="no checkpoint"):
        run(file)
    np.savez(file, x=np.zeros(3))
    with pytest.raises(FileError, match="no checkpoint"):
        run(file)
