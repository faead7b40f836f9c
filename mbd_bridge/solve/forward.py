"""Forward dynamics of a mechanism of any size: v̇ = M⁻¹ (τ - h).

The whole solution is straight-line machine code, which runs for several states in the lanes of a
vector at once: through M and its factors for short branches, by articulated bodies for long chains,
whose cost grows with the number of bodies. Only where couplings leave no choice but M, and its
factorisation, which grows with the cube of the degrees of freedom, has more than `LARGEST`
operations, a kernel gives M and h, and LAPACK solves, some thousand states at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import SolveError
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.layout import check_inputs
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.factor import (
    articulated_is_cheaper,
    elimination_operations,
    mass_pattern,
)
from mbd_bridge.solve.wrenches import Axes

LARGEST = 50_000
"""Multiply-adds of a factorisation that is still worth compiling: about 8 s, 67 dense degrees of
freedom."""

BLOCK = 2_000_000
"""Entries of mass matrices that are held at a time: 16 MB."""


class ForwardDynamics:
    """Accelerations of one mechanism, prepared once.

    Parameters
    ----------
    model : the mechanism
    links : link indices that carry external wrenches (a further argument)
    axes : in which these are given

    Attributes
    ----------
    straight : whether one kernel does it all
    kernel : this one, or None
    """

    def __init__(self, model: Model, links: tuple[int, ...] = (), axes: Axes = "link") -> None:
        self.model = model
        cost = elimination_operations(mass_pattern(model))
        self.straight = cost <= LARGEST or articulated_is_cheaper(model)
        self.kernel: Kernel | None = None
        if self.straight:
            self.kernel = prepare(model, "forward_dynamics", links, axes)
        else:
            self._mass = prepare(model, "mass_matrix")
            self._bias = prepare(model, "bias_forces", links, axes)

    def __call__(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *external: ArrayLike, threads: int = 1
    ) -> Array:
        """Return the accelerations (nv,) or (N, nv)."""
        if self.kernel is not None:
            return self.kernel(q, v, tau, *external, threads=threads)[0]
        (q, v, tau), _ = check_inputs(
            (q, v, tau), {"q": self.model.nq, "v": self.model.nv, "tau": self.model.nv}
        )
        (h,) = self._bias(q, v, *external, threads=threads)
        force = tau - h
        if q.ndim == 1 and force.ndim == 1:
            return _solve(self._mass(q)[0], force)
        q = np.broadcast_to(q, (len(force), self.model.nq))
        out = np.empty(np.broadcast_shapes(force.shape, (len(q), self.model.nv)))
        size = max(1, BLOCK // self.model.nv**2)
        for start in range(0, len(out), size):
            part = slice(start, start + size)
            (M,) = self._mass(q[part], threads=threads)
            out[part] = _solve(M, np.broadcast_to(force, out.shape)[part])
        return out


def _solve(M: Array, force: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(M, force[..., None])[..., 0])
    except np.linalg.LinAlgError:
        raise SolveError(
            "the mass matrix is singular: something that moves has no mass. `mbd check` names it"
        ) from None
