"""Which load is meant: on whom, at which point, in whose axes.

By default what the parent exerts on the child, at the joint's origin, in the child link's axes,
which is pinocchio's ``data.f``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import ModelError, StateError, one_of
from mbd_bridge.equations.cuts import contact_point
from mbd_bridge.equations.external import shift_to_link
from mbd_bridge.equations.reactions import at_body_origin
from mbd_bridge.equations.state_vectors import MechanismState
from mbd_bridge.loads.options import At, In, On
from mbd_bridge.model import Cut, JointMotion, Model, ModelJoint
from mbd_bridge.model.spatial import Array, cross

Point: TypeAlias = Sequence[float] | NDArray[Any]
"""(x, y, z) m, in the child link's frame."""

SIDES: tuple[On, ...] = get_args(On)
PLACES: tuple[At, ...] = get_args(At)
AXES: tuple[In, ...] = get_args(In)

Plane = Literal["xy", "yz", "zx"]
PLANES: dict[Plane, tuple[int, int]] = {"xy": (0, 1), "yz": (1, 2), "zx": (2, 0)}
"""Planes of the axes in which a load is given, by name: the numbers of their two axes."""

_TEXT = re.compile(
    r"(?P<on>child|parent) on (?:child|parent), at "
    r"(?:the joint's origin(?P<parent> on the parent)?|point \((?P<point>[^)]*)\) m of the child), "
    r"in (?P<axes>child|parent|world)(?: link)? axes; N, N m"
)


@dataclass(frozen=True)
class Convention:
    """On, at and in what a load is given.

    Attributes
    ----------
    on : "child": the load that the parent exerts on the child; "parent": the opposite
    at : "joint": the joint's origin on the child, which in a URDF is the origin of the child
        link's frame; "parent": the joint's origin on the parent, which a sliding child leaves
        behind, of a rolling wheel its contact;
        or a point (x, y, z) m in the child link's frame
    in_ : axes of the child link, of the parent link, or of the world

    Points and axes are those of the links, also where a joint has a frame of its own on the child
    (SDF, MJCF, loop joints), which only says where its origin is. The child of a joint that closes
    a loop is its successor.
    """

    on: On = "child"
    at: At | tuple[float, float, float] = "joint"
    in_: In = "child"

    @staticmethod
    def of(on: str, at: str | Point, in_: str) -> Convention:
        """Return a checked convention."""
        side = one_of("on", on, SIDES, ModelError)
        axes = one_of("in_", in_, AXES, ModelError)
        if isinstance(at, str):
            place = one_of("at", at, PLACES, ModelError, " or a point (x, y, z) m")
            return Convention(side, place, axes)
        try:
            point = finite_numbers("at", at, (3,))
        except StateError as problem:
            raise ModelError(
                f"{problem}: not a point; give (x, y, z) m in the child's frame"
            ) from None
        x, y, z = point.tolist()
        return Convention(side, (x, y, z), axes)

    @property
    def form(self) -> Convention:
        """The same at any point: a point stands for all of them."""
        return self if isinstance(self.at, str) else replace(self, at=(0.0, 0.0, 0.0))

    def __str__(self) -> str:
        exerted = "parent on child" if self.on == "child" else "child on parent"
        named = {"joint": "the joint's origin", "parent": "the joint's origin on the parent"}
        point = named[self.at] if isinstance(self.at, str) else f"point {self.at} m of the child"
        axes = "world" if self.in_ == "world" else f"{self.in_} link"
        return f"{exerted}, at {point}, in {axes} axes; N, N m"

    @staticmethod
    def from_text(text: str) -> Convention:
        """Return the convention that was written as such a text."""
        said = _TEXT.fullmatch(text)
        if said is None:
            raise ModelError(f"no convention of loads: {text!r}; one reads: {Convention()}")
        at: str | list[float] = "parent" if said["parent"] else "joint"
        if said["point"]:
            at = [float(number) for number in said["point"].split(",")]
        return Convention.of("parent" if said["on"] == "child" else "child", at, said["axes"])

    def apply(
        self, model: Model, joint: ModelJoint, wrench: Array, motions: Sequence[JointMotion]
    ) -> Array:
        """Return a load given on the child, at its link's frame and in its axes, as asked for.

        A joint that the tree walks from its described child (`recut`) is given in the described
        sense all the same: "child", "parent" and "joint" are those of the description.
        """
        origin = joint.child_frame.translation
        if joint.turned:
            wrench = _on_described_child(model, joint, wrench, motions)
            origin = joint.parent_frame.translation
        if self.at == "parent" and joint.moving:
            origin = _origin_on_parent(model, joint, motions)
        turn = None if self.in_ == "child" else self._axes(model, joint, motions)
        return self._at_and_in(wrench, origin, turn)

    def apply_cut(
        self,
        model: Model,
        cut: Cut,
        wrench: Array,
        state: MechanismState,
        motions: Sequence[JointMotion],
    ) -> Array:
        """Return a cut joint's load as asked for: its parent is the predecessor.

        Parameters
        ----------
        wrench : (6,) of predecessor on successor, about the root frame's origin (`cut_wrenches`)
        """
        before, after = state.bodies[cut.predecessor], state.bodies[cut.successor]
        carrier, link = (model.links[k].frame for k in cut.links)
        in_body = cut.described.translation
        if self.at == "parent":
            there = contact_point(state, cut)
            if there is None:
                there = before.position + before.rotation @ cut.a.translation
            in_body = after.rotation.T @ (there - after.position)
        turn = None
        if self.in_ == "world":
            turn = _up(model, cut.successor, link.rotation, motions)
        elif self.in_ == "parent":
            turn = carrier.rotation.T @ (before.rotation.T @ (after.rotation @ link.rotation))
        origin = link.rotation.T @ (in_body - link.translation)
        own = shift_to_link(model, cut.links[1], at_body_origin(after, wrench))
        return self._at_and_in(own, origin, turn)

    def _at_and_in(self, wrench: Array, origin: Array, turn: Array | None) -> Array:
        """Return a load that is given at the child link's frame, as asked for.

        Parameters
        ----------
        origin : (3,) of the joint, on the child or on the parent, in the child link's frame
        turn : from the child link's axes into those asked for; None: they are asked for
        """
        point = origin if isinstance(self.at, str) else np.array(self.at)
        force = wrench[:3]
        moment = wrench[3:] - cross(point, force)
        if turn is not None:
            force, moment = turn @ force, turn @ moment
        out: Array = np.concatenate([force, moment])
        return -out if self.on == "parent" else out

    def _axes(self, model: Model, joint: ModelJoint, motions: Sequence[JointMotion]) -> Array:
        """Return the rotation from the child link's axes into those asked for."""
        if joint.turned:
            return self._turned_axes(model, joint, motions)
        turn = model.links[joint.child].frame.rotation
        index: int = joint.body
        if self.in_ == "parent" and joint.parent >= 0:
            carrier = model.links[joint.parent]
            if carrier.body != index:
                turn = motions[index].rotation @ turn
            return carrier.frame.rotation.T @ turn
        return _up(model, index, turn, motions)  # the world, and the ground under the root joint

    def _turned_axes(
        self, model: Model, joint: ModelJoint, motions: Sequence[JointMotion]
    ) -> Array:
        """Return the same for a joint that is walked from its described child."""
        carrier = model.links[joint.parent]
        turn = carrier.frame.rotation
        if self.in_ == "world":
            return _up(model, carrier.body, turn, motions)
        if carrier.body != joint.body:
            turn = motions[joint.body].rotation.T @ turn
        return np.asarray(model.links[joint.child].frame.rotation.T @ turn)


