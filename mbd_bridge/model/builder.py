"""Mechanisms without a file: name links and joints one by one, then build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance, finite_numbers, known_name
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Joint,
    Link,
    Loop,
    LoopEnd,
    Mimic,
    Payload,
)
from mbd_bridge.model.flexible import FlexibleLink
from mbd_bridge.model.joint_table import JOINT_TYPES
from mbd_bridge.model.spatial import Array, Frame, Inertia, lump

SYMMETRIC = 1e-12
"""How far from symmetric an inertia may be, relative to its largest entry: R J Rᵀ is rounded."""


class Builder:
    """Collects links, joints and loops.

    Parameters
    ----------
    name : of the mechanism
    root : name of the link that stands on the ground (or floats)

    Examples
    --------
    >>> pendulum = Builder("pendulum", root="stand")
    >>> _ = pendulum.link("rod", mass=1.0, centre=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0))
    >>> _ = pendulum.joint("pin", "revolute", "stand", "rod", axis=(0, 1, 0))
    >>> pendulum.description().joints[0].child
    'rod'
    """

    def __init__(self, name: str = "mechanism", root: str = "base") -> None:
        _check_name("name", name)
        self.name = name
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._loops: dict[str, Loop] = {}
        self._couplings: dict[str, Coupling] = {}
        self._flexible: list[FlexibleLink] = []
        self.link(root)

    def link(
        self,
        name: str,
        mass: float = 0.0,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Self:
        """Add a link, or give the root link its inertia.

        Parameters
        ----------
        mass : kg
        centre : (3,) m, of mass, in the link's frame
        inertia : (3,) principal moments or (3, 3) matrix, kg m², about the centre of mass, along
            the link's axes
        """
        _check_name("link", name)
        if name in self._links and self._links[name].inertia is not None:
            raise ModelError(f"there is a link {name!r} already; choose another name")
        described = inertia_of(f"link {name!r}", mass, centre, inertia)
        self._links[name] = Link(name, None if described.is_zero() else described)
        return self

    def joint(
        self,
        name: str,
        type: str,
        parent: str,
        child: str,
        xyz: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike = (0.0, 0.0, 1.0),
        axis2: ArrayLike | None = None,
        *,
        pitch: float = 0.0,
        mimic: str | None = None,
        multiplier: float = 1.0,
        offset: float = 0.0,
    ) -> Self:
        """Add a joint of the tree; a link that is not there yet is added without mass.

        Parameters
        ----------
        type : fixed, revolute, continuous, prismatic, helical, cylindrical, universal, spherical,
            planar or floating
        xyz, rpy : m, rad: frame of the child link at zero coordinates, in the parent link
        axis, axis2 : directions in that frame, of any length
        pitch : of a helical joint, m/rad
        mimic, multiplier, offset : the joint follows another: q = multiplier * q(mimic) + offset
        """
        _check_name("joint", name)
        if name in self._joints:
            raise ModelError(f"there is a joint {name!r} already; choose another name")
        known_name("joint type", type, JOINT_TYPES, f"joint {name!r}: ", ModelError)
        for what, end in (("parent", parent), ("child", child)):
            _check_name(f"joint {name!r}: {what}", end)
            if end not in self._links:
                self.link(end)
        where = f"joint {name!r}: "
        coupling = (
            _number(f"{where}multiplier", multiplier),
            _number(f"{where}offset", offset),
        )
        self._joints[name] = Joint(
            name,
            type,
            parent,
            child,
            Frame.from_rpy(
                _vector(f"{where}xyz", xyz),
                _vector(f"{where}rpy", rpy),
            ),
            _unit(name, axis),
            None if axis2 is None else _unit(name, axis2),
            mimic=None if mimic is None else Mimic(mimic, *coupling),
            pitch=_number(f"{where}pitch", pitch),
        )
        return self

    def loop(
        self,
        name: str,
        type: str,
        predecessor: str | tuple[str, Frame],
        successor: str | tuple[str, Frame],
        axis: ArrayLike = (0.0, 0.0, 1.0),
        axis2: ArrayLike | None = None,
        *,
        xyz: ArrayLike | None = None,
        rpy: ArrayLike | None = None,
        xyz2: ArrayLike | None = None,
        rpy2: ArrayLike | None = None,
        length: float | None = None,
        rows: Sequence[int] | None = None,
        radius: float | None = None,
    ) -> Self:
        """Add a joint that closes a loop: a frame on one link, a frame on another.

        Parameters
        ----------
        type : distance, planar, spherical, cylindrical, universal, revolute, translational,
            fixed, mask or rolling (a wheel with a knife edge, the successor, on a plane of the
            predecessor)
        predecessor, successor : names of the two links, or each with the joint's frame in it
        xyz, rpy : m, rad: the joint's frame in the predecessor link; zeros where not given
        xyz2, rpy2 : the joint's frame in the successor link. At zero displacement the two frames
            coincide
        axis : in the predecessor's frame, with the same coordinates in the successor's; of a
            rolling wheel the normal of the plane
        axis2 : the second axis of a universal joint, or the axis of a rolling wheel, in the
            successor's frame
        length : of a distance joint, m; None for the distance at zero coordinates
        rows : of a mask, six of 0 or 1, where 1 forbids: displacements along x, y and z of the
            predecessor's frame, then turns about them
        radius : of a rolling wheel, m
        """
        _check_name("loop", name)
        if name in self._loops:
            raise ModelError(f"there is a loop {name!r} already; choose another name")
        ends = (
            self._end(name, "predecessor", predecessor, xyz=xyz, rpy=rpy),
            self._end(name, "successor", successor, xyz2=xyz2, rpy2=rpy2),
        )
        second = None if axis2 is None else _unit(name, axis2)
        self._loops[name] = Loop(name, type, ends[0], ends[1], _unit(name, axis), second)
        mask = None if rows is None else _mask(name, rows)
        if length is not None:
            length = _number(f"loop {name!r}: length", length)
        if radius is not None:
            radius = _number(f"loop {name!r}: radius", radius)
        self._loops[name] = replace(self._loops[name], length=length, rows=mask, radius=radius)
        return self

    def _end(self, loop: str, what: str, end: object, **placed: ArrayLike | None) -> LoopEnd:
        """Return one end of a loop joint; `placed` holds its xyz and rpy, by the caller's names."""
        where = f"loop {loop!r}: "
        match end:
            case str(link):
                frame = None
            case (str(link), Frame() as frame):
                pass
            case _:
                raise ModelError(
                    f"{where}{what}: expected a link's name (its frame as {' and '.join(placed)}) "
                    f"or (link, Frame), got {end!r:.60}"
                )
        known_name("link", link, self._links, where, ModelError)
        named = [name for name, value in placed.items() if value is not None]
        if frame is None:
            zeros = (0.0, 0.0, 0.0)
            xyz, rpy = (
                _vector(where + name, zeros if x is None else x) for name, x in placed.items()
            )
            return LoopEnd(link, Frame.from_rpy(xyz, rpy))
        if named:
            raise ModelError(
                f"{where}the {what}'s frame is given twice, in a pair and as "
                f"{' and '.join(named)}; leave one out"
            )
        return LoopEnd(link, frame)

    def couple(
        self,
        name: str,
        joint: str,
        follows: str | Mapping[str, float],
        ratio: float = 1.0,
        offset: float = 0.0,
    ) -> Self:
        """Add gears between coordinates: q(joint) = ratio * q(follows) + offset.

        Unlike ``mimic`` this is a constraint: both coordinates stay, and the gears have a load of
        their own, the generalised force with which they act on `joint`.

        Parameters
        ----------
        joint, follows : names of joints with one coordinate, or of coordinates ("slide.angle"). A
            differential follows several, with a ratio each: ``{"left": 0.5, "right": 0.5}``;
            one that follows none, ``{}``, is locked at the offset, rad or m
        """
        _check_name("coupling", name)
        if name in self._couplings:
            raise ModelError(f"there is a coupling {name!r} already; choose another name")
        where = f"coupling {name!r}: "
        _check_name(where + "joint", joint)
        if not isinstance(follows, Mapping):
            _check_name(where + "follows", follows)
            follows, ratio = {follows: ratio}, 1.0
        if ratio != 1.0:
            raise ModelError(f"{where}a mapping has the ratio of each leader; leave ratio= out")
        for leader in follows:
            _check_name(where + "follows", leader)
        ratios = (_number(f"{where}ratio", factor) for factor in follows.values())
        shift = _number(f"{where}offset", offset)
        self._couplings[name] = Coupling(
            name, joint, tuple(zip(follows, ratios, strict=True)), shift
        )
        return self

    def flexible(self, link: FlexibleLink) -> Self:
        """Let a link bend; its beam's mass takes the place of the link's inertia."""
        self._flexible.append(
            an_instance("link", link, FlexibleLink, "mbd.flexible.FlexibleLink(...)")
        )
        return self

    def description(self) -> Description:
        """Return what was collected."""
        links, joints = tuple(self._links.values()), tuple(self._joints.values())
        loops, couplings = tuple(self._loops.values()), tuple(self._couplings.values())
        flexible = tuple(self._flexible)
        return Description(self.name, links, joints, loops, couplings=couplings, flexible=flexible)


