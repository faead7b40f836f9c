"""Generalised forces that a user gives: by velocity name, as a vector, as one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError, unknown_name
from mbd_bridge.forces.expressions.formula import Formula, text_formula
from mbd_bridge.forces.outside import Input
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.element_forces import ElementForces
from mbd_bridge.simulation.inputs.signal import (
    Constant,
    PolynomialSignal,
    Sampled,
    Signal,
    StateFunction,
    TracedSignal,
    finite,
)

Force: TypeAlias = (
    float
    | str
    | Formula
    | tuple[ArrayLike, ArrayLike]
    | StateFunction
    | Sampled
    | Input
    | ArrayLike
)
"""Along one velocity: a number (of a batch N of them), a formula of t ("5*sin(t)"), a table
(times, values) with straight lines from row to row, a function of (t, q, v) that is traced, a
`Sampled` one that is called, an `Input`."""

Torque: TypeAlias = Mapping[str, Force] | ArrayLike | StateFunction | Sampled | Input | None
"""Forces by velocity name; constants (nv,), of a batch also (N, nv); a function of (t, q, v) that
returns (nv,), traced or `Sampled`; an `Input` of nv numbers; or none."""

EXPECTED = (
    "a number, one for each trajectory, a formula such as '5*sin(t)', a table (times, values), "
    "a function of (t, q, v), mbd.Sampled(function) or mbd.Input(name)"
)


class TorquePart(NamedTuple):
    """One signal, and the velocities (indices) along which its numbers act.

    Or, along none, a number inside a force element: its `field` "ELEMENT.field" and the element's
    number.
    """

    places: tuple[int, ...]
    signal: Signal
    field: str = ""
    element: int = -1

    @property
    def of_element(self) -> bool:
        """Whether force elements exert it, or it is inside one."""
        return bool(self.field) or of_element(self.signal)


def of_element(signal: Signal) -> bool:
    """Return whether force elements exert what a signal gives."""
    return isinstance(signal, ElementForces) or bool(getattr(signal, "element", ""))


def torque_parts(model: Model, torque: Torque) -> tuple[TorquePart, ...]:
    """Return what acts along velocities, checked."""
    if torque is None:
        return ()
    every = tuple(range(model.nv))
    if isinstance(torque, Sampled | Input):
        return (TorquePart(every, torque),)
    if callable(torque):
        return (TorquePart(every, TracedSignal(Checked(model, torque))),)
    if not isinstance(torque, Mapping):
        return (TorquePart(every, _vector(model, torque)),)
    return tuple(
        TorquePart((velocity_place(model, name),), force_signal(name, given))
        for name, given in torque.items()
    )


def force_signal(name: str, given: Any) -> Signal:
    """Return the signal that is given along one velocity."""
    where = f"torque {name!r}"
    if isinstance(given, Sampled | Input):
        return given
    if isinstance(given, tuple):
        return PolynomialSignal.lines(where, given)
    if isinstance(given, str | Formula):
        formula = given if isinstance(given, Formula) else text_formula("torque", name, given)
        return TracedSignal(OfTime(formula), formula.text)
    if callable(given):
        return TracedSignal(given)
    return Constant.each(where, given, EXPECTED)


def velocity_place(model: Model, name: str) -> int:
    """Return the index of a velocity by its name."""
    if not isinstance(name, str) or name not in model.velocity_names:
        raise StateError("torque: " + unknown_name("velocity", name, model.velocity_names))
    return model.velocity_names.index(name)


def _vector(model: Model, torque: Any) -> Constant:
    try:
        values = np.array(as_floats("torque", torque))
    except StateError as problem:
        raise StateError(
            f"torque: expected forces by velocity name, a vector of numbers, or a function of "
            f"(t, q, v), got {torque!r:.60} ({problem})"
        ) from None
    if values.ndim == 2 and not len(values):
        raise StateError("torque: expected at least one trajectory, got none")
    if values.shape[-1:] != (model.nv,) or values.ndim > 2:
        raise StateError(
            f"torque: expected ({model.nv},) or (N, {model.nv}) with the same N everywhere, got "
            f"{values.shape}"
        )
    return Constant(finite("torque", np.atleast_2d(values)))


@dataclass(frozen=True)
class OfTime:
    """A formula of t as a function of (t, q, v)."""

    formula: Formula

    def __call__(self, t: Any, q: Array, v: Array) -> Any:
        """Return the value."""
        return self.formula(t)


@dataclass(frozen=True, eq=False)
class Checked:
    """A function of (t, q, v) that complains of forces that are not one a velocity."""

    model: Model
    torque: StateFunction

    def __call__(self, t: Any, q: Array, v: Array) -> Array:
        """Return the forces (nv,)."""
        found = np.asarray(self.torque(t, q, v))
        if found.shape != (self.model.nv,) or found.dtype.kind not in "fiubO":
            raise StateError(
                f"torque: the function returned {found!r:.60}; expected ({self.model.nv},) forces, "
                f"along {', '.join(self.model.velocity_names)}"
            )
        return found
