"""What a file says of a mechanism, as frozen data: links, joints, loops.

A description repeats the file; it computes nothing but the frames that axes stand for.
`build_model` turns it into a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.joint_table import JointType
from mbd_bridge.model.spatial import Array, Frame, Inertia, rotation_that_takes_z_to

if TYPE_CHECKING:
    from mbd_bridge.model.flexible import FlexibleLink

Vector3 = tuple[float, float, float]

Configurations = Mapping[str, Mapping[str, tuple[float, ...]]]
"""Coordinates of joints by the joint's name, by the name of a configuration."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape for pictures and contact: it has no part in the dynamics.

    Attributes
    ----------
    kind : "mesh", "box", "cylinder", "sphere", "capsule" or another name that the file uses
    origin : Frame of the shape in its link
    size : numbers of the shape, m (box: x, y, z; cylinder, capsule: radius, length; sphere: radius)
    uri : what the file calls the mesh
    path : where the mesh was found, or None
    scale : of the mesh
    colour : red, green, blue, opacity from 0 to 1; None where the file gives none
    texture : path of an image, or its name where none was found; None where the file gives none
    """

    kind: str
    origin: Frame
    size: tuple[float, ...] = ()
    uri: str | None = None
    path: str | None = None
    scale: Vector3 = (1.0, 1.0, 1.0)
    colour: tuple[float, float, float, float] | None = None
    texture: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A rigid body. ``inertia is None`` where the file gives none: the link is massless."""

    name: str
    inertia: Inertia | None = None
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What the file allows: position (rad or m), effort (N m or N), velocity and its derivatives.

    Attributes
    ----------
    acceleration, deceleration, jerk : rad/s² or m/s² while the speed grows, and while it falls
        (None: the same); rad/s³ or m/s³. URDF has them from version 1.2 on
    """

    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    deceleration: float | None = None
    jerk: float | None = None


@dataclass(frozen=True, slots=True)
class Mimic:
    """A kinematic coupling: q = multiplier * q(joint) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """An edge of the tree that the file gives.

    Attributes
    ----------
    type : a name of the joint table (fixed, revolute, continuous, prismatic, floating, planar,
        spherical, universal, cylindrical)
    origin : Frame of the joint, that is of `child_frame` at zero coordinates, in the parent
    axis : unit vector in the joint's frame; for a planar joint the normal of the plane
    axis2 : the second axis of a universal joint, unit vector in the child's frame; None where
        the file gives none: then it is square to the first
    pitch : advance of a helical joint, m/rad
    damping, friction : N m s/rad or N s/m, and N m or N: they become force elements where
        `Description.joint_dynamics` says so (`forces.file_elements`)
    stiffness, rest : of a spring in the joint, N m/rad or N/m, and its coordinate where it is
        relaxed: likewise
    child_frame : Frame of the joint on the child link; a file's own joints have the link's frame
    turned : the tree walks this joint from what was described as its child (`model.recut`):
        parent, child, frames and axes here are as walked, its load keeps the described sense
    source : the file that holds it, None where it is the description's own
    """

    name: str
    type: str
    parent: str
    child: str
    origin: Frame = field(default_factory=Frame.identity)
    axis: Vector3 = (1.0, 0.0, 0.0)
    axis2: Vector3 | None = None
    limits: Limits = Limits()
    mimic: Mimic | None = None
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    pitch: float = 0.0
    line: int | None = None
    child_frame: Frame = field(default_factory=Frame.identity)
    turned: bool = False
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Payload:
    """A mass that was added to a link: kg, at a point (m) in the link's frame."""

    link: str
    mass: float
    centre: Vector3


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """One side of a loop joint: a frame on a link."""

    link: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Loop:
    """A joint that closes a loop: type, two frames on two links, a name.

    Attributes
    ----------
    type : distance, planar, spherical, cylindrical, universal, revolute, translational, fixed,
        mask or rolling
    axis : unit vector in the predecessor's frame; it has the same coordinates in the successor's
        (planar: the normal of the plane); of no meaning for distance, spherical and fixed
    axis2 : the second axis of a universal joint, unit vector in the successor's frame; None as for
        a `Joint`. Of a rolling wheel its axis; the normal of the plane on which it rolls is `axis`
    length : of a distance joint, m; None means the distance at the reference position
    rows : of a ``mask``: what is forbidden, six of 0 or 1: displacements of the successor along x,
        y and z of the predecessor's frame, then turns about them
    radius : of a rolling wheel, m
    """

    name: str
    type: str
    predecessor: LoopEnd
    successor: LoopEnd
    axis: Vector3 = (1.0, 0.0, 0.0)
    axis2: Vector3 | None = None
    length: float | None = None
    rows: tuple[int, ...] | None = None
    line: int | None = None
    source: str | None = None
    radius: float | None = None


