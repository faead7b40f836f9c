"""What is given of a motion: coordinates of joints, and positions and orientations of frames.

Each is a row r(q) = 0 with a rate, as those of a loop:

    coordinates             difference(given, q)                 rate: the velocity
    positions of a frame    x - x_given, world axes              ẋ
    orientation of a frame  log(R R_givenᵀ), world axes          ω
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from mbd_bridge.base.errors import ModelError, count, some
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.quaternions import (
    exponential,
    logarithm,
    matrices_of,
    quaternions_of,
)
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.frames import NamedFrame, prepare_frames
from mbd_bridge.solve.moves import difference, moved
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.spins import spin_velocities, spins_of


@dataclass(frozen=True, eq=False)
class FrameRows:
    """A frame of which something is given.

    Attributes
    ----------
    frame : which one
    rows : of its six, x, y, z and the three turns, those that are given
    """

    frame: NamedFrame
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class GivenMotion:
    """Values of what is given, at N times.

    Attributes
    ----------
    time : (N,) s
    q, v, a : (N, nq), (N, nv): coordinates that are given; the others mean nothing
    position, rotation : (N, F, 3) m, (N, F, 3, 3) of the frames
    twist, change : (N, F, 6) [ẋ; ω] and [ẍ; ω̇] in world axes
    """

    time: Array
    q: Array
    v: Array
    a: Array
    position: Array
    rotation: Array
    twist: Array
    change: Array

    def part(self, rows: slice) -> GivenMotion:
        """Return some of the times."""
        return GivenMotion(*(getattr(self, name)[rows] for name in NAMES))

    def followed_by(self, other: GivenMotion) -> GivenMotion:
        """Return the times of both."""
        both = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in NAMES)
        return GivenMotion(*both)

    def between(self, start: int, end: int, parts: tuple[float, ...], model: Model) -> GivenMotion:
        """Return what is given on the straight way from one time to another, at parts of it."""
        k = np.array(parts)[:, None]
        n = len(parts)
        first, last = np.full(n, start), np.full(n, end)
        q = moved(model, self.q[first], k * difference(model, self.q[first], self.q[last]))
        position = self.position[first] + k[..., None] * (
            self.position[last] - self.position[first]
        )
        count = self.position.shape[1]
        R = self.rotation[first].reshape(-1, 3, 3)
        turned = self.rotation[last].reshape(-1, 3, 3) @ np.swapaxes(R, 1, 2)
        turn = logarithm(quaternions_of(turned)) * np.repeat(k, count, axis=0)
        rotation = (matrices_of(exponential(turn)) @ R).reshape(n, count, 3, 3)
        return GivenMotion(
            self.time[first],
            q,
            self.v[first],
            self.a[first],
            position,
            rotation,
            self.twist[first],
            self.change[first],
        )


NAMES = tuple(own.name for own in fields(GivenMotion))


class GivenRows:
    """The rows of what is given, without dimension.

    Parameters
    ----------
    columns : velocities whose coordinates are given
    frames : of which something is given

    Attributes
    ----------
    names : of the rows, such as "crank" and "tool.x"
    scale : (rows,) what they are divided by: the mechanism's size for lengths, 1 for angles
    """

    def __init__(
        self, model: Model, columns: tuple[int, ...], frames: tuple[FrameRows, ...]
    ) -> None:
        self.model, self.columns, self.frames = model, columns, frames
        self._of_frames = np.array(
            [6 * f + row for f, own in enumerate(frames) for row in own.rows], dtype=int
        )
        self._kernel: Kernel | None = None
        sizes = [model.size if row % 6 < 3 else 1.0 for row in self._of_frames]
        self.scale = np.concatenate([model.velocity_scale[list(columns)], sizes])
        turns = ("x", "y", "z", "turn about x", "turn about y", "turn about z")
        self.names = tuple(model.velocity_names[k] for k in columns) + tuple(
            f"{own.frame.name}.{turns[row]}" for own in frames for row in own.rows
        )

    def __len__(self) -> int:
        return len(self.names)

    def place(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return positions, rotations, Jacobians and drifts of the frames at states (n, ...)."""
        if not self.frames:
            n = len(q)
            empty = np.zeros((n, 0, 3)), np.zeros((n, 0, 3, 3))
            return *empty, np.zeros((n, 0, 6, self.model.nv)), np.zeros((n, 0, 6))
        if self._kernel is None:
            self._kernel = prepare_frames(self.model, [own.frame for own in self.frames])
        x, R, J, drift = self._kernel(q, v)
        return x, R, J, drift

    def residual(self, q: Array, x: Array, R: Array, given: GivenMotion, numbers: Array) -> Array:
        """Return the rows (n, rows) at positions, for the times with these numbers."""
        own = difference(self.model, given.q[numbers], q)[:, list(self.columns)]
        return self._joined(own, x - given.position[numbers], R, given.rotation[numbers])

    def steps(self, given: GivenMotion, start: Array, end: Array) -> Array:
        """Return by how much what is given changes between times (n, rows)."""
        own = difference(self.model, given.q[start], given.q[end])[:, list(self.columns)]
        way = given.position[end] - given.position[start]
        return self._joined(own, way, given.rotation[end], given.rotation[start])

    def jacobian(self, J: Array) -> Array:
        """Return the rows' derivatives (n, rows, nv) for dimensionless velocities."""
        n, nv = len(J), self.model.nv
        out = np.zeros((n, len(self), nv))
        count = len(self.columns)
        out[:, np.arange(count), list(self.columns)] = 1.0
        scaled = (
            J.reshape(n, 6 * len(self.frames), nv)[:, self._of_frames] * self.model.velocity_scale
        )
        out[:, count:] = scaled / self.scale[count:, None]
        return out

    def rates(self, given: GivenMotion) -> Array:
        """Return the rows' rates (N, rows)."""
        return self._of(given.v, given.twist)

    def changes(self, given: GivenMotion, drift: Array) -> Array:
        """Return the rows' accelerations (N, rows), less those that velocities make."""
        return self._of(given.a, given.change - drift)

    def _of(self, own: Array, frames: Array) -> Array:
        of_frames = frames.reshape(len(own), 6 * len(self.frames))[:, self._of_frames]
        return np.asarray(np.hstack([own[:, list(self.columns)], of_frames]) / self.scale)

    def _joined(self, own: Array, way: Array, R: Array, R_given: Array) -> Array:
        n, count = way.shape[:2]
        turned = np.einsum("nfij,nfkj->nfik", R, R_given).reshape(n * count, 3, 3)
        turn = logarithm(quaternions_of(turned)).reshape(n, count, 3)
        both = np.concatenate([way, turn], axis=2).reshape(n, 6 * count)[:, self._of_frames]
        return np.asarray(np.hstack([own, both]) / self.scale)


