"""Prescribed motions: coordinates that follow a function of time, whatever force it takes.

    Φ_d = q_d - f(t) = 0,    Φ̇_d = v_d - f'(t) = 0,    Φ̈_d = a_d - f''(t) = 0

Rheonomic rows beside those of the cut joints: Φ_q is a row of the unit matrix, γ = f''. The
prescribed motion's force along the coordinate is the row's multiplier, -λ_d in M q̈ + Φ_qᵀ λ = Q:
what is prescribed gives forces, what is free gives accelerations (hybrid dynamics).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import by_name
from mbd_bridge.base.errors import StateError, unknown_name
from mbd_bridge.forces.formula import JET_ADVICE, Formula, Jet, lift, text_formula
from mbd_bridge.forces.varying import Input, Sampled
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.signals.signal import Constant, TracedSignal
from mbd_bridge.simulation.signals.tables import PolynomialSignal

Prescribed: TypeAlias = (
    ArrayLike | str | Formula | Callable[[Any], Any] | tuple[ArrayLike, ArrayLike]
)
"""A constant (0 locks the joint in its zero position; of a batch N of them), a formula of t as a
text (see `formula`) or as a function, or a table through which a cubic spline goes."""


EXPECTED = (
    "a number, one for each trajectory, a formula such as '2*pi*t', a function of t or (times, "
    "values)"
)


@dataclass(frozen=True, eq=False)
class PrescribedMotions:
    """The prescribed coordinates of a mechanism.

    Attributes
    ----------
    names : of the coordinates (one with the joint's name where it has one degree of freedom)
    q, v : places in the coordinates and in the velocities
    functions : of `Jet`s of time
    scale : (D,) of each row, `size` for lengths and 1 for angles
    """

    names: tuple[str, ...]
    q: tuple[int, ...]
    v: tuple[int, ...]
    functions: tuple[Callable[[Jet], Any], ...]
    scale: Array

    def __len__(self) -> int:
        return len(self.names)

    def at(self, t: Any) -> tuple[Array, Array, Array]:
        """Return f, f', f'' (D,) at one time, a float or a symbol."""
        jets = [lift(function(Jet(t, 1.0, 0.0))) for function in self.functions]
        parts = (
            [jet.value for jet in jets],
            [jet.first for jet in jets],
            [jet.second for jet in jets],
        )
        return _vector(parts[0]), _vector(parts[1]), _vector(parts[2])


class MotionPart(NamedTuple):
    """A coordinate that follows a signal, and its places in q and v."""

    name: str
    q: int
    v: int
    signal: Constant | TracedSignal | PolynomialSignal


def motion_parts(
    model: Model, prescribed: Mapping[str, Prescribed] | None, start: float
) -> tuple[MotionPart, ...]:
    """Return the prescribed motions of a mechanism, checked and tried at the start."""
    places = plain_places(model)
    by_name("prescribed", prescribed, "{'crank': '2*pi*t'}")
    found = []
    for name, given in (prescribed or {}).items():
        if name not in places:
            raise StateError(_unknown(model, name, places))
        found.append(MotionPart(name, *places[name], _signal(name, given, start)))
    return tuple(found)


def fully_prescribed(model: Model, velocities: Sequence[int]) -> tuple[str, ...]:
    """Return the joints all of whose degrees of freedom are prescribed: their forces are not known
    before.
    """
    prescribed_velocities = set(velocities)
    return tuple(
        model.joints[body.joint].name
        for body in model.bodies
        if body.type.nv
        and not body.coupled
        and prescribed_velocities.issuperset(range(body.v.start, body.v.stop))
    )


def plain_places(model: Model) -> dict[str, tuple[int, int]]:
    """Return the places in q and v of every coordinate whose rate is a velocity."""
    found = {}
    for body in model.bodies:
        if not body.coupled and body.type.nv and body.type.nq == body.type.nv:
            for k, suffix in enumerate(body.type.velocities):
                name = model.joints[body.joint].name + suffix
                found[name] = (body.q.start + k, body.v.start + k)
    return found


def _unknown(model: Model, name: str, places: Mapping[str, Any]) -> str:
    if name in model.joint_index:
        joint = model.joint(name)
        if joint.follows is not None:
            leader = model.joints[joint.follows].name
            return f"prescribed motion {name!r} follows joint {leader!r}: prescribe that"
        if joint.moving and joint.type.nq != joint.type.nv:
            return (
                f"prescribed motion {name!r}: a {joint.type.name} joint turns by a quaternion, "
                f"which no single "
                f"function of time gives. Model it as joints in a row and prescribe those"
            )
        if joint.moving:
            names = ", ".join(repr(name + suffix) for suffix in joint.type.velocities)
            return (
                f"prescribed motion {name!r}: the joint has several coordinates; prescribe {names}"
            )
    if name in {cut.name for cut in model.cuts}:
        return (
            f"prescribed motion {name!r}: a loop joint is cut and has no coordinate. Load the "
            f"mechanism with "
            f"other cuts (cuts=[...]), so that this joint carries the tree, or prescribe another "
            f"one"
        )
    return unknown_name("coordinate that can be prescribed", name, places)


def _signal(name: str, given: Any, start: float) -> Constant | TracedSignal | PolynomialSignal:
    where = f"prescribed motion {name!r}"
    if isinstance(given, Sampled | Input):
        raise StateError(
            f"{where}: a prescribed motion needs its rates too, which {type(given).__name__} does "
            f"not have; give a formula, a traceable function of t or a table (times, values)"
        )
    if isinstance(given, tuple):
        return PolynomialSignal.spline(where, given)
    if isinstance(given, str):
        given = text_formula(where, given)
    if callable(given):
        _try(name, given, start)
        return TracedSignal(given, given.text if isinstance(given, Formula) else None, of_time=True)
    return Constant.each(where, given, None, EXPECTED)


def _try(name: str, function: Callable[[Any], Any], t: float) -> None:
    """Call a function once; complain if it is none of t, or gives no finite number."""
    try:
        jet = lift(function(Jet(t, 1.0, 0.0)))
        parts = np.array([jet.value, jet.first, jet.second], dtype=np.float64)
    except (TypeError, ValueError, ArithmeticError) as problem:
        raise StateError(
            f"prescribed motion {name!r}: at t = {t:g} s: {problem}; {JET_ADVICE}"
        ) from problem
    if not np.all(np.isfinite(parts)):
        raise StateError(
            f"prescribed motion {name!r}: at t = {t:g} s position, velocity and acceleration are "
            f"{parts.tolist()}; expected finite numbers"
        )


def _vector(parts: list[Any]) -> Array:
    out = np.empty(len(parts), dtype=object)
    out[:] = parts
    plain = all(isinstance(x, float | int | np.floating | np.integer) for x in parts)
    return out.astype(np.float64) if plain else out
