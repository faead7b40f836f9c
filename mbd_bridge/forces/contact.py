"""What pushes one way only: a spring over its depth x >= 0, with damping that fades in.

    push = max(spring(x) + c w(x) ẋ, 0),    w = 3 y² - 2 y³,  y = min(x/d, 1)
    U = ∫ spring dx,    D = (push - spring(x)) ẋ >= 0

w fades the damping in over the depth d: the force is continuous, and it never pulls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.law import Stiffness, restoring, stiffness_of, stored
from mbd_bridge.functions import Table, maximum, minimum
from mbd_bridge.kernels import is_traced


class Push(NamedTuple):
    """Force that pushes back, energy J, dissipated power W."""

    force: Any
    energy: Any
    dissipation: Any


def progressive(element: ForceElement, value: Stiffness) -> tuple[float, ...] | Table:
    """Return a checked law over the depth; it must not pull."""
    law = stiffness_of(element, value)
    if isinstance(law, Table) and law(0.0) != 0.0:
        raise StateError(
            f"{element.label}: stiffness: expected a table that is 0 at depth 0, got {law(0.0):g}"
        )
    known = law.points[1] if isinstance(law, Table) else [x for x in law if not is_traced(x)]
    lowest = min(known, default=0.0)
    if lowest < 0.0:
        raise StateError(
            f"{element.label}: stiffness: expected numbers at least 0, since it only pushes, got "
            f"{lowest:g}"
        )
    return law


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
