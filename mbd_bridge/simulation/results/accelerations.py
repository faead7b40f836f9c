"""Accelerations, multipliers and forces of prescribed motions at states of a motion.

    [M Φ_qᵀ Eᵀ; Φ_q 0 0; E 0 0] [q̈; λ; λ_d] = [τ - h; γ; f''(t)]           Lee94 (22)

E picks the prescribed velocities. The forces of prescribed motions are -λ_d.

Near a singular position digits are lost there. A position is closed to rounding, ε; at the distance
σ from a singular position it is off its branch by ε/σ, its velocity by ε/σ², and so its
acceleration by ε/σ³. Along the branch it is smooth. So it is taken from both sides, at the
distances d, 2d and 3d along the branch that the velocity tells, with f_k the mean of both sides:

    f(0) = (15 f_1 - 6 f_2 + f_3) / 10 + O(d⁶)

What that would change by more than ε/σ³ is not rounding (a linkage that just fails to be flat), and
stays as it is.

Multipliers are taken so as well where they balance the forces. Where they do not, they grow like
1/σ towards the singular position, as in a toggle; then they follow from the accelerations:

    [Φ_qᵀ Eᵀ] λ = τ - h - M q̈                                       Lee94 (22), smallest
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.closed_forward import ClosedForward
from mbd_bridge.solve.dynamics import prepare_shared
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import AT_REST, NEAR_SINGULAR, SENSITIVE_MULTIPLIERS, SINGULAR

PROBE = 1e-7
"""rad, or parts of the mechanism's size: how far a record is moved to see how sensitive it is. That
is out of a singular position that was hit exactly: its rank has `SINGULAR`."""


ROUNDING = 1e-14
"""ε: what is left open, relative to the mechanism's size."""


VANISHED = 1e-100
"""A σ that may be divided by."""


APART = 4e-2
"""rad, or parts of the mechanism's size: the distance d, well beyond where digits are lost."""


WEIGHTS = (1.5, -0.6, 0.1)
"""Of the means at d, 2d and 3d."""


FEWER = (4 / 3, -1 / 3, 0.0)
"""The same with O(d⁴)."""


BETTER = 0.01
"""Part of their difference that O(d⁶) is about: some d²."""


BALANCED = 1e-10
"""Forces that are left over by rounding, relative to all that act."""


MOST = 0.05
"""Share of the records that may be near a singular position; with more (and more than `FEW`), the
machine is ill-conditioned everywhere, and sides are of no use."""


FEW = 64
"""Records that always may be: of a short motion, or a slow one."""


Solve = Callable[[Array, Array, Array], tuple[Array, Array]]
"""Accelerations and multipliers of records, given their numbers, positions and velocities."""


