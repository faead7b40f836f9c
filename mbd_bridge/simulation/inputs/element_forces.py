"""What force elements exert on one link or along velocities, as a signal of a system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.forces.base import Effect, ForceElement
from mbd_bridge.forces.general_force import is_sampled
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.forces.stated import does_as_stated
from mbd_bridge.forces.states import effect_at
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros


class Member(NamedTuple):
    """A force element among all of a system.

    Attributes
    ----------
    element : bound to the model
    number : of it
    states : where in z its states are
    identity : a text that tells it from others; None where only the graph of its effect does
    passive : whether it stores and loses energy only, as it states. Relaxing tyres, whose states
        hold some that they do not state, do not; a user's element is tried (`forces.stated`)
    """

    element: ForceElement
    number: int
    states: slice
    identity: str | None
    passive: bool

    @staticmethod
    def of(
        model: Model, element: ForceElement, number: int, states: slice, identity: str | None
    ) -> Member:
        """Return an element of a system."""
        passive = element.passive and not is_sampled(element)
        if passive and element.foreign:
            passive = does_as_stated(element, model)
        elif states.start != states.stop:
            passive = False
        return Member(element, number, states, identity, passive)


@dataclass(frozen=True, eq=False)
class ElementForces:
    """Sum of what some elements exert on one link, or along some velocities; it is traced.

    Attributes
    ----------
    members : the elements
    link : its index, or None: then along the velocities `places`
    within : whether these wrenches pass through cut joints, and are part of their loads
    """

    members: tuple[Member, ...]
    link: int | None = None
    places: tuple[int, ...] = ()
    within: bool = False
    number = 1

    @property
    def names(self) -> str:
        """Names of the elements, for messages."""
        return f"forces {', '.join(repr(one.element.name) for one in self.members)}"

    @property
    def passive(self) -> bool:
        """Whether all of them store and lose energy only."""
        return all(one.passive for one in self.members)

    @property
    def text(self) -> str | None:
        """What tells it from all others; None where only its graph does."""
        own = [(one.identity, one.states) for one in self.members]
        if any(identity is None for identity, _ in own):
            return None
        return f"{own} {self.link} {self.places} {self.within}"

    def _effects(self, elements: tuple[ForceElement, ...], model: Model, *at: Any) -> list[Effect]:
        return [effect_at(elements[one.number], one.states, model, *at) for one in self.members]

    def at_root(self, elements: tuple[ForceElement, ...], model: Model, *at: Any) -> Array | None:
        """Return the wrench (6,) on the link about the root frame's origin, in its axes.

        None where not all elements have it so.
        """
        if self.link is None:
            return None
        effects = self._effects(elements, model, *at)
        if any(effect.about != "root" for effect in effects):
            return None
        return np.asarray(sum(effect.wrenches[self.link] for effect in effects))

    def of(
        self,
        elements: tuple[ForceElement, ...],
        model: Model,
        t: Any,
        q: Array,
        v: Array,
        z: Array,
    ) -> Array:
        """Return the wrench (6,) on the link in its axes, or the forces along the velocities.

        Parameters
        ----------
        elements : all of the system, maybe with symbols for their parameters
        """
        effects = self._effects(elements, model, t, q, v, z)
        if self.link is not None:
            own = (in_link_axes(model, q, v, effect)[self.link] for effect in effects)
            return np.asarray(sum(own))
        each = [np.asarray(force) for effect in effects for force in effect.forces.values()]
        total = zeros(model.nv, q, v, *each)
        for effect in effects:
            for place, force in effect.forces.items():
                total[place] = total[place] + force
        return total[list(self.places)]
