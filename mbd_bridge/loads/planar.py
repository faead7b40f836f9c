"""Loads of a mechanism that is declared planar: what points out of its plane is zero.

A planar linkage as a machine in space is overconstrained: rigid-body mechanics does not determine
forces along its axes and moments across them. ``planar: true`` in ``NAME.loops.yaml`` declares that
they are meant to be zero. They then count as determined, if zero satisfies the balance: where the
loads of all joints with the smallest multipliers have parts out of the plane, as from a body or a
push beside it, the declaration is refused with the residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.errors import ModelError, SolveError
from mbd_bridge.equations.cartesian import placement
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.options import In
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model import Model

if TYPE_CHECKING:
    from mbd_bridge.loads.solver import LoadSolver


ALIGNED = 1e-5
"""Sine of the angle by which rounded numbers of a file may turn an axis away from the normal."""

RESIDUAL = 1e-6
"""Share of the largest load of all joints, at all states asked for, that may point out of the
plane: files round frames and centres of mass to some six digits."""

ABOUT = ("revolute", "continuous", "cylindrical", "planar")
"""Joints whose axis is along the normal."""
IN_PLANE = ("prismatic", "translational")
"""Joints whose axis lies in the plane."""
ANY = ("fixed", "spherical", "distance", "coupling")
"""Joints that have no axis, or cut joints that need none."""


WORLD = Convention("child", "joint", "world")
"""In which the loads of all joints are compared."""


class JointSide(NamedTuple):
    """A joint's type, the links of its described child and parent, and how they lie to each other.

    Attributes
    ----------
    turn : (3, 3) from the child's axes to the parent's, at zero coordinate
    axis : (3,) in the child's axes
    origin : (3,) m of the joint on the child, in its frame
    """

    kind: str
    child: int
    parent: int
    turn: Floats
    axis: Floats
    origin: Floats


def joint_sides(model: Model, name: str) -> JointSide:
    """Return both sides of a joint of the tree, or of one that is cut."""
    cut = next((one for one in model.cuts if one.name == name), None)
    if cut is None:
        joint = model.joint(name)
        sign, kind = 1.0, joint.type.name
        child, parent, own, other = joint.child, joint.parent, joint.child_frame, joint.parent_frame
        if joint.turned:
            child, parent, own, other, sign = parent, child, other, own, -1.0
        turn, axis = other.rotation @ own.rotation.T, own.rotation @ (sign * np.array(joint.axis))
        return JointSide(kind, child, parent, turn, axis, own.translation)
    before, after = cut.links
    carrier, link = model.links[before].frame, model.links[after].frame
    turn = carrier.rotation.T @ cut.a.rotation @ cut.b.rotation.T @ link.rotation
    axis = link.rotation.T @ cut.b.rotation[:, 2]
    return JointSide(
        cut.type, after, before, turn, axis, (link.inverse() @ cut.described).translation
    )


class Plane:
    """The plane of a planar mechanism.

    Parameters
    ----------
    model : with joints that all move in one plane

    Raises
    ------
    ModelError
        It has none: the joint is named.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._turns: dict[int, Floats] = {}
        self._neutral = model.neutral()
        names = [joint.name for joint in model.joints[1:]]
        self.joints = (*names, *(cut.name for cut in model.cuts if cut.type != "coupling"))
        self.normal = np.zeros(3)
        first = ""
        for name in self.joints:
            side = joint_sides(model, name)
            if side.kind in ABOUT:
                first, self.normal = name, self._axis(side)
                break
        if not first:
            raise ModelError("planar: no joint turns about an axis, which would tell the plane")
        for name in self.joints:
            self._check(name, first)

    def _turn(self, link: int) -> Floats:
        if link < 0:
            return np.eye(3)
        if link not in self._turns:
            found = placement(self._model, self._neutral, link)
            self._turns[link] = np.asarray(found[:3, :3], dtype=np.float64)
        return self._turns[link]

    def _axis(self, side: JointSide) -> Floats:
        axis = self._turn(side.child) @ side.axis
        return np.asarray(axis / np.linalg.norm(axis))

    def _check(self, name: str, first: str) -> None:
        side = joint_sides(self._model, name)
        if side.kind in ANY:
            return
        if side.kind not in (*ABOUT, *IN_PLANE):
            raise ModelError(
                f"planar: joint {name!r} is {side.kind}, which moves out of a plane; remove planar"
            )
        axis = self._axis(side)
        off = float(np.linalg.norm(np.cross(axis, self.normal)))
        if side.kind in IN_PLANE:
            off = abs(float(axis @ self.normal))
        if off > ALIGNED:
            where = "across" if side.kind in IN_PLANE else "parallel to"
            raise ModelError(
                f"planar: the axis of joint {name!r} is not {where} that of {first!r}, by "
                f"{np.arcsin(min(off, 1.0)):.3g} rad; correct it, or remove planar"
            )

    def normal_in(self, name: str, axes: In) -> Floats:
        """Return the plane's normal (3,) in the axes in which a joint's load is given."""
        if axes == "world":
            return self.normal
        side = joint_sides(self._model, name)
        turn = self._turn(side.child if axes == "child" else side.parent)
        return np.asarray(turn.T @ self.normal)