class MotionEquations:
    """The loops and what is given: r(q) = 0, A x = b for dimensionless steps and rates x.

    Parameters
    ----------
    constraints : the kernel of Φ, Φ_q and γ
    rows, chosen : what is given, and the rows of it that count; None: all

    Attributes
    ----------
    loops : independent rows of the loops, which come first
    """

    def __init__(
        self,
        model: Model,
        constraints: Kernel,
        rows: GivenRows,
        chosen: Sequence[int] | None = None,
    ) -> None:
        self.model, self.rows, self._constraints = model, rows, constraints
        self.chosen = list(range(len(rows)) if chosen is None else chosen)
        self.loops = list(row_choice(model).rows)

    def at(self, q: Array, given: GivenMotion, numbers: Array) -> tuple[Array, Array]:
        """Return r (n, k) and A (n, k, nv) at positions, for the times with these numbers."""
        still = np.zeros((len(q), self.model.nv))
        x, R, J, _ = self.rows.place(q, still)
        r = self.rows.residual(q, x, R, given, numbers)[:, self.chosen]
        A = self.rows.jacobian(J)[:, self.chosen]
        if not self.loops:
            return r, A
        phi, phi_q, _ = self._constraints(q, still)
        loops = self.model.scaled_jacobian(phi_q)[:, self.loops]
        r = np.hstack([(phi / self.model.row_scale)[:, self.loops], r])
        return r, np.concatenate([loops, A], axis=1)

    def steps(self, given: GivenMotion, start: Array, end: Array) -> Array:
        """Return b (n, k) of the steps from times to times."""
        return self._with_loops(self.rows.steps(given, start, end))

    def rates(self, given: GivenMotion) -> Array:
        """Return b (N, k) of the velocities."""
        return self._with_loops(self.rows.rates(given))

    def changes(self, q: Array, v: Array, given: GivenMotion) -> Array:
        """Return b (N, k) of the accelerations at states (N, n)."""
        b = self._with_loops(self.rows.changes(given, self.rows.place(q, v)[3]))
        if self.loops:
            gamma = self._constraints(q, v)[2]
            b[:, : len(self.loops)] = (gamma / self.model.row_scale)[:, self.loops]
        return b

    def _with_loops(self, own: Array) -> Array:
        return np.hstack([np.zeros((len(own), len(self.loops))), own[:, self.chosen]])


# Which of the rows that are given determine a motion.
#
# At positions in general position, with a basis N of the velocities that the loops allow, the rows
# G of what is given determine as many degrees of freedom as G N has rank. Rows are chosen class by
# class, the one that is farthest from dependent first: actuated joints, then all else that is
# given, then, if need be, what is held at rest. What is not chosen is compared afterwards.

ACTUATED, GIVEN, REST = range(3)
"""Classes of rows."""

