"""A free body as a file: a table (CSV) or loads for a finite element model.

Of CalculiX and Abaqus (``.inp``), of Code_Aster (``.comm``), of Nastran (bulk data): points,
forces and moments are the same, a format is how they are written. With ``mass="distributed"``
gravity and inertia are loads on the model's own mass instead of forces at the centre of mass: a
field of g - a and a rotation about the centre of mass. That is exact for a link without angular
acceleration; neither CalculiX nor Code_Aster has the field of one.
"""

from __future__ import annotations

import csv
import io
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.applications.free_body.free_body import GRAVITY, INERTIA, FreeBody, LinkAction
from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.files.tables.text import no_formula
from mbd_bridge.files.whole_file import check_place, whole_file
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import COMPONENTS

Mass = Literal["points", "distributed"]
CARD_WIDTH = 20
"""Characters of a number, which is all that CalculiX reads of a field."""
STILL = 1e-6
"""rad/s²: a smaller angular acceleration is none."""
ROUNDING = 1e-9
"""Share of ω² that an angular acceleration is off by rounding."""


class Point(NamedTuple):
    """A point: its number, what it is, where, and what acts on it (6,)."""

    number: int
    name: str
    place: ArrayLike
    wrench: Array


class Field(NamedTuple):
    """Loads on a mass: its acceleration (3,), and a speed, rad/s, about an axis through a point."""

    acceleration: Array
    speed: float
    axis: Array
    centre: Array


class Case(NamedTuple):
    """An instant: what is said of it, its points, and loads on the mass in place of some."""

    said: str
    points: Sequence[Point]
    field: Field | None = None


class CardFormat(NamedTuple):
    """How a program's cards say it.

    Attributes
    ----------
    comment : begins a line that says nothing
    points : of all points, the lines before the load cases
    case : the lines of one instant, from its number, points and perhaps field
    """

    comment: str
    points: Callable[[Sequence[Point]], Iterable[str]]
    case: Callable[[int, Sequence[Point], Field | None], Iterable[str]]


def shown(value: float) -> str:
    """Return a number in at most 20 characters."""
    whole = repr(float(value) + 0.0)
    return whole if len(whole) <= CARD_WIDTH else f"{value:.12e}"


def _row(values: Iterable[float]) -> str:
    return ", ".join(map(shown, values))


def _nodes(points: Sequence[Point]) -> Iterable[str]:
    yield "*NODE, NSET=FREE_BODY"
    for point in points:
        yield f"** {point.name}"
        yield f"{point.number}, {_row(np.asarray(point.place))}"


def _step(number: int, points: Sequence[Point], field: Field | None) -> Iterable[str]:
    yield from ("*STEP", "*STATIC", "*CLOAD, OP=NEW")
    for point in points:
        for k, value in enumerate(point.wrench.tolist(), 1):
            if value:
                yield f"{point.number}, {k}, {shown(value)}"
    if field is not None:
        yield "*DLOAD, OP=NEW"
        size = float(np.linalg.norm(field.acceleration))
        if size:
            yield f"EALL, GRAV, {shown(size)}, {_row(field.acceleration / size)}"
        if field.speed:
            yield f"EALL, CENTRIF, {shown(field.speed**2)}, {_row([*field.centre, *field.axis])}"
    yield "*END STEP"


def _groups(points: Sequence[Point]) -> Iterable[str]:
    yield "# groups of nodes of the mesh, one node each:"
    for point in points:
        yield f"# P{point.number} at ({_row(np.asarray(point.place))}): {point.name}"


def _char(number: int, points: Sequence[Point], field: Field | None) -> Iterable[str]:
    names = "FX", "FY", "FZ", "MX", "MY", "MZ"
    yield f"LOAD{number} = AFFE_CHAR_MECA("
    yield "    MODELE=MODEL,"
    yield "    FORCE_NODALE=("
    for point in points:
        said = [f"{n}={shown(x)}" for n, x in zip(names, point.wrench.tolist(), strict=True) if x]
        if said:
            yield f"        _F(GROUP_NO='P{point.number}', {', '.join(said)}),"
    yield "    ),"
    if field is not None:
        size = float(np.linalg.norm(field.acceleration))
        if size:
            direction = _row(field.acceleration / size)
            yield f"    PESANTEUR=_F(GRAVITE={shown(size)}, DIRECTION=({direction})),"
        if field.speed:
            axis, centre = _row(field.axis), _row(field.centre)
            yield f"    ROTATION=_F(VITESSE={shown(field.speed)}, AXE=({axis}), CENTRE=({centre})),"
    yield ")"


