"""States z of force elements: how they are called, where each element's are, how they begin.

    z = (z of the first element, z of the second, ...),   ż = rates(t, q, v, z)

A state is named "element.state".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name
from mbd_bridge.base.errors import StateError, unknown_name
from mbd_bridge.forces.base import Effect, ForceElement
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros

StartStates = ArrayLike | Mapping[str, ArrayLike]
"""z at the start: (nz,), or numbers by the state's name; those that are not named are zero."""


def effect_at(
    element: ForceElement, place: slice, model: Model, t: Any, q: Array, v: Array, z: Array
) -> Effect:
    """Return the effect of an element whose states are at `place` in z, if it has some."""
    if place.stop == place.start:
        return element.effect(model, t, q, v)
    return element.effect(model, t, q, v, z[place])


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

    def rates(
        self,
        elements: tuple[ForceElement, ...],
        model: Model,
        t: Any,
        q: Array,
        v: Array,
        z: Array,
    ) -> Array:
        """Return ż (nz,) at a state of the system, of floats or symbols."""
        found: dict[int, Any] = {}
        for element, place in zip(elements, self.places, strict=True):
            count = place.stop - place.start
            if not count:
                continue
            rates = effect_at(element, place, model, t, q, v, z).rates
            if len(rates) != count:
                raise StateError(
                    f"{element.label}: expected rates of its {count} states "
                    f"({', '.join(self.names[place])}), got {len(rates)}"
                )
            found |= enumerate(rates, place.start)
        out = zeros(len(self), q, v, z, *map(np.asarray, found.values()))
        for k, rate in found.items():
            out[k] = rate
        return out

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
                if name not in self.names:
                    raise StateError(unknown_name("state of a force element", name, self.names))
                place = self.names.index(name)
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
