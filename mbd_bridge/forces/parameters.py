"""Numbers of force elements that differ from trajectory to trajectory, or come from outside.

    ELEMENT.field           a number of the element "ELEMENT", such as "spring.stiffness"; or a
                            vector (n,), such as the six stiffnesses of a bushing, of which
                            ELEMENT.field.0 is the first

The element is bound anew with such numbers, so that its own checks and defaults hold; with symbols
in their places when it is traced: the machine code is the same for all values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.errors import MbdError, ModelError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.varying import Varying
from mbd_bridge.kernels import is_traced
from mbd_bridge.kernels.expression import Tape
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import ParameterColumn, Parameters, value_rows
from mbd_bridge.model.spatial import Array

WHOLE = int, "int", "int | None"
"""Types of fields that are whole numbers."""


@dataclass(frozen=True, eq=False)
class ElementParameters:
    """Chosen numbers of force elements, for N trajectories.

    Attributes
    ----------
    model : that the elements are bound to
    given : all elements as they were given, with their names
    places : of each parameter: number of the element, field, size (0: one number)
    values : (N, P) those of each trajectory side by side
    """

    model: Model
    given: tuple[ForceElement, ...]
    places: tuple[tuple[int, str, int], ...]
    values: Array

    @staticmethod
    def of(
        model: Model,
        elements: Mapping[str, ForceElement],
        named: Mapping[str, ArrayLike],
    ) -> ElementParameters | None:
        """Return the parameters among `named` that are numbers of elements, None without any.

        Raises
        ------
        StateError
            An element has no such number, or a value is out of the bounds that it checks.
        """
        renamed = [replace(element, name=name) for name, element in elements.items()]
        index = {name: number for number, name in enumerate(elements)}
        places, columns = [], []
        for name, value in named.items():
            owner, _, word = name.rpartition(".")
            if owner not in index:
                continue
            size = _size(name, renamed[index[owner]], word)
            places.append((index[owner], word, size))
            columns.append(value_rows(name, value, size or 1))
        if not places:
            return None
        numbers = {len(rows) for rows in columns}
        number = max(numbers)
        if numbers - {1, number}:
            raise StateError(
                f"parameters: expected the same number of variants, got {sorted(numbers)}"
            )
        values = np.hstack([np.broadcast_to(x, (number, x.shape[1])) for x in columns])
        parameters = ElementParameters(model, tuple(renamed), tuple(places), values)
        parameters.check(values)
        return parameters

    @staticmethod
    def own(
        model: Model, elements: Mapping[str, ForceElement], names: Iterable[str]
    ) -> ElementParameters | None:
        """Return parameters with the elements' own numbers, whole vectors; None without any.

        Parameters
        ----------
        names : of numbers of elements
        """
        values: dict[str, ArrayLike] = {}
        for name in names:
            owner, word = owner_of(name)
            element: Any = elements[owner]
            element = getattr(element, "element", element)
            value = getattr(element, word, None)
            if {one.name: one.type for one in fields(element)}.get(word) in WHOLE:
                raise ModelError(
                    f"by: {name!r} is a whole number, {value!r}, and has no slope; compare "
                    f"machines that have others"
                )
            # of a name that it has not, and of what is no number, `of` says so
            known = isinstance(value, float | int | tuple) and not isinstance(value, bool)
            numbers = np.array(value if known else 0.0, dtype=np.float64)
            values[f"{owner}.{word}"] = numbers[None] if numbers.size > 1 else numbers.reshape(1)
        return ElementParameters.of(model, elements, values)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(f"{self.given[k].name}.{word}" for k, word, _ in self.places)

    @property
    def columns(self) -> tuple[ParameterColumn, ...]:
        """Name of each of the P numbers; their units are those of the elements' fields."""
        found = []
        for number, word, size in self.places:
            element = self.given[number]
            for own in [f"{word}.{k}" for k in range(size)] or [word]:
                unit = element.unit_of(own, self.model)
                found.append(ParameterColumn(f"{element.name}.{own}", unit))
        return tuple(found)

    def bound(self, forces: tuple[ForceElement, ...], p: Array) -> tuple[ForceElement, ...]:
        """Return elements bound with these numbers (P,), floats or symbols.

        Parameters
        ----------
        forces : all elements, bound: those that have no parameters stay
        """
        changes: dict[int, dict[str, Any]] = {}
        place = 0
        for number, word, size in self.places:
            part = p[place : place + max(size, 1)]
            changes.setdefault(number, {})[word] = tuple(part) if size else part[0]
            place += len(part)
        out = list(forces)
        for number, change in changes.items():
            out[number] = self.given[number].changed(**change).bind(self.model)
        return tuple(out)

    @cached_property
    def symbolic(self) -> tuple[ForceElement, ...]:
        """The elements with symbols in the places of the parameters."""
        tape = Tape()
        p = tape.vector("p", self.values.shape[1])
        try:
            found = self.bound(self.given, p)
            for number in {place[0] for place in self.places}:
                self._try_effect(tape, found[number])
            return found
        except (MbdError, TypeError, ValueError) as problem:
            raise StateError(
                f"parameters: {', '.join(self.names)} cannot be parameters together, since the "
                f"element decides by their values what it is ({problem}); give an element for "
                f"each value and simulate one after the other"
            ) from problem

    def _try_effect(self, tape: Tape, element: ForceElement) -> None:
        """Trace what an element does: some decide by their numbers there."""
        model = self.model
        sizes = {"t": 1, "q": model.nq, "v": model.nv, "z": len(element.states(model))}
        t, q, v, z = (tape.vector(name, size) for name, size in sizes.items())
        element.effect(model, t[0], q, v, z)

    def check(self, values: Array) -> None:
        """Let the elements check values (N, P), those of each trajectory."""
        known = [_filled(one, other) for one, other in zip(self.given, self.symbolic, strict=True)]
        checked = replace(self, given=tuple(known))
        for row in np.unique(values, axis=0):
            checked.bound(self.given, row)