CARD_FORMATS = {".inp": CardFormat("**", _nodes, _step), ".comm": CardFormat("#", _groups, _char)}
"""By suffix."""


def field_of(body: FreeBody, k: int, centre: Array, factor: float) -> Field:
    """Return the loads on a link's own mass at an instant; refuse an angular acceleration.

    Parameters
    ----------
    factor : units of length in a metre
    """
    motion = body.motion
    omega, alpha = motion.omega[k], motion.alpha[k]
    speed, turns = float(np.linalg.norm(omega)), float(np.linalg.norm(alpha))
    if turns > max(STILL, ROUNDING * speed**2):
        raise StateError(
            f"instant {k + 1}: an angular acceleration of {turns:.4g} rad/s² is no load on a mass "
            f"in these cards; write the forces at the centre of mass, mass='points'"
        )
    axis = omega / speed if speed else np.zeros(3)
    away = motion.gravity[k] - motion.acceleration[k]
    return Field(factor * away, speed, axis, factor * centre)


def text_of(dialect: CardFormat, words: Iterable[str], cases: Sequence[Case]) -> str:
    """Return a file: comments, points, and the load cases of all instants."""
    lines = [f"{dialect.comment} {line}" for line in words]
    lines += dialect.points(cases[0].points) if cases else []
    for number, case in enumerate(cases, 1):
        lines += [f"{dialect.comment} {line}" for line in case.said.splitlines()]
        lines += dialect.case(number, case.points, case.field)
    return "".join(f"{line}\n" for line in lines)


# Loads as Nastran bulk data: ``GRID``, ``FORCE``, ``MOMENT``, ``LOAD``, in large fields.
#
# A field has 16 characters. Each number is written in the way that keeps the most of its digits:
# 11 or more (``-1.2345678901-10`` is Nastran's short form of an exponent), so that forces in
# equilibrium stay so to 1e-10 of the largest; small fields, with 8 characters, would leave 1e-4.

