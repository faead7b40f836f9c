"""Flexible links in a mechanism: their stations as links and joints, their integrals in a body.

Whatever is attached to a flexible link (a joint, an end of a loop joint, a named station, the end
of the beam) hangs on a *station*: a link LINK.NAME without mass, held by a joint of the type
`Deflection`. All frames on a flexible link are thus constant frames on links again, which tree
joints, cut joints, force elements, loads and pictures place as they place any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbd_bridge.base.arguments import an_instance, known_name
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.description import Description, Joint, Link, LoopEnd
from mbd_bridge.model.joint_table import DEFLECTION, Deflection
from mbd_bridge.model.spatial import Array, Frame, is_zero

if TYPE_CHECKING:
    from mbd_bridge.model.flexible import FlexibleLink
    from mbd_bridge.model.flexible.finite_element import ShapeMode
    from mbd_bridge.model.flexible.integrals import (
        Deformation,
        MassIntegrals,
        StationShape,
    )

SAME_MASS = 0.1
"""How much the mass of a modal basis may differ from the link's: meshes and rounded numbers."""
SAME_PLACE = 0.1
"""How far its centre of mass may be from the link's, in parts of its extent."""

OF_BEAM = {"E": "Pa", "G": "Pa", "density": "kg/m^3"}
OF_SECTION = {"A": "m^2", "Iy": "m^4", "Iz": "m^4", "J": "m^4"}
OF_DAMPING = {"damping_ratio": "", "alpha": "1/s", "beta": "s"}
FREQUENCY = "frequency"
OF_FLEXIBLE = {**OF_BEAM, **OF_SECTION, **OF_DAMPING, FREQUENCY: "Hz"}
"""Numbers of flexible links, with their units: LINK.density; of a modal basis LINK.mode1.frequency,
that of the mode alone."""


@dataclass(frozen=True, slots=True, eq=False)
class FlexibleBody:
    """What a flexible link adds to the body that its frame belongs to.

    Attributes
    ----------
    link, body : indices
    q, v : places of its modal coordinates and velocities
    integrals : mass integrals in the body's frame
    stiffness, damping : (n, n)
    """

    link: int
    body: int
    q: slice
    v: slice
    integrals: MassIntegrals
    stiffness: Array
    damping: Array

    def frequencies(self) -> Array:
        """Return the natural frequencies (n,) Hz of the link alone, held where its frame is."""
        modes = slice(1, 1 + len(self.stiffness))
        M = np.trace(self.integrals.second[modes, modes], axis1=2, axis2=3)
        squares = np.linalg.eigvals(np.linalg.solve(M, self.stiffness)).real
        return np.asarray(np.sqrt(np.maximum(np.sort(squares), 0.0)) / (2.0 * np.pi))

    @property
    def damped(self) -> bool:
        """Whether its modes have damping, of floats or symbols."""
        return not all(is_zero(x) for x in np.ravel(self.damping))


class FlexiblePart(NamedTuple):
    """A flexible link while its mechanism is built: its deformation and its joint of modes."""

    link: str
    modal_joint: str
    deformation: Deformation


class Expanded(NamedTuple):
    """A description with stations, and what belongs to its joints of stations."""

    description: Description
    types: Mapping[str, Deflection]
    leaders: Mapping[str, str]
    parts: tuple[FlexiblePart, ...]


def with_flexible(description: Description, links: Iterable[FlexibleLink]) -> Description:
    """Return a description with more flexible links."""
    try:
        more = tuple(links)
    except TypeError:
        raise ModelError(f"flexible: expected a list of FlexibleLinks, got {links!r:.60}") from None
    if not more:
        return description
    from mbd_bridge.model.flexible import FlexibleLink

    for link in more:
        an_instance("flexible link", link, FlexibleLink, "mbd.flexible.FlexibleLink(...)")
    return replace(description, flexible=(*description.flexible, *more))


