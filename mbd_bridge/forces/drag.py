"""Quadratic drag on a point of a link, in a medium that moves with w.

    u = ṗ - w,   F = -b |u| u at the point,   b = ρ c_d A / 2

The power on the link is F·ṗ = -b |u|³ + F·w: the medium does the work F·w, so that D = -F·ṗ is
what is taken from the machine, negative where wind actuators it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np

from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.forces.base import (
    NO_STATES,
    Effect,
    ForceElement,
    LinkName,
    Units,
    Vector,
    number,
)
from mbd_bridge.forces.points import SMALLEST, on_links, placed
from mbd_bridge.functions import maximum, sqrt
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


@final
@dataclass(frozen=True, eq=False)
class Drag(ForceElement):
    """Air or water drag on a point of a link.

    Parameters
    ----------
    link : its name
    point : (3,) m, in the link's frame
    coefficient : b, N s²/m²
    medium : (3,) m/s, velocity w of the medium in the world's axes
    """

    link: LinkName
    coefficient: Annotated[float, number("N s²/m²", 0.0)]
    point: Vector = (0.0, 0.0, 0.0)
    medium: Vector = (0.0, 0.0, 0.0)

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrench on the link, and the report."""
        state = state_vectors(model, q, v, "world")
        at = placed(model, state, self.link, np.array(self.point))
        through = at.velocity - np.array(self.medium)
        speed = sqrt(maximum(through @ through, SMALLEST))
        force = -self.coefficient * speed * through
        return Effect(
            forces={},
            wrenches=on_links((at, at.wrench(force))),
            energy=0.0,
            dissipation=-(force @ at.velocity),
            report={"force": self.coefficient * speed * speed, "speed": speed},
        )

    def units(self, model: Model) -> Units:
        """Return the units of the report."""
        return {"force": "N", "speed": "m/s"}

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return its link."""
        return (model.link_number(self.link),)

    @property
    def passive(self) -> bool:
        """A medium that moves drives the machine."""
        return not np.any(np.asarray(self.medium))