@dataclass(frozen=True, slots=True)
class Coupling:
    """Gears: q(joint) = sum of ratio * q(leader) + offset, as a constraint.

    Names are those of coordinates: of a joint, or with the suffix of one of its coordinates.

    Attributes
    ----------
    follows : names and ratios of the leaders: one of plain gears, two of a differential; without
        any, the coordinate is locked at the offset
    """

    name: str
    joint: str
    follows: tuple[tuple[str, float], ...]
    offset: float = 0.0
    line: int | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Transmission:
    """What a file says of the gears between a motor and a joint.

    Attributes
    ----------
    reduction : turns of the motor by those of the joint (rad/m of a slide), negative where they
        turn against each other; None where the file gives none
    rotor_inertia : at the motor's shaft, kg m², None where the file gives none
    problem : why its numbers are not read, or nothing
    """

    name: str
    joint: str
    reduction: float | None = None
    rotor_inertia: float | None = None
    problem: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """A whole mechanism as its file tells it.

    Attributes
    ----------
    materials : kept for the pictures; no part in the dynamics
    source : path of the file, or None
    notes : the warnings that reading gave: what is odd in the file and was read as it stands
    flexible : links that bend
    actuated : actuated joints, as the sidecar or the file's transmissions say; None where
        neither does
    payloads : what was added to links afterwards; their inertia is part of `links` already
    transmissions : gears between motors and joints
    joint_dynamics : whether damping, friction and springs of joints and the inertia of rotors act:
        as in the program that the format belongs to (MJCF, SDF); a URDF belongs to none
    planar : whether loads out of the machine's plane are declared to be zero
    format : of the file: "URDF", "xacro", "MJCF", "SDF", ...; empty without a file
    gravity : m/s², in the root's axes, where the file says it
    configurations : named ones: keyframes of an MJCF, group states of an SRDF
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    loops: tuple[Loop, ...] = ()
    source: str | None = None
    notes: tuple[str, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    actuated: tuple[str, ...] | None = None
    payloads: tuple[Payload, ...] = ()
    flexible: tuple[FlexibleLink, ...] = ()
    transmissions: tuple[Transmission, ...] = ()
    planar: bool = False
    format: str = ""
    gravity: Vector3 | None = None
    configurations: Configurations = field(default_factory=dict)
    joint_dynamics: bool = False

    @property
    def root(self) -> Link:
        """The link that no joint carries."""
        carried = {joint.child for joint in self.joints}
        return next(link for link in self.links if link.name not in carried)

    @property
    def rotors(self) -> dict[str, float]:
        """Inertia of rotors as their joints feel it, by joint: J N², kg m² (of a slide kg)."""
        return {
            item.joint: item.rotor_inertia * (item.reduction or 1.0) ** 2
            for item in self.transmissions
            if item.rotor_inertia and not item.problem
        }


# Frames of joints and cuts from their axes: z along the axis, x along a second one.

PERPENDICULAR = 1e-6
"""Cosine of the angle between two axes below which they are taken as perpendicular: a file's digits
leave as much."""

PARALLEL = 1e-9
"""Sine of the angle below which a universal joint's two axes are the same, so a degree of freedom
is lost."""


def parallel(a: Vector3, b: Vector3) -> bool:
    """Return whether two unit vectors are parallel or opposite."""
    cross = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return max(map(abs, cross)) < PARALLEL


def perpendicular(a: Vector3, b: Vector3) -> bool:
    """Return whether two unit vectors are perpendicular, as far as a file's digits tell."""
    return abs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) < PERPENDICULAR


def second_axis(joint: Joint | Loop) -> Vector3:
    """Return the second axis of a universal joint; where none is given, one across the first.

    It is the coordinate direction after the first axis' largest component, turned square to it.
    """
    if joint.axis2 is not None:
        return joint.axis2
    x, y, z = rotation_that_takes_z_to(np.asarray(joint.axis))[:, 0].tolist()
    return x, y, z


def second_turn(loop: Loop, where: str) -> Frame:
    """Return the turn of a universal joint's successor frame: x along the second axis."""
    first, second = np.asarray(loop.axis), second_direction(loop, where)
    z = first - (first @ second) * second
    z = z / np.linalg.norm(z)
    return Frame(np.column_stack([second, np.cross(z, second), z]), np.zeros(3))


def second_direction(joint: Joint | Loop, where: str) -> Array:
    """Return a universal joint's second axis, a unit vector that differs from its first."""
    second = np.asarray(second_axis(joint))
    second = np.asarray(second / np.linalg.norm(second))
    x, y, z = second.tolist()
    if parallel(joint.axis, (x, y, z)):
        raise ModelError(
            f"{where}the two axes of a universal joint must differ, these are {joint.axis} and "
            f"{joint.axis2}; for one axis use a revolute joint"
        )
    return second


def oblique(loop: Loop, where: str) -> float:
    """Return the cosine of the angle between a universal cut's axes, 0 where perpendicular."""
    x, y, z = second_direction(loop, where).tolist()
    first = loop.axis
    return 0.0 if perpendicular(first, (x, y, z)) else first[0] * x + first[1] * y + first[2] * z


def axis_turn(joint: Joint, entry: JointType) -> Frame:
    """Return the frame, in the joint's described frame, whose z is the joint's axis."""
    if entry.name in ("fixed", "floating", "spherical", "deflection"):
        return Frame.identity()
    axis = np.asarray(joint.axis, dtype=np.float64)
    length = np.linalg.norm(axis)
    if not length > 0.0:
        raise ModelError(f"joint {joint.name!r}: its axis is zero; give a direction, e.g. 0 0 1")
    if entry.name == "planar" and axis[2] == length:
        return Frame.identity()
    return Frame(rotation_that_takes_z_to(axis / length), np.zeros(3))