def owner_of(name: str) -> tuple[str, str]:
    """Return the element and the field that a parameter's name says, or that of one number."""
    whole, _, last = name.rpartition(".")
    owner, _, word = (whole if last.isdigit() else name).rpartition(".")
    return owner, word


def _filled(given: ForceElement, symbolic: ForceElement) -> ForceElement:
    """Return an element with the defaults that do not depend on parameters filled in."""
    if isinstance(given, Varying):
        return given
    known = {one.name: getattr(symbolic, one.name) for one in fields(given)}
    defaults = {
        name: value
        for name, value in known.items()
        if getattr(given, name) is None and not is_traced(value)
    }
    return replace(given, **defaults)


def _size(name: str, element: ForceElement, word: str) -> int:
    """Return how many numbers a field has, 0 for one number that is no vector."""
    element = element.element if isinstance(element, Varying) else element
    words = {one.name: one for one in fields(element)}
    numeric = {word: _numbers(getattr(element, word), one.type) for word, one in words.items()}
    known = [word for word, size in numeric.items() if size is not None]
    known_name(f"number of {element.label}", word, known, f"parameter {name!r}: ")
    size = numeric[word]
    assert size is not None, "it is among the known ones"
    return size


def _numbers(value: Any, kind: Any) -> int | None:
    """Return the size of a value that is made of numbers, 0 for one; None for another value."""
    if value is None:
        return 0 if "float" in str(kind) else None
    if isinstance(value, Real) and not isinstance(value, bool):
        return 0
    if not isinstance(value, tuple | list | np.ndarray) or not len(value):
        return None
    if any(not isinstance(entry, Real) or isinstance(entry, bool) for entry in value):
        return None
    return len(value) if len(value) > 1 else 0


def parameters_of(
    model: Model, named: Mapping[str, ArrayLike], elements: ElementParameters | None
) -> Parameters | None:
    """Return the parameters of a machine: its own by name, then those of its force elements."""
    own = {} if elements is None else dict.fromkeys(elements.names)
    of_machine = {name: value for name, value in named.items() if name not in own}
    if not of_machine and elements is None:
        return None
    found = Parameters.of(model, of_machine)
    return (
        found
        if elements is None
        else found.with_beside(elements.names, elements.columns, elements.values)
    )