WIDTH = 16
"""Characters of a large field."""
LARGEST_NUMBER = 99_999_999
"""Identification numbers have eight digits."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadSet:
    """Forces and moments on points that a load case takes together.

    Attributes
    ----------
    number : the load set's identification number
    name : what it is, for the comment above it
    wrenches : number of a grid -> (6,) force and moment
    """

    number: int
    name: str
    wrenches: Mapping[int, ArrayLike]


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """A load set that is the sum of others."""

    number: int
    name: str
    parts: Sequence[int]


def nastran_text(
    comments: Iterable[str],
    grids: Sequence[Point],
    loads: Sequence[LoadSet | Combination],
    system: int = 0,
) -> str:
    """Return bulk data: comments, the points, the loads.

    Parameters
    ----------
    system : number of the coordinate system of points and loads; 0 is the basic one, any other is
        defined (``CORD2R``) as one that lies in it
    """
    lines = [line for comment in comments for line in _comment(comment)]
    lines += _system(system)
    for grid in grids:
        lines += _comment(grid.name)
        numbers = np.asarray(grid.place, dtype=np.float64).tolist()
        lines += _card("GRID", _whole(grid.number), _whole(system), *map(field, numbers))
    for load in loads:
        lines += _comment(load.name)
        lines += _combined(load) if isinstance(load, Combination) else _loads(load, system)
    return "".join(f"{line}\n" for line in lines)


def field(value: float) -> str:
    """Return a number in at most 16 characters, with as many of its digits as go in.

    Examples
    --------
    >>> field(-123.456), field(1e-7 / 3)
    ('-123.456', '3.333333333333-8')
    """
    if not np.isfinite(value):
        raise StateError(f"expected a finite number for a bulk data field, got {value}")
    if value == 0.0:
        return "0.0"
    best, error = "", np.inf
    for text in _candidates(value):
        off = abs(_read(text) - value)
        if len(text) <= WIDTH and off < error:
            best, error = text, off
    return best


def _candidates(value: float) -> Iterator[str]:
    """Yield forms of a number: those without an exponent first, short ones first."""
    for digits in range(1, WIDTH):
        fixed = f"{value:.{digits}f}".rstrip("0")
        yield f"{fixed}0" if fixed.endswith(".") else fixed
    for digits in range(1, WIDTH):
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        yield f"{mantissa}{int(exponent):+d}"


def _read(text: str) -> float:
    """Return a number as Nastran reads it: the E of an exponent may be missing."""
    for sign in "+-":
        place = text.rfind(sign)
        if place > 0:
            return float(f"{text[:place]}e{text[place:]}")
    return float(text)


def _system(number: int) -> list[str]:
    if number == 0:
        return []
    origin, z, x = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    return [
        *_comment("the link's frame; edit it to put the link where it is in your model"),
        *_card("CORD2R", _whole(number), _whole(0), *map(field, (*origin, *z, *x))),
    ]


def _loads(load: LoadSet, system: int) -> Iterator[str]:
    for grid, wrench in load.wrenches.items():
        numbers = np.asarray(wrench, dtype=np.float64).tolist()
        for card, vector in (("FORCE", numbers[:3]), ("MOMENT", numbers[3:])):
            if any(vector):  # a vector of zeros is an error in Nastran
                front = _whole(load.number), _whole(grid), _whole(system), field(1.0)
                yield from _card(card, *front, *map(field, vector))


def _combined(load: Combination) -> list[str]:
    parts = [text for part in load.parts for text in (field(1.0), _whole(part))]
    return _card("LOAD", _whole(load.number), field(1.0), *parts)


def _whole(number: int) -> str:
    if not 0 <= number <= LARGEST_NUMBER:
        raise StateError(
            f"expected identification numbers up to {LARGEST_NUMBER}, got {number}; begin with a "
            f"smaller one"
        )
    return str(number)


def _card(name: str, *fields: str) -> list[str]:
    """Return the lines of a card in large fields, four to a line."""
    lines = []
    for k in range(0, len(fields), 4):
        begin = f"{name}*" if k == 0 else "*"
        lines.append(begin.ljust(8) + "".join(text.rjust(WIDTH) for text in fields[k : k + 4]))
    if len(lines) == 1:
        lines.append("*")
    return lines


def _comment(text: str) -> list[str]:
    return [f"$ {line}" for part in text.splitlines() for line in textwrap.wrap(part, 70) or [""]]


BULK = (".bdf", ".dat", ".nas", ".blk")
"""Suffixes of files of Nastran bulk data."""
LENGTHS = {"m": 1.0, "mm": 1000.0}
"""Units of length that a finite element model may have, in one metre."""
STEP = 10
"""Load sets an instant has room for."""


def write_free_body(
    body: FreeBody,
    path: str | os.PathLike[str],
    *,
    length: str = "m",
    first: int = 1,
    system: int = 0,
    mass: Mass = "points",
) -> None:
    """Write a free body: .csv as a table; .bdf (.dat, .nas, .blk), .inp or .comm as load cards.

    Parameters
    ----------
    length : "m" or "mm" (N and N mm), of cards
    first : number of the first point; of the first load set too, of cards
    system : number of the coordinate system to write in, 0 for the basic one, of bulk data
    mass : gravity and inertia as forces at "points", or "distributed" as loads on the model's own
        mass, of .inp and .comm
    """
    check_output(path)
    suffix = Path(path).suffix.lower()
    one_of("mass", mass, get_args(Mass), StateError)
    if suffix not in CARD_FORMATS and mass != "points":
        raise StateError(
            f"mass={mass!r} is for {' and '.join(CARD_FORMATS)}; bulk data have sets of "
            f"gravity and inertia to leave out"
        )
    if suffix in CARD_FORMATS:
        if system:
            raise StateError(f"system is for bulk data; {suffix} is in the axes of the link")
        text = cards(body, suffix, length=length, first=first, mass=mass)
    elif suffix in BULK:
        text = bulk_data(body, length=length, first=first, system=system)
    else:
        text = table(body)
    with whole_file(path) as file:
        file.write(text)


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse a file of another kind, or that cannot be written, before work is done."""
    suffix = Path(path).suffix.lower()
    known = (".csv", *BULK, *CARD_FORMATS)
    if suffix not in known:
        raise StateError(f"a free body is not written as {suffix!r}; available: {', '.join(known)}")
    check_place(path)


