"""The force of a spring over its deflection e: linear, polynomial, or a table.

    k                   F = k e                                  U = k e² / 2
    (k1, k2, k3, ...)   F = (k1 + k2 |e| + k3 e² + ...) e        U = (k1/2 + k2 |e|/3 + ...) e²
    Table               F = table(e)                             U = ∫ table de from 0

The polynomial is odd, so that it restores on both sides; a table has any form. A damper has the
same laws over the rate, and dissipates D = F ė.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Checked, ForceElement
from mbd_bridge.functions import Table, absolute, maximum, minimum
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model

Law: TypeAlias = float | Sequence[float] | Table
"""A number, coefficients of a polynomial, or a table."""


def _restores(
    element: ForceElement, name: str, value: Law, model: Model
) -> tuple[float, ...] | Table:
    """Return a checked law: the coefficients, or the table."""
    if isinstance(value, Table):
        return value
    return _coefficients(element, name, value, "a spring that pushes away from its rest is a Table")


def _dissipates(
    element: ForceElement, name: str, value: Law, model: Model
) -> tuple[float, ...] | Table:
    """Return a checked law that dissipates: the coefficients, or the table."""
    if not isinstance(value, Table):
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
    expected = "a number, coefficients (k1, k2, ...) or an mbd_bridge.functions.Table"
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
    if isinstance(law, Table):
        return law(e)
    return _polynomial(law, e) * e


def stored(law: Any, e: Any) -> Any:
    """Return the energy at a deflection, J; 0 at none."""
    if isinstance(law, Table):
        integral = law.antiderivative()
        return integral(e) - integral(0.0)
    return _polynomial([k / (i + 2.0) for i, k in enumerate(law)], e) * (e * e)


def dissipated(law: Any, rate: Any) -> tuple[Any, Any]:
    """Return the force of a damper at a rate, and the power that it dissipates, W."""
    if isinstance(law, Table):
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


# What pushes one way only: a spring over its depth x >= 0, with damping that fades in.
#
#     push = max(spring(x) + c w(x) ẋ, 0),    w = 3 y² - 2 y³,  y = min(x/d, 1)
#     U = ∫ spring dx,    D = (push - spring(x)) ẋ >= 0
#
# w fades the damping in over the depth d: the force is continuous, and it never pulls.


class Push(NamedTuple):
    """Force that pushes back, energy J, dissipated power W."""

    force: Any
    energy: Any
    dissipation: Any


def _progressive(
    element: ForceElement, name: str, value: Law, model: Model
) -> tuple[float, ...] | Table:
    """Return a checked law over the depth; it must not pull."""
    law = _restores(element, name, value, model)
    if isinstance(law, Table) and law(0.0) != 0.0:
        raise StateError(
            f"{element.label}: {name}: expected a table that is 0 at depth 0, got {law(0.0):g}"
        )
    known = law.points[1] if isinstance(law, Table) else [x for x in law if not is_traced(x)]
    lowest = min(known, default=0.0)
    if lowest < 0.0:
        raise StateError(
            f"{element.label}: {name}: expected numbers at least 0, since it only pushes, got "
            f"{lowest:g}"
        )
    return law


Stiffness: TypeAlias = Annotated[Law, Checked(_restores)]
"""N/m or N m/rad: a number, coefficients of an odd polynomial, or a table of force over e."""


Damping: TypeAlias = Annotated[Law, Checked(_dissipates)]
"""N s/m or N m s/rad: a number, coefficients of a polynomial, or a table of force over rate."""


Progressive: TypeAlias = Annotated[Law, Checked(_progressive)]
"""Such a stiffness over the depth of what pushes only."""


def one_sided(law: Any, damping: float, fade: float, inside: Any, speed: Any) -> Push:
    """Return what pushes back.

    Parameters
    ----------
    law : as `progressive` returns it
    damping : c
    fade : d, the depth over which the damping fades in
    inside, speed : how far it is pressed in, negative where it is free; its rate
    """
    depth = maximum(inside, 0.0)
    part = minimum(depth * (1.0 / fade), 1.0)
    spring = restoring(law, depth)
    force = maximum(spring + damping * (part * part * (3.0 - 2.0 * part)) * speed, 0.0)
    return Push(force, stored(law, depth), (force - spring) * speed)


class Stops(NamedTuple):
    """Force against the coordinate, energy J, dissipated power W, and the penetration: negative at
    the lower end.
    """

    force: Any
    energy: Any
    dissipation: Any
    penetration: Any


def stops(element: Any, ends: tuple[Any, Any], s: Any, rate: Any) -> Stops:
    """Return what two such ends of a range do at s.

    Parameters
    ----------
    element : with stiffness, damping and depth, bound
    ends : lower and upper, None for no stop on that side
    """
    total = Stops(0.0, 0.0, 0.0, 0.0)
    for limit, out in zip(ends, (-1.0, 1.0), strict=True):
        if limit is not None:
            inside = out * (s - limit)
            law = element.stiffness, element.damping, element.depth
            push = one_sided(*law, inside, out * rate)
            here = out * push.force, push.energy, push.dissipation, out * maximum(inside, 0.0)
            total = Stops(*(a + b for a, b in zip(total, here, strict=True)))
    return total
