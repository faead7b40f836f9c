"""What a study's parts are named after: whatever the numbers depend on, and nothing else."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import types
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.studies.digest import digest_of
from mbd_bridge.applications.studies.run import key_of

HELPER = "LEVER = 0.5\n\n\ndef arm(x):\n    return LEVER * x\n"
"""A module beside the user's own."""

PROGRAM = """
import functools
from dataclasses import dataclass

import numpy as np

import user_helper

GAIN = 2.0
TABLE = np.linspace(0.0, 1.0, 4001)
CHOICES = {"near": [1.5, {2.5, 3.5}], "far": (4.5, b"5")}


def called(x, power=6.5, *, shift=7.5):
    return twice(x) ** power + shift


def twice(x):
    return 8.5 * x


@functools.lru_cache
def kept(x):
    return 9.5 * x


def doubled(function):
    @functools.wraps(function)
    def wrapped(*arguments):
        return 10.5 * function(*arguments)

    return wrapped


@doubled
def decorated(x):
    return 11.5 * x


class Base:
    __slots__ = ()
    share = 12.5

    def inherited(self):
        return 13.5 * self.share


class Plant(Base):
    __slots__ = ("mass", "__dict__")

    def __init__(self, mass, size=14.5):
        self.mass, self.size = mass, size

    def force(self):
        return 15.5 * self.inherited()

    @property
    def weight(self):
        return 16.5 * self.mass

    @functools.cached_property
    def slow(self):
        return 17.5

    @staticmethod
    def fixed():
        return 18.5

    @classmethod
    def of_class(cls):
        return 19.5

    def __call__(self, x):
        return 20.5 * x


@dataclass
class Data:
    value: float = 21.5


PLANT, DATA = Plant(22.5, size=23.5), Data()
DATA.value = 24.5


def closing(factor):
    def inner(x):
        return factor * x + (lambda y: 26.5 * y)(x)

    return inner


closed = closing(27.5)
part = functools.partial(called, 28.5, shift=29.5)


def evaluate(columns):
    from user_helper import arm

    x = columns["x"]
    own = user_helper
    total = GAIN * TABLE[0] * called(x) + kept(1.0) + decorated(x) + PLANT.force() + PLANT.weight
    total = total + PLANT.slow + PLANT.fixed() + PLANT.of_class() + PLANT(x) + DATA.value
    total = total + closed(x) + part() + CHOICES["near"][0] + arm(x) + own.LEVER
    return {"y": total}
"""


def loaded(folder: Path, **texts: str) -> types.ModuleType:
    """Return the module `user_program` of a folder with these texts, freshly imported."""
    folder.mkdir(exist_ok=True)
    for name in ("user_program", "user_helper"):
        sys.modules.pop(name, None)
        (folder / f"{name}.py").write_text(texts[name])
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    importlib.invalidate_caches()
    try:
        return importlib.import_module("user_program")
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = before


def digest(folder: Path, program: str = PROGRAM, helper: str = HELPER) -> str:
    module = loaded(folder, user_program=program, user_helper=helper)
    return digest_of(module.evaluate)


def changed_numbers(text: str) -> list[tuple[int, str]]:
    """Return the text with one of its numbers changed, for each number, with its line."""
    lines, found = text.splitlines(keepends=True), []
    numbers = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | bytes)
    ]
    for node in numbers:
        line = lines[node.lineno - 1]
        other = "b'6'" if isinstance(node.value, bytes) else repr(node.value + 2)
        new = line[: node.col_offset] + other + line[node.end_col_offset :]
        whole = [*lines[: node.lineno - 1], new, *lines[node.lineno :]]
        found.append((node.lineno, "".join(whole)))
    return found


def test_a_number_that_changes_anywhere_in_a_users_program_changes_the_digest(
    tmp_path: Path,
) -> None:
    plain = digest(tmp_path)
    assert plain == digest(tmp_path)
    changes = [(line, {"program": text}) for line, text in changed_numbers(PROGRAM)]
    changes += [(line, {"helper": text}) for line, text in changed_numbers(HELPER)]
    assert len(changes) > 35
    unnoticed = [line for line, change in changes if digest(tmp_path, **change) == plain]
    assert not unnoticed


