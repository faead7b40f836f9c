"""Generalised forces that are given: none, constants, tables, or a formula of time and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import as_floats
from mbd_bridge.errors import StateError, real_number, unknown_name
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.given.formula import Formula, text_formula
from mbd_bridge.simulate.given.table import Lines, check_covers
from mbd_bridge.simulate.step import Torque
from mbd_bridge.spatial import Array, zeros

Force: TypeAlias = float | str | Formula | tuple[ArrayLike, ArrayLike]
"""A constant, a formula of t as a text (see `formula`), or a table (times, values) with straight
lines from row to row."""

Drive = Mapping[str, Force] | ArrayLike | Torque | None
"""Forces by velocity name, a constant vector (nv,), a traceable function of (t, q, v), or none."""


@dataclass(frozen=True, eq=False)
class ForcesOverTime:
    """Forces (nv,) some of which change with time: constants, and courses by velocity."""

    constant: Array
    courses: dict[int, Callable[[Any], Any]]

    def __call__(self, t: Any, q: Array, v: Array) -> Array:
        """Return the forces at t, a float or a symbol."""
        out = zeros(len(self.constant), np.asarray(t))
        out[:] = self.constant
        for place, course in self.courses.items():
            out[place] = course(t)
        return out


EXPECTED = "a number, a formula such as '5*sin(t)' or a table (times, values)"


def given_forces(
    model: Model, torque: Drive, start: float = -np.inf, end: float = np.inf
) -> Torque | None:
    """Return forces as a function of t, q and v, checked; tables reach from `start` to `end`."""
    if torque is None:
        return None
    if callable(torque):
        return checked_forces(model, torque)
    constant, courses = np.zeros(model.nv), dict[int, Callable[[Any], Any]]()
    if isinstance(torque, Mapping):
        for name, value in torque.items():
            place = velocity_place(model, name)
            if isinstance(value, tuple):
                courses[place] = _lines(name, value, start, end)
            elif isinstance(value, str | Formula):
                formula = (
                    value if isinstance(value, Formula) else text_formula("torque", name, value)
                )
                courses[place] = _tried(name, formula, start)
            else:
                constant[place] = real_number(f"torque {name!r}", value, EXPECTED)
    else:
        constant = constant_forces(torque)
        if constant.shape != (model.nv,):
            raise StateError(f"torque: expected ({model.nv},), got {constant.shape}")
    if not np.all(np.isfinite(constant)):
        raise StateError(f"torque: expected finite numbers, got {constant}")
    if not courses:
        return lambda t, q, v: constant
    return ForcesOverTime(constant, courses)


def lines_of(forces: Torque | None) -> dict[int, Lines]:
    """Return the tables among given forces, by velocity."""
    courses = forces.courses if isinstance(forces, ForcesOverTime) else {}
    return {place: one for place, one in courses.items() if isinstance(one, Lines)}


def checked_forces(model: Model, torque: Torque) -> Torque:
    """Return a function of (t, q, v) that complains of forces that are not one a velocity."""

    def forces(t: Any, q: Array, v: Array) -> Array:
        found = np.asarray(torque(t, q, v))
        if found.shape != (model.nv,) or found.dtype.kind not in "fiubO":
            raise StateError(
                f"torque: the function returned {found!r:.60}; expected ({model.nv},) forces, "
                f"along {', '.join(model.velocity_names)}"
            )
        return found

    return forces


def constant_forces(torque: Any) -> Array:
    """Return constant forces as an array of numbers of whatever shape."""
    try:
        return np.array(as_floats("torque", torque))
    except StateError as problem:
        raise StateError(
            f"torque: expected forces by velocity name, a vector of numbers, or a function of "
            f"(t, q, v), got {torque!r:.60} ({problem})"
        ) from None


def velocity_place(model: Model, name: str) -> int:
    """Return the index of a velocity by its name."""
    if not isinstance(name, str) or name not in model.velocity_names:
        raise StateError("torque: " + unknown_name("velocity", name, model.velocity_names))
    return model.velocity_names.index(name)


def _tried(name: str, formula: Formula, start: float) -> Formula:
    """Return a formula that has a value at the start."""
    value = float(formula(start if np.isfinite(start) else 0.0))
    if not np.isfinite(value):
        raise StateError(f"torque {name!r}: {formula.text!r} is {value} at the start")
    return formula


def _lines(name: str, given: tuple[ArrayLike, ...], start: float, end: float) -> Lines:
    if len(given) != 2:
        raise StateError(f"torque {name!r}: a table is (times, values), got {len(given)} parts")
    table = Lines.through(name, *given)
    if np.isfinite(end):
        check_covers(f"torque {name!r}", *table.span, start, end)
    return table


def forces_along(model: Model, forces: Torque | None, time: Array, q: Array, v: Array) -> Array:
    """Return the forces (K, nv) at every state of a motion."""
    if forces is None:
        return np.zeros_like(v)
    rows = [
        np.asarray(forces(t, *state), dtype=np.float64)
        for t, *state in zip(time, q, v, strict=True)
    ]
    return np.array(rows).reshape(len(time), model.nv)
