"""No command executes what lies in the folder that it is called from."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mbd_bridge.base import search_path
from tests.bounds import WAIT
from tests.robots import own_urdfs

BAR = own_urdfs()["four_bar"]
ROOT = Path(__file__).parents[2]
NAMES = (
    "numpy", "pickle", "scipy", "llvmlite", "lxml", "yaml", "rich", "pybullet", "argparse", "re",
    "json", "dataclasses", "__future__", "sitecustomize", "usercustomize", "xacro", "mbd",
)  # fmt: skip
"""What a command loads, or a child of it at its start."""

SCRIPT = "import sys\nfrom mbd_bridge.cli import main\nsys.exit(main())\n"
"""What pip installs as ``mbd``."""

WAYS = {
    "script": ["bin/mbd"],
    "module": ["-m", "mbd_bridge"],
    "glued": ["-W", "ignore", "-Bmmbd_bridge"],
}

COMMANDS = {
    "info": (["info", BAR], 0),
    "simulate": (["simulate", BAR, "--seconds", "0.01", "-o", os.devnull], 0),
}
if find_spec("pybullet"):  # else the browser is opened, for which there is no other process
    COMMANDS["view"] = (["view", BAR], 2)  # there is no such display


@pytest.fixture
def place(tmp_path):
    """Return a folder with modules that tell when they are executed."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mbd").write_text(SCRIPT)
    here = tmp_path / "here"
    here.mkdir()
    for name in NAMES:
        told = here / f"{name} was executed"
        (here / f"{name}.py").write_text(f"open({str(told)!r}, 'w').close()\nraise ImportError\n")
    return here


def executed(place):
    return [path.name for path in place.iterdir() if path.suffix != ".py"]


@pytest.mark.parametrize(
    ("way", "command"),
    [
        *(("script", command) for command in COMMANDS),
        ("module", "simulate"),
        ("glued", [*COMMANDS][-1]),
    ],
)
def test_nothing_of_the_current_folder_is_executed(place, way, command):
    words, code = COMMANDS[command]
    first = [str(place.parent / word) if "/" in word else word for word in WAYS[way]]
    done = subprocess.run(
        [sys.executable, *first, *map(str, words)],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(ROOT), "DISPLAY": ":987"},
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
    assert executed(place) == []
    assert done.returncode == code, done.stderr


def test_a_child_is_not_told_to_look_where_its_parent_stands(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", "/a", "/b"])
    assert search_path.for_a_child().split(os.pathsep) == ["/a", "/b", str(ROOT)]
