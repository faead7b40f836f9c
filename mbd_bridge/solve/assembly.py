"""Close the loops: a position, velocity and acceleration that satisfy every cut joint.

The position is the one nearest to a wish q*, in the sense of Lee94 (23), with a weight on each
coordinate: minimise (q - q*)ᵀ W (q - q*) / 2 subject to Φ(q) = 0. A step is

    Δq = -Φ_q⁺ Φ + N Nᵀ (q* - q)                       (26), with the pseudo-inverse for Φ_q

in coordinates scaled by W^(1/2); redundant rows do no harm to it. Velocities and accelerations are
the nearest ones with Φ_q q̇ = 0 and Φ_q q̈ = γ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.errors import SolveError, StateError, unknown_name
from mbd_bridge.mechanism import Across, Model
from mbd_bridge.solve.closing import Closing
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.spatial import Array

CLOSED = 1e-12
"""Residual of a closed loop, relative to the mechanism's size (rad for angles)."""
Wish = Mapping[str, float] | ArrayLike | None
"""Values by coordinate name, a whole vector, or nothing."""


NAMED = 1e-3
"""Part of the largest residual from which on a loop is named: others only give way to it."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """An assembled state.

    Attributes
    ----------
    q, v, a : (nq,), (nv,), (nv,)
    loops : residual of each loop by name, m or rad, the larger of both kinds relative to `size`
    reversed : loops whose axis has come out against its own direction
    iterations : used for the position
    closed : whether every loop is closed; rows that say what others say but for the file's digits
        may stay as open as these leave them
    """

    q: Array
    v: Array
    a: Array
    loops: dict[str, float]
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
    check: bool = True,
) -> Assembly:
    """Return the state nearest to a wish at which every loop is closed.

    Parameters
    ----------
    near : wished coordinates; those not named start from zero position
    fixed : names of coordinates (and so of their velocities) that stay exactly as wished
    weights : how dear the movement of a coordinate is, 1 for those not named
    velocity, acceleration : wished rates, by velocity name; zero where not named
    check : raise if a loop stays open; False returns what was reached

    Raises
    ------
    SolveError
        Some loop cannot be closed: which, by how much, and what to try.
    """
    kernel = prepare(model, "constraints")
    wish = wished_position(model, near)
    choice = row_choice(model) if model.has_loops else None
    closing = Closing(
        model,
        lambda q, v, _: kernel(q, v),
        held_ones(model, fixed),
        weighted(model, weights),
        choice,
    )
    (q,), iterations = closing.position(wish[None])
    still = np.zeros(model.nv)
    v = wished(still, model.velocity_names, velocity, "velocity")
    phi, phi_q, _ = kernel(q, v)
    (v,) = closing.rates(phi_q[None], (-phi_q @ v)[None], v[None])
    _, _, gamma = kernel(q, v)
    a = wished(still, model.velocity_names, acceleration, "acceleration")
    (a,) = closing.rates(phi_q[None], (gamma - phi_q @ a)[None], a[None])
    loops = _residuals(model, phi)
    closed = True
    if choice is not None:
        scaled = phi_q * (model.velocity_scale / model.row_scale[:, None])
        closed = bool(
            (np.abs(phi / model.row_scale) <= choice.allowed(scaled[None], CLOSED)[0]).all()
        )
    if check and not closed:
        _say_open(model, loops, fixed)
    return Assembly(q, v, a, loops, _reversed(model, q), iterations, closed)


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
    for name, weight in (weights or {}).items():
        if name not in model.velocity_names:
            raise StateError(unknown_name("velocity", name, model.velocity_names))
        if not weight > 0.0:
            raise StateError(f"weight of {name!r}: expected a positive number, got {weight}")
        scale[model.velocity_names.index(name)] /= np.sqrt(weight)
    return scale


def _residuals(model: Model, phi: Array) -> dict[str, float]:
    found, k = {}, 0
    for cut in model.cuts:
        part = slice(k, k + len(cut.rows))
        found[cut.name] = float(np.abs(phi[part] / model.row_scale[part]).max(initial=0.0))
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


def _say_open(model: Model, loops: dict[str, float], fixed: Iterable[str] | str) -> None:
    worst = max(loops.values())
    still_open = {name: r for name, r in loops.items() if r > max(CLOSED, NAMED * worst)}
    shown = ", ".join(
        f"{name} by {r * model.size:.3g} m (or {r:.3g} rad)" for name, r in still_open.items()
    )
    held = [fixed] if isinstance(fixed, str) else list(fixed)
    advice = f" release one of fixed={held}," if held else ""
    raise SolveError(
        f"loops that cannot be closed: {shown}. Try{advice} another near=, or check lengths and "
        f"axes of these loops; check=False returns what was reached"
    )
