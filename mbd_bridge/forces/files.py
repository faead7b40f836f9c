"""Force elements from and to ``NAME.forces.yaml`` (`formats.forces_sidecar` has an example).

The type of an element is the name of its class, its keys are the parameters of the class, with the
same meanings, units and defaults. What Python functions compute stands in no file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import file_path
from mbd_bridge.base.errors import FileError, MbdError, StateError
from mbd_bridge.files.document import parse_number, unknown
from mbd_bridge.files.forces_sidecar import Entry, read_forces_file, table_points
from mbd_bridge.files.whole_file import whole_file
from mbd_bridge.files.yaml_text import Node, yaml_text
from mbd_bridge.forces import tyre_files
from mbd_bridge.forces.actuator import Given, JointActuator, PointActuator
from mbd_bridge.forces.base import ForceElement, bound, by_names, model_in
from mbd_bridge.forces.bushing import Bushing
from mbd_bridge.forces.drag import Drag
from mbd_bridge.forces.expressions.formula import Formula
from mbd_bridge.forces.gravity_field import GravityField
from mbd_bridge.forces.hydropneumatic import HydropneumaticUnit, Throttle
from mbd_bridge.forces.joint_friction import JointFriction
from mbd_bridge.forces.joint_spring import JointSpring
from mbd_bridge.forces.joint_stop import JointStop
from mbd_bridge.forces.law import Damping, Stiffness
from mbd_bridge.forces.load_friction import LoadFriction
from mbd_bridge.forces.outside import Input
from mbd_bridge.forces.point_spring import PointSpring
from mbd_bridge.forces.point_stop import PointStop
from mbd_bridge.forces.torsion_bar import TorsionBar
from mbd_bridge.forces.urdf import from_urdf
from mbd_bridge.forces.varying import Varying
from mbd_bridge.functions import Table
from mbd_bridge.model import Model

KINDS: tuple[type[ForceElement], ...] = (
    PointSpring,
    PointStop,
    PointActuator,
    HydropneumaticUnit,
    JointSpring,
    JointFriction,
    LoadFriction,
    JointStop,
    JointActuator,
    TorsionBar,
    Bushing,
    Drag,
    GravityField,
    *tyre_files.TYPES,
)
TYPES = {kind.__name__: kind for kind in KINDS}
"""What may stand in a file, by name."""

INPUT = "input"
"""Key of a number that comes from outside: ``force: {input: valve, value: 0}``."""

Reader = Callable[[Node], Any]


def load_forces(path: str | os.PathLike[str], machine: Any) -> tuple[ForceElement, ...]:
    """Return the force elements in a file, bound to a machine.

    Parameters
    ----------
    path : ``NAME.forces.yaml``
    machine : a `Mechanism`, or its model

    Raises
    ------
    FileError
        The file cannot be read, or an element in it does not fit the machine: file, line, element.
    """
    model = model_in(machine, "load_forces")
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"expected the path of a file, got {type(path).__name__}")
    file = read_forces_file(os.fspath(path))
    elements = [_element(entry, model) for entry in file.entries]
    if file.urdf is not None:
        elements += _of_urdf(file.urdf, model)
    try:
        return bound(model, elements)
    except MbdError as problem:
        raise FileError(str(problem), os.fspath(path)) from None


def save_forces(path: str | os.PathLike[str], elements: Iterable[ForceElement]) -> None:
    """Write force elements to a file that `load_forces` reads, numbers to the last digit.

    Raises
    ------
    StateError
        An element holds something that stands in no file, such as a function; or two have one name.
    """
    path = file_path("path", path)
    given: Any = [elements] if elements is None or isinstance(elements, ForceElement) else elements
    entries = [_entry(name, element) for name, element in by_names(given).items()]
    with whole_file(path) as file:
        file.write(yaml_text({"units": "SI", "forces": entries}))


def _element(entry: Entry, model: Model) -> ForceElement:
    kind = TYPES.get(entry.type.text())
    if kind is None:
        raise entry.type.named(entry.node.name).error(
            unknown("type of force element", entry.type.text(), TYPES)
        )
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind) if one.name != "name"}
    for key, node in entry.fields.items():
        if key not in known:
            raise node.named(entry.node.name).error(unknown(f"key of {kind.__name__}", key, known))
    values = {key: READERS[hints[key]](node) for key, node in entry.fields.items()}
    try:
        element = kind(name=entry.name, **values)
    except TypeError as problem:  # of missing arguments
        missing = ", ".join(re.findall("'(.*?)'", str(problem)))
        raise entry.node.error(
            f"a {kind.__name__} needs {missing}; its keys are {', '.join(known)}"
        ) from None
    try:
        bound(model, [element])
    except MbdError as problem:
        said = str(problem).removeprefix(f"{element.label}: ")
        place = entry.fields.get(said.partition(":")[0], entry.node)
        raise FileError(said, place.file, place.line, entry.node.name) from None
    return element


def _of_urdf(urdf: Mapping[str, Node], model: Model) -> list[ForceElement]:
    """Return elements for what the URDF says; what is not mentioned is not used."""
    limits = tyre_files.numbers(urdf["limits"]) if "limits" in urdf else None
    used = {key: key in urdf and urdf[key].flag() for key in ("damping", "friction")}
    try:
        return from_urdf(model, **used, limits=limits)
    except MbdError as problem:
        raise urdf["limits"].error(str(problem)) from None


def _law(node: Node) -> Any:
    """Return a number, coefficients, a table, a formula or an input."""
    if not isinstance(node.value, dict) or INPUT in node.value:
        return _varying(node)
    points = table_points(node)
    words: Any = points.words
    with node.placed():
        return Table(points.x, points.y, **words)


def _varying(node: Node) -> Any:
    """Return a number or a list of them, a formula, or an input."""
    if isinstance(node.value, dict):
        table = node.table((INPUT, "value"))
        value = table["value"].number() if "value" in table else 0.0
        return Input(table[INPUT].text(), value)
    if isinstance(node.value, str):
        try:
            return parse_number(node.value)
        except ValueError:
            return node.text()
    return tyre_files.numbers(node)


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(item.text() for item in node.items())


READERS: dict[Any, Reader] = tyre_files.READERS | {
    str: Node.text,
    bool: Node.flag,
    float: _varying,
    float | None: _varying,
    ArrayLike: tyre_files.numbers,
    Sequence[ArrayLike]: tyre_files.numbers,
    tuple[str, str]: _texts,
    tuple[str, ...]: _texts,
    Stiffness: _law,
    Damping: _law,
    Given: _law,
    Throttle: tyre_files.numbers,
    Throttle | None: tyre_files.numbers,
}
"""What reads a parameter, by its type."""


def _entry(name: str, element: ForceElement) -> dict[str, Any]:
    if isinstance(element, Varying):
        return _entry(name, element.element)
    kind = type(element)
    if TYPES.get(kind.__name__) is not kind:
        raise StateError(
            f"{element.label}: expected one of {', '.join(TYPES)}; other elements stand in no file"
        )
    entry = {"name": name, "type": kind.__name__}
    for one in fields(element):
        value = getattr(element, one.name)
        if one.name != "name" and value is not None:
            entry[one.name] = _plain(element, one.name, value)
    return entry


def _plain(element: ForceElement, name: str, value: Any) -> Any:
    """Return a parameter as texts, numbers, lists of them, or points of a table."""
    if isinstance(value, Table):
        x, y = (points.tolist() for points in value.points)
        return {"x": x, "y": y, "kind": value.kind, "outside": value.outside}
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Formula):
        return value.text
    if isinstance(value, Input):
        return {INPUT: value.name, "value": float(np.asarray(value.value))}
    if tyre_files.is_plain_here(value):
        return tyre_files.plain(value)
    if isinstance(value, Mapping) or callable(value):
        raise StateError(f"{element.label}: {name}: a {type(value).__name__} stands in no file")
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(element, name, item) for item in value]
    return float(value)
