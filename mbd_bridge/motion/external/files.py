"""External forces from files: tables of forces, or sensors in a recording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Unpack, get_args

import numpy as np

from mbd_bridge.base.arguments import by_name, finite_numbers, known_name
from mbd_bridge.base.errors import StateError, one_of, some, unknown_name
from mbd_bridge.base.options import with_options
from mbd_bridge.base.units import find_unit
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.files.tables import open_table, read_table
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import model_units
from mbd_bridge.motion.columns import times
from mbd_bridge.motion.external.force import (
    TIME_NAMES,
    Abscissa,
    ExternalForce,
    Reference,
    abscissa_of,
)
from mbd_bridge.motion.external.forces import ExternalForces
from mbd_bridge.motion.match_columns import TIMES, Spellings, checked_units, plain
from mbd_bridge.motion.options import ExternalReadingOptions, Reads
from mbd_bridge.motion.table import COMPONENTS
from mbd_bridge.solve.wrenches import check_axes

# External forces from the columns of a table.
#
#     time [s]                 or the name of a coordinate, or <link>.x, .y, .z: the first column
#     <link>.fx [N] ... .fz    force on the link, in its axes
#     <link>.mx [N m] ... .mz  moment, about the point of action
#     <link>.px [m] ... .pz    point of action in the link's frame; without these, its origin
#     <link>.world.fx, ...     the same in the world's axes; <link>.world.px: a point of the world
#
# Components that are not there are zero. What holds for a whole file is told by attributes (in CSV
# comments before the header, ``# outside: zero``) or arguments: axes (link, world), point (x, y,
# z), outside (zero, hold, repeat), direction (rising, falling).

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
    x = table.in_si(over.name if over.name in table.names else "t", over.unit)
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
    for name in (*(name for name in TIME_NAMES if name in table.names), table.names[0]):
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
        if name == over or (over == "time" and name in TIME_NAMES):
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
        return ExternalForce(
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
        ).checked()
    except StateError as problem:
        raise table.error(str(problem)) from None


def _rows(table: ColumnTable, group: _Group, components: Iterable[str]) -> Array:
    """Return components (N, k) in SI units, zero where there are none."""
    zero = np.zeros(len(table.values))
    return np.stack(
        [
            table.in_si(group.columns[name], MEASURES[name]) if name in group.columns else zero
            for name in components
        ],
        axis=-1,
    )


# What the columns of a table of forces are, where their names and units do not say it.

OF_COLUMNS = ("s", "rad", "m", "N", "N m")
"""What units of columns that do not say theirs measure."""


@dataclass(frozen=True)
class ForceNaming:
    """Names and units of columns.

    Attributes
    ----------
    rename : names there -> here; None (or "") leaves the column out
    units : of columns without one, at most one for each of angles, lengths, forces and moments
    """

    rename: Mapping[str, str | None]
    units: tuple[str, ...] = ()

    @staticmethod
    def of(
        rename: Mapping[str, str | None] | None = None, unit: Sequence[str] | str = ()
    ) -> ForceNaming:
        """Return a checked one."""
        units = checked_units(unit, "kN", OF_COLUMNS)
        if len({known.measures for known in map(find_unit, units) if known}) < len(units):
            raise StateError(f"unit: {', '.join(units)} measure the same; give one of them")
        return ForceNaming(by_name("rename", rename, "{'F1': 'ram.fz'}"), units)

    def of_table(self, table: ColumnTable, model: Model) -> ColumnTable:
        """Return a table with its columns as they are called and measured.

        Raises
        ------
        FileError
            It has not a column that is to be renamed.
        """
        for name in self.rename:
            known_name("column", name, table.names, "rename: ", table.error)
        named = [self.rename.get(name, name) for name in table.names]
        kept = [k for k, name in enumerate(named) if name]
        columns = [self._column(table.columns[k], named[k] or "", model) for k in kept]
        return replace(table, columns=tuple(columns), values=table.values[:, kept])

    def _column(self, column: Column, name: str, model: Model) -> Column:
        """Return a column by its name here, with the unit of all that measure the same."""
        if column.unit is None:
            over = abscissa_of(model, name)
            measure = over.unit if over else MEASURES.get(name.rpartition(".")[2])
            for unit in self.units:
                known = find_unit(unit)
                if known is not None and known.measures == measure:
                    return Column(name, unit)
        return Column(name, column.unit)


# Force/torque sensors: columns of a recording that are external forces on a link.
#
# The six columns of a sensor begin with a prefix; behind it, in any usual spelling, stands which
# one it is: ``ft.fx``, ``wrench.force.x``, ``/wrist/wrench/torque/z``, ``actual_TCP_force_0`` to
# ``_5``.
#
# What a sensor reads is one of two, and `reads` says which:
#
#     "environment"   what the environment exerts on the frame, in its axes, about its origin
#     "parent"        what the parent exerts on the frame, as joint loads here are given
#
# The mass and the acceleration of what is behind the sensor are not part of what the environment
# exerts: a reading must be compensated for them. That of "parent" is then the environment's force
# with the other sign.


SPELLINGS = (
    re.compile(r"[._/ ]?(?P<kind>[fm])(?P<axis>[xyz])"),
    re.compile(r"[._/ ]?t(?P<axis>[xyz])"),
    re.compile(
        r"[._/ ]?(?:wrench[._/ ])?(?P<kind>force|torque|moment)[._/ ]?(?P<axis>[xyz])", re.I
    ),
    re.compile(r"[._/ ]?(?P<number>[0-5])"),
)
"""How the end of a column's name says which component it is."""


