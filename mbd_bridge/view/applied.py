"""External forces as they are drawn: wrenches at their points of action, along states."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.simulation import Simulation
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.view.scene import matrix


@dataclass(frozen=True, eq=False)
class AppliedWrench:
    """An external wrench on one link along N states.

    Attributes
    ----------
    link : name of the link on which it acts
    point : (N, 3) m, where it acts, in the link's frame
    wrench : (N, 6) force, N, and moment about that point, N m, in the link's axes
    """

    link: str
    point: Array
    wrench: Array

    @staticmethod
    def about(link: str, point: Array, on_link: Array) -> AppliedWrench:
        """Return wrenches (N, 6) about the link's origin as those about points (N, 3) of it."""
        force = on_link[:, :3]
        moment = on_link[:, 3:] - np.cross(point, force)
        return AppliedWrench(link, point, np.hstack([force, moment]))

    def records(self, rows: Array) -> AppliedWrench:
        """Return it in some of the states."""
        return replace(self, point=self.point[rows], wrench=self.wrench[rows])

    def between(self, rows: Array, part: Array) -> AppliedWrench:
        """Return it between states and the next ones, on the straight way in the link's axes."""
        share = part[:, None]
        point, wrench = (
            (1.0 - share) * values[rows] + share * values[rows + 1]
            for values in (self.point, self.wrench)
        )
        return replace(self, point=point, wrench=wrench)

    def in_world(self, model: Model, bodies: Array) -> tuple[Array, Array, Array]:
        """Return its points, forces and moments (N, 3) in the world.

        Parameters
        ----------
        bodies : (N, B, 4, 4) where the bodies are in these states
        """
        link = model.links[model.link_number(self.link)]
        frames = bodies[:, link.body] @ matrix(link.frame)
        turns = frames[:, :3, :3]
        point, force, moment = (
            np.einsum("nij,nj->ni", turns, vectors)
            for vectors in (self.point, self.wrench[:, :3], self.wrench[:, 3:])
        )
        return point + frames[:, :3, 3], force, moment


def applied_along(
    model: Model, motion: Motion, external: ExternalForces | None
) -> tuple[AppliedWrench, ...]:
    """Return external forces along a motion, each at its point of action."""
    prepared = Prepared(model)
    return tuple(
        AppliedWrench.about(
            force.link,
            force.acts_at(prepared, motion.time, motion.q),
            force.on_link(prepared, motion.time, motion.q, motion.v),
        )
        for force in external or ()
    )


def applied_in(run: Simulation) -> tuple[AppliedWrench, ...]:
    """Return the external wrenches of a simulation, one a link.

    Several on one link are drawn as their sum: at their point if it is the same, else at the
    link's origin, as is one whose file has columns of its point.
    """
    found = []
    for link, on_link in run.external.items():
        numbers = run.system.external_links[link]
        points = {run.system.wrenches[k].point for k in numbers}
        point = points.pop() if len(points) == 1 else (0.0, 0.0, 0.0)
        places = np.broadcast_to(np.array(point), (len(on_link), 3))
        found.append(AppliedWrench.about(link, places, on_link))
    return tuple(found)
