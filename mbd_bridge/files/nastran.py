"""Loads as Nastran bulk data: ``GRID``, ``FORCE``, ``MOMENT``, ``LOAD``, in large fields.

A field has 16 characters. Each number is written in the way that keeps the most of its digits: 11
or more (``-1.2345678901-10`` is Nastran's short form of an exponent), so that forces in equilibrium
stay so to 1e-10 of the largest; small fields, with 8 characters, would leave 1e-4.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError

WIDTH = 16
"""Characters of a large field."""
LARGEST_NUMBER = 99_999_999
"""Identification numbers have eight digits."""


@dataclass(frozen=True, slots=True, eq=False)
class GridPoint:
    """A point: its number, what it is, and (3,) where it is."""

    number: int
    name: str
    point: ArrayLike


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
    grids: Sequence[GridPoint],
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
        numbers = np.asarray(grid.point, dtype=np.float64).tolist()
        lines += _card("GRID", _whole(grid.number), _whole(system), *map(_real, numbers))
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
        *_card("CORD2R", _whole(number), _whole(0), *map(_real, (*origin, *z, *x))),
    ]


def _loads(load: LoadSet, system: int) -> Iterator[str]:
    for grid, wrench in load.wrenches.items():
        numbers = np.asarray(wrench, dtype=np.float64).tolist()
        for card, vector in (("FORCE", numbers[:3]), ("MOMENT", numbers[3:])):
            if any(vector):  # a vector of zeros is an error in Nastran
                front = _whole(load.number), _whole(grid), _whole(system), _real(1.0)
                yield from _card(card, *front, *map(_real, vector))


def _combined(load: Combination) -> list[str]:
    parts = [text for part in load.parts for text in (_real(1.0), _whole(part))]
    return _card("LOAD", _whole(load.number), _real(1.0), *parts)


def _whole(number: int) -> str:
    if not 0 <= number <= LARGEST_NUMBER:
        raise StateError(
            f"expected identification numbers up to {LARGEST_NUMBER}, got {number}; begin with a "
            f"smaller one"
        )
    return str(number)


def _real(value: float) -> str:
    return field(value)


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
