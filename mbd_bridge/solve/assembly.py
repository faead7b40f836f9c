"""Close the loops: a position, velocity and acceleration that satisfy every cut joint.

The position is the one nearest to a wish q*, in the sense of Lee94 (23), with a weight on each
coordinate: minimise (q - q*)ᵀ W (q - q*) / 2 subject to Φ(q) = 0. A step is

    Δq = -Φ_q⁺ Φ + N Nᵀ (q* - q)                       (26), with the pseudo-inverse for Φ_q

in coordinates scaled by W^(1/2); redundant rows do no harm to it (`closing` has what is tried where
these steps do not arrive). Velocities and accelerations are the nearest ones with Φ_q q̇ = 0 and
Φ_q q̈ = γ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.errors import SolveError, StateError, real_number, unknown_name
from mbd_bridge.mechanism import Across, Model
from mbd_bridge.mechanism.cut_table import Coupled, Row
from mbd_bridge.solve.closing import CLOSED, Closing
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import CONSISTENT
from mbd_bridge.spatial import Array

Wish = Mapping[str, float] | ArrayLike | None
"""Values by coordinate name, a whole vector, or nothing."""


NAMED = 1e-3
"""Part of the largest residual from which on a loop is named: others only give way to it."""

ROUNDED = 1e-3
"""Relative residual below which a file's digits are its likely cause."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """An assembled state.

    Attributes
    ----------
    q, v, a : (nq,), (nv,), (nv,)
    loops : residual of each loop by name, m or rad, the larger of both kinds relative to `size`
    rates : what is left of each loop's velocity by name, relative to the largest term of any:
        beyond 1e-6 the fixed velocities contradict each other
    reversed : loops whose axis has come out against its own direction
    iterations : used for the position
    closed : whether every loop is closed, to the tolerance, and stays so at this velocity; rows
        that say what others say but for the file's digits may stay as open as these leave them
    """

    q: Array
    v: Array
    a: Array
    loops: dict[str, float]
    rates: dict[str, float]
    reversed: tuple[str, ...]
    iterations: int
    closed: bool


def assemble(
    model: Model,
    near: Wish = None,
    *,
    fixed: Iterable[str] | str = (),
    weights: Mapping[str, float] | None = None,
    velocity: Wish = None,
    acceleration: Wish = None,
    tolerance: float = CLOSED,
    check: bool = True,
) -> Assembly:
    """Return the state nearest to a wish at which every loop is closed.

    Parameters
    ----------
    near : wished coordinates; those not named start from zero position
    fixed : names of coordinates (and so of their velocities) that stay exactly as wished
    weights : how dear the movement of a coordinate is, 1 for those not named
    velocity, acceleration : wished rates, by velocity name; zero where not named
    tolerance : residual at which a loop counts as closed, rad or sizes of the mechanism. A file
        whose lengths and axes are rounded may close to its digits only
    check : raise if a loop stays open; False returns what was reached

    Raises
    ------
    SolveError
        Some loop cannot be closed, or fixed velocities open it: which, by how much, what to try.
    """
    check_tolerance(tolerance)
    kernel = prepare(model, "constraints")
    wish = wished_position(model, near)
    held, scale = held_ones(model, fixed), weighted(model, weights)
    choice = row_choice(model) if model.has_loops else None
    closing = Closing(model, lambda q, v, _: kernel(q, v), held, scale, choice, tolerance)
    (q,), iterations = closing.position(wish[None])
    still = np.zeros(model.nv)
    v = wished(still, model.velocity_names, velocity, "velocity")
    phi, phi_q, _ = kernel(q, v)
    (v,) = closing.rates(phi_q[None], (-phi_q @ v)[None], v[None])
    _, _, gamma = kernel(q, v)
    a = wished(still, model.velocity_names, acceleration, "acceleration")
    (a,) = closing.rates(phi_q[None], (gamma - phi_q @ a)[None], a[None])
    loops = _residuals(model, phi / model.row_scale)
    rates = _residuals(model, closing.openings(phi_q[None], v[None])[0])
    closed = bool((np.abs(phi / model.row_scale) <= closing.allowed(phi_q[None])[0]).all())
    if check and not closed:
        _say_open(model, phi, fixed)
    consistent = CONSISTENT if choice is None else choice.consistent
    kept = max(rates.values(), default=0.0) <= max(consistent, tolerance)
    if check and not kept:
        raise SolveError(contradiction(fixed, rates))
    return Assembly(q, v, a, loops, rates, _reversed(model, q), iterations, closed and kept)


def check_tolerance(tolerance: float) -> None:
    """Refuse what is no tolerance of a closed loop."""
    if not 0.0 < tolerance < 1.0:
        raise StateError(
            f"tolerance: expected a number above 0 and below 1 (rad, or of the mechanism's size), "
            f"got {tolerance!r}"
        )


def wished_position(model: Model, near: Wish) -> Array:
    """Return wished coordinates (nq,), quaternions normalised."""
    wish = wished(model.neutral(), model.coordinate_names, near, "coordinate")
    for body in model.bodies:
        if not body.coupled:
            wish[body.q] = body.type.normalise(wish[body.q])
    return wish


def wished(start: Array, names: tuple[str, ...], wish: Wish, kind: str) -> Array:
    """Return a start with what is wished by name, or a whole vector."""
    out = np.array(start, dtype=np.float64)
    if wish is None:
        return out
    if isinstance(wish, Mapping):
        for name, value in wish.items():
            if name not in names:
                raise StateError(unknown_name(kind, name, names))
            out[names.index(name)] = value
    else:
        given = np.asarray(wish, dtype=np.float64)
        if given.shape != out.shape:
            raise StateError(f"{kind}: expected {out.shape}, got {given.shape}")
        out = given.copy()
    if not np.all(np.isfinite(out)):
        raise StateError(f"{kind}: the wished values are not all finite: {out}")
    return out


def held_ones(model: Model, fixed: Iterable[str] | str) -> Array:
    """Return which velocities (nv,) are held."""
    held = np.zeros(model.nv, dtype=bool)
    known = {model.joints[body.joint].name: body for body in model.bodies if not body.coupled}
    for name in (fixed,) if isinstance(fixed, str) else fixed:
        if name in known:
            held[known[name].v] = True
        elif name in model.velocity_names:
            held[model.velocity_names.index(name)] = True
        else:
            raise StateError(unknown_name("joint or velocity", name, [*known]))
    return held


def weighted(model: Model, weights: Mapping[str, float] | None) -> Array:
    """Return W^(-1/2) (nv,): how far each velocity moves for a unit of cost."""
    scale = model.velocity_scale.copy()
    if not isinstance(weights, Mapping | None):
        raise StateError(f"weights: expected numbers by name, {{'crank': 10}}, got {weights!r:.60}")
    for name, weight in (weights or {}).items():
        if name not in model.velocity_names:
            raise StateError(unknown_name("velocity", name, model.velocity_names))
        number = real_number(f"weight of {name!r}", weight, "a positive number", positive=True)
        scale[model.velocity_names.index(name)] /= np.sqrt(number)
    return scale


def _residuals(model: Model, values: Array, norm: float = np.inf) -> dict[str, float]:
    """Return the norm, by default the largest, of the rows' values (m,), by loop."""
    found, k = {}, 0
    for cut in model.cuts:
        part = slice(k, k + len(cut.rows))
        found[cut.name] = float(np.linalg.norm(values[part], norm)) if cut.rows else 0.0
        k = part.stop
    return found


