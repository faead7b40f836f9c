"""A uniform field of gravity on some links, beside the machine's own.

F = m g at the centre of mass,   U = -m g · r

On links that bend it acts on their modes too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from mbd_bridge.base.arguments import name_list
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.flexible import flexible_inertia
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units, Vector
from mbd_bridge.forces.points import placed
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross, zeros


@final
@dataclass(frozen=True, eq=False)
class GravityField(ForceElement):
    """An acceleration of gravity that acts on chosen links, such as a buoyant or a hanging part.

    Parameters
    ----------
    acceleration : (3,) m/s², in the world's axes; it adds to the machine's gravity
    links : names; none: all links
    """

    acceleration: Vector
    links: tuple[str, ...] = ()

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its links."""
        names = name_list("links", self.links, "links") or tuple(model.link_index)
        try:
            for name in names:
                model.link_number(name)
        except ModelError as problem:
            raise ModelError(f"{self.label}: links: {problem}") from None
        return replace(self.checked(model), links=names)

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the weights on the links, and the report."""
        state = state_vectors(model, q, v, "world")
        g = np.array(self.acceleration)
        wrenches: dict[int, Array] = {}
        forces: dict[int, Any] = {}
        energy: Any = 0.0
        total = zeros(3, q)
        for name in self.links:
            number = model.link_number(name)
            link = model.links[number]
            bends = next((part for part in model.flexible if part.link == number), None)
            if bends is not None:
                inertia = flexible_inertia(bends, q)
                mass = bends.integrals.mass
                at, body = placed(model, state, name, np.zeros(3)), state.bodies[bends.body]
                arm = body.rotation @ (inertia.moment * (1.0 / mass))  # from the body's origin
                weight, centre = mass * g, body.position + arm
                wrenches[number] = at.wrench(weight, cross(centre - at.position, weight))
                along = (body.rotation @ inertia.force).T @ g
                forces |= dict(zip(range(bends.v.start, bends.v.stop), along, strict=True))
                energy, total = energy - weight @ centre, total + weight
                continue
            own = link.inertia.seen_from(link.frame.inverse())
            middle = placed(model, state, name, own.centre)
            weight = own.mass * g
            wrenches[number] = middle.wrench(weight)
            energy = energy - weight @ middle.position
            total = total + weight
        force = {f"force_{axis}": total[k] for k, axis in enumerate("xyz")}
        return Effect(forces, wrenches, energy, 0.0, force)

    def units(self, model: Model) -> Units:
        """Return the units of the report: the sum of the weights, in the world's axes."""
        return dict.fromkeys(("force_x", "force_y", "force_z"), "N")

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return its links."""
        return tuple(model.link_number(name) for name in self.links)

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the modal velocities of its links that bend."""
        own = set(self.link_numbers(model))
        return tuple(
            k
            for part in model.flexible
            if part.link in own
            for k in range(part.v.start, part.v.stop)
        )