def expand(description: Description) -> Expanded:
    """Return the description with the stations of its flexible links as links and joints.

    One that has them already keeps them.
    """
    names = {link.name for link in description.links}
    seen: set[str] = set()
    for flexible in description.flexible:
        known_name("link", flexible.link, names, "flexible link: ", ModelError)
        if flexible.link in seen:
            raise ModelError(f"flexible link {flexible.link!r} is given twice; leave one out")
        seen.add(flexible.link)
        known = {joint.parent for joint in description.joints if joint.type == DEFLECTION}
        if flexible.link not in known:
            description = _with_stations(description, flexible)
    if not description.flexible:
        return Expanded(description, {}, {}, ())
    from mbd_bridge.model.flexible.integrals import deformation

    types: dict[str, Deflection] = {}
    leaders: dict[str, str] = {}
    parts = []
    for flexible in description.flexible:
        stations = held_stations(description, flexible.link)
        root = root_of(description, flexible)
        places = [flexible.beam.place(joint.origin.translation) for joint in stations]
        deformed = deformation(flexible, root, places)
        for joint, shape in zip(stations, deformed.shapes, strict=True):
            if not flexible.slope:  # LeeJoo90 (52)
                shape = shape._replace(rotation=np.zeros_like(shape.rotation))
            types[joint.name] = station_type(shape, deformed.lengths)
            leaders[joint.name] = stations[0].name
        parts.append(FlexiblePart(flexible.link, stations[0].name, deformed))
    return Expanded(description, types, leaders, tuple(parts))


def station_type(shape: StationShape, lengths: tuple[bool, ...]) -> Deflection:
    """Return the motion of a station."""
    short = np.moveaxis(shape.shortening, 2, 0).tolist() if shape.shortening.any() else []
    return Deflection(
        _rows(shape.displacement.tolist()),
        _rows(shape.rotation.tolist()),
        tuple(_rows(S) for S in short),
        lengths,
    )


def in_body(own: MassIntegrals, frame: Frame) -> MassIntegrals:
    """Return the mass integrals of a link, given in its frame, in the frame's parent."""
    from mbd_bridge.model.flexible.integrals import NOISE, MassIntegrals

    R, p = frame.rotation, frame.translation
    first = own.first @ R.T
    second = np.einsum("ij,abjk,lk->abil", R, own.second, R)
    across = np.einsum("i,bj->bij", p, first)  # p (∫ β_b dm)ᵀ, of which the undeformed link is 0
    second[0] += across
    second[:, 0] += np.swapaxes(across, 1, 2)
    second[0, 0] += own.mass * np.outer(p, p)
    first[0] += own.mass * p
    sizes = np.sqrt(np.einsum("aaii->a", second))
    noise = NOISE * np.outer(sizes, sizes)[:, :, None, None]
    second[np.abs(second) < noise] = 0.0
    first[np.abs(first) < NOISE * np.sqrt(own.mass) * sizes[:, None]] = 0.0
    return MassIntegrals(own.mass, first, second, own.pairs)


def _check_mass(description: Description, flexible: FlexibleLink) -> None:
    """Refuse a modal basis whose mass is not that of the link in the robot's file."""
    from mbd_bridge.model.flexible import ModalBasis

    basis = flexible.beam
    rigid = next(item.inertia for item in description.links if item.name == flexible.link)
    if not isinstance(basis, ModalBasis) or rigid is None or not rigid.mass > 0.0:
        return
    centre = basis.weighted(basis.nodes[None])[0].sum(axis=0) / basis.mass
    apart = float(np.linalg.norm(centre - rigid.centre))
    where = f"flexible link {flexible.link!r}: "
    advice = (
        "Check its unit and where it is placed (xyz, rpy); if it is right, leave the link's "
        "inertia out of the robot's file"
    )
    if abs(basis.mass - rigid.mass) > SAME_MASS * rigid.mass:
        raise ModelError(
            f"{where}its modal basis has a mass of {basis.mass:.6g} kg, the link one of "
            f"{rigid.mass:.6g} kg. {advice}"
        )
    if apart > SAME_PLACE * basis.length:
        raise ModelError(
            f"{where}the centre of mass of its modal basis, {centre.round(6).tolist()}, is "
            f"{apart:.3g} m from the link's, {np.round(rigid.centre, 6).tolist()}. {advice}"
        )