class NearSingular:
    """Finds such records of a motion and answers for them.

    Parameters
    ----------
    prescribed_velocities : velocities whose acceleration is prescribed; their multipliers follow
        those of the cuts
    """

    def __init__(self, model: Model, prescribed_velocities: tuple[int, ...] = ()) -> None:
        self.model, self._loops = model, LoopChecker(model)
        self._scale = model.velocity_scale
        self._rank: int | None = None
        self._own = np.eye(model.nv)[list(prescribed_velocities)]
        self._rows = np.append(model.row_scale, self._scale[list(prescribed_velocities)])
        self._way = np.random.default_rng(0).uniform(0.5, 1.0, model.nq)  # of quaternions, too
        for body in model.bodies:
            if not body.coupled and body.type.nq == body.type.nv:
                self._way[body.q] *= self._scale[body.v]

    def mend(
        self,
        solve: Solve,
        tau: Array,
        q: Array,
        v: Array,
        a: Array,
        lam: Array,
        records: int | None = None,
    ) -> Array:
        """Overwrite accelerations (K, nv) and multipliers (K, m + D) where digits are lost.

        Returns which records these are (K,). `records` is the number of those of the whole motion,
        if these are some.
        """
        recovered = np.zeros(len(q), dtype=bool)
        weak = self._weak(solve, q, v, a, lam)
        if len(weak) > max(FEW, int(MOST * (len(q) if records is None else records))):
            return recovered
        for k, lost in weak.items():
            sides = self._from_both_sides(solve, k, q[k], v[k])
            if sides is None:
                continue
            found, smooth = sides
            if not np.abs((found[0] - a[k]) / self._scale).max() > lost:
                a[k] = found[0]
                lam[k] = self._multipliers(tau[k], q[k], v[k], found, smooth)
                recovered[k] = True
        return recovered

    def _weak(self, solve: Solve, q: Array, v: Array, a: Array, lam: Array) -> dict[int, float]:
        """Return records that are near, and what of their accelerations may be lost."""
        rates = v / self._scale
        _, other = solve(np.arange(len(q)), q + PROBE * self._way, v)
        change, size = (_largest(x * self._rows) for x in (other - lam, lam))
        steady = change <= SENSITIVE_MULTIPLIERS * size
        looked = np.flatnonzero(~steady & (np.linalg.norm(rates, axis=1) > AT_REST))
        if not len(looked):
            return {}
        values = np.linalg.svd(self._loops.at(q[looked])[1], compute_uv=False)
        first = looked[0]
        sigma = values[:, self._branch_rank(q[first], v[first]) - 1] / values[:, 0]
        sizes = _largest(a[looked] / self._scale) + _largest(rates[looked]) ** 2
        lost = ROUNDING / np.maximum(sigma, VANISHED) ** 3 * sizes
        return {int(looked[k]): float(lost[k]) for k in np.flatnonzero(sigma < NEAR_SINGULAR)}

    def _branch_rank(self, q: Array, v: Array) -> int:
        """Return the rank of Φ_q a little further on, where it is that of the motion."""
        if self._rank is None:
            step = APART / float(np.linalg.norm(v / self._scale))
            places = [self._along(q, v, way) for way in (step, -step)]
            there = [q, *(place[0] for place in places if place is not None)]
            values = [np.linalg.svd(self._loops.at(x)[1], compute_uv=False) for x in there]
            self._rank = max(int(np.sum(s > SINGULAR * s[0])) for s in values)
        return self._rank

    def _from_both_sides(
        self, solve: Solve, k: int, q: Array, v: Array
    ) -> tuple[Array, Array] | None:
        """Return accelerations (2, nv) and multipliers (2, m + D) by both formulas."""
        step = APART / float(np.linalg.norm(v / self._scale))
        ways = [sign * (n + 1) * step for n in range(len(WEIGHTS)) for sign in (1.0, -1.0)]
        places = [self._along(q, v, way) for way in ways]
        if any(place is None for place in places):
            return None
        there, rates = (np.array(x) for x in zip(*places, strict=True))
        weights = 0.5 * np.repeat([WEIGHTS, FEWER], 2, axis=1)
        a, lam = solve(np.full(len(ways), k), there, rates)
        return weights @ a, weights @ lam

    def _multipliers(self, tau: Array, q: Array, v: Array, a: Array, smooth: Array) -> Array:
        """Return the smooth ones if they balance the forces, else those that do so best."""
        (moved,) = prepare_shared(self.model, "inverse_dynamics")(q, v, a)
        left = (tau - moved) * self._scale
        A = np.vstack([self._loops.at(q)[1], self._own]).T
        held = (smooth * self._rows) @ A.T
        size = np.abs(tau * self._scale).max() + np.abs(left[0]).max() + np.abs(held[0]).max()
        best, other = left - held
        if np.abs(best).max() <= BALANCED * size + BETTER * np.abs(best - other).max():
            return np.asarray(smooth[0])
        return np.asarray(np.linalg.lstsq(A, left[0], rcond=SINGULAR)[0] / self._rows)

    def _along(self, q: Array, v: Array, way: float) -> tuple[Array, Array] | None:
        """Return the state that the branch reaches when v lasts for `way` seconds."""
        place = self._loops.closed(self._loops.model.integrate(q, way * v))
        if place is None:
            return None
        for _ in range(2):  # to rounding: what is left open counts a million times
            step, _ = self._loops.correction(place, SINGULAR)
            place = self._loops.model.integrate(place, -self._scale * step)
        J, rate = self._loops.at(place)[1], v / self._scale
        return place, self._scale * (rate - np.linalg.pinv(J, rcond=SINGULAR) @ (J @ rate))


