"""A coordinate of a joint on which a force element acts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.errors import ModelError, unknown_name
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array


class JointCoordinate(NamedTuple):
    """Coordinate s = ratio q + offset, with its rate, of one degree of freedom of a joint.

    Attributes
    ----------
    joint : its name
    q, v : places in the mechanism's coordinates and velocities
    ratio, offset : of a joint that follows another one (``<mimic>``), else 1 and 0
    unit : "rad" or "m"
    """

    joint: str
    q: int
    v: int
    ratio: float
    offset: float
    unit: str

    def at(self, q: Array, v: Array) -> tuple[Any, Any]:
        """Return the coordinate and its rate."""
        if self.ratio == 1.0 and self.offset == 0.0:
            return q[self.q], v[self.v]
        return self.ratio * q[self.q] + self.offset, self.ratio * v[self.v]

    def force(self, along: Any) -> dict[int, Any]:
        """Return the generalised force of a force along the coordinate."""
        return {self.v: along if self.ratio == 1.0 else self.ratio * along}

    @property
    def force_unit(self) -> str:
        """Unit of a force along the coordinate."""
        return "N m" if self.unit == "rad" else "N"


def joint_coordinates(model: Model) -> dict[str, JointCoordinate]:
    """Return the coordinates of all joints of the tree that have a rate each, by name."""
    found = {}
    for body in model.bodies:
        kind = body.type
        if not kind.nv or kind.nq != kind.nv:
            continue
        motion = kind.motion(kind.neutral(), np.zeros(kind.nv))
        joint = model.joints[body.joint].name
        for k, suffix in enumerate(kind.velocities):
            found[joint + suffix] = JointCoordinate(
                joint,
                body.q.start + k,
                body.v.start + k,
                body.ratio,
                body.offset,
                "rad" if np.any(motion.angular[:, k]) else "m",
            )
    return found


def joint_coordinate(element: ForceElement, model: Model, name: Any) -> JointCoordinate:
    """Return the coordinate that an element acts on."""
    known = joint_coordinates(model)
    if isinstance(name, str) and name in known:
        return known[name]
    where = f"{element.label}: joint"
    if isinstance(name, str) and name in {cut.name for cut in model.cuts}:
        raise ModelError(
            f"{where} {name!r}: a loop joint is cut and has no coordinate. Load the mechanism with "
            f"other cuts (cuts=[...]), or use a PointSpring or a Bushing"
        )
    if isinstance(name, str) and name in model.joint_index:
        joint = model.joint(name)
        several = [one for one in known if one.startswith(name + ".")]
        if several:
            names = ", ".join(map(repr, several))
            raise ModelError(f"{where} {name!r} has several coordinates; expected one of {names}")
        raise ModelError(
            f"{where} {name!r}: expected a joint with a coordinate for each velocity, got a "
            f"{joint.type.name} joint; use a Bushing"
        )
    raise ModelError(f"{where}: {unknown_name('coordinate', name, known)}")
