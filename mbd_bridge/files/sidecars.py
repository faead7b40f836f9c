"""Files beside a robot's file, ``NAME.<word>.yaml``: places, lists of entries, tables.

A sidecar says ``units: SI`` and lists its entries, each a table with a name::

    units: SI
    forces:
      - {name: strut, type: PointSpring, stiffness: {file: strut.csv, x: way, y: force}}

What the entries mean is for those who read them to say. An SRDF has named configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from glob import escape
from os import PathLike, fsdecode
from os.path import lexists
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.document import Document, LeftOut, parse_number, quote
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.xml_reader import decode, parse, read_bytes
from mbd_bridge.files.yaml_text import Node, check_once, read_yaml
from mbd_bridge.model import ROOT_JOINT
from mbd_bridge.model.description import Configurations, Description

if TYPE_CHECKING:
    from mbd_bridge.model import Model


LOOPS, FORCES, FLEXIBLE = ".loops.yaml", ".forces.yaml", ".flex.yaml"
"""Endings of the sidecars that the core reads."""

URDF_ENDINGS = (".urdf", ".urdf.xacro", ".xacro")
"""Of files whose sidecars are called after their name alone."""

SEARCHED = 10_000
"""Characters of a file in which its table's name is looked for."""

MAX_POINTS = 20_000
"""Most rows of a table beside a sidecar: each is a constant of the machine code."""

TABLE_WORDS = ("kind", "outside")
"""Keys of a table of points whose values are words."""


def sidecar_path(path: Path, suffix: str = LOOPS) -> Path:
    """Return where a sidecar of a robot file would be: ``a.urdf.xacro`` has ``a.loops.yaml``.

    Files of other formats keep their suffix, as ``a.sdf.loops.yaml``: ``a.urdf`` may lie beside.
    """
    name = path.name
    for ending in (".xacro", ".urdf"):
        name = name.removesuffix(ending)
    return path.with_name((name or path.name) + suffix)


def existing_sidecar(path: str | PathLike[str], suffix: str = LOOPS) -> Path | None:
    """Return the sidecar of a robot file, None if there is none.

    Raises
    ------
    FileError
        It is no file: without it the machine would be another one.
    """
    robot = Path(fsdecode(path))
    place = sidecar_path(robot, suffix)
    sidecar = file_beside(place, robot)
    if sidecar is None and lexists(place):
        raise FileError(
            f"expected a file beside {robot.name}, got a folder or a link that leads nowhere; put "
            f"the file there, or remove the name",
            str(place),
        )
    return None if sidecar is None else Path(sidecar)


def unread_sidecars(path: str | PathLike[str], read: Collection[str]) -> list[str]:
    """Return the names of files beside a robot's file that look like sidecars and are not read.

    Such a file is called ``NAME.<word>.yaml`` and has a table ``<word>:``.

    Parameters
    ----------
    read : words of the sidecars that are read
    """
    pattern = sidecar_path(Path(fsdecode(path)), ".*.yaml")
    start, names = len(pattern.name) - len("*.yaml"), []
    for file in sorted(pattern.parent.glob(escape(pattern.name[:start]) + "*.yaml")):
        word = file.name[start : -len(".yaml")]
        if word in read or not word.isidentifier() or not file.is_file():
            continue
        with file.open(encoding="utf-8", errors="replace") as text:
            if f"\n{word}:" in "\n" + text.read(SEARCHED):
                names.append(file.name)
    return names


def misnamed_sidecars(path: str | PathLike[str], read: Collection[str]) -> dict[str, str]:
    """Return the names of files that are sidecars of a URDF of the robot file's name, which is not
    there, and what they would be called to be read with this file.

    Parameters
    ----------
    read : words of the sidecars that are read
    """
    robot = Path(fsdecode(path))
    stem = robot.with_name(robot.stem)
    if sidecar_path(stem) == sidecar_path(robot) or any(
        stem.with_name(stem.name + ending).exists() for ending in URDF_ENDINGS
    ):
        return {}
    names = {word: f"{stem.name}.{word}.yaml" for word in read}
    return {
        name: sidecar_path(robot, f".{word}.yaml").name
        for word, name in names.items()
        if stem.with_name(name).is_file()
    }


class StatedParts(NamedTuple):
    """Parts of a machine that ``NAME.<word>.yaml`` states; the word is their name in `stated`.

    Attributes
    ----------
    bound : returns parts checked with a model
    read : returns those of a file, likewise
    write : writes them to a file
    """

    bound: Callable[[Model, Any], Any]
    read: Callable[[str | PathLike[str], Model], Any]
    write: Callable[[str, Any], None]


class Entry(NamedTuple):
    """An entry of a sidecar's list: its name, its other keys, the whole of it for messages."""

    name: Node
    fields: dict[str, Node]
    node: Node


