"""Marks on a machine, on request: joints that close loops, centre of mass, frames of links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mbd_bridge.files.surface import Colour
from mbd_bridge.model import Model
from mbd_bridge.model.joint_table import DEFLECTION
from mbd_bridge.model.spatial import Array, homogeneous, rotation_that_takes_z_to
from mbd_bridge.view import solids
from mbd_bridge.view.pieces import Piece
from mbd_bridge.view.scene import Part

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

    def joints(self) -> Iterator[Part]:
        """Yield pins and balls of moving joints; of cut ones both halves, each on its own body."""
        for number, body in enumerate(self.model.bodies[1:], 1):
            if body.type.name != DEFLECTION:
                yield self._joint(body.type.name, PIN, number, np.eye(4))
        for cut in self.model.cuts:
            if not cut.rows or cut.type in ("distance", "coupling", "rolling"):
                continue
            kind = "revolute" if cut.type in HINGES else cut.type
            yield self._joint(kind, PIN, cut.predecessor, cut.a.matrix())
            yield self._joint(kind, CUT, cut.successor, cut.b.matrix(), 1.35, 0.6)

    def _joint(
        self,
        kind: str,
        colour: Colour,
        body: int,
        pose: Array,
        wide: float = 1.0,
        long: float = 1.0,
    ) -> Part:
        """Return the mark of a joint whose frame has z along the axis."""
        radius = wide * self.radius
        if kind in HINGES:
            shape = solids.cylinder(radius, 3.2 * long * self.radius)
        elif kind == "prismatic":
            shape = solids.box(1.8 * radius, 1.8 * radius, 2.7 * radius)
        else:
            shape = solids.sphere(1.15 * radius * (1.0 if wide == 1.0 else 0.9))
        return Part(shape, colour, body, pose)

    @property
    def ball(self) -> float:
        """Radius of the mark of the centre of mass, m."""
        return 1.5 * self.radius

    def centre(self, bodies: Array) -> list[Piece]:
        """Return a ball at the centre of mass; nothing where there is no mass."""
        centre = centre_of_mass(self.model, bodies)
        if centre is None:
            return []
        return [Piece(solids.sphere(self.ball), CENTRE, homogeneous(centre))]

    @property
    def axes(self) -> tuple[float, float]:
        """Length and radius of the axes of links, m."""
        return 8.0 * self.radius, 0.35 * self.radius

    def frames(self, links: Iterable[str]) -> Iterator[Part]:
        """Yield the axes of links: x red, y green, z blue."""
        length, thickness = self.axes
        for name in links:
            link = self.model.links[self.model.link_number(name)]
            for axis, colour in zip(np.eye(3), AXES, strict=True):
                turn = homogeneous(np.zeros(3), rotation_that_takes_z_to(axis))
                pose = link.frame.matrix() @ turn
                yield Part(solids.rod(thickness, length), colour, link.body, pose)


def centre_of_mass(model: Model, bodies: Array) -> Array | None:
    """Return the centre of mass (..., 3) m in the world, None where the machine has no mass.

    Parameters
    ----------
    bodies : (..., B or more, 4, 4)
    """
    masses = np.array(model.masses)
    if not masses.sum() > 0.0:
        return None
    moments = [np.array(body.inertia.mass * body.inertia.centre) for body in model.bodies]
    for part in model.flexible:  # as if it were not bent
        moments[part.body] += part.integrals.first[0]
    centres = np.array(moments) / np.where(masses > 0.0, masses, 1.0)[:, None]
    bodies = bodies[..., : len(masses), :, :]
    centres_in_world = (
        np.einsum("...bij,bj->...bi", bodies[..., :3, :3], centres) + bodies[..., :3, 3]
    )
    return np.asarray(np.einsum("b,...bi->...i", masses / masses.sum(), centres_in_world))
