"""Mechanisms without a file: name links and joints one by one, then build."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import ModelError, unknown_name
from mbd_bridge.formats import Description, Joint, Link, Loop, LoopEnd, Mimic
from mbd_bridge.mechanism.joint_table import JOINT_TYPES
from mbd_bridge.spatial import Frame, Inertia


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
        self.name = name
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._loops: dict[str, Loop] = {}
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
        if name in self._links and self._links[name].inertia is not None:
            raise ModelError(f"there is a link {name!r} already; choose another name")
        own = inertia_of(f"link {name!r}", mass, centre, inertia)
        self._links[name] = Link(name, None if own.is_zero() else own)
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
        type : a name of the joint table
        xyz, rpy : m, rad: frame of the child link at zero coordinates, in the parent link
        axis, axis2 : directions in that frame, of any length
        pitch : of a helical joint, m/rad
        mimic, multiplier, offset : the joint follows another: q = multiplier * q(mimic) + offset
        """
        if name in self._joints:
            raise ModelError(f"there is a joint {name!r} already; choose another name")
        if type not in JOINT_TYPES:
            raise ModelError(f"joint {name!r}: " + unknown_name("joint type", type, JOINT_TYPES))
        for end in (parent, child):
            if end not in self._links:
                self.link(end)
        self._joints[name] = Joint(
            name,
            type,
            parent,
            child,
            Frame.from_rpy(xyz, rpy),
            _unit(name, axis),
            None if axis2 is None else _unit(name, axis2),
            mimic=Mimic(mimic, multiplier, offset) if mimic is not None else None,
            pitch=pitch,
        )
        return self

    def loop(
        self,
        name: str,
        type: str,
        predecessor: tuple[str, Frame],
        successor: tuple[str, Frame],
        axis: ArrayLike = (0.0, 0.0, 1.0),
        axis2: ArrayLike | None = None,
    ) -> Self:
        """Add a joint that closes a loop: a frame on one link, a frame on another."""
        ends = []
        for link, frame in (predecessor, successor):
            if link not in self._links:
                raise ModelError(f"loop {name!r}: " + unknown_name("link", link, self._links))
            ends.append(LoopEnd(link, frame))
        second = None if axis2 is None else _unit(name, axis2)
        self._loops[name] = Loop(name, type, ends[0], ends[1], _unit(name, axis), second)
        return self

    def description(self) -> Description:
        """Return what was collected."""
        links, joints = tuple(self._links.values()), tuple(self._joints.values())
        return Description(self.name, links, joints, tuple(self._loops.values()))


def inertia_of(what: str, mass: float, centre: ArrayLike, inertia: ArrayLike) -> Inertia:
    """Return a body's checked inertia; messages call the body `what`."""
    place = np.asarray(centre, dtype=np.float64)
    if place.shape != (3,):
        raise ModelError(f"{what}: the centre of mass is (x, y, z) m, got {centre!r}")
    matrix = np.asarray(inertia, dtype=np.float64)
    if matrix.shape not in ((3,), (3, 3)):
        raise ModelError(
            f"{what}: inertia is (3,) principal moments or a (3, 3) matrix, not of the shape "
            f"{matrix.shape}"
        )
    own = Inertia(float(mass), place, np.diag(matrix) if matrix.ndim == 1 else matrix)
    if not all(np.all(np.isfinite(x)) for x in (own.mass, own.centre, own.central)):
        raise ModelError(f"{what}: mass, centre and inertia are finite numbers")
    if own.mass < 0.0 or not np.array_equal(own.central, own.central.T):
        raise ModelError(f"{what}: mass is not negative, the inertia is symmetric")
    return own


def _unit(name: str, axis: Any) -> tuple[float, float, float]:
    vector = np.asarray(axis, dtype=np.float64)
    length = np.linalg.norm(vector)
    if vector.shape != (3,) or not (np.isfinite(length) and length > 0.0):
        raise ModelError(f"joint {name!r}: the axis {axis!r} is no direction; give e.g. (0, 0, 1)")
    x, y, z = (vector / length).tolist()
    return x, y, z
