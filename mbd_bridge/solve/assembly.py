"""Close the loops: a position, velocity and acceleration that satisfy every cut joint.

The position is the one nearest to a wish q*, in the sense of Lee94 (23), with a weight on each
coordinate: minimise (q - q*)ᵀ W (q - q*) / 2 subject to Φ(q) = 0. A step is

    Δq = -Φ_q⁺ Φ + N Nᵀ (q* - q)                       (26), with the pseudo-inverse for Φ_q

in coordinates scaled by W^(1/2); redundant rows do no harm to it. Velocities and accelerations are
the nearest ones with Φ_q q̇ = 0 and Φ_q q̈ = γ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.errors import SolveError, StateError, unknown_name
from mbd_bridge.kernels import Kernel
from mbd_bridge.mechanism import Across, Model
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.rank import TOLERANCE
from mbd_bridge.spatial import Array

CLOSED = 1e-12
"""Residual of a closed loop, relative to the mechanism's size (rad for angles)."""
LONGEST_STEP = 0.4
"""Largest change in one iteration: rad, or this part of the mechanism's size."""
ITERATIONS = 300
SETTLED = 1e-9
"""Movement, rad, below which the nearest position is found."""

Wish = Mapping[str, float] | ArrayLike | None
"""Values by coordinate name, a whole vector, or nothing."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """An assembled state.

    Attributes
    ----------
    q, v, a : (nq,), (nv,), (nv,)
    loops : residual of each loop by name, m or rad, the larger of both kinds relative to `size`
    reversed : loops whose axis has come out against its own direction
    iterations : used for the position
    closed : whether every loop is closed
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
    wish = _wish(model.neutral(), model.coordinate_names, near, "coordinate")
    for body in model.bodies:
        if not body.coupled:
            wish[body.q] = body.type.normalise(wish[body.q])
    held = _held(model, fixed)
    scale = _scale(model, weights)
    q, iterations = _position(model, kernel, wish, held, scale)
    still = np.zeros(model.nv)
    v = _wish(still, model.velocity_names, velocity, "velocity")
    phi, phi_q, _ = kernel(q, v)
    v = _nearest(model, phi_q, -phi_q @ v, v, held, scale)
    _, _, gamma = kernel(q, v)
    a = _wish(still, model.velocity_names, acceleration, "acceleration")
    a = _nearest(model, phi_q, gamma - phi_q @ a, a, held, scale)
    loops = _residuals(model, phi)
    closed = all(residual <= CLOSED for residual in loops.values())
    if check and not closed:
        _say_open(model, loops, fixed)
    return Assembly(q, v, a, loops, _reversed(model, q), iterations, closed)


def _wish(start: Array, names: tuple[str, ...], wish: Wish, kind: str) -> Array:
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


def _held(model: Model, fixed: Iterable[str] | str) -> Array:
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


def _scale(model: Model, weights: Mapping[str, float] | None) -> Array:
    """Return W^(-1/2) (nv,): how far each velocity moves for a unit of cost."""
    scale = model.velocity_scale.copy()
    for name, weight in (weights or {}).items():
        if name not in model.velocity_names:
            raise StateError(unknown_name("velocity", name, model.velocity_names))
        if not weight > 0.0:
            raise StateError(f"weight of {name!r}: expected a positive number, got {weight}")
        scale[model.velocity_names.index(name)] /= np.sqrt(weight)
    return scale


def _position(
    model: Model, kernel: Kernel, wish: Array, held: Array, scale: Array
) -> tuple[Array, int]:
    rows, still = model.row_scale, np.zeros(model.nv)
    free = ~held
    q = wish
    phi, phi_q, _ = kernel(q, still)
    iteration = 0
    while iteration < ITERATIONS:
        iteration += 1
        J = (phi_q / rows[:, None] * scale)[:, free]
        back = (model.difference(q, wish) / scale)[free]
        close, onto = _newton(J, phi / rows)
        step = close + onto(back)
        # far from the constraints first come closer, then look for the nearest place
        size = np.abs(step).max(initial=0.0)
        if size > LONGEST_STEP:
            step = close * min(1.0, LONGEST_STEP / max(np.abs(close).max(initial=0.0), 1e-300))
        full = np.zeros(model.nv)
        q_next, phi_next, phi_q_next = q, phi, phi_q
        before = np.abs(phi / rows).max(initial=0.0)
        for _ in range(12):
            full[free] = step
            q_next = model.integrate(q, full * scale)
            phi_next, phi_q_next, _ = kernel(q_next, still)
            after = np.abs(phi_next / rows).max(initial=0.0)
            if after <= max(before, 1e-3) or np.abs(step).max(initial=0.0) < SETTLED:
                break
            step = step * 0.5
        q, phi, phi_q = q_next, phi_next, phi_q_next
        if np.abs(step).max(initial=0.0) < SETTLED:
            break
    return _polish(model, kernel, q, free, scale), iteration


def _polish(model: Model, kernel: Kernel, q: Array, free: Array, scale: Array) -> Array:
    """Newton steps onto the constraints alone, down to rounding."""
    rows, still = model.row_scale, np.zeros(model.nv)
    best, least = q, np.inf
    for _ in range(6):
        phi, phi_q, _ = kernel(q, still)
        error = float(np.abs(phi / rows).max(initial=0.0))
        if not error < least:
            break
        best, least = q, error
        full = np.zeros(model.nv)
        full[free] = _newton((phi_q / rows[:, None] * scale)[:, free], phi / rows)[0]
        q = model.integrate(q, full * scale)
    return best


def _newton(J: Array, phi: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Return the step onto the constraints, and the projection along them."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    rank = int(np.sum(s > TOLERANCE * s.max(initial=0.0)))
    U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
    return -Vt.T @ ((U.T @ phi) / s), lambda x: x - Vt.T @ (Vt @ x)


def _nearest(
    model: Model, phi_q: Array, lack: Array, start: Array, held: Array, scale: Array
) -> Array:
    """Return the rates nearest to `start` for which Φ_q (rates - start) = lack."""
    rows, free = model.row_scale, ~held
    J = (phi_q / rows[:, None] * scale)[:, free]
    out = start.copy()
    step = np.zeros(model.nv)
    step[free] = _newton(J, -lack / rows)[0]
    return out + step * scale


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
    still_open = {name: r for name, r in loops.items() if r > CLOSED}
    shown = ", ".join(
        f"{name} by {r * model.size:.3g} m (or {r:.3g} rad)" for name, r in still_open.items()
    )
    held = [fixed] if isinstance(fixed, str) else list(fixed)
    advice = f" release one of fixed={held}," if held else ""
    raise SolveError(
        f"loops that cannot be closed: {shown}. Try{advice} another near=, or check lengths and "
        f"axes of these loops; check=False returns what was reached"
    )
