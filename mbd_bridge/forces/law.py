"""The force of a spring over its deflection e: linear, polynomial, or a table.

    k                   F = k e                                  U = k e² / 2
    (k1, k2, k3, ...)   F = (k1 + k2 |e| + k3 e² + ...) e        U = (k1/2 + k2 |e|/3 + ...) e²
    Table               F = table(e)                             U = ∫ table de from 0

The polynomial is odd, so that it restores on both sides; a table has any form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from mbd_bridge.arguments import finite_numbers
from mbd_bridge.errors import StateError
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.functions import Table, absolute

Stiffness: TypeAlias = float | Sequence[float] | Table
"""N/m or N m/rad: a number, coefficients of an odd polynomial, or a table of force over e."""


def stiffness_of(element: ForceElement, value: Stiffness) -> tuple[float, ...] | Table:
    """Return a checked law: the coefficients, or the table."""
    if isinstance(value, Table):
        return value
    where = f"{element.label}: stiffness"
    expected = "a number, coefficients (k1, k2, ...) or an mbd_bridge.functions.Table"
    if isinstance(value, str):
        raise StateError(f"{where}: expected {expected}, got {value!r:.60}")
    array = finite_numbers(where, value)
    if array.ndim > 1 or not array.size:
        raise StateError(f"{where}: expected {expected}, got {value!r:.60}")
    coefficients = tuple(array.reshape(-1).tolist())
    if coefficients[0] < 0.0:
        raise StateError(
            f"{where}: expected {expected}, the first at least 0, got {coefficients[0]:g}; "
            f"a spring that pushes away from its rest is a Table"
        )
    return coefficients


def restoring(law: Any, e: Any) -> Any:
    """Return the force at a deflection, positive where it grows with e."""
    if isinstance(law, Table):
        return law(e)
    return _polynomial(law, e) * e


def stored(law: Any, e: Any) -> Any:
    """Return the energy at a deflection, J; 0 at none."""
    if isinstance(law, Table):
        integral = law.antiderivative()
        return integral(e) - integral(0.0)
    return _polynomial([k / (i + 2.0) for i, k in enumerate(law)], e) * (e * e)


def _polynomial(coefficients: Sequence[float], e: Any) -> Any:
    """Return k1 + |e| (k2 + |e| (k3 + ...))."""
    total: Any = coefficients[-1]
    for k in reversed(coefficients[:-1]):
        total = k + absolute(e) * total
    return total