def _with_stations(description: Description, flexible: FlexibleLink) -> Description:
    link = flexible.link
    _check_mass(description, flexible)
    root = root_of(description, flexible)
    beam, tip = flexible.beam, flexible.beam.far_end(root)
    places: list[tuple[str, float]] = [(f"{link}.tip", tip)]
    places += [(f"{link}.{name}", x) for name, x in flexible.stations.items()]
    links: list[Link] = []
    joints: list[Joint] = []
    stations: list[tuple[str, float]] = []
    taken = {joint.name for joint in description.joints}
    taken |= {loop.name for loop in description.loops}

    def station(x: float, name: str | None = None) -> tuple[str, Frame]:
        """Return the link at a place, made if there is none, and its frame at rest."""
        origin = Frame(np.eye(3), flexible.beam.point(x))
        held = next((at for at, y in stations if beam.same(x, y)), None)
        if held is None and beam.same(x, root):
            held, origin = link, Frame.identity()
            if name is not None:
                joints.append(
                    Joint(name, "fixed", link, name, Frame(np.eye(3), flexible.beam.point(x)))
                )
        elif held is None:
            held = name or f"{link}.station{len(stations)}"
            first = link if link not in taken else f"{link}.flex"
            joints.append(Joint(held if stations else first, DEFLECTION, link, held, origin))
            stations.append((held, x))
            links.append(Link(held))
            return held, origin
        elif name is not None:
            joints.append(Joint(name, "fixed", held, name))
        if name is not None:
            links.append(Link(name))
        return held, origin

    for name, x in places:
        station(x, name)

    def moved(name: str, frame: Frame) -> tuple[str, Frame]:
        """Return where something on the link hangs now."""
        if name != link:
            return name, frame
        held, origin = station(flexible.beam.place(frame.translation))
        return held, Frame(frame.rotation, frame.translation - origin.translation)

    kept = []
    for joint in description.joints:
        parent, origin = moved(joint.parent, joint.origin)
        kept.append(replace(joint, parent=parent, origin=origin))
    loops = tuple(
        replace(
            loop,
            predecessor=LoopEnd(*moved(loop.predecessor.link, loop.predecessor.frame)),
            successor=LoopEnd(*moved(loop.successor.link, loop.successor.frame)),
        )
        for loop in description.loops
    )
    names = {new.name for new in description.links}
    for new in links:
        if new.name in names or new.name in taken:
            raise ModelError(
                f"flexible link {link!r}: its station {new.name!r} has the name of another link or "
                f"joint; rename one of them"
            )
    without = tuple(
        replace(new, inertia=None) if new.name == link else new for new in description.links
    )
    return replace(description, links=(*without, *links), joints=(*joints, *kept), loops=loops)


def root_of(description: Description, flexible: FlexibleLink) -> float:
    """Return where on the beam the joint that carries its link sits.

    The root link has none: it is held at the beam's start, or at the node at the link's origin.
    """
    from mbd_bridge.model.flexible import Beam

    for joint in description.joints:
        if joint.child == flexible.link:
            return flexible.beam.place(joint.child_frame.translation)
    return 0.0 if isinstance(flexible.beam, Beam) else flexible.beam.place(np.zeros(3))


def held_stations(description: Description, link: str) -> list[Joint]:
    """Return the joints that hold the stations of a flexible link, once it is expanded."""
    return [
        joint for joint in description.joints if joint.type == DEFLECTION and joint.parent == link
    ]


def modes_of(description: Description, flexible: FlexibleLink) -> tuple[ShapeMode, ...]:
    """Return the modes of a flexible link that has a beam, once it is expanded."""
    from mbd_bridge.model.flexible import Beam
    from mbd_bridge.model.flexible.basis import basis

    beam = flexible.beam
    assert isinstance(beam, Beam)
    held = held_stations(description, flexible.link)
    places = [beam.place(joint.origin.translation) for joint in held]
    return basis(flexible, beam, root_of(description, flexible), places)


def _rows(rows: list[list[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows)