def table(body: FreeBody) -> str:
    """Return a free body as CSV text: a row for what each joint, gravity, ... does at an instant.

    Columns: instant (from 1), time, what the instant is, name and other link, point, force and
    moment about the point in the link's axes, names of undetermined components.
    """
    out = io.StringIO(newline="")
    for line in _words(body):
        out.write(f"# {line}\n")
    writer = csv.writer(out, lineterminator="\n")
    units = ["N", "N", "N", "N m", "N m", "N m"]
    heads = [f"{name} [{unit}]" for name, unit in zip(COMPONENTS, units, strict=True)]
    places = [f"{axis} [m]" for axis in "xyz"]
    writer.writerow(
        ["instant", "time [s]", "what", "name", "other", *places, *heads, "undetermined"]
    )
    for k, (time, label) in enumerate(zip(body.time.tolist(), body.labels, strict=True)):
        for one in _spread_out(body):
            numbers = [*one.point.tolist(), *one.wrench[k].tolist()]
            front = [k + 1, repr(time), *map(no_formula, (label, one.name, one.other))]
            writer.writerow([*front, *map(repr, numbers), _undetermined(one)])
    return out.getvalue()


def bulk_data(body: FreeBody, *, length: str = "m", first: int = 1, system: int = 0) -> str:
    """Return a free body as Nastran bulk data in large fields.

    A grid at every joint and at the centre of mass, or at the nodes of a link that bends; for the
    k-th instant (from 1) a load set ``first - 1 + 10 k + 1`` of what joints (and the outside) do,
    ``... + 2`` of gravity and inertia, and their sum ``... + 0``, which is in equilibrium. Rounding
    errors are zero, and vectors of zeros have no card.
    """
    outer, cases = _cases(body, length, first)
    grids = [x._replace(name=f"grid {x.number}: {x.name}") for x in cases[0].points]
    loads: list[LoadSet | Combination] = []
    for k, case in enumerate(cases):
        number = first - 1 + STEP * (k + 1)
        outside, mass = (
            {point.number: point.wrench for point in part}
            for part in (case.points[:outer], case.points[outer:])
        )
        parts = [
            LoadSet(number + 1, f"set {number + 1}: joints and outside\n{case.said}", outside),
            LoadSet(number + 2, f"set {number + 2}: gravity and inertia\n{_moves(body, k)}", mass),
        ]
        used = [part.number for part in parts if np.any(np.array([*part.wrenches.values()]))]
        if used:
            loads.append(Combination(number, f"set {number}: all of it, in equilibrium", used))
        loads += parts
    place = "the basic system" if system == 0 else f"the coordinate system {system}"
    words = [*_words(body), _units(length), f"{place} is the frame of the link"]
    return nastran_text(words, grids, loads, system)


def cards(
    body: FreeBody, suffix: str, *, length: str = "m", first: int = 1, mass: Mass = "points"
) -> str:
    """Return a free body as cards of another program; see `CARD_FORMATS`."""
    outer, cases = _cases(body, length, first)
    if mass == "distributed":
        if body.nodes is not None:
            raise StateError(
                f"{body.link} bends: its inertia is no load of a rigid motion; use mass='points'"
            )
        centre = body.acting[-1].point
        fields = [field_of(body, k, centre, LENGTHS[length]) for k in range(len(cases))]
        cases = [
            case._replace(points=case.points[:outer], field=field)
            for case, field in zip(cases, fields, strict=True)
        ]
    said = [case._replace(said=f"{case.said}\n{_moves(body, k)}") for k, case in enumerate(cases)]
    words = [line for text in (*_words(body), _units(length)) for line in textwrap.wrap(text, 70)]
    return text_of(CARD_FORMATS[suffix], words, said)


def _units(length: str) -> str:
    return f"units: {length}, N, N {length}"


