"""Dynamics of a mechanism with loops, both ways: `closed_forward` and `closed_inverse`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mbd_bridge.base.arguments import name_list
from mbd_bridge.base.errors import ModelError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.closed_forward import ClosedForward
from mbd_bridge.solve.closed_inverse import ClosedInverse
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

    @cached_property
    def forward(self) -> ClosedForward:
        """Gives accelerations and multipliers; external wrenches are its last argument."""
        return ClosedForward(self.model, self._links)

    @cached_property
    def inverse(self) -> ClosedInverse:
        """Gives actuators and multipliers; external wrenches are its last argument."""
        actuated = actuated_joints(self.model, self._actuated)
        return ClosedInverse(self.model, actuated, AppliedForces(self._links))


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
