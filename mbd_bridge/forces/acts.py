"""What acts on a machine: its force elements, bound once, and their sum.

    τ = Σ forces + Σ J_linkᵀ wrench                  generalised forces, N m or N
    z = (z of the first element, z of the second, ...),   ż = rates(t, q, v, z)

Loads along a motion, inverse dynamics, simulation, linearisation, reports and energies take what
the elements do from here. A state is named "element.state". Whether an element exerts the
power that it states is tried (`does_as_stated`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name, known_name
from mbd_bridge.base.errors import MbdError, StateError
from mbd_bridge.equations.external import add
from mbd_bridge.equations.newton_euler import external_forces
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros

StartStates = ArrayLike | Mapping[str, ArrayLike]
"""z at the start: (nz,), or numbers by the state's name; those that are not named are zero."""


@dataclass(frozen=True)
class ElementStates:
    """The states of all elements of a system.

    Attributes
    ----------
    names, units : of each state; names are "element.state"
    places : where in z each element's states are
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    places: tuple[slice, ...]

    @staticmethod
    def of(model: Model, elements: tuple[ForceElement, ...]) -> ElementStates:
        """Return the states of bound elements."""
        names: list[str] = []
        units: list[str] = []
        places = []
        for element in elements:
            own = element.states(model)
            places.append(slice(len(names), len(names) + len(own)))
            names += [f"{element.name}.{state}" for state in own]
            units += own.values()
        return ElementStates(tuple(names), tuple(units), tuple(places))

    def __len__(self) -> int:
        return len(self.names)

    def start(self, z: StartStates | None, number: int = 1) -> Array:
        """Return z at the start (number, nz) of so many trajectories; zero where none is given.

        Parameters
        ----------
        z : (nz,) or (N, nz); or by name, one number each or (N,)
        """
        out = np.zeros((number, len(self)))
        if z is None:
            return out
        named = {None: z} if not isinstance(z, Mapping) else by_name("z", z, "{'tyre.slip': 0.0}")
        for name, given in named.items():
            values = as_floats("z" if name is None else f"z[{name!r}]", given)
            place: int | slice = slice(None)
            if name is not None:
                place = self.names.index(known_name("state of a force element", name, self.names))
            tail = out.shape[1:] if name is None else ()
            shapes = (tail, (number, *tail))
            if values.shape not in shapes or not np.isfinite(values).all():
                raise StateError(
                    f"z{'' if name is None else f'[{name!r}]'}: expected finite numbers of the "
                    f"shape {' or '.join(map(str, dict.fromkeys(shapes)))} (states of force "
                    f"elements: {', '.join(self.names) or 'none'}), got {given!r:.60}"
                )
            out[:, place] = values
        return out

    def numbers(self, z: StartStates | None) -> dict[str, int]:
        """Return for how many trajectories states are given, by what is given for more than one."""
        given = z.items() if isinstance(z, Mapping) else [] if z is None else [(None, z)]
        found = {}
        for name, value in given:
            said = "z" if name is None else f"z[{name!r}]"
            shape = as_floats(said, value).shape
            if len(shape) == (1 if name is not None else 2):
                found[said] = shape[0]
        return {name: number for name, number in found.items() if number > 1}

    def by_name(self, z: Array) -> dict[str, Array]:
        """Return states (..., nz) by name, (...) each."""
        return {name: z[..., k] for k, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class Acts:
    """The force elements of a machine.

    Attributes
    ----------
    elements : bound to its model, maybe with symbols for their numbers
    states : names of their states, and where each element's are
    """

    elements: tuple[ForceElement, ...]
    states: ElementStates

    @staticmethod
    def of(model: Model, elements: tuple[ForceElement, ...]) -> Acts:
        """Return bound elements together."""
        return Acts(elements, ElementStates.of(model, elements))

    def effect(self, number: int, model: Model, t: Any, q: Array, v: Array, z: Array) -> Effect:
        """Return what one of them does at a state, of floats or symbols."""
        element, place = self.elements[number], self.states.places[number]
        if place.stop == place.start:
            return element.effect(model, t, q, v)  # of a user's, which may take no z
        return element.effect(model, t, q, v, z[place])

    def effects(
        self,
        model: Model,
        t: Any,
        q: Array,
        v: Array,
        z: Array = NO_STATES,
        but: Container[int] = (),
    ) -> list[Effect]:
        """Return what they do at a state, without some of them."""
        numbers = (k for k in range(len(self.elements)) if k not in but)
        return [self.effect(k, model, t, q, v, z) for k in numbers]

    def rates(self, model: Model, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return ż (nz,) at a state."""
        of_states: dict[int, Any] = {}
        for number, place in enumerate(self.states.places):
            count = place.stop - place.start
            if not count:
                continue
            rates = self.effect(number, model, t, q, v, z).rates
            if len(rates) != count:
                raise StateError(
                    f"{self.elements[number].label}: expected rates of its {count} states "
                    f"({', '.join(self.states.names[place])}), got {len(rates)}"
                )
            of_states |= enumerate(rates, place.start)
        out = zeros(len(self.states), q, v, z, *map(np.asarray, of_states.values()))
        for k, rate in of_states.items():
            out[k] = rate
        return out

    def within_cuts(
        self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES
    ) -> dict[int, Array]:
        """Return the sums of what they exert through cut joints, by number of the cut."""
        found: dict[int, Array] = {}
        for element, place in zip(self.elements, self.states.places, strict=True):
            own = z[place] if place.stop > place.start else NO_STATES
            add(found, element.within_cuts(model, t, q, v, own))
        return found

    def row(self, number: int, model: Model, q: Array, v: Array, t: Array) -> Array:
        """Return the report, the energy and the dissipation of one; t holds the time, then z."""
        effect = self.effect(number, model, t[0], q, v, t[1:])
        values = [*(effect.report[name] for name in self.elements[number].units(model))]
        values += [effect.energy, effect.dissipation]
        row = zeros(len(values), q, v)
        for k, value in enumerate(values):
            row[k] = value
        return row


