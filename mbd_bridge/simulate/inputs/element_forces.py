"""What force elements exert on one link or along velocities, as a signal of a system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.states import effect_at
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array, zeros


@dataclass(frozen=True, eq=False)
class ElementForces:
    """Sum of what some elements exert on one link, or along some velocities; it is traced.

    Attributes
    ----------
    elements : bound to the model
    states : where in z each one's states are
    link : its index, or None: then along the velocities `places`
    within : whether these wrenches pass through cut joints, and are part of their loads
    """

    elements: tuple[ForceElement, ...]
    states: tuple[slice, ...]
    link: int | None = None
    places: tuple[int, ...] = ()
    within: bool = False
    number = 1

    @property
    def names(self) -> str:
        """Names of the elements, for messages."""
        return f"forces {', '.join(repr(element.name) for element in self.elements)}"

    @property
    def text(self) -> str:
        """What tells it from all others."""
        own = [element.identity for element in self.elements]
        return f"{own} {self.states} {self.link} {self.places} {self.within}"

    def of(self, model: Model, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the wrench (6,) on the link in its axes, or the forces along the velocities."""
        each = zip(self.elements, self.states, strict=True)
        effects = [effect_at(element, place, model, t, q, v, z) for element, place in each]
        if self.link is not None:
            return np.asarray(sum(effect.wrenches[self.link] for effect in effects))
        total = zeros(model.nv, q, v)
        for effect in effects:
            for place, force in effect.forces.items():
                total[place] = total[place] + force
        return total[list(self.places)]
