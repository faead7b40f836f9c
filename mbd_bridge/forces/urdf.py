"""Force elements for what a file says of its joints: damping, friction, limits, springs.

A URDF belongs to no program, and exporters write damping where nothing is known: what it says acts
on request (`from_urdf`). MJCF and SDF say how a machine moves in MuJoCo and Gazebo, so what they
say acts (`file_elements`, `Description.joint_dynamics`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import ForceElement, bound, model_in, replaced_by
from mbd_bridge.forces.friction import SMOOTHING, JointFriction
from mbd_bridge.forces.joints import joint_coordinates
from mbd_bridge.forces.springs import JointSpring
from mbd_bridge.forces.stops import JointStop
from mbd_bridge.model import Model
from mbd_bridge.model.description import Joint


def from_urdf(
    machine: Any,
    *,
    damping: bool = True,
    friction: bool = True,
    limits: tuple[float, float] | None = None,
    smoothing_velocity: float = SMOOTHING,
) -> list[ForceElement]:
    """Return elements for ``<dynamics damping friction>`` and, on request, ``<limit lower upper>``.

    Parameters
    ----------
    machine : a `Mechanism`, or its model
    damping, friction : whether to use them
    limits : stiffness and damping of stops at the limits, in units of each joint; None for no stops
    smoothing_velocity : rad/s or m/s, of all friction (see `JointFriction`)

    Notes
    -----
    Joints of several degrees of freedom have the same damping and friction along each; those that
    turn by a quaternion are left out, and the run's notes say so.
    """
    model = model_in(machine, "from_urdf")
    damping, friction = flag("damping", damping), flag("friction", friction)
    if limits is not None and (not isinstance(limits, tuple | list) or len(limits) != 2):
        raise StateError(
            f"limits: expected (stiffness, damping) of the stops, such as (1e4, 10.0), got "
            f"{limits!r:.60}"
        )
    found: list[ForceElement] = []
    for name, joint in _described(model):
        viscous = joint.damping if damping else 0.0
        coulomb = joint.friction if friction else 0.0
        found += _friction(name, coulomb, viscous, smoothing_velocity)
        ends = joint.limits.lower, joint.limits.upper
        if limits is not None and ends != (None, None):
            found.append(JointStop(name, *ends, *limits, name=f"{name} stop"))
    return found


def file_elements(model: Model, others: Iterable[ForceElement] = ()) -> list[ForceElement]:
    """Return what acts in a file's joints by default: springs, damping, friction.

    Parameters
    ----------
    others : elements that act too; where they stand for the file's damping or friction, it does not
        count a second time
    """
    if not model.description.joint_dynamics:
        return []
    taken = replaced_by(model, bound(model, others))
    found: list[ForceElement] = []
    for name, joint in _described(model):
        if joint.stiffness:
            label = f"{name} spring"
            found.append(JointSpring(name, joint.stiffness, rest=joint.rest, name=label))
        coulomb = 0.0 if ("friction", joint.name) in taken else joint.friction
        viscous = 0.0 if ("damping", joint.name) in taken else joint.damping
        found += _friction(name, coulomb, viscous, SMOOTHING)
    return found


def _described(model: Model) -> Iterator[tuple[str, Joint]]:
    """Yield the coordinates that elements may act on, with the file's joints that have them."""
    described = {joint.name: joint for joint in model.description.joints}
    for name, place in joint_coordinates(model).items():
        if place.joint in described:
            yield name, described[place.joint]


def _friction(
    name: str, coulomb: float, viscous: float, smoothing: float
) -> Iterator[ForceElement]:
    if coulomb or viscous:
        label = f"{name} friction"
        yield JointFriction(
            name, coulomb, viscous=viscous, smoothing_velocity=smoothing, name=label
        )
