"""Links that can spin about themselves, such as a rod between two balls, and what makes them do so.

No loop determines the acceleration of such a spin and no joint actuates it: it follows from the
moment about the line through the link's attachments, which is zero. With the velocities P of the
spin (Φ_q P = 0, nothing else with inertia moves) and the accelerations a that are given,

    s = -Pᵀ (M a + h) / I,     a := a + P s,     I = Pᵀ M P

I, the inertia about the line, is a constant of the link. Φ_q P = 0, so that the loops stay closed;
the spins of several links do not act on each other.

A link counts that has attachments in a line, on two bodies at least: what hangs from one body
alone is a machine's own degree of freedom, and needs an actuator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.model import Coupled, Height, Model
from mbd_bridge.model.spatial import Array, cross, zeros
from mbd_bridge.solve.factor import MinimumNorm
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.tolerances import CONSISTENT, ROUNDED, SINGULAR


@dataclass(frozen=True, eq=False)
class Spin:
    """A body that can spin about the line through its attachments.

    Attributes
    ----------
    body : its index
    name : of its first link
    point, axis : of the line, in the body's frame; the axis is of unit length
    inertia : about the line, kg m²; zero if the body has none
    columns : velocities that take part
    seen : bodies by whose motions the velocities are found; one of them is the body itself
    ends : two attachments on the line
    """

    body: int
    name: str
    point: Array
    axis: Array
    inertia: float
    columns: tuple[int, ...]
    seen: tuple[int, ...]
    ends: tuple[int, int] = (0, 0)

    def of_variant(self, model: Model) -> Spin:
        """Return the same of a model with other numbers, floats or symbols."""
        point, far = (_attachments(model, self.body)[k][0] for k in self.ends)
        way = far - point
        axis = way * (1.0 / np.sqrt(way @ way))
        inertia = _about(model, self.body, point, axis)
        return replace(self, point=point, axis=axis, inertia=inertia)

    def velocities(self, model: Model, state: MechanismState) -> tuple[Array, Any]:
        """Return P (nv,), dimensionless: the body turns with 1 rad/s, and no other; and the risk.

        Of symbols it is straight-line code, whose `risk` grows where a chain of joints that makes
        the spin is near a dead centre.
        """
        T, target = self._system(model, state)
        out, risk = zeros(model.nv, T, target), 0.0
        if T.dtype == object:
            rows = MinimumNorm(T.T)
            out[list(self.columns)], risk = rows.shares(target), rows.risk
        else:
            out[list(self.columns)] = np.linalg.lstsq(T, target, rcond=SINGULAR)[0]
        return out, risk

    def _system(self, model: Model, state: MechanismState) -> tuple[Array, Array]:
        """Return T and what T P is to be: motions of the bodies seen, at their own origins."""
        parts = [twist(model, state, body)[:, list(self.columns)] for body in self.seen]
        T = np.concatenate(parts)
        own = state.bodies[self.body].rotation
        axis, arm = own @ self.axis, own @ self.point
        target, k = zeros(len(T), axis, arm), 6 * self.seen.index(self.body)
        target[k : k + 3] = cross(arm, axis) * (1.0 / model.size)
        target[k + 3 : k + 6] = axis
        return T, target


def spins_of(model: Model, active: Array) -> tuple[Spin, ...]:
    """Return the bodies that can spin about themselves in general position.

    Parameters
    ----------
    active : (nv,) actuated velocities, and so do not take part
    """
    lines = {body: line for body in range(len(model.bodies)) if (line := _line(model, body))}
    if not lines:
        return ()
    positions = closed_positions(model)
    states = [state_vectors(model, q, np.zeros(model.nv)) for q in positions.q]
    exact = [row_choice(model).exact(J) for J in positions.phi_q]
    found = []
    for body, (point, axis, ends) in lines.items():
        heavy = [c for c in range(len(model.bodies)) if not _is_massless(model, c)]
        whole = Spin(body, "", point, axis, 0.0, tuple(range(model.nv)), tuple(heavy))
        moved = np.zeros(model.nv)
        for state, J in zip(states, exact, strict=True):
            T, target = whole._system(model, state)
            K = np.concatenate([T, J, np.eye(model.nv)[active]])
            right = np.concatenate([target, np.zeros(len(K) - len(T))])
            P = np.linalg.lstsq(K, right, rcond=SINGULAR)[0]
            if np.linalg.norm(K @ P - right) > CONSISTENT:
                break
            moved = np.maximum(moved, np.abs(P))
        else:
            columns = tuple(np.flatnonzero(moved > SINGULAR).tolist())
            seen = _told_apart(model, body, heavy, columns)
            name = next(link.name for link in model.links if link.body == body)
            whole_size = float(np.trace(model.bodies[body].inertia.central))
            whole_size += model.bodies[body].inertia.mass * model.size**2
            size = float(_about(model, body, point, axis))
            size = size if size > ROUNDED * whole_size else 0.0
            found.append(Spin(body, name, point, axis, size, columns, seen, ends))
    return tuple(found)


def spun(
    spins: tuple[Spin, ...], model: Model, state: MechanismState, a: Array, b: Array
) -> tuple[Array, Any]:
    """Return the accelerations (nv,) with those of the spins that follow from zero moments.

    And the risk that the spins' velocities are not good.

    Parameters
    ----------
    spins : with inertia
    a : (nv,) as given
    b : (nv,) -(M a + h), dimensionless in length (`loop_terms`)
    """
    whole: Any = 0.0
    for spin in spins:
        P, risk = spin.velocities(model, state)
        a = a + P * model.velocity_scale * ((P @ b) * (1.0 / spin.inertia))
        whole = whole + risk
    return a, whole


def spin_velocities(spins: tuple[Spin, ...], model: Model, state: MechanismState) -> Array:
    """Return the dimensionless velocities (spins, nv) of all spins."""
    each = [spin.velocities(model, state)[0] for spin in spins]
    return np.array(each).reshape(len(spins), model.nv)


def twist(model: Model, state: MechanismState, body: int) -> Array:
    """Return a body's motion (6, nv), at its own origin, for dimensionless velocities.

    Three rows of the velocity in sizes of the mechanism, three of the angular velocity; the axes
    are those of the root frame.
    """
    at = state.bodies[body].position
    out = zeros((6, model.nv), at, *(one.B for one in state.bodies))
    for j in np.flatnonzero(model.path[body]):
        joint, B = model.bodies[j], state.bodies[j].B
        for k in range(B.shape[1]):
            place = joint.v.start + k
            rate: Any = joint.ratio * float(model.velocity_scale[place])
            linear = B[:3, k] + cross(B[3:, k], at)
            out[:3, place] = out[:3, place] + linear * (rate / model.size)
            out[3:, place] = out[3:, place] + B[3:, k] * rate
    return out


def _line(model: Model, body: int) -> tuple[Array, Array, tuple[int, int]] | None:
    """Return point and direction of the line of a body's attachments, and two of these; None if
    they are on none.
    """
    if _is_massless(model, body) or _is_ground(model, body) or _rolls(model, body):
        return None
    if any(part.body == body for part in model.flexible):  # bent, it has no such line
        return None
    points, carriers, places = [], set(), []
    for k, (point, other) in enumerate(_attachments(model, body)):
        reached = _reached(model, other, body)
        carriers |= reached
        if reached:
            points.append(point)
            places.append(k)
    if len(carriers) < 2:
        return None
    ways = np.array([point - points[0] for point in points])
    end = int(np.argmax(np.linalg.norm(ways, axis=1)))
    far = ways[end]
    length = float(np.linalg.norm(far))
    if length < SINGULAR * model.size:
        return None
    axis = far / length
    beside = ways - np.outer(ways @ axis, axis)
    if np.abs(beside).max() > model.rank_tolerance * model.size:
        return None
    return points[0], axis, (places[0], places[end])


def _rolls(model: Model, body: int) -> bool:
    """Return whether a body is a wheel on a plane, or that plane: contacts move on a body."""
    ends = [cut for cut in model.cuts if any(isinstance(row, Height) for row in cut.rows)]
    return any(body in (cut.predecessor, cut.successor) for cut in ends)


def _attachments(model: Model, body: int) -> list[tuple[Array, int]]:
    """Return the places of the joints of a body, in its frame, and the bodies beyond them."""
    own, found = model.bodies[body], []
    if own.parent >= 0 and own.type.nv < 6:
        found.append((np.zeros(3), own.parent))
    for child in model.children[body]:
        if model.bodies[child].type.nv < 6:
            found.append((model.bodies[child].placement.translation, child))
    for cut in model.cuts:
        if not cut.rows or any(isinstance(row, Coupled) for row in cut.rows):
            continue
        if cut.predecessor == body:
            found.append((cut.a.translation, cut.successor))
        if cut.successor == body:
            found.append((cut.b.translation, cut.predecessor))
    return found


def _reached(model: Model, start: int, source: int) -> set[int]:
    """Return bodies with inertia, or the ground, that a joint leads to by massless ones."""
    found: set[int] = set()
    waiting, known = [start], {source}
    while waiting:
        body = waiting.pop()
        if body in known:
            continue
        known.add(body)
        if _is_ground(model, body) or not _is_massless(model, body):
            found.add(body)
        else:
            waiting += [other for _, other in _attachments(model, body)]
    return found


def _is_massless(model: Model, body: int) -> bool:
    bends = any(part.body == body for part in model.flexible)
    return model.bodies[body].inertia.is_zero() and not bends


def _is_ground(model: Model, body: int) -> bool:
    return body == 0 and not model.bodies[0].type.nv


def _told_apart(
    model: Model, body: int, heavy: list[int], columns: tuple[int, ...]
) -> tuple[int, ...]:
    """Return bodies with inertia whose motions differ in some velocities, one of each kind."""
    owners = [
        j
        for j, own in enumerate(model.bodies)
        if set(range(own.v.start, own.v.stop)) & set(columns)
    ]
    kinds: dict[tuple[bool, ...], int] = {}
    for c in (body, *heavy):
        carried = tuple(bool(x) for x in model.path[c, owners])
        if any(carried):
            kinds.setdefault(carried, c)
    return tuple(kinds.values())


def _about(model: Model, body: int, point: Array, axis: Array) -> Any:
    """Return a body's inertia about a line, kg m²."""
    own = model.bodies[body].inertia
    way = own.centre - point
    beside = way - axis * (axis @ way)
    return axis @ own.central @ axis + own.mass * (beside @ beside)
