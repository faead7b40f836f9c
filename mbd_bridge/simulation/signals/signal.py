"""What a user gives that may vary: numbers, expressions, tables, inputs from outside, callables.

How a signal enters the machine code of a step:

    constant, input, sampled    held: numbers that stay during a step, an input of it
    table                       streamed: the numbers at the three times of each step
    expression, force element   traced: it is part of the step

A signal gives `size` numbers (1 along a velocity, 6 for a wrench), the same for all trajectories or
others for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Effect, ForceElement
from mbd_bridge.forces.formula import Jet, lift
from mbd_bridge.forces.general_force import is_sampled
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.forces.stated import does_as_stated
from mbd_bridge.forces.states import effect_at
from mbd_bridge.forces.varying import Input
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.signals.tables import PolynomialSignal


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


StateFunction = Callable[[Any, Array, Array], Any]
"""A function of (t, q, v)."""


@dataclass(frozen=True, eq=False)
class Constant:
    """The same at all times.

    Attributes
    ----------
    values : (N, size) of N trajectories, or (1, size) for all
    """

    values: Array

    @staticmethod
    def each(where: str, given: Any, expected: str) -> Constant:
        """Return a number for all trajectories, or one for each; `expected` is for the message."""
        try:
            values = np.atleast_1d(as_floats(where, given))
        except StateError:
            values = np.zeros((0, 0))
        if values.shape == (0,):
            raise StateError(f"{where}: expected at least one trajectory, got none")
        if values.ndim != 1:
            raise StateError(f"{where}: expected {expected}, got {given!r:.60}")
        return Constant(finite(where, values)[:, None])

    @property
    def number(self) -> int:
        """N, or 1."""
        return len(self.values)

    def of(self, members: Array) -> Array:
        """Return the values (L, size) of some trajectories."""
        return self.values[members if len(self.values) > 1 else members * 0]


@dataclass(frozen=True, eq=False)
class TracedSignal:
    """A function that is traced: of (t, q, v), of a prescribed motion of t.

    Attributes
    ----------
    text : that says it, if one does: then two of the same text are the same
    of_time : a prescribed motion, whose argument is a `Jet` of time
    """

    function: Callable[..., Any]
    text: str | None = None
    of_time: bool = False
    number = 1


@dataclass(frozen=True, eq=False)
class Sampled:
    """A Python function of (t, q, v), called at the start of each step and held during it.

    A step that calls Python costs some microseconds, and holding is an error of the first order in
    the step: what can be written with `mbd_bridge.functions` is better traced.

    Attributes
    ----------
    element : name of the force element that it is the function of, if it is one's

    Examples
    --------
    >>> mbd.simulate(arm, 1.0, torque=mbd.Sampled(controller))          # doctest: +SKIP
    """

    function: StateFunction
    element: str = field(default="", kw_only=True)
    number = 1

    @property
    def label(self) -> str:
        """What it is, for messages."""
        return f"GeneralForce {self.element!r}" if self.element else "Sampled"


Signal: TypeAlias = Constant | TracedSignal | PolynomialSignal | Sampled | Input | ElementForces


HELD = Constant, Sampled, Input
"""Signals whose numbers stay during a step."""


def jets(signal: TracedSignal, t: Any) -> Jet:
    """Return a prescribed motion with its derivatives at t, a float, an array or a symbol."""
    return lift(signal.function(Jet(t, 1.0, 0.0)))


def finite(where: str, values: Array) -> Array:
    """Return numbers, or complain of what is none."""
    if not np.isfinite(values).all():
        raise StateError(
            f"{where}: expected finite numbers, got {np.asarray(values).tolist()!r:.60}"
        )
    return values
