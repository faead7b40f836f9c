"""Roads made of others: two tracks, and a road that moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.roads.base import Road, RoadSurface
from mbd_bridge.functions import greater, where


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
