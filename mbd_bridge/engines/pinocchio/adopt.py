"""Our model of a ``pinocchio.Model``: joints, frames and inertias by name.

Joints that have no entry of their own in our table become chains of those that have (with
massless links between): composite joints, translations, ZYX angles.

pinocchio merges links that fixed joints hold; their own inertia stays with the frames of the
fixed joint (its URDF reader) or of the link (`to_pinocchio`). A model whose frames carry none has
lost it: its fixed joints do not appear here, since any load of theirs would be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from mbd_bridge.base.arguments import an_instance
from mbd_bridge.base.errors import ModelError, StateError, some, warn
from mbd_bridge.engines.pinocchio.twin import Twin, TwinPlace
from mbd_bridge.model import RANK_TOLERANCE, ROOT_JOINT, Model, build_model
from mbd_bridge.model.description import (
    Description,
    Joint,
    Link,
    Loop,
    LoopEnd,
    Mimic,
    Transmission,
)
from mbd_bridge.model.spatial import Array, Frame, Inertia, lump

# pinocchio's rigid constraints as loop joints: 3-D ones as ball joints, 6-D ones as welds.
#
# Joint 1 of the constraint is the predecessor, joint 2 the successor, the universe the ground.
# pinocchio's multipliers are the wrench of joint 2's body on joint 1's, at the constraint's frame
# on joint 1, in its axes (``LOCAL``) or in the world's (``LOCAL_WORLD_ALIGNED``):
#
#     M a + h - τ = Jᵀ λ_c,   J v = the velocity of frame 1 less that of frame 2

TYPES = {pin.ContactType.CONTACT_3D: "spherical", pin.ContactType.CONTACT_6D: "fixed"}
SIZES = {pin.ContactType.CONTACT_3D: 3, pin.ContactType.CONTACT_6D: 6}
REFERENCE_FRAMES = (pin.LOCAL, pin.LOCAL_WORLD_ALIGNED)


def constraint_loops(
    constraints: Sequence[Any], first: Sequence[str], taken: set[str]
) -> tuple[Loop, ...]:
    """Return the loop joints of ``RigidConstraintModel``s.

    Parameters
    ----------
    first : name of the link that each joint of pinocchio's carries
    taken : names of joints, which the loops' names keep clear of
    """
    loops: list[Loop] = []
    used = set(taken)
    for k, constraint in enumerate(constraints):
        name = str(constraint.name) or f"constraint_{k}"
        while name in used:
            name += "_"
        used.add(name)
        check_constraint(name, constraint)
        first_end = _end(first, constraint.joint1_id, constraint.joint1_placement)
        second_end = _end(first, constraint.joint2_id, constraint.joint2_placement)
        loops.append(Loop(name, TYPES[constraint.type], first_end, second_end))
    return tuple(loops)


def _end(first: Sequence[str], joint: int, placement: pin.SE3) -> LoopEnd:
    return LoopEnd(first[joint], Frame(placement.rotation, placement.translation))


def on_ground(constraints: Sequence[Any]) -> bool:
    """Return whether a constraint holds something to the universe."""
    return any(0 in (c.joint1_id, c.joint2_id) for c in constraints)


def check_constraint(name: str, constraint: Any) -> None:
    """Refuse a constraint of another kind, or one that has to accelerate."""
    if constraint.type not in TYPES:
        raise ModelError(
            f"constraint {name!r} is {constraint.type}; expected CONTACT_3D or CONTACT_6D"
        )
    if constraint.reference_frame not in REFERENCE_FRAMES:
        raise ModelError(
            f"constraint {name!r} is in {constraint.reference_frame}; pinocchio has constraints in "
            f"LOCAL and LOCAL_WORLD_ALIGNED"
        )
    if np.any(constraint.desired_contact_acceleration.vector != 0.0):
        raise ModelError(
            f"constraint {name!r} has a desired acceleration; loop joints are closed and stay so. "
            f"Set it to zero"
        )


X, Y, Z = np.eye(3)
AXES = {"X": X, "Y": Y, "Z": Z}
MIMIC = "JointModelMimic"

ROUNDING = 1e-14
"""Of a body's mass: what the sum that pinocchio has formed may be off."""