def along(model: Model, effects: Sequence[Effect], *like: Array) -> Array:
    """Return the generalised forces (nv,) that elements exert along velocities."""
    each = [np.asarray(force) for effect in effects for force in effect.forces.values()]
    total = zeros(model.nv, *like, *each)
    for effect in effects:
        for place, force in effect.forces.items():
            total[place] = total[place] + force
    return total


# Whether an element does what it states: its power is what its energy loses and it dissipates.
#
# P + dU/dt + D = 0,   dU/dt = (U(q + ε q̇, z + ε ż) - U(q - ε q̇, z - ε ż)) / 2 ε

TRIES = 5
"""States at which it is tried."""

FAR, EPSILON = 0.3, 1e-6
"""rad, m and 1/s from zero; s, of the differences."""

ALIKE = 1e-5
"""Part of the powers that may be left: differences of floats."""


def does_as_stated(element: ForceElement, model: Model) -> bool:
    """Return whether a bound element exerts the power that it states, at some states.

    One that exerts none there cannot be told, nor one whose energy depends on velocities.
    """
    random = np.random.default_rng(0)
    some = False
    for _ in range(TRIES):
        q = model.integrate(model.neutral(), FAR * random.standard_normal(model.nv))
        v = FAR * random.standard_normal(model.nv)
        z = FAR * random.standard_normal(len(element.states(model)))
        try:
            with np.errstate(all="ignore"):
                powers = _powers(element, model, q, v, z)
        except (MbdError, ArithmeticError, ValueError, LookupError, TypeError):
            return False  # it is not made for such a state, or for floats
        if not np.isfinite(powers).all():
            return False
        if not abs(powers.sum()) <= ALIKE * np.abs(powers).sum():
            return False
        some |= bool(powers[0] != 0.0)
    return some


def _powers(element: ForceElement, model: Model, q: Array, v: Array, z: Array) -> Array:
    """Return P, dU/dt and D, W; nan where U depends on velocities."""
    now = element.effect(model, 0.0, q, v, z)
    tau = external_forces(model, q, dict(in_link_axes(model, q, v, now)))
    tau = np.asarray(tau, dtype=float).copy()
    for place, force in now.forces.items():
        tau[place] += force
    rates = np.array(now.rates, dtype=float).reshape(len(z))

    def energy(ahead: float, velocity: Array) -> float:
        there, state = model.integrate(q, ahead * v), z + ahead * rates
        return float(element.effect(model, 0.0, there, velocity, state).energy)

    stored = (energy(EPSILON, v) - energy(-EPSILON, v)) / (2.0 * EPSILON)
    if energy(0.0, v) != energy(0.0, -v):
        stored = np.nan
    return np.array([tau @ v, stored, float(now.dissipation)])