def test_code_that_moves_in_its_file_and_values_that_were_kept_change_nothing(
    tmp_path: Path,
) -> None:
    plain = digest(tmp_path)
    assert (
        digest(tmp_path, program="# a line more\n" + PROGRAM + "\n\ndef other():\n    pass\n")
        == plain
    )
    module = loaded(tmp_path, user_program=PROGRAM, user_helper=HELPER)
    assert module.PLANT.slow == 17.5
    assert digest_of(module.evaluate) == plain


def test_a_digest_is_that_of_another_process(tmp_path: Path) -> None:
    plain = digest(tmp_path)
    script = "import user_program; from mbd_bridge.applications.studies.digest import digest_of\n"
    script += "print(digest_of(user_program.evaluate))"
    for seed in ("1", "2"):
        path = os.pathsep.join([str(tmp_path), *sys.path])
        again = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert again.stdout.strip() == plain


def scaled(size: float) -> Any:
    def function(columns: dict[str, Any]) -> dict[str, Any]:
        return {"y": size * columns["x"]}

    return function


class Scaled:
    def __init__(self, size: float) -> None:
        self.size = size

    def __call__(self, columns: dict[str, Any]) -> dict[str, Any]:
        return {"y": self.size * columns["x"]}

    def method(self, columns: dict[str, Any]) -> dict[str, Any]:
        return self(columns)


def powered(columns: dict[str, Any], size: float) -> dict[str, Any]:
    return {"y": size * columns["x"]}


def keyed(size: float) -> Any:
    def function(columns: dict[str, Any], *, size: float = size) -> dict[str, Any]:
        return {"y": size * columns["x"]}

    return function


def helped(size: float) -> Any:
    inner = scaled(size)
    return lambda columns: inner(columns)


def tabled(size: float) -> Any:
    table = np.full(5000, 1.0)
    table[2500] = size  # where a printed array has dots
    return lambda columns: {"y": table[2500] * columns["x"]}


@pytest.mark.parametrize(
    "make",
    [
        scaled,
        Scaled,
        lambda size: Scaled(size).method,
        lambda size: partial(powered, size=size),
        keyed,
        helped,
        tabled,
    ],
    ids=["closure", "instance", "method", "partial", "keyword", "called", "array"],
)
def test_parts_of_other_code_are_not_believed(tmp_path: Path, make: Any) -> None:
    design = mbd.studies.table({"x": [1.0, 2.0]})
    for size in (2.0, 3.0):
        found = mbd.studies.study(make(size), design, folder=tmp_path)
        assert found.reused == 0
        assert found["y"].tolist() == [size, 2.0 * size]
    assert mbd.studies.study(make(2.0), design, folder=tmp_path).reused == 2


def test_the_key_of_a_part_counts_every_factor_and_its_name() -> None:
    columns = {name: np.arange(3.0) for name in ("a", "b", "c")}
    plain = key_of("digest", columns)
    others = [key_of("other", columns), key_of("digest", {**columns, "d": np.arange(3.0)})]
    for name in columns:
        for place in range(3):
            moved = columns[name].copy()
            moved[place] = np.nextafter(moved[place], 9.0)
            others.append(key_of("digest", {**columns, name: moved}))
        others.append(
            key_of("digest", {f"{k}x" if k == name else k: x for k, x in columns.items()})
        )
    assert plain not in others
    assert len(set(others)) == len(others) == 14


def test_a_study_that_differs_in_its_last_factor_alone_is_computed(tmp_path: Path) -> None:
    def total(columns: dict[str, Any]) -> dict[str, Any]:
        return {"y": columns["a"] + columns["b"]}

    for last in (1.0, 2.0):
        found = mbd.studies.study(
            total, mbd.studies.grid({"a": [0.0, 1.0], "b": [last]}), folder=tmp_path
        )
        assert (found.reused, found["y"].tolist()) == (0, [last, 1.0 + last])


def test_numbers_that_act_on_all_variants_count(tmp_path: Path) -> None:
    rocker = mbd.load(mbd.models()["crank_rocker"])
    design = mbd.studies.grid({"crank.vel": [1.0, 2.0]})
    options = {"duration": 0.01, "near": {"crank": 0.5}, "outputs": ["peak coupler_pin.force"]}
    for mass in (1.0, 2.0):
        heavy = {"parameters": {"coupler.mass": mass}}
        assert rocker.study(design, folder=tmp_path, **options, **heavy).reused == 0
    assert rocker.study(design, folder=tmp_path, **options, **heavy, threads=2).reused == 2


