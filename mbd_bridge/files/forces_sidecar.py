"""``NAME.forces.yaml`` beside ``NAME.urdf``: force elements of a machine.

::

    units: SI                     # m, N, kg, s, rad
    forces:
      - name: strut
        type: PointSpring         # a class of mbd_bridge.forces; the other keys are its parameters
        links: [ground, coupler]
        points: [[0, 0, 1.5], [0.5, 0, 0]]
        stiffness: {x: [-0.1, 0, 0.1], y: [-50, 0, 20], kind: cubic, outside: extend}
        damping: 2.0
      - name: coil
        type: JointSpring
        joint: crank
        stiffness: {file: coil.csv, x: angle, y: torque}    # columns of a table beside this file
    urdf: {damping: true, friction: true, limits: [1e4, 50]}   # what the URDF says, used too

What a type and its keys mean is for `mbd_bridge.forces` to say.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.tables import read_table, without_sheet
from mbd_bridge.files.yaml_text import Node, check_once, read_yaml

SUFFIX = ".forces.yaml"

MAX_POINTS = 20_000
"""Most rows of a table beside the file: each is a constant of the machine code."""

KEYS = ("units", "forces", "urdf")
URDF_KEYS = ("damping", "friction", "limits")
WORDS = ("kind", "outside")


class Entry(NamedTuple):
    """A force element as the file says it.

    Attributes
    ----------
    name, type : as written
    fields : its other keys
    node : the whole entry
    """

    name: str
    type: Node
    fields: dict[str, Node]
    node: Node


class ForcesFile(NamedTuple):
    """What a file says; `urdf` is None where it does not mention what the URDF says."""

    entries: tuple[Entry, ...]
    urdf: dict[str, Node] | None


class Points(NamedTuple):
    """A table as a file says it: places, values, and which words were said of it."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    words: dict[str, str]


def read_forces_file(path: str | Path) -> ForcesFile:
    """Return the entries of a file of force elements.

    Raises
    ------
    FileError
        It cannot be read, or does not have the form above: file, line and element are named.
    """
    root = read_yaml(path)
    table = root.in_si(KEYS, "m, N, kg, s, rad")
    entries = tuple(_entry(node) for node in root.listed("forces"))
    named = ((one.name, one.node) for one in entries)
    check_once(named, "another element has this name", "rename one of them")
    urdf = table["urdf"].table(URDF_KEYS) if "urdf" in table else None
    return ForcesFile(entries, urdf)


def _entry(node: Node) -> Entry:
    if not isinstance(node.value, dict):
        raise node.error("expected a table with name, type and the parameters of the type")
    name, kind = node.required("name").text(), node.required("type")
    fields = {key: value for key, value in node.value.items() if key not in ("name", "type")}
    return Entry(name, kind, fields, node.named(f"element {name!r}"))


def table_points(
    node: Node, value: str = "y", place: str = "x", more: tuple[str, ...] = WORDS
) -> Points:
    """Return the points of a table that is written out or lies in a file beside this one.

    Parameters
    ----------
    value, place : the keys of the values, and of what they are given over
    more : other keys, whose values are words
    """
    table = node.table((place, value, "file", *more))
    words: dict[str, str] = {key: table[key].text() for key in more if key in table}
    for key in (place, value):
        if key not in table:
            raise node.error(
                f"the key {key!r} is missing; write {{{place}: [...], {value}: [...]}}, or "
                f"{{file: law.csv, {place}: column, {value}: column}}"
            )
    if "file" not in table:
        x, y = (np.array([one.number() for one in table[key].items()]) for key in (place, value))
        return Points(x, y, words)
    found = read_table(beside(table["file"]), max_cells=10 * MAX_POINTS)
    if len(found.values) > MAX_POINTS:
        raise FileError(f"more than {MAX_POINTS} rows; a law needs some hundred", found.source)
    return Points(found.column(table[place].text()), found.column(table[value].text()), words)


def beside(node: Node) -> Path:
    """Return the path of a file beside the one in which it is named, whether it is there or not."""
    name = PurePath(node.text())
    if name.is_absolute() or ".." in name.parts:
        raise node.error(f"expected a file beside this one, got {node.text()!r:.80}")
    path = Path(node.file).parent / name
    file_beside(without_sheet(path), node.file)
    return path
