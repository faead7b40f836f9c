"""What an MJCF says that has no counterpart here."""

from __future__ import annotations

import numpy as np

from mbd_bridge.engines.mujoco.actuators import BALL, SLIDE, is_motor, joint_of
from mbd_bridge.engines.mujoco.compiled import Compiled
from mbd_bridge.engines.mujoco.equalities import linear
from mbd_bridge.engines.mujoco.places import Names
from mbd_bridge.files.document import LeftOut

ACTING = {
    "tendon_stiffness": "springs",
    "tendon_damping": "damping",
    "tendon_frictionloss": "friction",
    "tendon_armature": "armature",
    "tendon_limited": "limits",
}
"""What a tendon does beside coupling joints."""

OF_ACTUATORS = {"actuator_armature": "armature", "actuator_damping": "damping"}
"""Arrays of newer versions: what actuators add where they act."""

OF_JOINTS = {"dof_damping": "damping", "dof_frictionloss": "friction"}
"""What hinges and slides have, and joints of several coordinates may have too."""

POLYNOMIALS = {
    "jnt_stiffnesspoly": "springs that are not linear",
    "jnt_springyield": "springs that yield",
    "dof_dampingpoly": "damping that is not linear",
    "actuator_dampingpoly": "damping of actuators that is not linear",
}
"""Arrays that newer versions of MuJoCo have, and what is listed where one is not zero."""


def list_left_out(compiled: Compiled, names: Names, left_out: LeftOut) -> None:
    """List what is not read."""
    model = compiled.model
    coupling = _only_couple(compiled)
    for k in range(model.ntendon):
        name = compiled.name("tendon", k) or f"tendon {k}"
        acting = [what for array, what in ACTING.items() if np.any(getattr(model, array)[k])]
        for what in acting:
            left_out.add(f"{what} of tendons", name)
        if k not in coupling and not acting:
            left_out.add("tendons", name)
    touching = np.count_nonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0))
    if touching > 1 or model.npair:
        left_out.add(f"contacts of {touching} geoms")
    for k in range(model.nu):
        name = compiled.name("actuator", k) or f"actuator {k}"
        if joint_of(compiled, k) is None:
            left_out.add("actuators that act on no joint", name)
        elif not is_motor(compiled, k):
            left_out.add("dynamics and control laws of actuators", name)
        acts_on = joint_of(compiled, k)
        if acts_on is None or int(model.jnt_type[acts_on]) < SLIDE:
            for array, what in OF_ACTUATORS.items():
                if np.any(getattr(model, array, np.zeros(model.nu))[k]):
                    left_out.add(f"{what} of actuators that act on no hinge or slide", name)
    _joints(compiled, names, left_out)
    for body in range(model.nbody):
        if model.body_gravcomp[body]:
            left_out.add("compensation of gravity", names.links[body])
        if model.body_mocapid[body] >= 0:
            left_out.add("bodies moved from outside (mocap), held here", names.links[body])
    for what, number in (
        ("flexible bodies (flex)", model.nflex),
        ("skins", model.nskin),
        ("plugins", model.nplugin),
        ("sensors", model.nsensor),
    ):
        if number:
            left_out.add(f"{number} {what}")
    if any(np.any(getattr(model, name)) for name in ("key_qvel", "key_act", "key_ctrl")):
        left_out.add("velocities and controls of keyframes")
    option = model.opt
    if option.density or option.viscosity:
        left_out.add("the fluid around (density, viscosity, wind)")


def _only_couple(compiled: Compiled) -> set[int]:
    """Return the tendons that are read as couplings, and say nothing else."""
    model, kind = compiled.model, compiled.engine.mjtEq.mjEQ_TENDON
    found: set[int] = set()
    for index in np.flatnonzero(model.eq_type == kind):
        if model.eq_active0[index] and linear(compiled, int(index)) is not None:
            found |= {int(model.eq_obj1id[index]), int(model.eq_obj2id[index])}
    return {k for k in found if k >= 0 and not any(np.any(getattr(model, a)[k]) for a in ACTING)}


def _joints(compiled: Compiled, names: Names, left_out: LeftOut) -> None:
    model = compiled.model
    for joint in range(model.njnt):
        dof, kind = int(model.jnt_dofadr[joint]), int(model.jnt_type[joint])
        if kind < BALL and model.dof_armature[dof]:
            left_out.add("armature of free joints", names.joints[joint])
        for array, what in OF_JOINTS.items() if kind < SLIDE else ():
            if getattr(model, array)[dof]:
                left_out.add(f"{what} of ball and free joints", names.joints[joint])
    for array, what in POLYNOMIALS.items():
        values = np.asarray(getattr(model, array, ()))
        if not values.any():
            continue
        for row in np.flatnonzero(values.reshape(len(values), -1).any(axis=1)):
            if array.startswith("actuator"):
                left_out.add(what, compiled.name("actuator", int(row)) or f"actuator {row}")
                continue
            joint = int(model.dof_jntid[row]) if array.startswith("dof") else int(row)
            left_out.add(what, names.joints[joint])
