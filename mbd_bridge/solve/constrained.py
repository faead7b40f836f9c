"""Dynamics of a mechanism with loops, both ways: `closed_forward` and `closed_inverse`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import name_list
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.closed_forward import ClosedForward
from mbd_bridge.solve.closed_inverse import ClosedInverse, InverseSolution
from mbd_bridge.solve.reduced import Method
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import SINGULAR


class ConstrainedDynamics:
    """Forward and inverse dynamics of one mechanism with loops, each prepared when first used.

    Parameters
    ----------
    model : with at least one cut
    links : link indices that carry external wrenches (a further argument)
    actuated : actuated joints, for inverse dynamics; None: those that the file names
    """

    def __init__(
        self, model: Model, links: tuple[int, ...] = (), actuated: Iterable[str] | None = None
    ) -> None:
        self.model, self._links = model, links
        self._actuated = actuated if actuated is None else actuated_joints(model, actuated)
        self._forward: ClosedForward | None = None
        self._inverse: ClosedInverse | None = None

    def forward(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *external: ArrayLike,
        method: Method | None = None,
        threads: int = 1,
        check: bool = True,
    ) -> tuple[Array, Array]:
        """Return accelerations (..., nv) and multipliers (..., m); see `ClosedForward`."""
        if self._forward is None:
            self._forward = ClosedForward(self.model, self._links)
        return self._forward(q, v, tau, *external, method=method, threads=threads, check=check)

    def inverse(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *external: ArrayLike,
        threads: int = 1,
        check: bool = True,
        minimum_norm: bool = False,
    ) -> InverseSolution:
        """Return actuators and multipliers, of one state or of N states; see `ClosedInverse`."""
        if self._inverse is None:
            actuated = actuated_joints(self.model, self._actuated)
            self._inverse = ClosedInverse(self.model, actuated, AppliedForces(self._links))
        solve = self._inverse
        return solve(q, v, a, *external, threads=threads, check=check, minimum_norm=minimum_norm)


def actuated_joints(model: Model, actuated: Iterable[str] | str | None) -> tuple[str, ...]:
    """Return the actuated joints: those named, else those that the file names.

    Raises
    ------
    ModelError
        Neither says it.
    """
    if actuated is not None:
        return name_list("actuated", actuated, "joints")
    if model.description.actuated is not None:
        return model.description.actuated
    raise ModelError(
        f"in a mechanism with loops say which joints are actuated, as many as it has "
        f"degrees of freedom: "
        f"actuated=[...] (--actuated), or 'actuated: [...]' in the sidecar, or <transmission> in "
        f"the URDF. "
        f"Its velocities: {', '.join(model.velocity_names)}"
    )


def undetermined_multipliers(model: Model, phi_q: Array, active: Array) -> Array:
    """Return a basis (m, r) of the multipliers that no velocity but the actuated ones notices."""
    rows = model.row_scale
    J = model.scaled_jacobian(phi_q)
    A = J.T[~active]
    if not len(A):
        return np.diag(1.0 / rows)
    _, s, Vt = np.linalg.svd(A)
    most = len(row_choice(model).at(J))  # rows that are redundant but for rounding stay open
    rank = min(most, int(np.sum(s > SINGULAR * np.linalg.norm(J))))
    return np.asarray(Vt[rank:].T / rows[:, None])