def test_two_machines_that_a_function_asks_are_two(tmp_path: Path) -> None:
    robot = mbd.load(mbd.models()["pendulum"])
    heavy = robot.with_payload(robot.model.links[-1].name, 1.0)

    def asks(machine: mbd.Mechanism) -> Any:
        def function(columns: dict[str, Any]) -> dict[str, Any]:
            q = columns["x"][:, None]
            return {"y": machine.inverse_dynamics(q, 0 * q, 0 * q)[:, 0]}

        return function

    design = mbd.studies.table({"x": [0.1, 0.2]})
    for machine in (robot, heavy):
        assert mbd.studies.study(asks(machine), design, folder=tmp_path).reused == 0
        assert mbd.studies.study(asks(machine), design, folder=tmp_path).reused == 2


REFUSED = {
    "a file": ("FILE = open(__file__)", "FILE.read()", "the global 'FILE'"),
    "a lock": (
        "import threading\nLOCK = threading.Lock()",
        "LOCK",
        "the global 'LOCK' .*_thread.lock",
    ),
    "open": ("", "open('gains.txt')", r"calls open\(\)"),
    "eval": ("", "eval('1')", r"calls eval\(\)"),
    "a generator": ("STEPS = (x for x in [1])", "next(STEPS)", "the global 'STEPS'"),
    "a ufunc": (
        "import numpy as np\nU = np.frompyfunc(lambda x: x, 1, 1)",
        "U(1)",
        "function that it does",
    ),
    "in an object": (
        "class Plant:\n    def __init__(self):\n        self.file = open(__file__)\nP = Plant()",
        "P.file",
        r"\['file'\] of the global 'P' of evaluate\(\)",
    ),
    "in a method": (
        "class Plant:\n    def read(self):\n        return open(__file__)\nP = Plant()",
        "P.read()",
        r"Plant.read\(\) .* of the global 'P' of evaluate\(\) is code that calls open",
    ),
    "made anew": (
        "class Plant:\n    def __init__(self):\n        self.n = hash(open(__file__))\nP = Plant()",
        "(P.n, Plant())",
        r"code that calls open\(\)",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_code_that_cannot_be_told_is_refused_where_parts_are_kept(
    tmp_path: Path, kind: str
) -> None:
    before, used, words = REFUSED[kind]
    text = f"{before}\n\n\ndef evaluate(columns):\n    columns or {used}\n    return columns\n"
    module = loaded(tmp_path, user_program=text, user_helper=HELPER)
    design = mbd.studies.table({"x": [1.0]})
    with pytest.raises(mbd.MbdError, match=f"(?s)folder: .*{words}.*leave folder out"):
        mbd.studies.study(module.evaluate, design, folder=tmp_path / "parts")
    assert mbd.studies.study(module.evaluate, design)["x"] == 1.0


def test_an_object_that_was_made_of_a_file_is_told_by_what_it_holds(tmp_path: Path) -> None:
    text = "class Plant:\n    def __init__(self):\n        self.n = len(open({!r}).read())\n\n"
    text += "P = Plant()\n\n\ndef evaluate(columns):\n    return {{'y': P.n * columns['x']}}\n"
    design, found = mbd.studies.table({"x": [1.0]}), []
    gains = tmp_path / "gains.txt"
    for content in ("123", "1234", "567"):
        gains.write_text(content)
        module = loaded(tmp_path, user_program=text.format(str(gains)), user_helper=HELPER)
        found.append(mbd.studies.study(module.evaluate, design, folder=tmp_path / "parts"))
    assert [(one["y"][0], one.reused) for one in found] == [(3.0, 0), (4.0, 0), (3.0, 1)]


def test_a_torque_in_python_is_refused_with_words_of_studies(tmp_path: Path) -> None:
    robot = mbd.load(mbd.models()["pendulum"])
    torque = {robot.model.velocity_names[0]: mbd.Sampled(lambda t, q, v: 0.1)}
    design = mbd.studies.grid({robot.coordinate_names[0]: [0.1]})
    with pytest.raises(mbd.MbdError, match=r"^folder: .*leave the folder out"):
        robot.study(design, outputs=["energy"], duration=0.01, torque=torque, folder=tmp_path)