def out_of_plane(normal: Floats) -> tuple[Flags, Flags]:
    """Return which components of force and of moment, (3,) each, point out of the plane.

    None do where no axis is along the normal (3,): such components have a part in the plane, too.
    """
    sizes = np.abs(normal)
    aligned = bool(sizes.max() > 1.0 - ALIGNED)
    return (sizes > 1.0 - ALIGNED), (sizes < ALIGNED) & aligned


def all_joints(model: Model, request: LoadRequest) -> LoadRequest:
    """Return a request for the loads of all joints, in world axes, of the same inputs."""
    plane = Plane(model)
    return replace(request, joints=plane.joints, convention=WORLD, reaction=False)


def declared_planar(
    whole: LoadSolver,
    loads: JointLoads,
    of_all: Sequence[Floats],
    check: bool,
) -> JointLoads:
    """Return loads with what points out of the plane zero, and determined.

    Parameters
    ----------
    whole : gives the loads of all joints, in world axes
    of_all : what its kernel gave: forces and moments first
    check : raise where zero does not satisfy the balance; False leaves such loads as they are
    """
    plane, place = Plane(whole.model), loads.convention.at
    out, message = _residual(plane, whole, of_all)
    if out:
        if check:
            raise SolveError(message)
        return loads
    changes: dict[str, Any] = {}
    for kind in ("", "reaction_"):
        force, moment = (getattr(loads, f"{kind}{part}") for part in ("force", "moment"))
        if force is None:
            continue
        flags: Any = np.array(getattr(loads, f"{kind}unique"))
        force, moment = force.copy(), moment.copy()
        for k, name in enumerate(loads.joints):
            n = plane.normal_in(name, loads.convention.in_)
            if not isinstance(place, str):
                arm = np.array(place) - joint_sides(whole.model, name).origin
                beside = abs(plane.normal_in(name, "child") @ arm)
                if beside > ALIGNED * whole.model.size:
                    raise ModelError(
                        f"planar: the point of {name!r} lies {beside:g} m beside the plane, where "
                        f"forces have moments out of it; choose at= in the plane"
                    )
            f, m = force[..., k, :], moment[..., k, :]
            force[..., k, :] = f - (f @ n)[..., None] * n
            moment[..., k, :] = (m @ n)[..., None] * n
            along, across = out_of_plane(n)
            flags[..., k, :3] |= along
            flags[..., k, 3:] |= across
            force[..., k, along] = 0.0
            moment[..., k, across] = 0.0
        changes |= {f"{kind}force": force, f"{kind}moment": moment, f"{kind}unique": flags}
    return replace(loads, **changes)


def planar_rates(model: Model, loads: JointLoads, rates: Sequence[Floats]) -> tuple[Floats, ...]:
    """Return derivatives of loads without what points out of the plane of a planar mechanism.

    Parameters
    ----------
    rates : by K numbers: of force (..., J, 3, K), moment, actuation, and of the reaction's
    """
    out = tuple(rates)
    if not model.description.planar:
        return out
    plane = Plane(model)
    out = tuple(np.array(rate) for rate in rates)
    for k, name in enumerate(loads.joints):
        n = plane.normal_in(name, loads.convention.in_)
        for place in (0, 3)[: len(out) // 2]:
            f, m = (out[place + part][..., k, :, :] for part in (0, 1))
            f -= n[:, None] * (n @ f)[..., None, :]
            m[...] = n[:, None] * (n @ m)[..., None, :]
    return out


def _residual(plane: Plane, whole: LoadSolver, outputs: Sequence[Floats]) -> tuple[bool, str]:
    """Return whether loads of some joint point out of the plane, and what to say of it."""
    force, moment = outputs[0], outputs[1]
    n, size = plane.normal, whole.model.size
    off_force = np.abs(force @ n)
    off_moment = np.linalg.norm(moment - (moment @ n)[..., None] * n, axis=-1)
    largest = float(np.linalg.norm(force, axis=-1).max(initial=0.0))
    largest = max(largest, float(np.linalg.norm(moment, axis=-1).max(initial=0.0)) / size)
    shares = np.maximum(off_force, off_moment / size)
    worst = float(shares.max(initial=0.0))
    if not worst > RESIDUAL * largest:
        return False, ""
    place = np.unravel_index(int(np.argmax(shares)), shares.shape)
    return True, (
        f"planar: the balance needs loads out of the plane, which planar declares to be zero: "
        f"joint {whole.joints[place[-1]]!r} {off_force[place]:.5g} N along the plane's normal and "
        f"{off_moment[place]:.5g} N m across it ({worst / largest:.2g} of the largest load, "
        f"{RESIDUAL:g} is allowed). A body's mass, a push, gravity or a joint's origin lies beside "
        f"the plane: correct it, or remove planar"
    )
