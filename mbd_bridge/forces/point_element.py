"""Elements that act along the line between two points: what they have in common.

    d = p2 - p1,   l = |d|,   u = d / l

A tension F pulls point 2 with -F u and point 1 with F u; its power is -F l̇. At l = 0 the direction
u is taken as 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units, model_in
from mbd_bridge.forces.joint_element import CoordinateEffect
from mbd_bridge.forces.points import SMALLEST, both, link_numbers, on_links, two_links
from mbd_bridge.functions import maximum, sqrt
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


@dataclass(frozen=True, eq=False)
class PointElement(ForceElement):
    """An element between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    """

    links: tuple[str, str]
    points: Sequence[ArrayLike] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

    @abstractmethod
    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return what a bound element does at a length and its rate; its force is a tension."""

    def more_units(self) -> Units:
        """Return names and units of what it reports beside force, length and rate."""
        return {}

    def ends(self, model: Model) -> tuple[tuple[str, str], tuple[tuple[float, ...], ...]]:
        """Return its links and points, checked."""
        links = two_links(self, model, self.links)
        if not isinstance(self.points, tuple | list | np.ndarray) or len(self.points) != 2:
            raise StateError(f"{self.label}: points: expected two points (3,), one on each link")
        return links, tuple(self.vector("points", point) for point in self.points)

    def length_at(self, machine: Any, q: ArrayLike) -> float:
        """Return its length at coordinates q, m."""
        model = model_in(machine, "length_at")
        links, points = self.ends(model)
        state = finite_numbers("q", q, (model.nq,))
        first, second = both(model, state, np.zeros(model.nv), links, points)
        return float(np.linalg.norm(np.asarray(second.position - first.position, dtype=float)))

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrenches on the links, and the report."""
        first, second = both(model, q, v, self.links, self.points)
        d = second.position - first.position
        length = sqrt(maximum(d @ d, SMALLEST))
        u = d * (1.0 / length)
        rate = u @ (second.velocity - first.velocity)
        force, energy, dissipation, more = self.tension(t, length, rate)
        pull = force * u
        return Effect(
            forces={},
            wrenches=on_links((first, first.wrench(pull)), (second, second.wrench(-pull))),
            energy=energy,
            dissipation=dissipation,
            report={"force": force, "length": length, **more, "rate": rate},
        )

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is a tension."""
        return {"force": "N", "length": "m", **self.more_units(), "rate": "m/s"}

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links of its ends."""
        return link_numbers(model, self.links)