def sensor_columns(names: tuple[str, ...], prefix: str) -> dict[str, str]:
    """Return the columns with a prefix that hold components, by component."""
    found: dict[str, str] = {}
    for name in names:
        if name.startswith(prefix):
            component = _component(name[len(prefix) :])
            if component is not None:
                found.setdefault(component, name)
    return found


def _component(rest: str) -> str | None:
    for spelling in SPELLINGS:
        said = spelling.fullmatch(rest)
        if said is None:
            continue
        parts = said.groupdict()
        if parts.get("number"):
            return COMPONENTS[int(parts["number"])]
        kind = (parts.get("kind") or "m")[0].lower()
        return ("f" if kind == "f" else "m") + parts["axis"].lower()
    return None


def sensor_forces(
    table: ColumnTable,
    model: Model,
    sensors: Mapping[str, str],
    reads: Reads = "environment",
    axes: str | None = None,
    point: tuple[float, float, float] | None = None,
    outside: str | None = None,
) -> tuple[ExternalForce, ...]:
    """Return the external forces that sensors in a recording tell.

    Parameters
    ----------
    sensors : link (the sensor's frame) -> prefix of its columns
    reads : what the columns hold; see the module's text
    axes, point : in which, and about which point of the frame, they are given
    outside : beyond the recording's ends; see `ExternalForce`
    """
    kind = one_of("reads", reads, get_args(Reads), StateError)
    time = times(table)
    found = []
    for link, prefix in sensors.items():
        model.link_number(link)
        group = _Group(link, False, sensor_columns(table.names, prefix))
        wrench = _rows(table, group, COMPONENTS)
        reference: Reference = "world" if axes == "world" else "link"
        found.append(
            ExternalForce(
                link,
                Abscissa("time", "s"),
                time,
                -wrench if kind == "parent" else wrench,
                reference=reference,
                point=point or (0.0, 0.0, 0.0),
                outside=outside,
                source=f"sensor {prefix!r}, reads {kind}",
            ).checked()
        )
    return tuple(found)


@with_options
def external_from_file(
    path: str | PathLike[str], model: Model, **options: Unpack[ExternalReadingOptions]
) -> ExternalForces:
    """Return the external forces that a file gives to a model.

    Parameters
    ----------
    path : a table, or a recording with sensors
    **options : of the file
    """
    axes, point, sensors = options["axes"], None, options["sensors"]
    if options["point"] is not None:
        x, y, z = finite_numbers("point", options["point"], (3,)).tolist()
        point = x, y, z
    axes = None if axes is None else check_axes(axes)
    naming = ForceNaming.of(options["rename"], options["unit"])
    if sensors is None or (isinstance(sensors, Mapping) and not sensors):
        table = naming.of_table(read_table(path), model)
        how = How(axes, point, options["outside"], options["direction"])
        return ExternalForces(model, forces_of(table, model, how), table.notes)
    if naming.rename or naming.units:
        raise StateError("rename, unit: of tables of forces; a sensor's columns have a prefix")
    table = _sensor_table(path, sensors)
    forces = sensor_forces(table, model, sensors, options["reads"], axes, point, options["outside"])
    return ExternalForces(model, forces, table.notes)


def _sensor_table(path: str | PathLike[str], sensors: Mapping[str, str]) -> ColumnTable:
    """Return the columns of a recording that sensors need, and its times."""
    source = open_table(path)
    time = next((name for name in source.names if plain(name) in TIMES), "time")
    wanted = {time}
    example = "{'tool0': 'wrench'}"
    for prefix in by_name("sensors", sensors, example).values():
        if not isinstance(prefix, str):
            raise StateError(f"sensors: expected prefixes by link, {example}, got {prefix!r:.60}")
        columns = sensor_columns(source.names, prefix)
        if not columns:
            raise source.error(
                f"no columns of a sensor begin with {prefix!r}; expected {prefix}.fx [N] ... "
                f"{prefix}.mz [N m], {prefix}.force.x or {prefix}_0 ... _5; the table has "
                f"{some(source.names, 12)}"
            )
        wanted |= set(columns.values())
    kept = [column for column in source.columns if column.name in wanted]
    blocks = [block for _, block in source.chunks(columns=[column.name for column in kept])]
    named = tuple(Column("time", c.unit) if c.name == time else c for c in kept)
    table = ColumnTable(named, np.concatenate(blocks), None, source.path, source.attributes)
    return replace(table, notes=source.notes)