Part = tuple[str, Array, Frame, int, int, dict[str, Any]]
"""Joint type, axis, placement, nq and nv in pinocchio, further fields of the description."""


def from_pinocchio(
    model: pin.Model, constraints: Sequence[Any] = (), rank_tolerance: float = RANK_TOLERANCE
) -> Model:
    """Return our model of pinocchio's; coordinates are named after its joints.

    ``RigidConstraintModel``s become loop joints (see `constraints`).
    """
    return adopt(model, constraints, rank_tolerance).ours


def adopt(
    model: pin.Model, constraints: Sequence[Any] = (), rank_tolerance: float = RANK_TOLERANCE
) -> Twin:
    """Return our model of pinocchio's together with the conversion of states."""
    an_instance("model", model, pin.Model, "pinocchio.buildModelFromUrdf(path)")
    kinds = (pin.RigidConstraintModel,)
    if not isinstance(constraints, Sequence) or not all(isinstance(c, kinds) for c in constraints):
        raise StateError(
            f"constraints: expected a list of RigidConstraintModel, got {constraints!r:.60}"
        )
    reader = _Reader(model)
    if on_ground(constraints):
        reader.floating = False  # the ground is a link then, which the constraints hold on to
    reader.read()
    loops = constraint_loops(constraints, reader.first, {joint.name for joint in reader.joints})
    description = Description(
        model.name,
        tuple(reader.links),
        tuple(reader.joints),
        loops,
        transmissions=reader.rotors(),
        joint_dynamics=True,
    )
    gravity = np.array(model.gravity.linear)
    ours = build_model(
        description,
        gravity=gravity,
        floating=reader.floating,
        rank_tolerance=rank_tolerance,
    )
    places = tuple(
        TwinPlace(body, name, *reader.places[name])
        for body in ours.bodies
        if (name := ours.joints[body.joint].name) in reader.places
    )
    return Twin(ours, model, places)


