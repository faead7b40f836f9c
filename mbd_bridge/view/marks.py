"""Marks on a machine, on request: joints that close loops, centre of mass, frames of links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mbd_bridge.formats.mesh import Colour
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.deflection import DEFLECTION
from mbd_bridge.spatial import Array, rotation_that_takes_z_to
from mbd_bridge.view import solids
from mbd_bridge.view.pieces import Piece
from mbd_bridge.view.scene import matrix

PIN: Colour = (0.22, 0.23, 0.25, 1.0)
CUT: Colour = (0.95, 0.55, 0.05, 1.0)
CENTRE: Colour = (0.98, 0.82, 0.10, 1.0)
AXES: tuple[Colour, ...] = (
    (0.85, 0.15, 0.15, 1.0),
    (0.15, 0.65, 0.20, 1.0),
    (0.15, 0.30, 0.90, 1.0),
)
"""Of x, y and z."""

HINGES = ("revolute", "continuous", "helical", "cylindrical")
"""Joints whose mark is a pin along the axis; the others have a ball."""


class Marks:
    """Marks of one machine's size.

    Parameters
    ----------
    radius : of pins, m
    """

    def __init__(self, model: Model, radius: float) -> None:
        self.model, self.radius = model, radius

    def joints(self, bodies: Array) -> Iterator[Piece]:
        """Yield pins and balls of moving joints; of cut ones both halves, each on its own body.

        Parameters
        ----------
        bodies : (B or more, 4, 4): the model's bodies first
        """
        for body, carrier in zip(self.model.bodies[1:], bodies[1:], strict=False):
            if body.type.name != DEFLECTION:
                yield self._joint(body.type.name, PIN, carrier)
        for cut in self.model.cuts:
            if not cut.rows or cut.type in ("distance", "coupling", "rolling"):
                continue
            kind = "revolute" if cut.type in HINGES else cut.type
            before = bodies[cut.predecessor] @ matrix(cut.a)
            behind = bodies[cut.successor] @ matrix(cut.b)
            yield self._joint(kind, PIN, before)
            yield self._joint(kind, CUT, behind, 1.35, 0.6)

    def _joint(
        self, kind: str, colour: Colour, pose: Array, wide: float = 1.0, long: float = 1.0
    ) -> Piece:
        """Return the mark of a joint whose frame has z along the axis."""
        radius = wide * self.radius
        if kind in HINGES:
            return Piece(solids.cylinder(radius, 3.2 * long * self.radius), colour, pose)
        if kind == "prismatic":
            edge = 1.8 * radius
            return Piece(solids.box(edge, edge, 1.5 * edge), colour, pose)
        return Piece(solids.sphere(1.15 * radius * (1.0 if wide == 1.0 else 0.9)), colour, pose)

    def centre(self, bodies: Array) -> list[Piece]:
        """Return a ball at the centre of mass; nothing where there is no mass."""
        found = centre_of_mass(self.model, bodies)
        if found is None:
            return []
        pose = np.eye(4)
        pose[:3, 3] = found
        return [Piece(solids.sphere(1.5 * self.radius), CENTRE, pose)]

    def frames(self, links: Iterable[str], bodies: Array) -> Iterator[Piece]:
        """Yield the axes of links: x red, y green, z blue."""
        length, thickness = 8.0 * self.radius, 0.35 * self.radius
        for name in links:
            link = self.model.links[self.model.link_number(name)]
            pose = bodies[link.body] @ matrix(link.frame)
            for axis, colour in zip(np.eye(3), AXES, strict=True):
                turn = np.eye(4)
                turn[:3, :3] = rotation_that_takes_z_to(axis)
                yield Piece(solids.rod(thickness, length), colour, pose @ turn)


def centre_of_mass(model: Model, bodies: Array) -> Array | None:
    """Return the machine's centre of mass (3,) m in the world, None where it has no mass."""
    masses = np.array(model.masses)
    if not masses.sum() > 0.0:
        return None
    moments = [np.array(body.inertia.mass * body.inertia.centre) for body in model.bodies]
    for part in model.flexible:  # as if it were not bent
        moments[part.body] += part.integrals.first[0]
    centres = np.array(moments) / np.where(masses > 0.0, masses, 1.0)[:, None]
    bodies = bodies[: len(masses)]
    there = np.einsum("bij,bj->bi", bodies[:, :3, :3], centres) + bodies[:, :3, 3]
    return np.asarray(masses @ there / masses.sum())
