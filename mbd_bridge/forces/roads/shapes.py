"""Roads of simple shape: flat, a bump, a ramp or step, a sine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import numpy as np

from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.forces.roads.base import Road, RoadSurface
from mbd_bridge.functions import absolute, clip, cos, less, logical_and, maximum, sin, sqrt, where

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

        u = (x - at)/a,  a = length/2,  |u| < 1:
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
