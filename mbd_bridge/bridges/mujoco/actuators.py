"""What an MJCF says of actuators that has a place here: joints, largest forces, rotors."""

from __future__ import annotations

from mbd_bridge.bridges.mujoco.compiled import Compiled
from mbd_bridge.bridges.mujoco.places import Names
from mbd_bridge.formats.description import Transmission

ON_JOINTS = (0, 1)
"""Transmissions of actuators, by MuJoCo's numbers: joint, and joint in the parent's frame."""

SLIDE = 2
"""The first of MuJoCo's joint types that has one coordinate; the other is the hinge."""


def joint_of(compiled: Compiled, actuator: int) -> int | None:
    """Return the joint that an actuator acts on, None if it is none."""
    model = compiled.model
    if int(model.actuator_trntype[actuator]) not in ON_JOINTS:
        return None
    return int(model.actuator_trnid[actuator][0])


def actuated_joints(compiled: Compiled, names: Names) -> tuple[str, ...] | None:
    """Return the joints that have an actuator; None if the file has no actuators."""
    found = [joint_of(compiled, k) for k in range(compiled.model.nu)]
    joints = [names.joints[joint] for joint in found if joint is not None]
    return tuple(dict.fromkeys(joints)) or None


def effort_limits(compiled: Compiled) -> dict[int, float]:
    """Return the largest force or torque of joints that have one, N or N m."""
    model = compiled.model
    found: dict[int, float] = {}
    for k in range(model.nu):
        joint = joint_of(compiled, k)
        if joint is None or not is_motor(compiled, k):
            continue
        gear = abs(float(model.actuator_gear[k][0]))
        gain = abs(float(model.actuator_gainprm[k][0]))
        if model.actuator_forcelimited[k]:
            found[joint] = gear * float(max(abs(model.actuator_forcerange[k])))
        elif model.actuator_ctrllimited[k]:
            found[joint] = gear * gain * float(max(abs(model.actuator_ctrlrange[k])))
    for joint in range(model.njnt):
        if model.jnt_actfrclimited[joint]:
            found[joint] = float(max(abs(model.jnt_actfrcrange[joint])))
    return found


def is_motor(compiled: Compiled, actuator: int) -> bool:
    """Return whether an actuator's force is its control times a constant, and no more."""
    model = compiled.model
    kinds = (model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype)
    return not any(int(kind[actuator]) for kind in kinds)


def rotors(compiled: Compiled, names: Names) -> tuple[Transmission, ...]:
    """Return the armatures of hinges and slides as inertias of rotors at the joint."""
    model = compiled.model
    return tuple(
        Transmission(f"armature of {names.joints[k]}", names.joints[k], None, armature)
        for k in range(model.njnt)
        if int(model.jnt_type[k]) >= SLIDE
        and (armature := float(model.dof_armature[model.jnt_dofadr[k]]))
    )
