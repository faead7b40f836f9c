"""Force elements from and to ``NAME.forces.yaml`` beside ``NAME.urdf``, and of what that says.

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

The type of an element is the name of its class, its keys are the parameters of the class, with the
same meanings, units and defaults. What Python functions compute stands in no file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge import forces
from mbd_bridge.base.arguments import file_path, flag
from mbd_bridge.base.errors import FileError, MbdError, StateError
from mbd_bridge.base.extensions import extensions
from mbd_bridge.files.document import parse_number, unknown
from mbd_bridge.files.sidecars import Entry, EntryList, beside, table_points
from mbd_bridge.files.tir import TirFile
from mbd_bridge.files.whole_file import whole_file
from mbd_bridge.files.yaml_text import Node, yaml_text
from mbd_bridge.forces import roads
from mbd_bridge.forces.base import ForceElement, bound, by_names, model_in, replaced_by
from mbd_bridge.forces.formula import Formula
from mbd_bridge.forces.friction import SMOOTHING, JointFriction
from mbd_bridge.forces.hydropneumatic import Throttle
from mbd_bridge.forces.joints import joint_coordinates
from mbd_bridge.forces.law import Law
from mbd_bridge.forces.roads import Profile, Road
from mbd_bridge.forces.springs import JointSpring
from mbd_bridge.forces.stops import JointStop
from mbd_bridge.forces.track import Point
from mbd_bridge.forces.tyres.simple import Direction
from mbd_bridge.forces.varying import Input, Varying
from mbd_bridge.functions import Lookup
from mbd_bridge.model import Model
from mbd_bridge.model.description import Joint

# Force elements for what a file says of its joints: damping, friction, limits, springs.
#
# A URDF belongs to no program, and exporters write damping where nothing is known: what it says
# acts on request (`from_urdf`). MJCF and SDF say how a machine moves in MuJoCo and Gazebo, so what
# they say acts (`file_elements`, `Description.joint_dynamics`).


def from_urdf(
    machine: Any,
    *,
    damping: bool = True,
    friction: bool = True,
    limits: tuple[float, float] | None = None,
    smoothing_velocity: float = SMOOTHING,
) -> list[ForceElement]:
    """Return elements for ``<dynamics damping friction>`` and, on request, ``<limit lower upper>``.

    Parameters
    ----------
    machine : a `Mechanism`, or its model
    damping, friction : whether to use them
    limits : stiffness and damping of stops at the limits, in units of each joint; None for no stops
    smoothing_velocity : rad/s or m/s, of all friction (see `JointFriction`)

    Notes
    -----
    Joints of several degrees of freedom have the same damping and friction along each; those that
    turn by a quaternion are left out, and the run's notes say so.
    """
    model = model_in(machine, "from_urdf")
    damping, friction = flag("damping", damping), flag("friction", friction)
    if limits is not None and (not isinstance(limits, tuple | list) or len(limits) != 2):
        raise StateError(
            f"limits: expected (stiffness, damping) of the stops, such as (1e4, 10.0), got "
            f"{limits!r:.60}"
        )
    found: list[ForceElement] = []
    for name, joint in _described(model):
        viscous = joint.damping if damping else 0.0
        coulomb = joint.friction if friction else 0.0
        found += _friction(name, coulomb, viscous, smoothing_velocity)
        ends = joint.limits.lower, joint.limits.upper
        if limits is not None and ends != (None, None):
            found.append(JointStop(name, *ends, *limits, name=f"{name} stop"))
    return found


def file_elements(model: Model, others: Iterable[ForceElement] = ()) -> list[ForceElement]:
    """Return what acts in a file's joints by default: springs, damping, friction.

    Parameters
    ----------
    others : elements that act too; where they stand for the file's damping or friction, it does not
        count a second time
    """
    if not model.description.joint_dynamics:
        return []
    taken = replaced_by(model, bound(model, others))
    found: list[ForceElement] = []
    for name, joint in _described(model):
        if joint.stiffness:
            label = f"{name} spring"
            found.append(JointSpring(name, joint.stiffness, rest=joint.rest, name=label))
        coulomb = 0.0 if ("friction", joint.name) in taken else joint.friction
        viscous = 0.0 if ("damping", joint.name) in taken else joint.damping
        found += _friction(name, coulomb, viscous, SMOOTHING)
    return found


def _described(model: Model) -> Iterator[tuple[str, Joint]]:
    """Yield the coordinates that elements may act on, with the file's joints that have them."""
    described = {joint.name: joint for joint in model.description.joints}
    for name, place in joint_coordinates(model).items():
        if place.joint in described:
            yield name, described[place.joint]


