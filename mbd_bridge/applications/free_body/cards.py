"""A free body as load cards of CalculiX and Abaqus (``.inp``) and of Code_Aster (``.comm``).

Points, forces and moments are those of the bulk data; a format is how they are written. With
``mass="distributed"`` gravity and inertia are loads on the model's own mass instead of forces at
the centre of mass: a field of g - a and a rotation about the centre of mass. That is exact for a
link without angular acceleration; no dialect here has the field of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.applications.free_body.free_body import FreeBody
from mbd_bridge.base.errors import StateError
from mbd_bridge.model.spatial import Array

Mass = Literal["points", "distributed"]
WIDTH = 20
"""Characters of a number."""
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
    """Return a number in at most 20 characters, which is all that CalculiX reads of a field."""
    whole = repr(float(value) + 0.0)
    return whole if len(whole) <= WIDTH else f"{value:.12e}"


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
