"""A road whose height along x is given by a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.forces.roads.base import Road, RoadSurface
from mbd_bridge.forces.roads.combined import TwoTracks
from mbd_bridge.functions import Table


@final
@dataclass(frozen=True, eq=False)
class Profile(Road):
    """A road of heights along x, the same at any y; beyond its ends it stays level.

    Parameters
    ----------
    x : (n,) m, increasing; evenly spaced is quicker
    z : (n,) m, heights
    kind : straight lines or a cubic spline between them
    """

    x: ArrayLike = field(repr=False)
    z: ArrayLike = field(repr=False)
    kind: Literal["linear", "cubic"] = "linear"
    _table: Table = field(init=False, repr=False)
    _slope: Table = field(init=False, repr=False)

    def __post_init__(self) -> None:
        x, z = (finite_numbers(f"Profile: {name}", getattr(self, name)) for name in ("x", "z"))
        table = Table(x, z, self.kind)
        values = {"x": x, "z": z, "_table": table, "_slope": table.derivative()}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return the table's value and slope."""
        return RoadSurface(self._table(x), self._slope(x), 0.0)

    @property
    def digest(self) -> str:
        """The table's."""
        return f"Profile {self._table.digest}"


def enveloped(road: Road, radius: float, start: float, stop: float, spacing: float = 0.005) -> Road:
    """Return the road that the lowest point of a rigid, upright disc of a radius meets.

        z(x) = max_u [road(x + u) + √(r² - u²)] - r,   |u| <= r

    A wheel touches a bump before its centre is above it. With this road a tyre, which looks at the
    road below its centre, does the same, wherever and at how many points the disc touches.

    Parameters
    ----------
    road : the same at any y, or two tracks that are
    radius : r, m
    start, stop : where the table begins and ends, m
    spacing : of the table, m
    """
    for name, value in (("radius", radius), ("spacing", spacing)):
        real_number(f"enveloped: {name}", value, "a number above 0, m", positive=True)
    if isinstance(road, TwoTracks):
        left, right = (
            enveloped(side, radius, start, stop, spacing) for side in (road.left, road.right)
        )
        return TwoTracks(left, right, road.middle)
    if not isinstance(road, Road) or road.varies_across or any(road.motion):
        raise StateError(
            f"enveloped: expected a road that stays and is the same at any y, or TwoTracks of "
            f"such, got {road!r:.60}; envelop first, then add or move"
        )
    if not (np.isfinite(stop - start) and stop - start > spacing):
        raise StateError(f"enveloped: expected start < stop, m, got {start:g} and {stop:g}")
    reach = int(radius / spacing)
    if (stop - start) / spacing + 2 * reach > MOST_KNOTS:
        raise StateError(f"enveloped: expected at most {MOST_KNOTS} places; try a wider spacing")
    count = int(np.ceil((stop - start) / spacing)) + 1
    x = start + spacing * np.arange(-reach, count + reach)
    heights = np.broadcast_to(np.asarray(road(x, 0.0), dtype=float), x.shape)
    found = np.full(count, -np.inf)
    for k in range(-reach, reach + 1):
        rim = np.sqrt(max(radius**2 - (k * spacing) ** 2, 0.0)) - radius
        found = np.maximum(found, heights[reach + k : reach + k + count] + rim)
    return Profile(x[reach : reach + count], found)


MOST_KNOTS = 1_000_000
"""Places of a table that a road may have: 64 MB of machine code's constants."""