def _friction(
    name: str, coulomb: float, viscous: float, smoothing: float
) -> Iterator[ForceElement]:
    if coulomb or viscous:
        label = f"{name} friction"
        yield JointFriction(
            name, coulomb, viscous=viscous, smoothing_velocity=smoothing, name=label
        )


# Tyres, tracks and roads in ``NAME.forces.yaml``: read and written.
#
# ```yaml
# forces:
#   - name: front left
#     type: SimpleTyre
#     wheel: wheel_front_left
#     radius: 0.3
#     stiffness: 150000
#     road: {type: RandomRoad, roughness: C, seed: 1}
# ```
#
# A road is a table with the name of its class as `type` and the parameters of the class. A
# `Profile` takes its points from a file, too: ``{type: Profile, file: road.csv, x: position, z:
# height}``. Files of roads and tyres are beside the one that names them; of a tyre's only the name
# is written.

NO_FILE = ("ForceElement", "GeneralForce")
"""Names of what stands in no file: no element, and what Python functions compute."""


def _classes(names: Iterable[str], module: Any, base: type) -> dict[str, Any]:
    """Return the classes of a kind among the public names of a module."""
    found = {name: getattr(module, name) for name in names if name[0].isupper()}
    return {name: one for name, one in found.items() if issubclass(one, base) and one is not base}


TYPES: dict[str, type[ForceElement]] = _classes(
    sorted({*dir(forces)} - {*NO_FILE}), forces, ForceElement
)
"""What may stand in a file, by name."""

ROADS: dict[str, type[Road]] = _classes(dir(roads), roads, Road)
"""Roads by name."""


def numbers(node: Node) -> Any:
    """Return a number, or a list of numbers or of such lists."""
    if isinstance(node.value, list):
        return tuple(numbers(item) for item in node.value)
    return node.number()


def _value(node: Node) -> Any:
    """Return a parameter of a road: a road, numbers, true or false, or a word."""
    if isinstance(node.value, dict):
        return read_road(node)
    if isinstance(node.value, list):
        return tuple(_value(item) for item in node.value)
    if node.value in ("true", "false"):
        return node.flag()
    try:
        return node.number()
    except MbdError:
        return node.text()


def read_road(node: Node) -> Road:
    """Return the road that a file says."""
    if not isinstance(node.value, dict) or "type" not in node.value:
        raise node.error(f"expected a road, {{type: {' | '.join(ROADS)}, ...}}")
    name = node.value["type"].text()
    if name not in ROADS:
        raise node.value["type"].error(unknown("road", name, ROADS))
    kind = ROADS[name]
    if kind is Profile and "file" in node.value:
        rest = {key: item for key, item in node.value.items() if key != "type"}
        points = table_points(Node(rest, node.line, node.file, node.name), "z")
        words: Any = points.words
        return Profile(points.x, points.y, **words)
    known = tuple(one.name for one in fields(kind) if one.init)
    values = {key: _value(item) for key, item in node.table(("type", *known)).items()}
    del values["type"]
    for one in fields(kind):
        if one.type == "int" and one.name in values:
            values[one.name] = node.value[one.name].whole_number()
    try:
        with node.placed():
            return kind(**values)
    except TypeError:
        raise node.error(f"a {name} needs more: its keys are {', '.join(known)}") from None


def _point(node: Node) -> Point:
    parts = node.items()
    if len(parts) != 2:
        raise node.error("expected a link and a point, such as [hull, [0, 0, 1]]")
    return parts[0].text(), numbers(parts[1])


def _points(node: Node) -> tuple[Point, ...]:
    return tuple(_point(item) for item in node.items())


def _by_name(node: Node) -> dict[str, float]:
    if not isinstance(node.value, dict):
        raise node.error("expected a table of numbers, such as {LMUX: 0.5}")
    return {key: item.number() for key, item in node.value.items()}


def _file(node: Node) -> str:
    return str(beside(node))


def _columns(node: Node) -> Path | dict[str, Any]:
    """Return the path of a table beside the file, or the columns that stand in it."""
    if isinstance(node.value, dict):
        return {key: numbers(item) for key, item in node.value.items()}
    return beside(node)


FORCES_FILE = EntryList(
    "forces",
    "m, N, kg, s, rad",
    "name",
    "element",
    None,
    ("urdf",),
    ("another element has this name", "rename one of them"),
)
"""The form of such a file."""

