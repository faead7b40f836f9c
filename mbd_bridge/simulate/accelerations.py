"""Accelerations, multipliers and driving forces of states of a motion, cut and driven joints alike.

    [M Φ_qᵀ Eᵀ; Φ_q 0 0; E 0 0] [q̈; λ; λ_d] = [τ - h; γ; f''(t)]           Lee94 (22)

E picks the driven velocities. The drives' forces are -λ_d.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.motions import PrescribedMotions
from mbd_bridge.solve import prepare
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.reduced import Method, constrained_motion
from mbd_bridge.spatial import Array


class Answer(NamedTuple):
    """Accelerations (K, nv), multipliers of the cuts (K, m), forces of the drives (K, D)."""

    a: Array
    lam: Array
    drive: Array


class Accelerations:
    """Dynamics of one model with its prescribed motions; redundant rows are allowed.

    Multipliers of redundant rows are the smallest that give the motion. A tree without drives is
    solved as a tree; one with drives in one kernel, in which no row can depend on another.
    """

    def __init__(self, model: Model, motions: PrescribedMotions | None = None) -> None:
        self.model, self.motions = model, motions
        self._driven: Kernel | None = None
        if model.has_loops:
            self._mass = prepare(model, "mass_matrix")
            self._bias = prepare(model, "bias_forces")
            self._constraints = prepare(model, "constraints")
        elif motions is not None:
            self._driven = _driven_kernel(model, motions)

    def __call__(
        self, q: Array, v: Array, tau: Array, time: Array, method: Method = "svd"
    ) -> Answer:
        """Return the answer at K states: q (K, nq), v, tau (K, nv), time (K,)."""
        count, motions = len(q), self.motions
        wanted = np.zeros((count, 0)) if motions is None else motions.along(time)[2]
        if self.model.has_loops:
            return self._closed(q, v, tau, wanted, method)
        none = np.zeros((count, 0))
        if self._driven is None:
            a, _ = prepare(self.model, "forward_dynamics")(q, v, tau)
            return Answer(a, none, none)
        a, lam = self._driven(q, v, tau, wanted)
        return Answer(a, none, -lam)

    def rows(self, q: Array, v: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """Return Φ_q, γ and the rows' scales at one state, those of the drives last."""
        model, motions = self.model, self.motions
        phi_q, gamma, scale = np.zeros((0, model.nv)), np.zeros(0), model.row_scale
        if model.has_loops:
            _, phi_q, gamma = self._constraints(q, v)
        if motions is not None:
            phi_q = np.vstack([phi_q, np.eye(model.nv)[list(motions.v)]])
            gamma = np.concatenate([gamma, wanted])
            scale = np.concatenate([scale, motions.scale])
        return phi_q, gamma, scale

    def _closed(self, q: Array, v: Array, tau: Array, wanted: Array, method: Method) -> Answer:
        (M,), (h,) = self._mass(q), self._bias(q, v)
        found = []
        for k in range(len(q)):
            phi_q, gamma, scale = self.rows(q[k], v[k], wanted[k])
            mass = M[k] if M.ndim == 3 else M
            found.append(
                constrained_motion(self.model, mass, tau[k] - h[k], phi_q, gamma, method, scale)
            )
        a, lam = (np.array(column) for column in zip(*found, strict=True))
        cut = len(self.model.row_scale)
        return Answer(a, lam[:, :cut], -lam[:, cut:])


def _driven_kernel(model: Model, motions: PrescribedMotions) -> Kernel:
    def function(q: Array, v: Array, tau: Array, wanted: Array) -> tuple[Array, ...]:
        found = closed_acceleration(model, (), q, v, tau, motions.v, wanted)
        return found.a, found.lam

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv, "wanted": len(motions)}
    return compile_kernel(function, inputs, outputs=("a", "lam"), name="driven_dynamics")