def _up(model: Model, index: int, turn: Array, motions: Sequence[JointMotion]) -> Array:
    """Return a rotation into a body's axes, on into the world's.

    Formed from the root outwards, so that joints of one branch share what carries them.
    """
    way = []
    while index >= 0:
        way.append(index)
        index = model.bodies[index].parent
    world: Array = np.eye(3)
    for body in reversed(way):
        world = world @ motions[body].rotation
    return world @ turn


def _on_described_child(
    model: Model, joint: ModelJoint, wrench: Array, motions: Sequence[JointMotion]
) -> Array:
    """Return what the child, described as the parent, exerts on the parent, at its link's frame."""
    own, carrier = model.links[joint.child], model.links[joint.parent]
    force = own.frame.rotation @ wrench[:3]
    moment = own.frame.rotation @ wrench[3:] + cross(own.frame.translation, force)
    if carrier.body != own.body:
        motion = motions[joint.body]
        force = motion.rotation @ force
        moment = motion.rotation @ moment + cross(motion.position, force)
    return shift_to_link(model, joint.parent, -np.concatenate([force, moment]))


def _origin_on_parent(model: Model, joint: ModelJoint, motions: Sequence[JointMotion]) -> Array:
    """Return where a moving joint's origin on the parent is, in the child link's frame."""
    motion = motions[joint.body]
    link, in_body = model.links[joint.parent].frame, motion.position
    if not joint.turned:
        behind = model.bodies[joint.body].placement.translation - motion.position
        link, in_body = model.links[joint.child].frame, motion.rotation.T @ behind
    out: Array = link.rotation.T @ (in_body - link.translation)
    return out