OF_URDF = ("damping", "friction", "limits")
"""What of the URDF may be used too."""

INPUT = "input"
"""Key of a number that comes from outside: ``force: {input: valve, value: 0}``."""


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
    entries, beside_them = FORCES_FILE.read(path)
    elements = [_element(entry, model) for entry in entries]
    if "urdf" in beside_them:
        elements += _of_urdf(beside_them["urdf"].table(OF_URDF), model)
    try:
        return bound(model, elements)
    except MbdError as problem:
        raise FileError(str(problem), os.fspath(path)) from None


def _type_of(name: str) -> type[ForceElement] | None:
    """Return the type of an element by its name in a file, of ours or a plugin's."""
    if name in TYPES:
        return TYPES[name]
    found = extensions("forces").get(name)
    return None if found is None else found.load()


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
    type_node = entry.node.required("type")
    kind = _type_of(type_node.text())
    if kind is None:
        raise type_node.named(entry.node.name).error(
            unknown("type of force element", type_node.text(), {**TYPES, **extensions("forces")})
        )
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind) if one.name != "name"}
    parameters = {key: node for key, node in entry.fields.items() if key != "type"}
    for key, node in parameters.items():
        if key not in known:
            raise node.named(entry.node.name).error(unknown(f"key of {kind.__name__}", key, known))
    values = {key: READERS[hints[key]](node) for key, node in parameters.items()}
    try:
        element = kind(name=entry.name.text(), **values)
    except TypeError as problem:  # of missing arguments
        missing = ", ".join(re.findall("'(.*?)'", str(problem)))
        raise entry.node.error(
            f"a {kind.__name__} needs {missing}; its keys are {', '.join(known)}"
        ) from None
    try:
        return bound(model, [element])[0]
    except MbdError as problem:
        said = str(problem).removeprefix(f"{element.label}: ")
        place = parameters.get(said.partition(":")[0], entry.node)
        raise FileError(said, place.file, place.line, entry.node.name) from None


def _of_urdf(urdf: Mapping[str, Node], model: Model) -> list[ForceElement]:
    """Return elements for what the URDF says; what is not mentioned is not used."""
    limits = numbers(urdf["limits"]) if "limits" in urdf else None
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
        return Lookup(points.x, points.y, **words)


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
    return numbers(node)


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(item.text() for item in node.items())


READERS: dict[Any, Callable[[Node], Any]] = {
    Road: read_road,
    tuple[float, float]: numbers,
    tuple[float, float] | None: numbers,
    Direction: Node.text,
    Literal["left", "right"] | None: Node.text,
    int | None: Node.whole_number,
    Mapping[str, float] | None: _by_name,
    str | os.PathLike[str] | TirFile: _file,
    str | os.PathLike[str] | Mapping[str, ArrayLike]: _columns,
    Sequence[Point]: _points,
    Point | None: _point,
    str: Node.text,
    bool: Node.flag,
    float: _varying,
    float | None: _varying,
    ArrayLike: numbers,
    Sequence[ArrayLike]: numbers,
    tuple[str, str]: _texts,
    tuple[str, ...]: _texts,
    Law: _law,
    float | Lookup | Callable[[Any, Any, Any], Any]: _law,
    Throttle: numbers,
    Throttle | None: numbers,
}
"""What reads a parameter, by its type."""


def _entry(name: str, element: ForceElement) -> dict[str, Any]:
    if isinstance(element, Varying):
        return _entry(name, element.element)
    kind = type(element)
    if _type_of(kind.__name__) is not kind:
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
    if isinstance(value, Lookup):
        x, y = (points.tolist() for points in value.points)
        return {"x": x, "y": y, "kind": value.kind, "outside": value.outside}
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Formula):
        return value.text
    if isinstance(value, Input):
        return {INPUT: value.name, "value": float(np.asarray(value.value))}
    if isinstance(value, TirFile | os.PathLike):
        return Path(value.path if isinstance(value, TirFile) else value).name
    if isinstance(value, Road):
        words = (one.name for one in fields(value) if one.init)
        parts = {word: _plain(element, name, getattr(value, word)) for word in words}
        return {"type": type(value).__name__} | parts
    if isinstance(value, Mapping):
        return {str(key): _plain(element, name, item) for key, item in value.items()}
    if callable(value):
        raise StateError(f"{element.label}: {name}: a {type(value).__name__} stands in no file")
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(element, name, item) for item in value]
    return value if type(value) is int else float(value)