def inertia_of(what: str, mass: float, centre: ArrayLike, inertia: ArrayLike) -> Inertia:
    """Return a body's checked inertia; messages call the body `what`."""
    result = Inertia(
        _number(f"{what}: mass", mass),
        _vector(f"{what}: centre", centre),
        _symmetric(
            what, finite_numbers(f"{what}: inertia", inertia, (3,), (3, 3), error=ModelError)
        ),
    )
    if result.mass < 0.0:
        raise ModelError(f"{what}: mass is not negative, this is {result.mass:g} kg")
    return result


def _number(name: str, value: float) -> float:
    return float(finite_numbers(name, value, (), error=ModelError))


def _vector(name: str, value: ArrayLike) -> Array:
    return finite_numbers(name, value, (3,), error=ModelError)


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str):
        raise ModelError(f"{what}: expected a name, got {name!r:.60}")


def _mask(name: str, rows: Sequence[int]) -> tuple[int, ...]:
    numbers = finite_numbers(f"loop {name!r}: rows", rows, error=ModelError)
    if numbers.shape != (6,) or not np.isin(numbers, (0.0, 1.0)).all():
        raise ModelError(f"loop {name!r}: rows are six of 0 or 1, got {rows!r:.60}")
    return tuple(int(row) for row in numbers)