INDEPENDENT = 1e-3
"""Part of a row that is its own among those chosen, in general position, from which on it counts:
what a file's digits leave of a redundant one is of the order of 1e-5."""


@dataclass(frozen=True, eq=False)
class RowSelection:
    """Rows that determine a motion.

    Attributes
    ----------
    chosen : indices of rows
    spins : links that spin as they will: nothing given determines it
    dof : of the machine
    """

    chosen: tuple[int, ...]
    spins: tuple[str, ...]
    dof: int


def select(model: Model, rows: GivenRows, classes: Array, rest: bool) -> RowSelection:
    """Return the rows that determine the motion.

    Parameters
    ----------
    classes : (rows,) of each: ACTUATED, GIVEN or REST
    rest : rows of the class REST may be taken

    Raises
    ------
    ModelError
        The rows leave degrees of freedom open: how many, and what to add.
    """
    positions, J = _general_positions(model)
    G = rows.jacobian(rows.place(positions, np.zeros((len(positions), model.nv)))[2])
    best, least = None, -1.0
    choice = row_choice(model)
    for q, phi_q, own in zip(positions, J, G, strict=True):
        N = choice.motions(phi_q) if model.has_loops else np.eye(model.nv)
        chosen, smallest = _pivoted(own @ N, classes, GIVEN)
        size = len(chosen) + min(smallest, 0.5)
        if size > least:
            best, least = (q, own @ N, N, chosen), size
    assert best is not None
    q, C, N, chosen = best
    dof = N.shape[1]
    spins = _spins(model, q, C[chosen], N) if len(chosen) < dof else ()
    if len(chosen) + len(spins) < dof:
        more, _ = _pivoted(C, classes, REST)
        if not rest:
            raise ModelError(_incomplete(rows, classes, C, chosen, dof))
        chosen, spins = more, ()
        if len(chosen) < dof:
            spins = _spins(model, q, C[chosen], N)
    return RowSelection(tuple(sorted(chosen)), spins, dof)


def _general_positions(model: Model) -> tuple[Array, Array]:
    """Return positions (P, nq), and the dimensionless Φ_q (P, m, nv) there."""
    if model.has_loops:
        found = closed_positions(model)
        return found.q, found.phi_q
    ways = np.random.default_rng(0).uniform(-0.9, 0.9, (3, model.nv)) * model.velocity_scale
    q = moved(model, np.tile(model.neutral(), (3, 1)), ways)
    return q, np.zeros((3, 0, model.nv))


def _pivoted(C: Array, classes: Array, last: int) -> tuple[list[int], float]:
    """Return independent rows of C (rows, dof), class by class, and the smallest pivot."""
    left, chosen, smallest = C.copy(), list[int](), 1.0
    for kind in range(last + 1):
        own = np.flatnonzero(classes == kind)
        while len(own) and len(chosen) < C.shape[1]:
            sizes = np.linalg.norm(left[own], axis=1)
            k = int(np.argmax(sizes))
            if sizes[k] < INDEPENDENT:
                break
            smallest = min(smallest, float(sizes[k]))
            chosen.append(int(own[k]))
            axis = left[own[k]] / sizes[k]
            left -= np.outer(left @ axis, axis)
    return chosen, smallest


def _spins(model: Model, q: Array, C: Array, N: Array) -> tuple[str, ...]:
    """Return the links whose spins are all that the chosen rows leave open; none if there is more.

    Parameters
    ----------
    C : (chosen, dof) the chosen rows
    """
    active = np.zeros(model.nv, dtype=bool)
    spins = spins_of(model, active)
    if not spins:
        return ()
    P = spin_velocities(spins, model, state_vectors(model, q, np.zeros(model.nv)))
    both = np.concatenate([C, P @ N])
    if np.linalg.matrix_rank(both, tol=INDEPENDENT) < N.shape[1]:
        return ()
    return tuple(spin.name for spin in spins)[: N.shape[1] - len(C)]


def _incomplete(rows: GivenRows, classes: Array, C: Array, chosen: list[int], dof: int) -> str:
    left = C.copy()
    for k in chosen:
        size = np.linalg.norm(left[k])
        left -= np.outer(left @ left[k], left[k]) / size**2
    helpful = [
        rows.names[k]
        for k in np.flatnonzero(classes == REST)
        if np.linalg.norm(left[k]) > INDEPENDENT
    ]
    names = [rows.names[k] for k in np.flatnonzero(classes != REST)]
    return (
        f"the columns given ({some(names) or 'none'}) determine {len(chosen)} of "
        f"{count(dof, 'degree of freedom')}: add {dof - len(chosen)} more, such as "
        f"{some(helpful)}, or hold what is missing where --near says (else at zero) with "
        f"--rest (rest=True)"
    )