def near_singular(model: Model, prescribed_velocities: tuple[int, ...], J: Array) -> Array:
    """Return which states (...) are nearer to a singular position than `NEAR_SINGULAR`.

    Parameters
    ----------
    prescribed_velocities : velocities that are prescribed
    J : (..., m, nv) Φ_q without dimension; a state that is not finite is not near
    """
    J = np.delete(J, list(prescribed_velocities), axis=-1)
    there = np.asarray(np.isfinite(J).all(axis=(-2, -1)))
    near = np.zeros(there.shape, dtype=bool)
    rank = row_choice(model, prescribed_velocities).rank
    if rank:
        values = np.linalg.svd(J[there], compute_uv=False)
        near[there] = values[:, rank - 1] < NEAR_SINGULAR * values[:, 0]
    return near


def _largest(x: Array) -> Array:
    """Return the largest magnitude of each record's numbers."""
    found = np.zeros(len(x))
    for column in np.abs(x).T:  # a tenth of the time of max(axis=1): records are many, columns few
        np.maximum(found, column, out=found)
    return found


class Answer(NamedTuple):
    """Accelerations (K, nv), multipliers of the cuts (K, m), forces of the prescribed motions (K,
    D).

    Attributes
    ----------
    recovered : (K,) which were taken from both sides of a singular position; None for none
    """

    a: Array
    lam: Array
    prescribed_forces: Array
    recovered: Array | None = None


class Accelerations:
    """Dynamics of one model with its prescribed motions; redundant rows are allowed.

    Multipliers of redundant rows are the smallest that give the motion. A tree without prescribed
    motions is solved as a tree; one with prescribed motions in one kernel, in which no row can
    depend on another.
    """

    def __init__(self, model: Model, prescribed_velocities: tuple[int, ...] = ()) -> None:
        self.model, self.prescribed_velocities = model, prescribed_velocities
        self._prescribed_kernel: Kernel | None = None
        if model.has_loops:
            self._closed = ClosedForward(model, prescribed_velocities=prescribed_velocities)
            self._near = NearSingular(model, prescribed_velocities)
        elif prescribed_velocities:
            self._prescribed_kernel = _make_prescribed_kernel(model, prescribed_velocities)

    def prepare(self) -> None:
        """Compile what answers need, near singular positions too."""
        if self.model.has_loops:
            self._closed.prepare()
            prepare_shared(self.model, "inverse_dynamics")
        elif self._prescribed_kernel is None:
            prepare_shared(self.model, "forward_dynamics")

    def __call__(
        self,
        q: Array,
        v: Array,
        tau: Array,
        prescribed: Array | None = None,
        records: int | None = None,
    ) -> Answer:
        """Return the answer at K states: q (K, nq), v, tau (K, nv).

        Parameters
        ----------
        prescribed : (K, D) accelerations of the prescribed motions
        records : of the motion that these states are some of; None if they are all
        """
        none = np.zeros((len(q), 0))
        wanted = [] if prescribed is None or not self.prescribed_velocities else [prescribed]
        if self.model.has_loops:

            def solve(records: Array, places: Array, rates: Array) -> tuple[Array, Array]:
                given = (x[records] for x in (tau, *wanted))
                return self._closed(places, rates, *given, check=False)

            a, lam = solve(np.arange(len(q)), q, v)
            recovered = self._near.mend(solve, tau, q, v, a, lam, records)
            cut = len(self.model.row_scale)
            return Answer(a, lam[:, :cut], -lam[:, cut:], recovered)
        if self._prescribed_kernel is None:
            a, _ = prepare_shared(self.model, "forward_dynamics")(q, v, tau)
            return Answer(a, none, none)
        a, lam = self._prescribed_kernel(q, v, tau, *wanted)
        return Answer(a, none, -lam)


def _make_prescribed_kernel(model: Model, prescribed_velocities: tuple[int, ...]) -> Kernel:
    def function(q: Array, v: Array, tau: Array, wanted: Array) -> tuple[Array, ...]:
        found = closed_acceleration(model, (), q, v, tau, prescribed_velocities, wanted)
        return found.a, found.lam

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv, "wanted": len(prescribed_velocities)}
    return compile_kernel(function, inputs, outputs=("a", "lam"), name="prescribed_dynamics")