def _symmetric(where: str, inertia: Array) -> Array:
    """Return principal moments as a matrix, and a matrix without the rounding of a rotation."""
    if inertia.ndim == 1:
        return np.diag(inertia)
    apart = np.abs(inertia - inertia.T).max()
    if apart > SYMMETRIC * np.abs(inertia).max():
        raise ModelError(f"{where}: the inertia is symmetric, this is not, by {apart:g} kg m²")
    return np.asarray(0.5 * (inertia + inertia.T))


def _unit(name: str, axis: Any) -> tuple[float, float, float]:
    vector = _vector(f"joint {name!r}: axis", axis)
    largest = np.abs(vector).max()
    if not largest > 0.0:
        raise ModelError(f"joint {name!r}: the axis {axis!r} is no direction; give e.g. (0, 0, 1)")
    vector = vector / largest  # squares of directions of 1e-200 m or 1e200 m are no numbers
    length = np.linalg.norm(vector)
    x, y, z = (vector / length).tolist()
    return x, y, z


# A load that a mechanism picks up: a rigid body fixed to one of its links.


def with_payload(
    description: Description,
    link: str,
    mass: float,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike = (0.0, 0.0, 0.0),
) -> Description:
    """Return a description with a body more on a link; see `Builder.link` for the arguments.

    It has no source: other readers of the file would not know of the body.
    """
    known_name("link", link, [entry.name for entry in description.links], error=ModelError)
    if any(flexible.link == link for flexible in description.flexible):
        raise ModelError(
            f"the payload of {link!r}: that link bends, and a payload moves with one place of it: "
            f"give it to a station, such as '{link}.tip', or to a link that is fixed to it"
        )
    body = inertia_of(f"the payload of {link!r}", mass, centre, inertia)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows, the model refuses
        links = tuple(
            replace(entry, inertia=lump([x for x in (entry.inertia, body) if x is not None]))
            if entry.name == link
            else entry
            for entry in description.links
        )
    x, y, z = body.centre.tolist()
    payloads = (*description.payloads, Payload(link, body.mass, (x, y, z)))
    return replace(description, links=links, source=None, payloads=payloads)
