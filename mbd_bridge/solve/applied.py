"""What acts on a mechanism beside its actuators: external wrenches and force elements.

Wrenches on links come as numbers, an input `external` of the machine code; force elements are
traced into it, and those that depend on time need it as an input `t`, s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.equations.external import External, add, from_world_axes
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.equations.newton_euler import external_forces
from mbd_bridge.forces.acts import Acts, along
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.forces.varying import Sampled
from mbd_bridge.kernels import Kernel, jacobian
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.balance import unbalanced
from mbd_bridge.solve.derivatives import (
    InverseDerivatives,
    inverse_derivatives,
    through_the_recursion,
)
from mbd_bridge.solve.dynamics import external_on
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.wrenches import Axes


class Applied(NamedTuple):
    """Wrenches by link, and generalised forces (nv,) along velocities; None for none.

    And by number of the cut, what of the wrenches passes through cut joints (`within_cuts`).
    """

    external: External
    along: Array | None = None
    within: Mapping[int, Array] = {}


class Beside(NamedTuple):
    """What a caller gives beside a motion or actuators' forces.

    Attributes
    ----------
    external, external_in : wrenches by link, and their axes
    forces : elements that act too, bound to the model
    t : s, where they depend on time
    """

    external: Mapping[str, ArrayLike] | None
    external_in: str
    forces: tuple[ForceElement, ...] = ()
    t: ArrayLike | None = None


@dataclass(frozen=True)
class AppliedForces:
    """External wrenches on some links, and force elements.

    Attributes
    ----------
    links : indices of the links that carry external wrenches, six numbers each of an input
    axes : in which these are given
    forces : force elements, bound to the model
    known : elements in cut joints whose wrenches are among those external ones
    """

    links: tuple[int, ...] = ()
    axes: Axes = "link"
    forces: tuple[ForceElement, ...] = ()
    known: tuple[ForceElement, ...] = ()

    @property
    def timed(self) -> bool:
        """Whether some element depends on time."""
        return any(element.depends_on_time for element in (*self.forces, *self.known))

    @property
    def inputs(self) -> dict[str, int]:
        """Inputs of machine code and their sizes."""
        found = {"external": 6 * len(self.links)} if self.links else {}
        return found | ({"t": 1} if self.timed else {})

    def times(self, t: ArrayLike | None) -> tuple[Array, ...]:
        """Return the input t (1,) or (N, 1), where it is needed; refuse to guess it."""
        if not self.timed:
            return ()
        if t is None:
            names = ", ".join(one.label for one in self.forces if one.depends_on_time)
            raise StateError(
                f"{names}: depends on time, which a state does not tell; give a motion with its "
                f"times, or t=, or leave it out: forces=[...]"
            )
        return (as_floats("t", t)[..., None],)

    def at(self, model: Model, q: Array, v: Array, *inputs: Array) -> Applied:
        """Return what acts at a state, of floats or symbols.

        Parameters
        ----------
        inputs : `external` and `t`, where they are needed
        """
        rest = list(inputs)
        external: External = external_on(self.links, rest.pop(0)) if self.links else {}
        if self.axes == "world":
            external = from_world_axes(model, q, external)
        if not (self.forces or self.known):
            return Applied(external)
        t: Any = rest.pop(0)[0] if self.timed else 0.0
        wrenches: dict[int, Array] = dict(external)
        effects = Acts.of(model, self.forces).effects(model, t, q, v)
        for effect in effects:
            add(wrenches, in_link_axes(model, q, v, effect))
        within = Acts.of(model, (*self.forces, *self.known)).within_cuts(model, t, q, v)
        return Applied(wrenches, along(model, effects, q, v), within)


def check_stateless(model: Model, forces: Iterable[ForceElement]) -> None:
    """Refuse elements whose forces a motion does not tell."""
    for element in forces:
        if any(isinstance(one, Sampled) for one, _ in element.held.values()):
            raise StateError(
                f"{element.label} is called at the steps of a simulation: ask this for loads, "
                f"run.joint_loads(), or leave it out: forces=[...]"
            )
        if element.states(model):
            raise StateError(
                f"{element.label} has states of its own, which a motion does not tell: ask a "
                f"simulation for its loads, run.joint_loads(), or leave it out: forces=[...]"
            )


def prepare_element_forces(model: Model, applied: AppliedForces) -> Kernel:
    """Return the kernel of what force elements exert: of q, v, and t where they depend on time.

    Its outputs are the generalised forces (nv,) of all that they do, and the wrenches (6 L,) on the
    links of `element_links`, at their origins, in their axes.
    """
    links = element_links(model, applied.forces)

    def function(q: Array, v: Array, *t: Array) -> tuple[Array, ...]:
        external, forces, _ = applied.at(model, q, v, *t)
        total = external_forces(model, q, external)
        packed = [external.get(link, np.zeros(6)) for link in links]
        flat = np.concatenate([np.zeros(0), *packed])
        return total if forces is None else total + forces, flat

    inputs = {"q": model.nq, "v": model.nv, **applied.inputs}
    outputs = ("forces", "wrenches")
    return model_kernel(model, "element_forces", inputs, outputs, function, applied)


def prepare_torque_derivatives(model: Model, applied: AppliedForces) -> Kernel:
    """Return the kernel of `InverseDerivatives` of q, v, a and what `applied` takes: the actuators'
    forces beside all that acts.
    """

    def push(d: Array, v: Array, q: Array, *rest: Array) -> tuple[Array, ...]:
        q = q + coordinate_rates(model, q, d)
        external, forces, _ = applied.at(model, q, v, *rest)
        total = external_forces(model, q, external)
        return (total if forces is None else total + forces,)

    nq, nv = model.nq, model.nv
    inputs = {"q": nq, "v": nv, "a": nv, **applied.inputs}
    derived = jacobian(push, {"d": nv, "v": nv, "q": nq, **applied.inputs}, ("d", "v"))

    def function(q: Array, v: Array, a: Array, *rest: Array) -> InverseDerivatives:
        if model.flexible:
            found = through_the_recursion(
                model, lambda *state: (unbalanced(model, *state),), q, v, a
            )
        else:
            found = inverse_derivatives(model, q, v, a)
        pushed, by = derived(np.zeros(nv), v, q, *rest)
        by_q, by_v = found.by_q - by[:, :nv], found.by_v - by[:, nv:]
        return found._replace(tau=found.tau - pushed, by_q=by_q, by_v=by_v)

    outputs = InverseDerivatives._fields
    return model_kernel(model, "torque_derivatives", inputs, outputs, function, applied)


def element_links(model: Model, forces: Iterable[ForceElement]) -> tuple[int, ...]:
    """Return the links on which force elements exert wrenches."""
    return tuple(sorted({link for element in forces for link in element.link_numbers(model)}))
