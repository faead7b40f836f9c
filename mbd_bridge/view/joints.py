"""Where joints are and how their loads point in the world, for each state of a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.loads import JointLoads
from mbd_bridge.model import Model, ModelLink
from mbd_bridge.model.spatial import Array, Frame
from mbd_bridge.view.scene import matrix

TURNS = ("revolute", "continuous", "helical")
SLIDES = ("prismatic",)


@dataclass(frozen=True, eq=False)
class ShownLoad:
    """The load of one joint in the world's axes along N states, for drawing.

    Attributes
    ----------
    point : (N, 3) m, where it acts
    force, moment : (N, 3) N, N m: their determined components
    open_force, open_moment : (N, 3) the rest, which is one solution of many
    axis : (N, 3) of the actuation, or None where no single actuation can be drawn
    actuation : (N,) N m about the axis, or N along it
    turns : whether the actuation turns
    """

    joint: str
    point: Array
    force: Array
    moment: Array
    open_force: Array
    open_moment: Array
    axis: Array | None = None
    actuation: Array | None = None
    turns: bool = True


def load_frames(model: Model, name: str, bodies: Array) -> Array:
    """Return the frames (N, 4, 4) in which a joint's load is given, in the world.

    They have the joint's origin and the axes of the child link.

    Parameters
    ----------
    name : of a joint of the tree, or of a cut
    bodies : (N, B, 4, 4)
    """
    if name in model.joint_index:
        joint = model.joints[model.joint_index[name]]
        if joint.turned:  # its load is given on what was described as its child
            carrier = model.links[joint.parent]
            return _on_link(carrier, carrier.frame @ joint.parent_frame, bodies)
        return _on_link(model.links[joint.child], joint.frame, bodies)
    for cut in model.cuts:
        if cut.name == name:
            return _on_link(model.links[cut.links[1]], cut.described, bodies)
    raise ModelError(f"no joint named {name!r}")


def _on_link(link: ModelLink, joint: Frame, bodies: Array) -> Array:
    """Return where the origin of a joint on a link is, with the link's axes, in the world."""
    at_joint = Frame(link.frame.rotation, joint.translation)
    return np.asarray(bodies[:, link.body] @ matrix(at_joint))


def shown_loads(model: Model, loads: JointLoads, bodies: Array) -> list[ShownLoad]:
    """Return the loads of N states as they are drawn.

    Parameters
    ----------
    loads : on the child, at the joint, in the child's axes, of N states
    bodies : (N, B, 4, 4) where the bodies are in these states
    """
    convention = loads.convention
    if (convention.on, convention.at, convention.in_) != ("child", "joint", "child"):
        raise ModelError(
            f"loads are drawn that are given on='child', at='joint', in_='child'; got {convention}"
        )
    found = []
    for k, name in enumerate(loads.joints):
        frames = load_frames(model, name, bodies)
        unique = np.broadcast_to(loads.unique[..., k, :], (len(bodies), 6))
        force, moment = loads.force[:, k], loads.moment[:, k]
        own, loose, turn, loose_turn = (
            np.einsum("nij,nj->ni", frames[:, :3, :3], np.where(flags, part, 0.0))
            for part, flags in (
                (force, unique[:, :3]),
                (force, ~unique[:, :3]),
                (moment, unique[:, 3:]),
                (moment, ~unique[:, 3:]),
            )
        )
        found_actuation, axis = single_actuation(model, loads, k), None
        actuation, turns = (None, True) if found_actuation is None else found_actuation
        if found_actuation is not None:
            axis = joint_axes(model, name, bodies)
        point = frames[:, :3, 3]
        found.append(ShownLoad(name, point, own, turn, loose, loose_turn, axis, actuation, turns))
    return found


def joint_axes(model: Model, name: str, bodies: Array) -> Array:
    """Return the axis (N, 3) of a tree joint in the world, as its coordinate counts."""
    joint = model.joints[model.joint_index[name]]
    if joint.parent < 0:
        carried = np.broadcast_to(np.eye(3), (len(bodies), 3, 3))
    else:
        link = model.links[joint.parent]
        carried = bodies[:, link.body, :3, :3] @ link.frame.rotation
    axis = joint.parent_frame.rotation @ np.array(joint.axis)
    return np.asarray(carried @ (-axis if joint.turned else axis))


def single_actuation(model: Model, loads: JointLoads, k: int) -> tuple[Array, bool] | None:
    """Return a joint's only actuation (N,), N m or N, and whether it turns; None if it has no
    such.
    """
    name = loads.joints[k]
    kind = model.joints[model.joint_index[name]].type.name if name in model.joint_index else ""
    if kind not in (*TURNS, *SLIDES):
        return None
    return loads.actuation[:, loads.actuation_of[k]][:, 0], kind in TURNS