class EntryList(NamedTuple):
    """What a sidecar lists.

    Attributes
    ----------
    key : of the list
    units : what SI means here, for messages
    name, label : key of an entry's name, and what messages call an entry before its name
    keys : other keys of an entry; None where what it is says which there are
    beside : other keys of the file
    twice : what messages say of a name that another entry has, and what to do; none if it may
    """

    key: str
    units: str
    name: str
    label: str
    keys: tuple[str, ...] | None
    beside: tuple[str, ...]
    twice: tuple[str, str] | None = None

    def read(self, path: str | PathLike[str]) -> tuple[list[Entry], dict[str, Node]]:
        """Return the entries of a file, and what else it says by key.

        Raises
        ------
        FileError
            It cannot be read, or does not have this form: file, line and element are named.
        """
        root = read_yaml(fsdecode(path))
        table = root.in_si(("units", self.key, *self.beside), self.units)
        entries = [self._entry(node) for node in root.listed(self.key)]
        if self.twice is not None:
            check_once(((entry.name.text(), entry.node) for entry in entries), *self.twice)
        return entries, {key: node for key, node in table.items() if key in self.beside}

    def _entry(self, node: Node) -> Entry:
        if self.keys is not None:
            node.table((self.name, *self.keys))
        if not isinstance(node.value, dict):
            raise node.error("expected a table with name, type and the parameters of the type")
        name = node.required(self.name)
        fields = {key: value for key, value in node.value.items() if key != self.name}
        return Entry(name, fields, node.named(f"{self.label} {name.text()!r}"))


class Points(NamedTuple):
    """A table as a file says it: places, values, and which words were said of it."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    words: dict[str, str]


def table_points(
    node: Node, value: str = "y", place: str = "x", more: tuple[str, ...] = TABLE_WORDS
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
        return Points(np.array(table[place].numbers()), np.array(table[value].numbers()), words)
    from mbd_bridge.files.tables import read_table

    law = read_table(beside(table["file"]), max_cells=10 * MAX_POINTS)
    if len(law.values) > MAX_POINTS:
        raise FileError(f"more than {MAX_POINTS} rows; a law needs some hundred", law.source)
    return Points(law.column(table[place].text()), law.column(table[value].text()), words)


def beside(node: Node) -> Path:
    """Return the path of a file beside the one in which it is named, whether it is there or not."""
    name = PurePath(node.text())
    if name.is_absolute() or ".." in name.parts:
        raise node.error(f"expected a file beside this one, got {node.text()!r:.80}")
    path = Path(node.file).parent / name
    from mbd_bridge.files.tables import without_sheet

    file_beside(without_sheet(path), node.file)
    return path


# Named configurations in an SRDF: ``<group_state name="home">`` with values of joints.
#
# The file is ``NAME.srdf`` beside ``NAME.urdf``, or in a folder ``srdf`` beside the robot's folder,
# as in example-robot-data. Groups, end effectors and pairs that may touch are not read.

SUFFIX, FOLDER = ".srdf", "srdf"


COUNTS = {"universal": 2, "cylindrical": 2, "planar": 3, "spherical": 4, "floating": 7}
"""How many coordinates joints have that have not one."""


def with_configurations(description: Description) -> Description:
    """Return a description with the named configurations of its SRDF, if there is one."""
    path = _srdf_of(Path(description.source or ""))
    if path is None:
        return description
    configurations, notes = read_srdf(path, description)
    return replace(description, configurations=configurations, notes=(*description.notes, *notes))


def read_srdf(path: Path, description: Description) -> tuple[Configurations, tuple[str, ...]]:
    """Return the values of joints by configuration, and what is not read.

    States of several groups with one name are one configuration.

    Raises
    ------
    FileError
        The file cannot be read, or a value is no number.
    """
    file = str(path)
    root, _ = parse(decode(read_bytes(file), file), file)
    document, left_out = Document(file), LeftOut(file, "SRDF")
    joints = {joint.name: joint for joint in description.joints}
    counts = {name: COUNTS.get(joint.type, 1) for name, joint in joints.items()}
    counts.setdefault(ROOT_JOINT, COUNTS["floating"])
    others = {loop.name for loop in description.loops}
    others |= {coupling.name for coupling in description.couplings}
    configurations: dict[str, dict[str, tuple[float, ...]]] = {}
    for state in root.findall("group_state"):
        name = document.attribute(state, "name")
        values = configurations.setdefault(name, {})
        for element in state.findall("joint"):
            joint = document.attribute(element, "name")
            words = document.attribute(element, "value").split()
            numbers = tuple(
                document.understood(element, "value", parse_number, word) for word in words
            )
            if joint in others or (joint in joints and joints[joint].type == "fixed"):
                continue  # a cut joint's coordinate follows from the tree, a fixed one has none
            if joint != ROOT_JOINT and joint not in joints:
                left_out.add("values of joints that the robot has not", joint)
            elif len(numbers) != counts[joint]:
                left_out.add("values of joints with another number of coordinates", joint)
            elif values.setdefault(joint, numbers) != numbers:
                raise document.error(
                    element, f"{quote(joint)} has two values in {quote(name)}; leave one out"
                )
    return configurations, left_out.warn()


def _srdf_of(source: Path) -> Path | None:
    if not source.name:
        return None
    name = sidecar_path(source, SUFFIX).name  # a.urdf.xacro and a.urdf have a.srdf, as a.sdf has
    if not source.name.endswith((".urdf", ".xacro")):
        name = source.stem + SUFFIX
    places = source.parent / name, source.parent.parent / FOLDER / name
    return next((file for file in places if file_beside(file, source) is not None), None)