class _Reader:
    """Links and joints as far as they are read."""

    def __init__(self, model: pin.Model) -> None:
        self.model = model
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.places: dict[str, tuple[slice, slice, int]] = {}
        self.taken = {frame.name for frame in model.frames} | {ROOT_JOINT}
        self.frame_of_link: dict[str, Frame] = {}  # link -> its frame in its pinocchio joint
        self.floating = self._free_root()
        self.first: list[str] = [self._first_link(j) for j in range(model.njoints)]

    def _free_root(self) -> bool:
        """Return whether the model is a floating machine: one free joint alone on the ground."""
        model = self.model
        if model.njoints < 2 or model.joints[1].shortname() != "JointModelFreeFlyer":
            return False
        alone = model.names[1] == ROOT_JOINT and list(model.parents).count(0) <= 2  # and itself
        bare = model.inertias[0].mass == 0.0 and not np.any(model.inertias[0].inertia)
        return alone and bare and model.jointPlacements[1].isIdentity()

    def read(self) -> None:
        """Walk the joints, and the frames that hang on each."""
        fixed = self._fixed_frames()
        for j in range(int(self.floating), self.model.njoints):
            rest = _inertia(self.model.inertias[j])
            for frame in fixed[j]:
                rest = _minus(rest, _inertia(self._own(frame)).seen_from(_frame(frame.placement)))
            first = self.first[j]
            self.frame_of_link[first] = Frame.identity()
            self.links.append(_link(first, rest))
            if j == 1 and self.floating:
                self.places[ROOT_JOINT] = slice(0, 7), slice(0, 6), 1
            elif j:
                self._moving(j, first)
            for frame in fixed[j]:
                self._fixed(frame, first)

    def _fixed_frames(self) -> list[list[Any]]:
        """Return, for each joint, the links that fixed joints hang on it, if they have inertia."""
        by_joint: list[list[Any]] = [[] for _ in range(self.model.njoints)]
        known = False
        for frame in self.model.frames:
            if frame.type == pin.FrameType.BODY and self._over_fixed(frame):
                by_joint[frame.parentJoint].append(frame)
                inertia = self._own(frame)
                known |= inertia.mass != 0.0 or bool(np.any(inertia.inertia))
        return by_joint if known else [[] for _ in by_joint]

    def _own(self, frame: Any) -> pin.Inertia:
        """Return the inertia of a link that a fixed joint holds, in the link's frame."""
        above = self.model.frames[frame.parentFrame]
        if above.inertia.mass == 0.0 and not np.any(above.inertia.inertia):
            return frame.inertia
        step = frame.placement.actInv(above.placement)
        return step.act(above.inertia) + frame.inertia

    def _over_fixed(self, frame: Any) -> bool:
        above = self.model.frames[frame.parentFrame]
        return bool(above.type == pin.FrameType.FIXED_JOINT and above.name != "universe")

    def _first_link(self, j: int) -> str:
        """Return the name of the link that joint j itself carries."""
        for frame in self.model.frames:
            on_joint = frame.type == pin.FrameType.BODY and frame.parentJoint == j
            if on_joint and not self._over_fixed(frame):
                return str(frame.name)
        return self._fresh(f"{self.model.names[j]}_link")

    def _fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def _fixed(self, frame: Any, first: str) -> None:
        above = self.model.frames[frame.parentFrame]
        carrier = self.model.frames[above.parentFrame].name
        if carrier not in self.frame_of_link:
            carrier = first
        here = _frame(frame.placement)
        origin = self.frame_of_link[carrier].inverse() @ here
        self.frame_of_link[frame.name] = here
        self.links.append(_link(frame.name, _inertia(self._own(frame))))
        self.joints.append(Joint(above.name, "fixed", carrier, frame.name, origin))

    def _moving(self, j: int, child: str) -> None:
        name = self.model.names[j]
        name = self._fresh(f"{name}_") if name == ROOT_JOINT else name
        carrier = self._carrier(j)
        origin = self.frame_of_link[carrier].inverse() @ _frame(self.model.jointPlacements[j])
        joint = self.model.joints[j].extract()
        mimics = joint.shortname() == MIMIC
        parts = [self._mimic(j, joint)] if mimics else elementary(name, joint)
        q, v = self.model.idx_qs[j], self.model.idx_vs[j]
        for k, (kind, axis, placement, nq, nv, more) in enumerate(parts):
            last = k == len(parts) - 1
            key = name if len(parts) == 1 else self._fresh(f"{name}_{k + 1}")
            link = child if last else self._fresh(f"{key}_link")
            if not last:
                self.links.append(Link(link))
                self.frame_of_link[link] = Frame.identity()
            self.joints.append(
                Joint(
                    key,
                    kind,
                    carrier,
                    link,
                    origin @ placement,
                    tuple(axis.tolist()),
                    **more,
                )
            )
            self.places[key] = slice(q, q + nq), slice(v, v + nv), j
            q, v, carrier, origin = q + nq, v + nv, link, Frame.identity()

    def rotors(self) -> tuple[Transmission, ...]:
        """Return the armatures of joints that have the same along all their velocities."""
        kinds = {joint.name: joint.type for joint in self.joints}
        transmissions, left_out = list[Transmission](), list[str]()
        for name, (_, v, _) in self.places.items():
            values = np.unique(self.model.armature[v])
            if not values.any():
                continue
            if len(values) > 1 or kinds.get(name) == "planar":
                left_out.append(name)
                continue
            transmissions.append(Transmission(f"armature of {name}", name, None, float(values[0])))
        if left_out:
            warn(
                f"the pinocchio model has armature (rotor inertia) that differs along the "
                f"velocities of a joint, or of a planar joint: {some(left_out, 4)}; it is not part "
                f"of the mechanism here: add armature * a to the actuators yourself"
            )
        return tuple(transmissions)

    def _mimic(self, j: int, joint: Any) -> Part:
        """Return a joint that follows another: pinocchio tells its motion, not its type."""
        model, data = self.model, self.model.createData()
        pin.forwardKinematics(model, data, pin.neutral(model))
        S = np.array(data.joints[j].S).reshape(6)
        leader = next(
            k
            for k, other in enumerate(model.joints)
            if other.nv == 1 and other.idx_v == joint.idx_v and other.shortname() != MIMIC
        )
        if joint.scaling == 0.0:
            raise ModelError(f"joint {model.names[j]!r} mimics with the ratio 0: weld it instead")
        linear, angular = S[:3] / joint.scaling, S[3:] / joint.scaling
        mimic = Mimic(model.names[leader], joint.scaling, joint.offset)
        none = Frame.identity()
        if not np.any(angular):
            return "prismatic", linear, none, 0, 0, {"mimic": mimic}
        if not np.any(linear):
            # without an end: a leader that turns round and round is followed round and round
            return "continuous", angular, none, 0, 0, {"mimic": mimic}
        more = {"mimic": mimic, "pitch": float(linear @ angular)}
        return "helical", angular, none, 0, 0, more

    def _carrier(self, j: int) -> str:
        """Return the link that joint j sits on."""
        parent = self.model.parents[j]
        for frame in self.model.frames:
            if frame.type == pin.FrameType.JOINT and frame.parentJoint == j:
                above = self.model.frames[frame.parentFrame]
                if above.name in self.frame_of_link and above.parentJoint == parent:
                    return str(above.name)
        return str(self.first[parent])


