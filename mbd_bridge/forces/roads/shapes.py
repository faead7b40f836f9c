"""What every road is, and roads of simple shape: flat, a bump, a ramp or step, a sine."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, final, get_args

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError, one_of, real_number
from mbd_bridge.functions import (
    Lookup,
    absolute,
    clip,
    cos,
    greater,
    less,
    logical_and,
    maximum,
    sin,
    sqrt,
    where,
)

# What every road is: a height over the ground, and its slopes.
#
#     z = height(x, y),   N = (-∂z/∂x, -∂z/∂y, 1),   n = N / |N|
#
# World axes, z up. The functions take floats, arrays or symbols and branch on structure only.


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


Shape = Literal["ellipse", "arc", "sine", "versine"]
"""Half an ellipse, a circular arc, half a sine wave, or a whole wave (1 + cos)/2."""

STEEPEST = 1e-9
"""Least 1 - u² in the slope of an ellipse, which is vertical at its ends u = ±1."""


@final
@dataclass(frozen=True, eq=False)
class Flat(Road):
    """A level road.

    Parameters
    ----------
    height : its level, m
    """

    height: float = 0.0

    def __post_init__(self) -> None:
        self._number("height", "m")

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return its height; the slopes are plain zeros."""
        return RoadSurface(self.height, 0.0, 0.0)

    @property
    def is_level(self) -> bool:
        """Yes."""
        return True


@final
@dataclass(frozen=True, eq=False)
class Bump(Road):
    """One bump across the road, which is level before and behind.

        u = (x - at)/a,  a = length/2,  -1 < u < 1:
        ellipse  h √(1 - u²)             arc      √(r² - a² u²) - (r - h),  r = (a² + h²)/2h
        sine     h cos(π u/2)            versine  h (1 + cos π u)/2

    Parameters
    ----------
    at : x of its middle, m
    length : along x, m
    height : h, m; negative for a pothole
    shape : a half circle of radius r is an ellipse of length 2 r and height r
    """

    at: float
    length: float
    height: float
    shape: Shape = "ellipse"

    def __post_init__(self) -> None:
        self._number("at", "m")
        self._number("length", "m", positive=True)
        self._number("height", "m")
        one_of("Bump: shape", self.shape, get_args(Shape), StateError)
        if self.shape == "arc" and not 0.0 < abs(self.height) <= 0.5 * self.length:
            raise StateError(
                f"Bump: height: expected an arc at most half as high as it is long and not "
                f"flat, got {self.height:g} m of {self.length:g} m"
            )

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return its height and slope."""
        a, h = 0.5 * self.length, self.height
        u = (x - self.at) * (1.0 / a)
        inside = less(absolute(u), 1.0)
        if self.shape in ("ellipse", "arc"):
            radius = 1.0 if self.shape == "ellipse" else 0.5 * (a * a + h * h) / (abs(h) * a)
            rise = h if self.shape == "ellipse" else np.copysign(a, h)
            root = sqrt(maximum(radius * radius - u * u, STEEPEST * radius * radius))
            low = 0.0 if self.shape == "ellipse" else radius * rise - h
            z, slope = rise * root - low, (-rise / a) * u / root
        else:
            turns = np.pi / 2.0 if self.shape == "sine" else np.pi
            scale, low = (h, 0.0) if self.shape == "sine" else (0.5 * h, 0.5 * h)
            z = scale * cos(turns * u) + low
            slope = (-scale * turns / a) * sin(turns * u)
        return RoadSurface(where(inside, z, 0.0), where(inside, slope, 0.0), 0.0)


@final
@dataclass(frozen=True, eq=False)
class Ramp(Road):
    """A rise (or a fall) from one level to another; short and smooth, it is a step.

        u = (x - at)/length held in 0 ... 1,   z = h u,  or smooth  h u² (3 - 2 u)

    Parameters
    ----------
    at : x where it begins, m
    length : along x, m
    height : h, m
    smooth : without kinks
    """

    at: float
    length: float
    height: float
    smooth: bool = False

    def __post_init__(self) -> None:
        self._number("at", "m")
        self._number("length", "m", positive=True)
        self._number("height", "m")

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return its height and slope."""
        u = clip((x - self.at) * (1.0 / self.length), 0.0, 1.0)
        steepness = self.height / self.length
        if self.smooth:
            z, slope = self.height * (u * u * (3.0 - 2.0 * u)), 6.0 * steepness * (u * (1.0 - u))
            return RoadSurface(z, slope, 0.0)
        inside = logical_and(less(0.0, u), less(u, 1.0))
        return RoadSurface(self.height * u, where(inside, steepness, 0.0), 0.0)


