"""A spring, damper and constant force between two points.

    d = p2 - p1,   l = |d|,   u = d / l,   e = l - l0

    F = F0 + spring(e) + c l̇        tension: it pulls point 2 with -F u and point 1 with F u
    U = F0 e + ∫ spring de,   D = c l̇²

At l = 0 the direction u is taken as 0. A spring of free length 0 has the force k d there, smooth;
one of another free length has no direction where its ends meet, and its force jumps there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import finite_numbers
from mbd_bridge.errors import StateError
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units, model_in
from mbd_bridge.forces.law import Stiffness, restoring, stiffness_of, stored
from mbd_bridge.forces.points import SMALLEST, both, link_numbers, on_links, two_links
from mbd_bridge.functions import maximum, sqrt
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array


@final
@dataclass(frozen=True, eq=False)
class PointSpring(ForceElement):
    """A translational spring-damper between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    stiffness : N/m; coefficients of a polynomial, or a `functions.Table` of the extension (`law`)
    damping : N s/m
    preload : N, constant tension beside
    free_length : m, at least 0; None for the length with all coordinates at zero, or see
        `relaxed_at`

    Examples
    --------
    >>> PointSpring(("ground", "bob"), ((0, 0, 0), (0, 0, 0)), stiffness=100.0)  # doctest: +SKIP
    """

    links: tuple[str, str]
    points: Sequence[ArrayLike] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    stiffness: Stiffness = 0.0
    damping: float = 0.0
    preload: float = 0.0
    free_length: float | None = None

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its free length."""
        links = two_links(self, model, self.links)
        if not isinstance(self.points, tuple | list | np.ndarray) or len(self.points) != 2:
            raise StateError(f"{self.label}: points: expected two points (3,), one on each link")
        checked = replace(
            self,
            links=links,
            points=tuple(self.vector("points", point) for point in self.points),
            stiffness=stiffness_of(self, self.stiffness),
            damping=self.number("damping", self.damping, "N s/m", 0.0),
            preload=self.number("preload", self.preload, "N"),
        )
        if self.free_length is not None:
            return replace(
                checked, free_length=self.number("free_length", self.free_length, "m", 0.0)
            )
        if model.has_loops:
            raise StateError(
                f"{self.label}: free_length: expected a number, m, since with all coordinates at "
                f"zero the loops of this machine may be open; or give the configuration: "
                f"element.relaxed_at(robot, q)"
            )
        return replace(checked, free_length=checked._length(model, model.neutral()))

    def relaxed_at(self, machine: Any, q: ArrayLike) -> Self:
        """Return the element with the length that it has at coordinates q as its free length."""
        model = model_in(machine, "relaxed_at")
        state = finite_numbers("q", q, (model.nq,))
        bound = replace(self, free_length=0.0).bind(model)
        return replace(self, free_length=bound._length(model, state))

    def _length(self, model: Model, q: Array) -> float:
        first, second = both(model, q, np.zeros(model.nv), self.links, self.points)
        return float(np.linalg.norm(np.asarray(second.position - first.position, dtype=float)))

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrenches on the links, and the report."""
        first, second = both(model, q, v, self.links, self.points)
        d = second.position - first.position
        length = sqrt(maximum(d @ d, SMALLEST))
        u = d * (1.0 / length)
        rate = u @ (second.velocity - first.velocity)
        extension = length - self.free_length
        force = self.preload + restoring(self.stiffness, extension) + self.damping * rate
        pull = force * u
        return Effect(
            forces={},
            wrenches=on_links((first, first.wrench(pull)), (second, second.wrench(-pull))),
            energy=self.preload * extension + stored(self.stiffness, extension),
            dissipation=self.damping * (rate * rate),
            report={"force": force, "length": length, "extension": extension, "rate": rate},
        )

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is a tension."""
        return {"force": "N", "length": "m", "extension": "m", "rate": "m/s"}

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links of its ends."""
        return link_numbers(model, self.links)
