"""The dynamics of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import finite_numbers, name_list
from mbd_bridge.equations.cartesian import link_velocity, placement
from mbd_bridge.errors import ModelError, unknown_name
from mbd_bridge.kernels import Kernel, is_traced
from mbd_bridge.mechanism import Model
from mbd_bridge.solve import ConstrainedDynamics, Dynamics
from mbd_bridge.solve.closed_kernel import kernel_of
from mbd_bridge.solve.constrained import actuated_joints
from mbd_bridge.solve.dynamics import FUNCTIONS
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.wrenches import Axes, External
from mbd_bridge.spatial import Array


class MechanismDynamics:
    """Forces and accelerations of a mechanism, and where its links are.

    Attributes
    ----------
    model : the immutable `Model`
    prepared : what was made for it so far
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.prepared = Prepared(model)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: External | None = None,
        *,
        external_in: Axes = "link",
        threads: int = 1,
        check: bool = True,
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
    ) -> Array:
        """Return the generalised forces (nv,) or (N, nv) that give the accelerations a.

        In a mechanism with loops only the actuated joints have any. For `external`, `external_in`,
        `actuated` and `minimum_norm`, here and below, see `joint_loads`.
        """
        if self.model.has_loops:
            actuators = actuated_joints(self.model, actuated)
            return self.prepared.inverse(
                (q, v, a), external, external_in, actuators, threads, check, minimum_norm
            )
        inputs = {"q": q, "v": v, "a": a}
        return self.prepared.run("inverse_dynamics", inputs, external, external_in, threads, check)

    def bias_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external: External | None = None,
        *,
        external_in: Axes = "link",
        threads: int = 1,
        check: bool = True,
    ) -> Array:
        """Return the generalised forces of gravity and velocity: they give no acceleration."""
        inputs = {"q": q, "v": v}
        return self.prepared.run("bias_forces", inputs, external, external_in, threads, check)

    def mass_matrix(self, q: ArrayLike, *, threads: int = 1, check: bool = True) -> Array:
        """Return M (nv, nv) or (N, nv, nv)."""
        return self.prepared.run("mass_matrix", {"q": q}, None, "link", threads, check)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external: External | None = None,
        *,
        external_in: Axes = "link",
        threads: int = 1,
        check: bool = True,
    ) -> Array:
        """Return the accelerations (nv,) or (N, nv) under the generalised forces tau, loops closed.

        The multipliers of the loops come with `constrained_dynamics`.
        """
        inputs = {"q": q, "v": v, "tau": tau}
        return self.prepared.run("forward_dynamics", inputs, external, external_in, threads, check)

    def constrained_dynamics(
        self, links: Sequence[str] = (), actuated: Iterable[str] | None = None
    ) -> ConstrainedDynamics:
        """Return forward and inverse dynamics of the mechanism with its loops closed."""
        numbers = tuple(map(self.model.link_number, name_list("links", links, "links")))
        return ConstrainedDynamics(self.model, numbers, actuated)

    def kernel(
        self, what: Dynamics, links: Sequence[str] = (), *, at: ArrayLike | None = None
    ) -> Kernel:
        """Return the kernel of one of the functions above; `at`: see `closed_kernel.kernel_of`."""
        if not isinstance(what, str) or what not in FUNCTIONS:
            raise ModelError(f"what: {unknown_name('function', what, FUNCTIONS)}")
        return kernel_of(self.prepared, what, name_list("links", links, "links"), at)

    def placement(self, q: ArrayLike, link: str, *, threads: int = 1) -> Array:
        """Return where a link is in the world, (4, 4) or (N, 4, 4).

        With P the result, x_world = P[:3, :3] @ x_link + P[:3, 3], in m: the columns of
        P[:3, :3] are the link's axes, P[:3, 3] is the origin of its frame. Symbols are taken as
        well: forces given to `simulate` as functions may ask where a link is.
        """
        if is_traced(q):
            return placement(self.model, np.asarray(q), self.model.link_number(link))
        (found,) = self.prepared.placement(link)(q, threads=threads)
        return found

    def velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        *,
        threads: int = 1,
    ) -> Array:
        """Return the velocity of a point of a link and the link's angular velocity.

        Parameters
        ----------
        q, v : one state or N states, or symbols as for `placement`
        point : (3,) m, in the link's frame

        Returns
        -------
        (6,) or (N, 6), in world axes: m/s, then rad/s.
        """
        inside = finite_numbers("point", point, (3,))
        if is_traced(q, v):
            number = self.model.link_number(link)
            return link_velocity(self.model, np.asarray(q), np.asarray(v), number, inside)
        (found,) = self.prepared.velocity(link)(q, v, inside, threads=threads)
        return found