def _cases(body: FreeBody, length: str, first: int) -> tuple[int, list[Case]]:
    """Return how many points are joints and outside, and of each instant all points.

    The last points are the centre of mass, or the nodes of a link that bends.
    """
    if first < 1:
        raise StateError(f"expected a first number from 1, got {first}")
    factor = LENGTHS[one_of("length", length, LENGTHS, StateError)]
    acting = _spread_out(body)
    count = 1 if body.nodes is None else len(body.nodes.names)
    outer = len(acting) - 2 * count  # gravity and inertia share the last points
    names = []
    for k, one in enumerate(acting[: outer + count]):
        what = f"joint {one.name} to {one.other}" if one.other else one.name
        if k >= outer:
            what = "centre of mass" if body.nodes is None else body.nodes.names[k - outer]
        names.append(f"{what} of {body.link}" if k >= outer else f"{what}, on {body.link}")
    cases = []
    for k, time in enumerate(body.time.tolist()):
        label = f"{body.labels[k]}; " if body.labels[k] else ""
        said = f"instant {k + 1}, t = {time:.9g} s: {label}residual {body.residual[k]:.1e}"
        wrenches = np.array([_cleaned(body, one.wrench[k]) for one in acting])
        wrenches[:, 3:] *= factor
        wrenches[outer : outer + count] += wrenches[outer + count :]
        points = [
            Point(first + j, name, acting[j].point * factor, wrenches[j])
            for j, name in enumerate(names)
        ]
        cases.append(Case(said, points))
    return outer, cases


def _spread_out(body: FreeBody) -> list[LinkAction]:
    """Return what acts on a link, gravity and inertia node by node if it bends."""
    if body.nodes is None:
        return list(body.acting)
    out, sure = list(body.acting[:-2]), np.ones(6, dtype=bool)
    for kind, wrenches in ((GRAVITY, body.nodes.gravity), (INERTIA, body.nodes.inertia)):
        for p, (name, point) in enumerate(zip(body.nodes.names, body.nodes.points, strict=True)):
            own = wrenches[:, p]
            out.append(LinkAction(f"{kind} of {name}", "", point, own[:, :3], own[:, 3:], sure))
    return out


def _cleaned(body: FreeBody, wrench: Array) -> Array:
    """Return a wrench without rounding errors; small parts of many nodes are no such errors."""
    return wrench.copy() if body.nodes is not None else body.round_off.cleaned_wrench(wrench)


def _words(body: FreeBody) -> list[str]:
    """Return what a reader of the file must know."""
    from mbd_bridge import __version__

    lines = [
        f"mbd_bridge {__version__}: free body of the link {body.link} of {body.mechanism}",
        "forces act on the link, at the point given, in the axes of the link's frame; moments "
        "about that point",
        "inertia: -m times the acceleration of the centre of mass, and the negative of the rate of "
        "angular momentum about it",
        *_bending(body),
        f"all of it sums to zero; residual {body.residual.max():.1e} of the largest",
    ]
    unsure = [f"{one.name} ({_undetermined(one)})" for one in body.joints if not one.unique.all()]
    if unsure:
        lines.append(
            f"undetermined by rigid-body mechanics, one solution of many: {', '.join(unsure)}"
        )
    return lines


def _bending(body: FreeBody) -> list[str]:
    if body.nodes is None:
        return []
    return [
        "the link bends: gravity and inertia (of the motion and of the deformation) are those of "
        "its nodes, where these are undeformed; moments there include those of forces at the "
        "deformed places",
    ]


def _moves(body: FreeBody, k: int) -> str:
    """Return how the link moves, for those who rather apply accelerations than their forces."""

    def text(vector: Array) -> str:
        return "(" + ", ".join(f"{x:.9g}" for x in vector.tolist()) + ")"

    motion = body.motion
    return (
        f"acceleration {text(motion.acceleration[k])} m/s2, gravity {text(motion.gravity[k])} "
        f"m/s2\nangular velocity {text(motion.omega[k])} rad/s, acceleration "
        f"{text(motion.alpha[k])} rad/s2"
    )


def _undetermined(one: LinkAction) -> str:
    return " ".join(name for name, sure in zip(COMPONENTS, one.unique, strict=True) if not sure)
