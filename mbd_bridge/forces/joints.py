"""A coordinate of a joint on which a force element acts, of the tree or of a cut joint.

A joint of the tree has its coordinates in q. A cut joint has none, but its frames a and b (z along
its axis, d the way from a to b) tell how far it is displaced:

    displacement s = a_z · d,                   ṡ = a_z · (ṙ_b - ṙ_a - ω_a × d)
    angle        s = atan2(a_y · b_x, a_x · b_x), ṡ = a_z · (ω_b - ω_a),   -π < s <= π

A force along it acts on the successor as a force along a_z at b's origin, or as a moment along a_z,
and on the predecessor as the opposite through the same point: its power is force times ṡ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from mbd_bridge.base.errors import ModelError, unknown_name
from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units
from mbd_bridge.functions import arctan2
from mbd_bridge.model import JOINT_TYPES, Model
from mbd_bridge.model.spatial import Array, Frame, cross


class Exerted(NamedTuple):
    """What a force along a coordinate is to the machine, as in `within_cuts` and in an `Effect`.

    Wrenches are about the origin and in the axes of the root frame.
    """

    forces: dict[int, Any]
    wrenches: dict[int, Array]
    within: dict[int, Array]


class Moving(NamedTuple):
    """A coordinate at one state.

    Attributes
    ----------
    s, rate : the coordinate, rad or m, and its rate
    exerts : what a force along it exerts, N m or N
    """

    s: Any
    rate: Any
    exerts: Callable[[Any], Exerted]


@dataclass(frozen=True)
class JointCoordinate(ABC):
    """One degree of freedom of a joint.

    Attributes
    ----------
    joint : its name
    unit : "rad" or "m"
    velocities, links, cuts : what a force along it acts on: velocities, or links of a cut joint
    """

    joint: str
    unit: str
    velocities: tuple[int, ...]
    links: tuple[int, ...]
    cuts: tuple[int, ...]

    @property
    def force_unit(self) -> str:
        """Unit of a force along the coordinate."""
        return "N m" if self.unit == "rad" else "N"

    @abstractmethod
    def at(self, model: Model, q: Array, v: Array) -> Moving:
        """Return the coordinate at a state, of floats or symbols."""


@dataclass(frozen=True)
class TreeCoordinate(JointCoordinate):
    """Coordinate s = ratio q + offset of a joint of the tree.

    Attributes
    ----------
    q, v : places in the mechanism's coordinates and velocities
    ratio, offset : of a joint that follows another one (``<mimic>``), else 1 and 0
    """

    q: int
    v: int
    ratio: float
    offset: float

    def at(self, model: Model, q: Array, v: Array) -> Moving:
        """Return the coordinate at a state."""
        ratio = self.ratio
        if ratio == 1.0 and self.offset == 0.0:
            return Moving(q[self.q], v[self.v], lambda force: Exerted({self.v: force}, {}, {}))
        return Moving(
            ratio * q[self.q] + self.offset,
            ratio * v[self.v],
            lambda force: Exerted({self.v: ratio * force}, {}, {}),
        )


@dataclass(frozen=True)
class CutCoordinate(JointCoordinate):
    """Angle or displacement of a cut joint."""

    def at(self, model: Model, q: Array, v: Array) -> Moving:
        """Return the coordinate at a state."""
        (number,) = self.cuts
        cut = model.cuts[number]
        state = state_vectors(model, q, v)
        (A, r_a, v_a, w_a), (B, r_b, v_b, w_b) = (
            _side(state, body, frame)
            for body, frame in ((cut.predecessor, cut.a), (cut.successor, cut.b))
        )
        z = A[:, 2]
        if self.unit == "rad":
            s: Any = arctan2(A[:, 1] @ B[:, 0], A[:, 0] @ B[:, 0])
            rate: Any = z @ (w_b - w_a)
        else:
            d = r_b - r_a
            s, rate = z @ d, z @ (v_b - v_a - cross(w_a, d))

        def exerts(force: Any) -> Exerted:
            along = force * z
            if self.unit == "rad":
                wrench = np.concatenate([0.0 * along, along])
            else:
                wrench = np.concatenate([along, cross(r_b, along)])
            predecessor, successor = cut.links
            return Exerted({}, {predecessor: -wrench, successor: wrench}, {number: wrench})

        return Moving(s, rate, exerts)


def _side(state: MechanismState, body: int, frame: Frame) -> tuple[Array, Array, Array, Array]:
    """Return axes (columns), origin and its velocity, angular velocity of a frame on a body."""
    at = state.bodies[body]
    origin = at.position + at.rotation @ frame.translation
    omega = at.Y[3:]
    return at.rotation @ frame.rotation, origin, at.Y[:3] + cross(omega, origin), omega


def joint_coordinates(model: Model) -> dict[str, JointCoordinate]:
    """Return the coordinates that force elements may act on, by name."""
    coordinates: dict[str, JointCoordinate] = {}
    for body in model.bodies:
        kind = body.type
        if not kind.nv or kind.nq != kind.nv:
            continue
        joint, slides = model.joints[body.joint].name, kind.slides()
        for k, suffix in enumerate(kind.velocities):
            q, v = body.q.start + k, body.v.start + k
            unit = "m" if slides[k] else "rad"
            coordinates[joint + suffix] = TreeCoordinate(
                joint, unit, (v,), (), (), q, v, body.ratio, body.offset
            )
    for number, cut in enumerate(model.cuts):
        for suffix, unit in OF_CUTS.get(cut.type, {}).items():
            coordinates[cut.name + suffix] = CutCoordinate(cut.name, unit, (), cut.links, (number,))
    return coordinates


OF_CUTS = {
    "revolute": {"": "rad"},
    "translational": {"": "m"},
    "cylindrical": dict(zip(JOINT_TYPES["cylindrical"].velocities, ("rad", "m"), strict=True)),
}
"""Coordinates of cut joints by type, as names behind that of the joint, with their units."""


def joint_coordinate(element: ForceElement, model: Model, name: Any) -> JointCoordinate:
    """Return the coordinate that an element acts on."""
    coordinates = joint_coordinates(model)
    if isinstance(name, str) and name in coordinates:
        return coordinates[name]
    where = f"{element.label}: joint"
    kinds = {cut.name: cut.type for cut in model.cuts}
    kinds |= {joint.name: joint.type.name for joint in model.joints}
    if isinstance(name, str) and name in kinds:
        several = [one for one in coordinates if one.startswith(name + ".")]
        if several:
            names = ", ".join(map(repr, several))
            raise ModelError(f"{where} {name!r} has several coordinates; expected one of {names}")
        raise ModelError(
            f"{where} {name!r}: expected a joint with a coordinate for each velocity, got a "
            f"{kinds[name]} joint; use a Bushing"
        )
    raise ModelError(f"{where}: {unknown_name('coordinate', name, coordinates)}")


# Elements that act along one coordinate of a joint: what they have in common.


class CoordinateEffect(NamedTuple):
    """What an element does along its coordinate: force on it, energy, dissipation, report."""

    force: Any
    energy: Any
    dissipation: Any
    report: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class JointElement(ForceElement):
    """An element along one coordinate of a joint; concrete ones say its law.

    Parameters
    ----------
    joint : name of a coordinate: of the joint, or "joint.suffix" where it has several. Cut joints
        have some too: revolute, translational and cylindrical ones
    """

    joint: str

    @abstractmethod
    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return what a bound element does at the coordinate s and its rate."""

    def more_units(self, place: JointCoordinate) -> Units:
        """Return names and units of what it reports beside force and rate."""
        return {}

    def bind(self, model: Model) -> Self:
        """Return the element with its coordinate and its numbers checked."""
        self.coordinate(model)
        return self.checked(model)

    def place_units(self, model: Model) -> Units:
        """Return the units of its coordinate."""
        place = self.coordinate(model)
        return {"s": place.unit, "f": place.force_unit}

    def coordinate(self, model: Model) -> JointCoordinate:
        """Return its coordinate."""
        return joint_coordinate(self, model, self.joint)

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the force along the coordinate, and the report."""
        at = self.coordinate(model).at(model, q, v)
        force, energy, dissipation, more = self.along(t, at.s, at.rate)
        report = {"force": force, **more, "rate": at.rate}
        exerted = at.exerts(force)
        forces, wrenches = exerted.forces, exerted.wrenches
        return Effect(forces, wrenches, energy, dissipation, report, about="root")

    def within_cuts(
        self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES
    ) -> Mapping[int, Array]:
        """Return its wrench on the successor of a cut joint."""
        at = self.coordinate(model).at(model, q, v)
        return at.exerts(self.along(t, at.s, at.rate).force).within

    def cut_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the cut joint that it acts in."""
        return self.coordinate(model).cuts

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is that on the coordinate."""
        place = self.coordinate(model)
        more = self.more_units(place)
        return {"force": place.force_unit, **more, "rate": f"{place.unit}/s"}

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocity of the coordinate, of a joint of the tree."""
        return self.coordinate(model).velocities

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links of a cut joint."""
        return self.coordinate(model).links
