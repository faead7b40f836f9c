"""What every road is: a height over the ground, and its slopes.

    z = height(x, y),   N = (-∂z/∂x, -∂z/∂y, 1),   n = N / |N|

World axes, z up. The functions take floats, arrays or symbols and branch on structure only.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, final

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.functions import Lookup


class RoadSurface(NamedTuple):
    """A road at one place.

    Attributes
    ----------
    height : z, m
    slope_x, slope_y : ∂z/∂x and ∂z/∂y
    """

    height: Any
    slope_x: Any
    slope_y: Any


@dataclass(frozen=True, eq=False)
class Road(ABC):
    """A rigid road; concrete roads are final and check their numbers when they are made."""

    @abstractmethod
    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return height (m) and slopes at x, y (m) in the world and time t (s)."""

    def __call__(self, x: Any, y: Any = 0.0, t: Any = 0.0) -> Any:
        """Return the height, m."""
        return self.surface(x, y, t).height

    @property
    def motion(self) -> tuple[float, float]:
        """How the road itself moves in x and y, m/s: not at all, but for a `MovingRoad`."""
        return (0.0, 0.0)

    @property
    def is_level(self) -> bool:
        """The slopes are zero everywhere."""
        return False

    @property
    def varies_across(self) -> bool:
        """The height is another at another y."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Road) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __add__(self, other: Road) -> Road:
        return SumOfRoads((self, other)) if isinstance(other, Road) else NotImplemented

    @property
    def digest(self) -> str:
        """A text that two roads share if all their numbers are equal."""
        values = {one.name: _digest(getattr(self, one.name)) for one in fields(self)}
        return hashlib.sha256(f"{type(self).__name__} {values!r}".encode()).hexdigest()

    def _number(self, name: str, unit: str, *, positive: bool = False) -> None:
        """Check a field that is one finite number, and keep it as a float."""
        expected = f"a number{' above 0' if positive else ''}{', ' if unit else ''}{unit}"
        where = f"{type(self).__name__}: {name}"
        number = real_number(where, getattr(self, name), expected, positive=positive)
        object.__setattr__(self, name, number)

    def _numbers(self, name: str, *shapes: tuple[int, ...]) -> None:
        """Check a field of finite numbers, and keep them as tuples."""
        where = f"{type(self).__name__}: {name}"
        array = finite_numbers(where, getattr(self, name), *shapes)
        object.__setattr__(self, name, _tuples(array))


def _tuples(array: Any) -> Any:
    return tuple(map(_tuples, array)) if np.ndim(array) else float(array)


def _digest(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_digest, value))
    return value.digest if isinstance(value, Road | Lookup) else value


@final
@dataclass(frozen=True, eq=False)
class SumOfRoads(Road):
    """Roads one upon the other: ``road + road``."""

    roads: tuple[Road, ...]

    def __post_init__(self) -> None:
        if len({road.motion for road in self.roads}) > 1:
            raise StateError("a sum of roads: expected roads that move alike; add, then move them")

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return the sums of heights and slopes."""
        parts = [road.surface(x, y, t) for road in self.roads]
        return RoadSurface(*(sum(column[1:], column[0]) for column in zip(*parts, strict=True)))

    @property
    def motion(self) -> tuple[float, float]:
        """How all of them move, m/s."""
        return self.roads[0].motion

    @property
    def is_level(self) -> bool:
        """All are."""
        return all(road.is_level for road in self.roads)

    @property
    def varies_across(self) -> bool:
        """One of them does."""
        return any(road.varies_across for road in self.roads)
