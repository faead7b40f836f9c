"""External forces from the columns of a table.

    time [s]                 or the name of a coordinate, or <link>.x, .y, .z: the first column
    <link>.fx [N] ... .fz    force on the link, in its axes
    <link>.mx [N m] ... .mz  moment, about the point of action
    <link>.px [m] ... .pz    point of action in the link's frame; without these, its origin
    <link>.world.fx, ...     the same in the world's axes; <link>.world.px: a point of the world

Components that are not there are zero. What holds for a whole file is told by attributes (in CSV
comments before the header, ``# outside: zero``) or arguments: axes (link, world), point (x, y, z),
outside (zero, hold, repeat), direction (rising, falling).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mbd_bridge.base.errors import StateError, some, unknown_name
from mbd_bridge.files.table import ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import model_units
from mbd_bridge.motion.columns import in_si
from mbd_bridge.motion.external.abscissa import TIMES, Abscissa, abscissa_of
from mbd_bridge.motion.external.force import COMPONENTS, ExternalForce, Reference
from mbd_bridge.motion.names import Spellings

POINTS = ("px", "py", "pz")
WORLD = ".world"
MEASURES = {**dict.fromkeys(("fx", "fy", "fz"), "N"), **dict.fromkeys(("mx", "my", "mz"), "N m")}
MEASURES |= dict.fromkeys(POINTS, "m")


@dataclass(frozen=True)
class How:
    """What holds for all forces of a table; None where the file says it, or the default holds.

    Attributes
    ----------
    axes : "link" or "world", of columns that do not say it
    point : (x, y, z) m, in the link's frame, where forces without columns of it act
    outside, direction : see `ExternalForce`
    """

    axes: str | None = None
    point: tuple[float, float, float] | None = None
    outside: str | None = None
    direction: str | None = None


@dataclass
class _Group:
    """The columns of one force, by component."""

    link: str
    world: bool
    columns: dict[str, str] = field(default_factory=dict)


def forces_of(
    table: ColumnTable, model: Model, how: How | None = None
) -> tuple[ExternalForce, ...]:
    """Return the external forces in a table.

    Raises
    ------
    FileError
        A column is none of these, or its unit is wrong; the column is named.
    """
    how = _told(table, how or How())
    table = Spellings(_measures(model)).table(table)
    over = _abscissa(table, model)
    groups = _groups(table, model, over.name, how.axes == "world")
    if not groups:
        links = some([link.name for link in model.links], 8)
        raise table.error(
            f"expected columns <link>.fx [N] ... <link>.mz [N m] beside {over.name!r}; links are "
            f"{links}"
        )
    x = in_si(table, over.name if over.name in table.names else "t", over.unit)
    return tuple(_force(table, over, x, group, how) for group in groups)


def _measures(model: Model) -> dict[str, str]:
    """Return what the columns of such a table are measured in, by name."""
    forces = {
        f"{link.name}{axes}.{component}": unit
        for link in model.links
        for axes in ("", WORLD)
        for component, unit in MEASURES.items()
    }
    of_q, _ = model_units(model)
    return {"time": "s"} | dict(zip(model.coordinate_names, of_q, strict=True)) | forces


def _told(table: ColumnTable, how: How) -> How:
    """Return what holds for the file: arguments before its attributes."""
    said = {key.lower(): value.strip() for key, value in table.attributes.items()}
    point = how.point
    if point is None and "point" in said:
        numbers = re.findall(r"[^\s,;()\[\]]+", said["point"])
        try:
            a, b, c = map(float, numbers)
        except ValueError:
            raise table.error(
                f"attribute 'point': expected x, y, z in m, got {said['point']!r}"
            ) from None
        point = a, b, c
    axes = how.axes or said.get("axes") or "link"
    if axes not in ("link", "world"):
        raise table.error(f"axes: expected link or world, got {axes!r}")
    outside = said.get("outside") if how.outside is None else how.outside
    direction = said.get("direction") if how.direction is None else how.direction
    return How(axes, point, outside, direction)


def _abscissa(table: ColumnTable, model: Model) -> Abscissa:
    """Return what the table is over: time where it has it, else its first column."""
    for name in (*(name for name in TIMES if name in table.names), table.names[0]):
        found = abscissa_of(model, name)
        if found is not None:
            return found
    raise table.error(
        f"expected 'time' (s), a coordinate or <link>.x, .y, .z (m) in the first column: "
        f"{unknown_name('coordinate', table.names[0], model.coordinate_names)}",
        column=table.names[0],
    )


def _groups(table: ColumnTable, model: Model, over: str, world: bool) -> list[_Group]:
    links = {link.name for link in model.links}
    found: dict[tuple[str, bool], _Group] = {}
    for name in table.names:
        if name == over or (over == "time" and name in TIMES):
            continue
        rest, _, component = name.rpartition(".")
        told = rest not in links and rest.endswith(WORLD)
        link = rest.removesuffix(WORLD) if told else rest
        if component not in MEASURES or link not in links:
            if component in MEASURES:
                message = unknown_name("link", link, links)
            else:
                message = (
                    f"expected <link>.fx, .fy, .fz, .mx, .my, .mz (and .px, .py, .pz of the point "
                    f"of action), <link>.world.fx, ... in the world's axes; links are "
                    f"{some(sorted(links), 8)}"
                )
            raise table.error(f"{message}; rename or remove the column", column=name)
        key = link, told or world
        group = found.setdefault(key, _Group(*key))
        if component in group.columns:
            raise table.error(f"{group.columns[component]!r} is the same", column=name)
        group.columns[component] = name
    for group in found.values():
        if set(group.columns) <= set(POINTS):
            other = f"{group.link}{'' if group.world else WORLD}.fx"
            raise table.error(
                f"a point of action without a force in the same axes; expected {group.link}"
                f"{WORLD if group.world else ''}.fx, ... beside it, not {other}",
                column=next(iter(group.columns.values())),
            )
    return list(found.values())


def _force(table: ColumnTable, over: Abscissa, x: Array, group: _Group, how: How) -> ExternalForce:
    wrench = _rows(table, group, COMPONENTS)
    reference: Reference = "world" if group.world else "link"
    point, points = how.point or (0.0, 0.0, 0.0), None
    if any(name in group.columns for name in POINTS):
        points = _rows(table, group, POINTS)
        if how.point is not None:
            raise table.error(
                "the point of action is told twice: by columns, and for the whole file",
                column=next(group.columns[n] for n in POINTS if n in group.columns),
            )
        wrench[:, 3:] += np.cross(points, wrench[:, :3])
        reference, point = "origin" if group.world else "link", (0.0, 0.0, 0.0)
    try:
        return ExternalForce.of(
            group.link,
            over,
            x,
            wrench,
            reference=reference,
            point=point,
            outside=how.outside,
            direction=how.direction,
            source=table.source.rpartition("/")[2],
            points=points,
        )
    except StateError as problem:
        raise table.error(str(problem)) from None


def _rows(table: ColumnTable, group: _Group, components: Iterable[str]) -> Array:
    """Return components (N, k) in SI units, zero where there are none."""
    zero = np.zeros(len(table.values))
    return np.stack(
        [
            in_si(table, group.columns[name], MEASURES[name]) if name in group.columns else zero
            for name in components
        ],
        axis=-1,
    )
