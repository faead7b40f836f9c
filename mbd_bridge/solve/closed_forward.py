"""Forward dynamics of a mechanism with loops: accelerations and multipliers.

All states go through one kernel (`closed`) with the rows that `row_choice` finds for the model, and
the multipliers of all rows that are smallest of those with the same effect (`minimum_norm`). So a
state has the same digits alone and among others, first and last.

Prescribed velocities are further rows, Φ_q a row of the unit matrix. States at which the rows are
near to depending on each other, or do not say what others say, go one by one by singular values of
rows chosen there (`reduced`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import SolveError, StateError, one_of
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels.layout import check_inputs
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import variant_of
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.check_states import explain
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.dynamics import prepare_shared
from mbd_bridge.solve.factor import LARGEST, operations, spread
from mbd_bridge.solve.loop_terms import (
    ACCELERATION,
    VELOCITY,
    LoopTerms,
    loop_terms,
    prepare_terms,
    refuse_open,
)
from mbd_bridge.solve.model_kernel import shared_kernel
from mbd_bridge.solve.reduced import METHODS, Method, by_method
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import CONSISTENT, ROWS_RISK
from mbd_bridge.solve.wrenches import Axes


class ClosedForward:
    """Accelerations and multipliers of one mechanism with loops, prepared once.

    Parameters
    ----------
    model : with at least one cut
    links : link indices that carry external wrenches (a further argument)
    prescribed_velocities : velocities whose acceleration is prescribed (a further argument),
        independent of each other and of the loops
    axes : in which the wrenches are given
    """

    def __init__(
        self,
        model: Model,
        links: tuple[int, ...] = (),
        prescribed_velocities: tuple[int, ...] = (),
        axes: Axes = "link",
    ) -> None:
        self.model, self.prescribed_velocities = model, prescribed_velocities
        self._applied = AppliedForces(links, axes)
        variant = variant_of(model)
        base = model if variant is None else variant[0].model  # whose scales shared kernels have
        self._columns = base.velocity_scale
        self._scale = np.append(base.row_scale, self._columns[list(prescribed_velocities)])
        self._inputs = {"q": model.nq, "v": model.nv, "tau": model.nv}
        if prescribed_velocities:
            self._inputs["wanted"] = len(prescribed_velocities)
        self._inputs |= self._applied.inputs
        self._mass = prepare_shared(model, "mass_matrix")
        self._terms = prepare_terms(model, self._applied, shared=True)
        self._loops, self._choice = row_choice(model), row_choice(model, prescribed_velocities)

    def prepare(self) -> None:
        """Compile now what the first answer would compile."""
        _ = self._whole

    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *more: ArrayLike,
        method: Method | None = None,
        threads: int = 1,
        check: bool = True,
    ) -> tuple[Array, Array]:
        """Return accelerations (..., nv) and multipliers (..., m + prescribed), one state or N.

        Parameters
        ----------
        q, v, tau : (n,) or (N, n)
        more : accelerations of the prescribed velocities (D,) or (N, D), if there are any; then
            external wrenches, if links carry them
        method : one of the four roads of `reduced`, state by state, to compare; None: the fast one
        check : raise if a state is not finite or does not satisfy the loops
        """
        check = flag("check", check)
        if method is not None:
            one_of("method", method, METHODS, StateError)
        arrays, number = check_inputs((q, v, tau, *more), self._inputs)
        single, count = number is None, 1 if number is None else number
        if not all(np.isfinite(x).all() for x in arrays):
            if check:
                explain(self.model, dict(zip(self._inputs, arrays, strict=True)))
            return self._where_finite(arrays, number, method, threads)
        whole = self._whole if method is None else None
        if whole is None:
            a, lam = self._one_by_one(arrays, count, method or "svd", check)
            if check:
                explain(self.model, dict(zip(self._inputs, arrays, strict=True)), a, lam)
            return (a[0], lam[0]) if single else (a, lam)
        a, lam, facts = whole(*arrays, threads=threads)
        if single:
            a, lam, facts = a[None], lam[None], facts[None]
        with np.errstate(invalid="ignore"):
            good = (facts[:, :2] < ROWS_RISK).all(axis=1)
            good &= facts[:, 2] < self._choice.consistent**2
        if check:
            self._check(arrays, facts[:, 3:], good)
        bad = np.flatnonzero(~good)
        if len(bad):
            rows = [x[bad] if x.ndim == 2 else x for x in arrays]
            a[bad], lam[bad] = self._one_by_one(rows, len(bad), "svd", False)
        if check:
            explain(self.model, dict(zip(self._inputs, arrays, strict=True)), a, lam)
        return (a[0], lam[0]) if single else (a, lam)

    def _where_finite(
        self, arrays: list[Array], number: int | None, method: Method | None, threads: int
    ) -> tuple[Array, Array]:
        """Return nan at the states at which an input is not finite."""
        lead = () if number is None else (number,)
        a = np.full((*lead, self.model.nv), np.nan)
        lam = np.full((*lead, len(self._scale)), np.nan)
        flags = [np.isfinite(x).all(axis=-1) for x in arrays]
        sound = np.logical_and.reduce([np.broadcast_to(flag, lead) for flag in flags])
        if number is not None and sound.any():
            q, *rest = (x[sound] if x.ndim == 2 else x for x in arrays)
            a[sound], lam[sound] = self(q, *rest, method=method, threads=threads)
        return a, lam

    def _check(self, arrays: list[Array], squares: Array, fits: Array) -> None:
        """Raise for the first state whose position or velocity does not satisfy the loops.

        Parameters
        ----------
        squares : (N, 2) of what is left of Φ and Φ̇, weighted
        fits : (N,) whether the first choice of rows, by which it is weighted, tells the motion
        """
        sure = (squares <= CONSISTENT**2).all(axis=1) & (fits | self._loops.precise)

        def terms(some: Array) -> LoopTerms:
            return self._at([x[some] if x.ndim == 2 else x for x in arrays])

        refuse_open(self.model, self._loops, np.flatnonzero(~sure), terms, VELOCITY)  # nan too

    def _at(self, arrays: list[Array]) -> LoopTerms:
        """Return the equations at rest of the accelerations: b = -h, and γ is -left[2]."""
        q, v, _, *more = arrays
        more = more[1:] if self.prescribed_velocities else more
        return LoopTerms(*self._terms(q, v, np.zeros(self.model.nv), *more))

    def _one_by_one(
        self, arrays: list[Array], count: int, method: Method, check: bool
    ) -> tuple[Array, Array]:
        columns, terms = self._columns, self._at(arrays)
        if check:
            squares = np.broadcast_to(self._open_by(terms), (count, 2))
            self._check(arrays, squares, np.zeros(count, dtype=bool))
        wanted = arrays[3] if self.prescribed_velocities else np.zeros(0)
        (M,) = self._mass(arrays[0])
        force, gamma = arrays[2] * columns + terms.b, -terms.left[..., ACCELERATION, :]
        parts = ((2, M), (1, force), (2, terms.A), (1, gamma), (1, wanted))
        each = (_repeated(x, rank, count) for rank, x in parts)
        own = np.eye(self.model.nv)[list(self.prescribed_velocities)]
        a, lam = np.empty((count, self.model.nv)), np.empty((count, len(self._scale)))
        scale = columns[list(self.prescribed_velocities)]
        for k, (m, f, A, g, w) in enumerate(zip(*each, strict=True)):
            rows, right = np.vstack([A.T, own]), np.concatenate([g, w / scale])
            inertia = m * np.outer(columns, columns)
            with np.errstate(over="ignore", invalid="ignore"):  # nan is found with the results
                places = self._places(self._choice.at(A.T))
                found = by_method(inertia, f, rows, right, method, places)
                a[k], lam[k] = columns * found.a, found.lam / self._scale
        return a, lam

    def _places(self, chosen: tuple[int, ...]) -> list[int]:
        """Return the rows that count: independent ones of the cuts, then the prescribed ones."""
        return [*chosen, *range(len(self.model.row_scale), len(self._scale))]

    @cached_property
    def _whole(self) -> Callable[..., tuple[Array, ...]] | None:
        """The kernel, if it is worth compiling."""
        chosen = self._choice.rows
        if operations(self._choice.pattern[list(chosen)].astype(np.float64)) > LARGEST:
            return None
        try:
            return self._kernel(chosen)
        except SolveError:
            return None  # something is massless that only the loops hold: singular values need less

    def _kernel(self, chosen: tuple[int, ...]) -> Callable[..., tuple[Array, ...]]:
        columns, scale = self._columns, self._scale
        cuts = len(self.model.row_scale)
        places = self._places(chosen)
        inverse, still = 1.0 / scale, np.zeros(self.model.nv)
        own = np.eye(self.model.nv)[:, list(self.prescribed_velocities)]

        def function_of(model: Model) -> Callable[..., tuple[Array, ...]]:
            def function(q: Array, v: Array, tau: Array, *more: Array) -> tuple[Array, ...]:
                rest = list(more)
                wanted = rest.pop(0) if self.prescribed_velocities else np.zeros(0)
                external = self._applied.at(model, q, v, *rest).external
                found = closed_acceleration(
                    model,
                    chosen,
                    q,
                    v,
                    tau,
                    self.prescribed_velocities,
                    wanted if self.prescribed_velocities else None,
                    external,
                )
                terms = loop_terms(model, q, v, still, external)
                A = np.hstack([terms.A, own])
                lam, risk = spread(A.T, places, found.lam * scale[places])
                right = np.concatenate([-terms.left[ACCELERATION], wanted * inverse[cuts:]])
                rate = found.a * (1.0 / columns)
                left = A.T @ rate - right
                size = (A * A).sum(axis=1) @ (rate * rate) + (right * right).sum()
                facts = np.array([found.risk, risk, (left * left).sum() / (1.0 + size)])
                return found.a, lam * inverse, np.concatenate([facts, self._open_by(terms)])

            return function

        outputs = ("a", "lam", "facts")
        weights = self._loops.weights(chosen).tolist()  # of rough files they differ by variant
        what = self.prescribed_velocities, chosen, self._applied, weights
        described = self.model, "closed_forward", self._inputs, outputs
        return shared_kernel(*described, function_of, what)

    def _open_by(self, terms: LoopTerms) -> Array:
        """Return squares (..., 2) of what is left of Φ and Φ̇, relative to their terms,
        weighted.
        """
        weights = self._loops.weights(self._choice.rows)
        left, size = terms.left[..., :2, :] * weights, terms.size[..., :2]
        return np.asarray((left * left).sum(axis=-1) / (1.0 + size))


def _repeated(x: Array, rank: int, count: int) -> Array:
    """Return an array of states: the same one for all if there is only one."""
    return x if x.ndim > rank else np.broadcast_to(x, (count, *x.shape))
