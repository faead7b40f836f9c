"""Inverse dynamics of a mechanism with loops: drives and multipliers of motions that are given.

Many states go through one kernel in which the rows that are solved for are chosen beforehand
(`smallest`); states at which these are near to depending on each other, and few states, go by
singular values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import SolveError
from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.kernels.run.layout import check_inputs
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.solve.actuation import driven_velocities, explain_drives
from mbd_bridge.solve.finite import explain
from mbd_bridge.solve.loop_terms import (
    ACCELERATION,
    LACK,
    RISK,
    SHAKEN,
    SLACK,
    LoopTerms,
    given_external,
    judged,
    loop_terms,
    open_loop,
    prepare_terms,
    probes,
)
from mbd_bridge.solve.rank import CONSISTENT, TOLERANCE, pivoted
from mbd_bridge.solve.smallest import Smallest, operations
from mbd_bridge.solve.wrenches import Axes
from mbd_bridge.spatial import Array

OPEN = 1e-7
"""Part of an open multiplier from which on a drive or a load is said to depend on it."""

TRUSTED = 1e10
"""Risk up to which chosen rows are good: they are within 1e-5 of depending on each other, and the
refined solution has ten digits."""

NOTICED = 1e-10
"""Part of an open multiplier that a passive row may notice: beyond it, rows were chosen too few."""

FEW = 64
"""Up to so many states singular values are cheaper than making a kernel."""

LARGEST = 20_000
"""Multiply-adds of the factors that are still worth compiling: some seconds."""

SAMPLES = 9
"""States among which the rows are chosen: the one where they are farthest from dependent."""

BLOCK = 2_000_000
"""Numbers that are held at a time: 16 MB."""


class Drives(NamedTuple):
    """What makes a motion.

    Attributes
    ----------
    tau : (..., nv) generalised forces of the drives, N m or N; zero where nothing drives
    lam : (..., m) multipliers of the cuts' rows
    open : (..., PROBES, m) multipliers in general position among those that the equations leave
        open; zero, to rounding, where they leave none
    """

    tau: Array
    lam: Array
    open: Array


class ClosedInverse:
    """Drives and multipliers of one mechanism with loops, prepared once.

    Parameters
    ----------
    model : with at least one cut
    actuated : joints with a drive
    links : link indices that carry external wrenches (a further argument)
    axes : in which these are given
    """

    def __init__(
        self,
        model: Model,
        actuated: Iterable[str],
        links: tuple[int, ...] = (),
        axes: Axes = "link",
    ) -> None:
        self.model = model
        self.driven = driven_velocities(model, actuated)
        self._rows = len(model.row_scale)
        self._probes = probes(self._rows)
        self._inputs = {"q": model.nq, "v": model.nv, "a": model.nv}
        if links:
            self._inputs["external"] = 6 * len(links)
        self._links, self._axes = links, axes
        self._terms = prepare_terms(model, links, axes)
        self._whole: Kernel | None = None
        self._chosen = False

    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *external: ArrayLike,
        threads: int = 1,
        check: bool = True,
        minimum_norm: bool = False,
    ) -> Drives:
        """Return the drives of motions that satisfy the loops, at one state or at N states.

        Parameters
        ----------
        q, v, a, external : (n,) or (N, n)
        check : raise if a state does not satisfy the loops, or if the drives cannot make the
            motion or are more than it determines; False returns what comes nearest, smallest
        minimum_norm : more drives than the motion determines are allowed

        Raises
        ------
        StateError, SolveError
            What `check` found: which state, which loop, which drives, what to try.
        """
        arrays, number = check_inputs((q, v, a, *external), self._inputs)
        count = 1 if number is None else number
        parts, size = [], max(FEW, BLOCK // (8 * self._rows + 2 * self.model.nv))
        for start in range(0, max(count, 1), size):
            part = [x[start : start + size] if x.ndim == 2 else x for x in arrays]
            tau, lam, opened, facts = self._solve(part, number is None, count, threads)
            if check:
                self._check(start, arrays, tau, facts, minimum_norm)
            parts.append((tau, lam, opened))
        tau, lam, opened = (
            column[0] if len(column) == 1 else np.concatenate(column)
            for column in zip(*parts, strict=True)
        )
        opened = opened.reshape(*opened.shape[:-1], len(self._probes), self._rows)
        if number is None:
            tau, lam, opened = tau[0], lam[0], opened[0]
        return Drives(tau, lam, opened)

    def _solve(
        self, arrays: list[Array], single: bool, count: int, threads: int
    ) -> tuple[Array, ...]:
        """Return tau (N, nv), lam (N, m), open (N, PROBES m) and the facts (N, ...)."""
        if not self._chosen and count >= FEW:
            self._choose(arrays)
        if self._whole is None:
            return self._by_singular_values(arrays, single, threads)
        found = self._whole(*arrays, threads=threads)
        if single:
            found = tuple(x[None] for x in found)
        facts = found[-1]
        with np.errstate(invalid="ignore"):
            good = (facts[:, RISK] < TRUSTED) & (facts[:, SLACK] < NOTICED**2)
        bad = np.flatnonzero(~good)
        if len(bad):
            some = [x[bad] if x.ndim == 2 else x for x in arrays]
            for whole, slow in zip(found, self._by_singular_values(some, False, 1), strict=True):
                whole[bad] = slow
        return found

    def _by_singular_values(
        self, arrays: list[Array], single: bool, threads: int
    ) -> tuple[Array, ...]:
        if not single and all(x.ndim == 1 for x in arrays):
            single = True
        terms = LoopTerms(*self._terms(*arrays, threads=threads))
        if single:
            terms = LoopTerms(*(x[None] for x in terms))
        lam, opened = self._smallest(terms.A[:, ~self.driven], terms)
        risk = np.zeros((len(lam), 1))
        tau, facts = judged(terms, self.driven, lam, opened, risk)
        scale = self.model.row_scale
        opened = (opened / scale).reshape(len(lam), self._probes.size)
        return tau / self.model.velocity_scale, lam / scale, opened, facts

    def _smallest(self, A: Array, terms: LoopTerms) -> tuple[Array, Array]:
        """Return λ (N, m) and what is open of the probes (N, PROBES, m), dimensionless."""
        count, rows = len(A), self._rows
        lam, opened = np.full((count, rows), np.nan), np.zeros((count, *self._probes.shape))
        b = terms.b[:, ~self.driven]
        sound = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(b).all(axis=1)
        if not A.shape[1]:
            return np.zeros((count, rows)), opened + self._probes
        U, s, Vt = np.linalg.svd(A[sound], full_matrices=False)
        largest = np.sqrt((terms.A[sound] ** 2).sum(axis=(1, 2)))
        keep = s > TOLERANCE * largest[:, None]
        inverse = np.where(keep, 1.0 / np.where(keep, s, 1.0), 0.0)
        along = np.einsum("npk,np->nk", U, b[sound]) * inverse
        lam[sound] = np.einsum("nkm,nk->nm", Vt, along)
        kept = Vt * keep[:, :, None]
        opened[sound] = self._probes - np.einsum("nkm,nkl,pl->npm", kept, kept, self._probes)
        return lam, opened

    def _choose(self, arrays: list[Array]) -> None:
        """Choose the rows that are solved for at some of the states, and make the kernel."""
        self._chosen = True
        count = max(len(x) for x in arrays if x.ndim == 2)
        sample = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).astype(int))
        A, *_ = self._terms(*(x[sample] if x.ndim == 2 else x for x in arrays))
        passive = np.flatnonzero(~self.driven)
        best: tuple[int, float, tuple[int, ...]] = (-1, 0.0, ())
        for one in A[np.isfinite(A).all(axis=(1, 2))]:
            found = pivoted(one[passive].T, TOLERANCE, float(np.linalg.norm(one)))
            floor = float(found.pivots[found.rank - 1]) if found.rank else 1.0
            rows = tuple(sorted(int(k) for k in passive[found.order[: found.rank]]))
            best = max(best, (found.rank, floor, rows))
        rank, _, rows = best
        if rank < 0 or operations(A[0][list(rows)]) > LARGEST:
            return

        def function(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
            external = given_external(self.model, q, self._links, self._axes, *rest)
            terms = loop_terms(self.model, q, v, a, external)
            some = Smallest(terms.A[list(rows)])
            lam = some.solution(terms.b[list(rows)])
            opened = np.array([some.unnoticed(probe) for probe in self._probes])
            tau, facts = judged(terms, self.driven, lam, opened, np.array([some.risk]))
            scale = 1.0 / self.model.row_scale
            flat = np.concatenate([probe * scale for probe in opened])
            return tau * (1.0 / self.model.velocity_scale), lam * scale, flat, facts

        driven = np.flatnonzero(self.driven).tolist()
        self._whole = compile_kernel(
            function,
            self._inputs,
            outputs=("tau", "lam", "open", "facts"),
            name="closed_inverse",
            identity=f"{digest(self.model)} inverse {self._links} {self._axes} {driven} {rows}",
        )

    def _check(
        self, start: int, arrays: list[Array], tau: Array, facts: Array, minimum_norm: bool
    ) -> None:
        """Raise for the first of some states that is not what it should be."""
        if not (np.isfinite(tau).all() and np.isfinite(facts).all()):
            explain(self.model, dict(zip(self._inputs, arrays, strict=True)), tau, facts)
        off = np.argwhere(facts[:, : ACCELERATION + 1] > CONSISTENT**2)
        if len(off):
            self._say_open(start + int(off[0, 0]), int(off[0, 1]), arrays)
        lacking = np.flatnonzero(facts[:, LACK] > CONSISTENT**2)
        if len(lacking):
            k = start + int(lacking[0])
            raise SolveError(
                f"state {k}: the drives given cannot make this motion: {self._explained(k, arrays)}"
            )
        shared = np.flatnonzero((facts[:, SHAKEN:] > OPEN**2).any(axis=1))
        if len(shared) and not minimum_norm:
            k = start + int(shared[0])
            raise SolveError(
                f"state {k}: the motion does not determine the drives given: "
                f"{self._explained(k, arrays)}. Or take the loads that are smallest for the loop "
                f"joints, with flags at all that is not determined: minimum_norm=True"
            )

    def _state(self, k: int, arrays: list[Array]) -> tuple[Array, ...]:
        return self._terms(*(x[k] if x.ndim == 2 else x for x in arrays))

    def _explained(self, k: int, arrays: list[Array]) -> str:
        return explain_drives(self.model, self._state(k, arrays)[0].T, self.driven)

    def _say_open(self, k: int, which: int, arrays: list[Array]) -> None:
        raise open_loop(self.model, k, which, self._state(k, arrays)[2][which])
