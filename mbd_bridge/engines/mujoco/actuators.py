"""What an MJCF says of actuators that has a place here: joints, largest forces, rotors."""

from __future__ import annotations

from mbd_bridge.engines.mujoco.compiled import Compiled
from mbd_bridge.engines.mujoco.places import Names
from mbd_bridge.model.description import Transmission

ON_JOINTS = (0, 1)
"""Transmissions of actuators, by MuJoCo's numbers: joint, and joint in the parent's frame."""

BALL, SLIDE = 1, 2
"""MuJoCo's joint types: before a ball the free joint, behind a slide the hinge."""


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
    """Return the armatures of joints, and of actuators on them, as inertias of rotors at the joint.

    MuJoCo adds them to the diagonal of M. That of a free joint is along the world's axes there,
    along the body's here.
    """
    model = compiled.model
    of_actuators = through_gears(compiled, "actuator_armature")
    return tuple(
        Transmission(f"armature of {names.joints[k]}", names.joints[k], None, armature)
        for k in range(model.njnt)
        if int(model.jnt_type[k]) >= BALL
        and (armature := float(model.dof_armature[model.jnt_dofadr[k]]) + of_actuators.get(k, 0.0))
    )


def through_gears(compiled: Compiled, name: str) -> dict[int, float]:
    """Return what actuators have by an array of that name, as hinges and slides feel it."""
    model = compiled.model
    found: dict[int, float] = {}
    for k, value in enumerate(getattr(model, name, ())):  # MuJoCo has them since 4.0
        joint = joint_of(compiled, k)
        if joint is not None and int(model.jnt_type[joint]) >= SLIDE and value:
            gear = float(model.actuator_gear[k][0])
            found[joint] = found.get(joint, 0.0) + gear**2 * float(value)
    return found
