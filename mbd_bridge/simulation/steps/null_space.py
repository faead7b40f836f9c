"""What steps in the null space of the loops keep: a decomposition of Φ_q (`solve.null_space`).

Its numbers stand behind z in t. A step takes V1 and V2 from there for all its stages, puts its end
onto the loops with V2ᵀ q held (KimYoo97 (5.1)), and hands on the decomposition for the next step:

    svd         the same one, as long as |V2ᵀ q̇| / |q̇| is above a ratio (Mani's criterion, LeeJoo90)
    qr          the same one, as long as the pivots of Φ_q V1 have not lost too much
    projection  V2 projected onto the null space at the end, at each step, P_N V2 (KimYoo97 (A3))

All velocities are integrated, or with `coordinates="independent"` z' = V2ᵀ q̇ alone: each stage
takes the velocity on the loops that has the same z', q̇ = I_R b + N z' (LeeJoo90 (45), KimYoo97
(4.7)). As V2 stays during a step, its change has no part in z̈, and (4.8) leaves nothing out.

As KimYoo97 prints it (`form="printed"`) each stage has I_R = Φ_qᵀ (Φ_q Φ_qᵀ)⁻¹ and N = P_N V2, z̈
is integrated as if N stood still, and z' goes on unchanged where V2 is replaced by P_N V2.
Between steps z' is in the velocity, which is I_R b + V2 z' there.

svd looks at pivots as well: beside a singular position the velocity says nothing of them. With
prescribed motions the velocity is not in the null space, and only they tell. One of Newton's steps
brings the projected V2 back to unit length, of which a projection takes O(h²).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from mbd_bridge.kernels.expression import Tape
from mbd_bridge.kernels.tracing import Conditional
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.acts import Acting, Numbers
from mbd_bridge.simulation.steps.runge_kutta import Solver
from mbd_bridge.simulation.steps.schemes import NullSpace
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.closed import ClosedTerms, rows_of
from mbd_bridge.solve.factor import Eliminated
from mbd_bridge.solve.null_space import (
    Kept,
    KeptDecomposition,
    OnNullSpace,
    on_loops,
    on_null_space,
    pattern_of,
)

PROJECTED_TURNS = 1
"""Newton's steps of a V2 that was projected: of what it has lost, O(h²), O(h⁴) stays."""


class NearRows(Protocol):
    """What the last stage or iteration found."""

    @property
    def inner(self) -> Eliminated:
        """Factors of Φ_q V1."""


class NullSpaceMemory:
    """The decomposition that steps keep of some rows.

    Attributes
    ----------
    size : numbers of the memory
    """

    def __init__(self, system: System, rows: Sequence[int], scheme: NullSpace) -> None:
        self.system, self.rows, self.scheme = system, tuple(rows), scheme
        own, parameters = system.prescribed_velocities, system.parameters
        named = parameters and (parameters.names, parameters.live.tobytes())
        pattern = system.prepared.get(("Φ_q", self.rows, own, named), self._pattern)
        self._parts = KeptDecomposition(pattern, system.model.velocity_scale)
        self.size = self._parts.size

    def _pattern(self) -> Array:
        tape, parameters = Tape(), self.system.parameters
        p = None if parameters is None else tape.vector("p", parameters.size)
        own = self.system.prescribed_velocities
        return pattern_of(tape, self.system.machine(p)[0], self.rows, own)

    def kept(self, memory: Array) -> Kept:
        """Return the decomposition in a memory (size,)."""
        return self._parts.unpacked(memory)

    def independent(self, memory: Array, v: Array) -> Array:
        """Return the independent velocities z' (dof,) = V2ᵀ v of velocities v (nv,)."""
        return self._parts.independent(self.kept(memory).V2, v)

    def solver(self, memory: Array) -> Solver:
        """Return how a stage solves its equations."""
        kept = self.kept(memory)
        if self.scheme.form == "corrected":
            return partial(on_null_space, kept)

        def printed(terms: ClosedTerms) -> OnNullSpace:
            right = self._parts.right(terms.phi_q)
            return on_null_space(kept._replace(V1=right), terms, printed=True)

        return printed

    def begun(self, memory: Array, v: Array) -> Array:
        """Return what a step integrates of the velocity with which it begins."""
        if self.scheme.form == "corrected":
            return v
        return self._parts.in_basis(self.kept(memory).V2, v)

    def start(self, acting: Acting, q: Array) -> Array:
        """Return the rows (r nv,) of Φ_q, of which `first` is made."""
        return self._phi_q(acting, q).reshape(-1)

    def first(self, phi_q: Array, before: Array | None = None) -> Array:
        """Return memories (..., size) of states with such rows (..., r nv), by LAPACK.

        Parameters
        ----------
        before : (size,) a memory whose directions go on
        """
        if phi_q.ndim > 1:
            return np.array([self.first(one) for one in phi_q]).reshape(len(phi_q), self.size)
        rows = phi_q.reshape(self._parts.rows, self._parts.nv)
        return np.asarray(self._parts.first(rows, before), dtype=np.float64)

    def velocity(self, numbers: Numbers, acting: Acting, q: Array, v: Array, t: Any) -> Array:
        """Return the velocity of a stage: of independent ones all follow from z' = V2ᵀ v."""
        if self.scheme.coordinates == "all":
            return v
        phi_q, kept = self._phi_q(acting, q), self.kept(numbers.basis)
        rate, motions = phi_q @ v, acting.stage().motions
        if self.scheme.form == "printed":
            kept = kept._replace(V1=self._parts.right(phi_q))
            if motions is not None:
                rate[len(self.rows) :] = rate[len(self.rows) :] - motions.at(t)[1]
        else:
            rate[len(self.rows) :] = 0.0  # those of prescribed motions are integrated from theirs
        return on_loops(kept, phi_q, rate, v)

    def after(self, numbers: Numbers, q: Array, v: Array, t: Any, near: NearRows) -> Array:
        """Return the memory for the step from (q, v); near is what the last stage found."""
        kept = self._parts.unpacked(numbers.basis)
        if self.scheme.basis == "projection":
            phi_q = self._phi_q(numbers.acting(self.system), q)
            turns = 0 if self.scheme.form == "printed" else PROJECTED_TURNS
            return self._parts.renewed(phi_q, kept, turns, whole=False)
        renewed = Conditional(self._renewed, numbers, q)
        return np.asarray(renewed.where(self._lost(kept, v, near), (numbers.basis,))[0])

    def _renewed(self, numbers: Numbers, q: Array) -> tuple[Array, ...]:
        phi_q = self._phi_q(numbers.acting(self.system), q)
        return (self._parts.renewed(phi_q, self._parts.unpacked(numbers.basis)),)

    def _lost(self, kept: Kept, v: Array, near: NearRows) -> Any:
        """Return whether the decomposition has to be renewed."""
        pivots, lost = near.inner.reciprocals, None
        for now, then in zip(pivots, kept.reciprocals, strict=True):
            far = (self.scheme.loss * now > then) | (now < 0.0)
            lost = far if lost is None else lost | far
        if self.scheme.basis == "qr" or self.system.prescribed:
            return lost
        own = self._parts.own_velocities(kept.V2, v)
        inside, whole = ((part * part).sum() for part in own)
        return lost | (inside < self.scheme.ratio**2 * whole)

    def _phi_q(self, acting: Acting, q: Array) -> Array:
        own, still = self.system.prescribed_velocities, np.zeros(self._parts.nv)
        return rows_of(acting.model, self.rows, q, still, own, np.zeros(len(own)))[0]
