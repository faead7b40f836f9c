"""Tyres, tracks and roads in ``NAME.forces.yaml``: read and written.

```yaml
forces:
  - name: front left
    type: SimpleTyre
    wheel: wheel_front_left
    radius: 0.3
    stiffness: 150000
    road: {type: RandomRoad, roughness: C, seed: 1}
```

A road is a table with the name of its class as `type` and the parameters of the class. A `Profile`
takes its points from a file, too: ``{type: Profile, file: road.csv, x: position, z: height}``.
Files of roads and tyres are beside the one that names them; of a tyre's only the name is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mbd_bridge.base.errors import MbdError
from mbd_bridge.files.document import unknown
from mbd_bridge.files.forces_sidecar import beside, table_points
from mbd_bridge.files.tir import TirFile
from mbd_bridge.files.yaml_text import Node
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.roads import (
    Bump,
    Flat,
    Grid,
    MovingRoad,
    Profile,
    Ramp,
    RandomRoad,
    Road,
    Sine,
    TwoTracks,
)
from mbd_bridge.forces.roads.base import SumOfRoads
from mbd_bridge.forces.track import Point, Track
from mbd_bridge.forces.tyres import FialaTyre, PacejkaTyre, SimpleTyre
from mbd_bridge.forces.tyres.simple import Direction

TYPES: tuple[type[ForceElement], ...] = (SimpleTyre, FialaTyre, PacejkaTyre, Track)
"""Elements that stand in files with roads."""

ROADS: dict[str, type[Road]] = {
    kind.__name__: kind
    for kind in (
        Flat,
        Bump,
        Ramp,
        Sine,
        Profile,
        Grid,
        RandomRoad,
        TwoTracks,
        MovingRoad,
        SumOfRoads,
    )
}
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


READERS: dict[Any, Callable[[Node], Any]] = {
    Road: read_road,
    tuple[float, float]: numbers,
    tuple[float, float] | None: numbers,
    Direction: Node.text,
    Literal["left", "right"] | None: Node.text,
    int | None: Node.whole_number,
    Mapping[str, float] | None: _by_name,
    str | os.PathLike[str] | TirFile: _file,
    Sequence[Point]: _points,
    Point | None: _point,
}
"""What reads a parameter, by its type."""


def is_plain_here(value: Any) -> bool:
    """Return whether `plain` writes a parameter."""
    return isinstance(value, Road | TirFile | Mapping | os.PathLike)


def plain(value: Any) -> Any:
    """Return a road, the path of a tyre property file or coefficients as tables and texts."""
    if isinstance(value, TirFile | os.PathLike):
        return Path(value.path if isinstance(value, TirFile) else value).name
    if isinstance(value, Mapping):
        return {str(key): float(number) for key, number in value.items()}
    if isinstance(value, Road):
        parts = {one.name: plain(getattr(value, one.name)) for one in fields(value) if one.init}
        return {"type": type(value).__name__} | parts
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, tuple) else value