@final
@dataclass(frozen=True, eq=False)
class Sine(Road):
    """Waves without end: z = A sin(2π (x - at)/λ).

    Parameters
    ----------
    amplitude : A, m
    wavelength : λ, m
    at : x where one begins, m
    """

    amplitude: float
    wavelength: float
    at: float = 0.0

    def __post_init__(self) -> None:
        self._number("amplitude", "m")
        self._number("wavelength", "m", positive=True)
        self._number("at", "m")

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return its height and slope."""
        rate = 2.0 * np.pi / self.wavelength
        phase = rate * (x - self.at)
        return RoadSurface(self.amplitude * sin(phase), self.amplitude * rate * cos(phase), 0.0)


# Roads made of others: two tracks, and a road that moves.


@final
@dataclass(frozen=True, eq=False)
class TwoTracks(Road):
    """One road under the left wheels, another under the right ones.

    Parameters
    ----------
    left, right : roads; the left one is where y is greater than `middle`
    middle : m. The slope across does not see the jump between the two: no wheel may cross it
    """

    left: Road
    right: Road
    middle: float = 0.0

    def __post_init__(self) -> None:
        for side in (self.left, self.right):
            if not isinstance(side, Road):
                raise StateError(f"TwoTracks: expected two roads, got {side!r:.60}")
        if self.left.motion != self.right.motion:
            raise StateError("TwoTracks: expected roads that move alike; join, then move them")
        self._number("middle", "m")

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return that of the track at y."""
        is_left = greater(y, self.middle)
        sides = zip(self.left.surface(x, y, t), self.right.surface(x, y, t), strict=True)
        return RoadSurface(*(where(is_left, left, right) for left, right in sides))

    @property
    def motion(self) -> tuple[float, float]:
        """How both move, m/s."""
        return self.left.motion

    @property
    def is_level(self) -> bool:
        """Both are, at one height or two."""
        return self.left.is_level and self.right.is_level

    @property
    def varies_across(self) -> bool:
        """Yes."""
        return True


@final
@dataclass(frozen=True, eq=False)
class MovingRoad(Road):
    """A road that moves under a machine that stays, as a belt or a test rig.

        z(x, y, t) = road(x - wx t, y - wy t)

    Parameters
    ----------
    road : where it is at t = 0
    velocity : (2,) m/s, w; (-v, 0) lets a machine drive at v

    Notes
    -----
    Such a road does work on the machine: F·w by a tyre's force F.
    """

    road: Road
    velocity: tuple[float, float]

    def __post_init__(self) -> None:
        if not isinstance(self.road, Road) or any(self.road.motion):
            raise StateError(f"MovingRoad: expected a road that stays, got {self.road!r:.60}")
        self._numbers("velocity", (2,))

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return that of the road where it is at t."""
        wx, wy = self.velocity
        return self.road.surface(x - wx * t, y - wy * t)

    @property
    def motion(self) -> tuple[float, float]:
        """The velocity of the road, m/s."""
        return self.velocity

    @property
    def is_level(self) -> bool:
        """It is, if the road is."""
        return self.road.is_level

    @property
    def varies_across(self) -> bool:
        """It does, if the road does."""
        return self.road.varies_across
