"""Force elements for what a file says of its joints: damping, friction, limits, springs."""

from __future__ import annotations

from typing import Any

from mbd_bridge.arguments import flag
from mbd_bridge.errors import StateError
from mbd_bridge.forces.base import ForceElement, model_in
from mbd_bridge.forces.joint_friction import SMOOTHING, JointFriction
from mbd_bridge.forces.joint_spring import JointSpring
from mbd_bridge.forces.joint_stop import JointStop
from mbd_bridge.forces.joints import joint_coordinates
from mbd_bridge.mechanism import Model


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
    described = {joint.name: joint for joint in model.description.joints}
    found: list[ForceElement] = []
    for name, place in joint_coordinates(model).items():
        joint = described.get(place.joint)
        if joint is None:
            continue
        viscous = joint.damping if damping else 0.0
        coulomb = joint.friction if friction else 0.0
        if viscous or coulomb:
            label = f"{name} friction"
            found.append(
                JointFriction(
                    name,
                    coulomb,
                    viscous=viscous,
                    smoothing_velocity=smoothing_velocity,
                    name=label,
                )
            )
        ends = joint.limits.lower, joint.limits.upper
        if limits is not None and ends != (None, None):
            found.append(JointStop(name, *ends, *limits, name=f"{name} stop"))
    return found


def file_springs(model: Model) -> list[ForceElement]:
    """Return the springs that stand in a file's joints (MJCF, SDF), which act by default."""
    return [
        JointSpring(joint.name, joint.stiffness, rest=joint.rest, name=f"{joint.name} spring")
        for joint in model.description.joints
        if joint.stiffness
    ]
