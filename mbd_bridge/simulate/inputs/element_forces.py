"""What force elements exert on one link or along velocities, as a signal of a system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd_bridge.forces.base import ForceElement
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array, zeros


@dataclass(frozen=True, eq=False)
class ElementForces:
    """Sum of what some elements exert on one link, or along some velocities; it is traced.

    Attributes
    ----------
    elements : bound to the model
    link : its index, or None: then along the velocities `places`
    """

    elements: tuple[ForceElement, ...]
    link: int | None = None
    places: tuple[int, ...] = ()
    number = 1

    @property
    def names(self) -> str:
        """Names of the elements, for messages."""
        return f"forces {', '.join(repr(element.name) for element in self.elements)}"

    @property
    def text(self) -> str:
        """What tells it from all others."""
        return f"{[element.identity for element in self.elements]} {self.link} {self.places}"

    def of(self, model: Model, t: Any, q: Array, v: Array) -> Array:
        """Return the wrench (6,) on the link in its axes, or the forces along the velocities."""
        effects = [element.effect(model, t, q, v) for element in self.elements]
        if self.link is not None:
            return np.asarray(sum(effect.wrenches[self.link] for effect in effects))
        total = zeros(model.nv, q, v)
        for effect in effects:
            for place, force in effect.forces.items():
                total[place] = total[place] + force
        return total[list(self.places)]