def _reversed(model: Model, q: Array) -> tuple[str, ...]:
    """Return the loops whose frames' axes point against each other."""
    state = state_vectors(model, q, np.zeros(model.nv))
    found = []
    for cut in model.cuts:
        if not {Across(0, 2), Across(1, 2)} <= set(cut.rows):  # z along z, or against it
            continue
        a = state.bodies[cut.predecessor].rotation @ cut.a.rotation
        b = state.bodies[cut.successor].rotation @ cut.b.rotation
        if a[:, 2] @ b[:, 2] < 0.0:
            found.append(cut.name)
    return tuple(found)


def _say_open(model: Model, phi: Array, fixed: Iterable[str] | str) -> None:
    loops = _residuals(model, phi / model.row_scale)
    lengths = np.array([_is_length(model, row) for cut in model.cuts for row in cut.rows])
    gaps = _residuals(model, np.where(lengths, phi, 0.0), norm=2)
    turns = _residuals(model, np.where(lengths, 0.0, phi), norm=2)
    worst = max(loops.values())
    still_open = [name for name, left in loops.items() if left > NAMED * worst]
    shown = ", ".join(_opening(name, gaps[name], turns[name]) for name in still_open)
    held = [fixed] if isinstance(fixed, str) else list(fixed)
    raise SolveError(
        f"loops that cannot be closed: {shown} at the smallest residual that was reached. "
        f"{advice(worst, held)}; check=False returns what was reached"
    )


def _is_length(model: Model, row: Row) -> bool:
    if isinstance(row, Coupled):
        body = model.bodies[row.own.body]
        motion = body.type.motion(body.type.neutral(), np.zeros(body.type.nv))
        return not np.any(motion.angular[:, row.own.coordinate] != 0.0)
    return not isinstance(row, Across)


def _opening(name: str, gap: float, turn: float) -> str:
    """Return by how much a loop is open; what is rounding beside the rest is left out."""
    parts = [f"{gap:.3g} m"] if gap > NAMED * turn else []
    parts += [f"{turn:.3g} rad"] if turn > NAMED * gap else []
    return f"{name} by {' and '.join(parts)}"


def advice(worst: float, held: list[str]) -> str:
    """Return what to try where a relative residual is left."""
    if worst < ROUNDED:
        enough = 10.0 ** math.ceil(math.log10(2.0 * worst))
        return (
            f"So little points to lengths or axes of the file that are rounded: give them more "
            f"digits, or accept it with tolerance={enough:.0e}"
        )
    release = f" release one of fixed={held}," if held else ""
    return f"Try{release} another near=, or check lengths and axes of these loops"


def contradiction(fixed: Iterable[str] | str, rates: Mapping[str, float]) -> str:
    """Return what is wrong with fixed velocities that open loops at these relative rates."""
    held = [fixed] if isinstance(fixed, str) else list(fixed)
    worst = max(rates.values())
    named = ", ".join(repr(name) for name, rate in rates.items() if rate > NAMED * worst)
    return (
        f"the velocities of fixed={held} cannot be together: they open {named}, {worst:.3g} of the "
        f"velocities is left. Release one of them, or give velocities that agree; check=False "
        f"returns what was reached"
    )