def elementary(name: str, joint: Any) -> list[Part]:
    """Return a joint of pinocchio's as a chain of entries of our joint table."""
    kind = joint.shortname().removeprefix("JointModel")
    none = Frame.identity()
    if kind[:-1] in ("R", "P") and kind[-1] in AXES:
        ours = "revolute" if kind[0] == "R" else "prismatic"
        return [(ours, AXES[kind[-1]], none, 1, 1, {})]
    if kind[:-1] == "RUB":
        return [("continuous", AXES[kind[-1]], none, 2, 1, {})]
    if kind[:-1] == "H":
        return [("helical", AXES[kind[-1]], none, 1, 1, {"pitch": joint.pitch})]
    skew = {
        "RevoluteUnaligned": ("revolute", 1),
        "PrismaticUnaligned": ("prismatic", 1),
        "HelicalUnaligned": ("helical", 1),
    }
    if kind == "RevoluteUnboundedUnaligned":
        data = joint.createData()
        joint.calc(data, np.tile([1.0, 0.0], joint.idx_q + 1))
        return [("continuous", np.array(data.S).reshape(6)[3:], none, 2, 1, {})]
    if kind in skew:
        ours, nq = skew[kind]
        more = {"pitch": joint.pitch} if ours == "helical" else {}
        return [(ours, np.array(joint.axis), none, nq, 1, more)]
    several = {"FreeFlyer": ("floating", 7, 6), "Spherical": ("spherical", 4, 3)}
    several["Planar"] = ("planar", 4, 3)
    if kind in several:
        ours, nq, nv = several[kind]
        return [(ours, Z, none, nq, nv, {})]
    if kind == "Translation":
        return [("prismatic", axis, none, 1, 1, {}) for axis in (X, Y, Z)]
    if kind == "SphericalZYX":
        return [("revolute", axis, none, 1, 1, {}) for axis in (Z, Y, X)]
    if kind == "Universal":
        axes = (np.array(joint.axis1), np.array(joint.axis2))
        return [("revolute", axis, none, 1, 1, {}) for axis in axes]
    if kind == "Composite":
        parts: list[Part] = []
        for k in range(joint.njoints):
            inner = elementary(name, joint.joints[k].extract())
            ours, axis, placement, nq, nv, more = inner[0]
            placed = _frame(joint.jointPlacements[k]) @ placement
            parts += [(ours, axis, placed, nq, nv, more), *inner[1:]]
        return parts
    raise ModelError(
        f"joint {name!r} is a {kind} joint, which has no counterpart here; revolute, prismatic, "
        f"helical, universal, spherical, planar, translation, free, composite and mimic joints have"
    )


def _frame(placement: pin.SE3) -> Frame:
    return Frame(placement.rotation, placement.translation)


def _inertia(inertia: pin.Inertia) -> Inertia:
    return Inertia(inertia.mass, np.array(inertia.lever), np.array(inertia.inertia))


def _link(name: str, inertia: Inertia) -> Link:
    return Link(name, None if inertia.is_zero() else inertia)


def _minus(whole: Inertia, part: Inertia) -> Inertia:
    """Return what is left of a rigid body when a part of it is taken away.

    Where next to nothing is left its moments are those of rounding, which pinocchio's own class
    does not take.
    """
    if part.is_zero():
        return whole
    if abs(whole.mass - part.mass) <= ROUNDING * whole.mass:
        return Inertia.zero()
    return lump((whole, Inertia(-part.mass, part.centre, -part.central)))
