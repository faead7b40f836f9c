"""The examples run from anywhere, say little, and claim what is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.bounds import WAIT
from tests.docs.pages import PRINTED, ROOT

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))

LINES = 60
"""An example is read in one go."""

SAYS = {
    "01": ["lbr_iiwa_joint_ee", "(none)"],
    "02": ["gravity in the tool's axes [0. 0. 1.]"],
    "03": ["lbr_iiwa_joint_7"],
    "04": ["rnea          True", "joint_forces  True", "aba           True", "crba          True"],
    "05": ["period 1.638203 s, closed form 1.638203 s"],
    "06": ["100000 states, 1 thread(s)", "largest bending moment"],
    "07": ["travel           78.900", "agreement: True"],
    "08": ["3 redundant", "closed form 5.886", "coupler_pin  fy        not determined"],
    "09": ["2 windows: 5 coordinates, 10 rows, 4 independent", "millionth: True", "1e-8: True"],
    "10": [
        "1000 trajectories of 1000 steps of 0.001 s, 101 records, 1000 finished",
        "lightest loaded: 0.421 m, 0.225 kg: pin 31.50 N",
        "carries the same: True",
    ],
    "11": ["loads.png     6 panels", "RMS 33.5 N m", "fy (undetermined), mx (undetermined)"],
    "30": ["counterweights [-0.08635 -0.35325] kg m", "7.576 N m; by chance 7.58"],
    "31": ["118.4 straight, 60.0 after", "629.1 straight, 366.3 after"],
    "32": ["1319.78 N in ", "1320.91 N in 210 tries"],
    "12": [
        "kB, read back the same: True",
        "h5py:   113.743 N",
        "pandas: 113.743 N",
        "101 states from 0 to 1 s",
    ],
    "13": ["120000 rows", "97.5     38.3      56.0  N", "115 degrees from x: 48.5 N"],
    "14": ["{'GRID': 3, 'LOAD': 8, 'FORCE': 24, 'MOMENT': 24}", "in equilibrium: True"],
    "15": ["before                 4.905", "weighs 19.62 N, and it does: 19.62 N"],
    "20": ["carries 612.836 N", "5 m/s: stable; the weave has 0.711 Hz", "t = 6 s: lean 0.248 deg"],
    "21": ["1000 steps, finished", "the motor has turned it: True"],
    "23": ["4.61 mm", "bending  rod: the wrist pin carries 170.1 N", "300. 209.] MPa"],
    "24": ["-0.5759 m at 6.77 s", "-2159.08 N; m r w^2 is 2160 N"],
    "25": ["25.0 mm", "bending  hangs down after 0.5574 s", "rigid    hangs down after 0.5595 s"],
    "26": ["hangs by 0.68 mm", "bends by 3.36 mm", "and by 0.247 mm after the stop"],
    "29": [
        "theta1 574 N m theta3 156 N m",
        "theta3: up to 0.20 degrees off the course",
        "lower     bends by 6.1 mm",
        "flexible: pin C carries 633 N",
    ],
    "28": [
        "joint 2 turned: at most 1830 N m, x reaction 1845 N",
        "105 non-recursive, 262 recursive",
        "rod    joint 4: 26.4 N m, x reaction 17.6 N",
        "spring joint 4: 26.4 N m, x reaction 17.6 N",
        "torques are apart by 2.3e-03 N m",
    ],
    "16": ["most at 0.20 s: 16.2 N", "9 pictures", "(480, 640, 3)"],
}
"""What each example prints among other things; of the vehicles' see `tests/vehicles`."""


NEED_PYBULLET = set() if find_spec("pybullet") else {"15"}
"""Left out where it is missing: it has no wheels from Python 3.12 on."""

RUN_HERE = [path for path in EXAMPLES if path.name[:2] in SAYS.keys() - NEED_PYBULLET]


@pytest.mark.parametrize("example", RUN_HERE, ids=lambda path: path.stem)
def test_example_runs_and_says_what_it_should(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "pybullet build time" not in line]
    assert not said
    assert len(done.stdout.splitlines()) <= PRINTED
    for words in SAYS[example.name[:2]]:
        assert words in done.stdout
    assert "TOO MUCH" not in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_begins_with_a_question_or_purpose(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) < LINES
    assert text.startswith('"""')


def test_every_example_is_run():
    vehicles = [path.read_text() for path in (ROOT / "tests" / "vehicles").glob("test_*.py")]
    for path in EXAMPLES:
        claimed = re.compile(rf'says\(\s*"{path.stem[3:]}"')
        assert path.name[:2] in SAYS or any(claimed.search(text) for text in vehicles), path


def test_examples_are_numbered_without_gaps() -> None:
    names = [path.name for path in (*EXAMPLES, *(ROOT / "examples").glob("*.ipynb"))]
    assert sorted(name[:2] for name in names) == [f"{k + 1:02}" for k in range(len(names))]
