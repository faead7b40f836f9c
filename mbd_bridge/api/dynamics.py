"""The dynamics of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers, name_list
from mbd_bridge.base.errors import ModelError, unknown_name
from mbd_bridge.base.extensions import extension
from mbd_bridge.base.options import complete, part, shows_options
from mbd_bridge.base.table import Table, Tabular
from mbd_bridge.equations.cartesian import link_velocity, placement
from mbd_bridge.forces.base import ForceElement, bound
from mbd_bridge.kernels import Kernel, is_traced
from mbd_bridge.loads.options import DynamicsOptions, ForceOptions
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import ConstrainedDynamics, Dynamics
from mbd_bridge.solve.applied import Beside
from mbd_bridge.solve.closed_kernel import kernel_of
from mbd_bridge.solve.constrained import actuated_joints
from mbd_bridge.solve.dynamics import FUNCTIONS
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.wrenches import External

Group = TypeVar("Group")
PLAIN = part(DynamicsOptions, {})


def _asked(function: Callable[..., Any], group: type[Group], options: Mapping[str, Any]) -> Group:
    """Return all options of a call, quickly where it has none."""
    return complete(function, group, options) if options else cast(Group, PLAIN)


class MechanismDynamics(Tabular):
    """Forces and accelerations of a mechanism, and where its links are.

    Attributes
    ----------
    model : the immutable `Model`
    forces : its force elements, which act where nothing else is asked for
    stated : what else is stated of it, in sidecars or by `with_actuators`, `with_bearings`: by
        the name of an extension in the group ``sidecars``
    prepared : what was made for it so far
    """

    def __init__(
        self,
        model: Model,
        forces: Iterable[ForceElement] = (),
        stated: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.model = model
        self.forces = bound(model, forces)
        self.prepared = Prepared(model)
        self.stated: dict[str, Any] = {
            name: extension("sidecars", name).bound(model, one)
            for name, one in stated.items()
            if one is not None
        }

    def tables(self) -> tuple[Table, ...]:
        """Return the joints; ``mbd info`` shows them, too."""
        from mbd_bridge.model.outline import joint_table

        return (replace(joint_table(self.model), title=repr(self)),)

    def elements(self, forces: Iterable[ForceElement] | None) -> tuple[ForceElement, ...]:
        """Return force elements bound to the model: those given, or the mechanism's own."""
        if forces is None:
            return self.forces
        listed = tuple(forces) if isinstance(forces, tuple | list) else forces
        try:
            return self.prepared.get(("bound", listed), lambda: bound(self.model, listed))
        except TypeError:  # something in it has no hash: it is no element
            return bound(self.model, listed)

    @shows_options
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: External | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        **options: Unpack[DynamicsOptions],
    ) -> Array:
        """Return the generalised forces (nv,) or (N, nv) that give the accelerations a.

        They are what actuators must do beside gravity, `external` and the force elements. In a
        mechanism with loops only the actuated joints have any.

        Parameters
        ----------
        q, v, a, external, t, threads, check : see `joint_loads`; of wrenches numbers alone
        **options : what acts beside
        """
        asked = _asked(MechanismDynamics.inverse_dynamics, DynamicsOptions, options)
        elements, external_in = self.elements(asked["forces"]), asked["external_in"]
        if self.model.has_loops:
            actuators = actuated_joints(self.model, asked["actuated"])
            beside = Beside(external, external_in, elements, t)
            return self.prepared.inverse(
                (q, v, a),
                beside,
                actuators,
                threads=threads,
                check=check,
                minimum_norm=asked["minimum_norm"],
            )
        inputs = {"q": q, "v": v, "a": a}
        tau = self.prepared.run("inverse_dynamics", inputs, external, external_in, threads, check)
        return tau - self.prepared.element_forces(elements, q, v, t)[0] if elements else tau

    @shows_options
    def bias_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external: External | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        **options: Unpack[ForceOptions],
    ) -> Array:
        """Return the generalised forces that give no acceleration.

        They hold gravity, what comes from velocities, `external` and the force elements.

        Parameters
        ----------
        q, v, external, t, threads, check : see `inverse_dynamics`
        **options : what acts beside
        """
        asked = _asked(MechanismDynamics.bias_forces, ForceOptions, options)
        elements, external_in = self.elements(asked["forces"]), asked["external_in"]
        inputs = {"q": q, "v": v}
        h = self.prepared.run("bias_forces", inputs, external, external_in, threads, check)
        return h - self.prepared.element_forces(elements, q, v, t)[0] if elements else h

    def mass_matrix(self, q: ArrayLike, *, threads: int = 1, check: bool = True) -> Array:
        """Return M (nv, nv) or (N, nv, nv)."""
        return self.prepared.run("mass_matrix", {"q": q}, None, "link", threads, check)

    @shows_options
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external: External | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        **options: Unpack[ForceOptions],
    ) -> Array:
        """Return the accelerations (nv,) or (N, nv) under the generalised forces tau, loops closed.

        The multipliers of the loops come with `constrained_dynamics`.

        Parameters
        ----------
        q, v, external, t, threads, check : see `inverse_dynamics`
        **options : what acts beside
        """
        asked = _asked(MechanismDynamics.forward_dynamics, ForceOptions, options)
        elements, external_in = self.elements(asked["forces"]), asked["external_in"]
        if elements:
            tau = (
                np.asarray(tau, dtype=np.float64)
                + self.prepared.element_forces(elements, q, v, t)[0]
            )
        inputs = {"q": q, "v": v, "tau": tau}
        return self.prepared.run("forward_dynamics", inputs, external, external_in, threads, check)

    def constrained_dynamics(
        self, links: Sequence[str] = (), actuated: Iterable[str] | None = None
    ) -> ConstrainedDynamics:
        """Return forward and inverse dynamics of the mechanism with its loops closed.

        Its force elements have no part in them.
        """
        numbers = tuple(map(self.model.link_number, name_list("links", links, "links")))
        return ConstrainedDynamics(self.model, numbers, actuated)

    def kernel(
        self, what: Dynamics, links: Sequence[str] = (), *, at: ArrayLike | None = None
    ) -> Kernel:
        """Return the kernel of one of the functions above; `at`: see `closed_kernel.kernel_of`.

        Force elements have no part in it: `mbd.Equations` has kernels of all that acts.
        """
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
