"""What all tests share."""

import gc
import os
import shutil
import sys
import tempfile
from importlib.util import find_spec

import pytest
from hypothesis import settings

import mbd_bridge as mbd
from mbd_bridge.cli import main
from tests.quick_code import code_for
from tests.robots import own_urdfs
from tests.slow import mark

# On a server a change is judged, not the luck of the draw: the same examples every time.
settings.register_profile("server", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("server")

if find_spec("pybullet") is None:  # it has no wheels from Python 3.12 on
    collect_ignore = [
        "bridges/coupling_figures.py",
        "bridges/test_pybullet_no_stall.py",
        "bridges/test_pybullet_sensors.py",
        "bridges/test_pybullet_stepper.py",
        "bridges/worlds.py",
        "crosscheck/test_pybullet_asked.py",
        "crosscheck/test_random_objects.py",
        "formats/test_minitaur.py",
        "view/test_window.py",
    ]

BYTECODE = "PYTHONPYCACHEPREFIX"
"""Environment variable: where Python keeps the bytecode of modules."""


def pytest_configure(config):
    """Keep bytecode for this run: hundreds of processes import the package, one compiles it."""
    config.addinivalue_line("markers", "slow: in tests/slow.txt; the rest takes three minutes")
    if BYTECODE not in os.environ:  # workers have it from the process that starts them
        folder = os.environ[BYTECODE] = tempfile.mkdtemp(prefix="bytecode-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items):
    """Mark the slow ones."""
    mark(items)


def pytest_collection_finish():
    """Look for unreachable objects less often: a fifth of the time of tests that compile.

    Collected tests and imported modules live to the end, so they are not walked again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Compile what a test and its fixtures need as quickly as its claim allows."""
    with code_for(item.path, item.config.rootpath):
        return (yield)


@pytest.fixture(autouse=True)
def _figures():
    """Close the figures of a test: pyplot keeps them, and warns of the twenty-first."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="module")
def arm():
    """An arm of seven joints."""
    return mbd.load(own_urdfs()["kuka_iiwa"])


@pytest.fixture(scope="module")
def motion(arm):
    """The motion that comes with the arm."""
    return arm.read_motion(own_urdfs()["kuka_iiwa"].with_name("kuka_iiwa_motion.csv"))


@pytest.fixture(scope="module")
def bar():
    """A parallelogram."""
    return mbd.load(own_urdfs()["four_bar"])


@pytest.fixture(scope="module")
def ralf():
    """A flexible arm with a loop."""
    return mbd.load(own_urdfs()["ralf"])


@pytest.fixture(scope="module")
def bicycle():
    """A bicycle, which rolls."""
    return mbd.load(own_urdfs()["whipple_bicycle"])


@pytest.fixture
def run(capsys):
    """Return a function that runs a command: exit code, stdout, stderr."""

    def command(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
