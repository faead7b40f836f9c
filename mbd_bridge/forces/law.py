"""The force of a spring over its deflection e: linear, polynomial, or a table.

    k                   F = k e                                  U = k e² / 2
    (k1, k2, k3, ...)   F = (k1 + k2 |e| + k3 e² + ...) e        U = (k1/2 + k2 |e|/3 + ...) e²
    Table               F = table(e)                             U = ∫ table de from 0

The polynomial is odd, so that it restores on both sides; a table has any form. A damper has the
same laws over the rate, and dissipates D = F ė.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Checked, ForceElement
from mbd_bridge.functions import Lookup, absolute
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model

Law: TypeAlias = float | Sequence[float] | Lookup
"""A number, coefficients of a polynomial, or a table."""


def restores(
    element: ForceElement, name: str, value: Law, model: Model
) -> tuple[float, ...] | Lookup:
    """Return a checked law: the coefficients, or the table."""
    if isinstance(value, Lookup):
        return value
    return _coefficients(element, name, value, "a spring that pushes away from its rest is a Table")


def _dissipates(
    element: ForceElement, name: str, value: Law, model: Model
) -> tuple[float, ...] | Lookup:
    """Return a checked law that dissipates: the coefficients, or the table."""
    if not isinstance(value, Lookup):
        return _coefficients(element, name, value, "such a damper would drive the machine")
    rates, forces = value.points
    wrong = np.flatnonzero(rates * forces < 0.0)
    at_zero = float(value(0.0))
    if len(wrong) or abs(at_zero) > ZERO * np.abs(forces).max():
        rate, force = (rates[wrong[0]], forces[wrong[0]]) if len(wrong) else (0.0, at_zero)
        raise StateError(
            f"{element.label}: {name}: expected a table whose force has the sign of the rate and "
            f"is 0 at rate 0, got {force:g} at {rate:g}"
        )
    return value


def _coefficients(element: ForceElement, name: str, value: Any, reason: str) -> tuple[float, ...]:
    where = f"{element.label}: {name}"
    expected = "a number, coefficients (k1, k2, ...) or an mbd_bridge.functions.Lookup"
    if is_traced(value):
        return tuple(np.asarray(value, dtype=object).reshape(-1))
    if isinstance(value, str):
        raise StateError(f"{where}: expected {expected}, got {value!r:.60}")
    array = finite_numbers(where, value)
    if array.ndim > 1 or not array.size:
        raise StateError(f"{where}: expected {expected}, got {value!r:.60}")
    coefficients = tuple(array.reshape(-1).tolist())
    if coefficients[0] < 0.0:
        raise StateError(
            f"{where}: expected {expected}, the first at least 0, got {coefficients[0]:g}; {reason}"
        )
    return coefficients


ZERO = 1e-12
"""Part of its largest force that a damper's table may have at rate 0: rounding of a spline."""


def restoring(law: Any, e: Any) -> Any:
    """Return the force at a deflection, positive where it grows with e."""
    if isinstance(law, Lookup):
        return law(e)
    return _polynomial(law, e) * e


def stored(law: Any, e: Any) -> Any:
    """Return the energy at a deflection, J; 0 at none."""
    if isinstance(law, Lookup):
        integral = law.antiderivative()
        return integral(e) - integral(0.0)
    return _polynomial([k / (i + 2.0) for i, k in enumerate(law)], e) * (e * e)


def dissipated(law: Any, rate: Any) -> tuple[Any, Any]:
    """Return the force of a damper at a rate, and the power that it dissipates, W."""
    if isinstance(law, Lookup):
        force = law(rate)
        return force, force * rate
    c = _polynomial(law, rate)
    return c * rate, c * (rate * rate)


def _polynomial(coefficients: Sequence[float], e: Any) -> Any:
    """Return k1 + |e| (k2 + |e| (k3 + ...))."""
    total: Any = coefficients[-1]
    for k in reversed(coefficients[:-1]):
        total = k + absolute(e) * total
    return total


POWERS = "", *(f"^{k}" for k in range(2, 10))
"""Of the deflection or the rate, in the units of coefficients."""

STIFFNESS = tuple(f"{{f}}/{{s}}{power}" for power in POWERS)
"""Units of the coefficients of a spring."""

DAMPING = tuple(f"{{f}} s{power}/{{s}}{power}" for power in POWERS)
"""Units of the coefficients of a damper."""

Stiffness: TypeAlias = Annotated[Law, Checked(restores, STIFFNESS)]
"""N/m or N m/rad: a number, coefficients of an odd polynomial, or a table of force over e."""


Damping: TypeAlias = Annotated[Law, Checked(_dissipates, DAMPING)]
"""N s/m or N m s/rad: a number, coefficients of a polynomial, or a table of force over rate."""
