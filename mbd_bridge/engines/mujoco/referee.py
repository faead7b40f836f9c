"""MuJoCo as a referee: its M, bias, springs and damping of the same file, in our velocities."""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.mujoco.compiled import compile_mjcf
from mbd_bridge.engines.mujoco.twin import BALL, FREE, Twin
from mbd_bridge.files.document import Document
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

LEFT_OUT = (
    *("tendon_stiffness", "tendon_stiffnesspoly", "tendon_springyield"),
    *("tendon_damping", "tendon_dampingpoly", "tendon_armature"),
    *("jnt_stiffnesspoly", "jnt_springyield", "dof_dampingpoly", "actuator_dampingpoly"),
)
"""Arrays of what our reader names as left out, where a version of MuJoCo has them."""

ARMATURES = ("dof_armature", "actuator_armature")


class MujocoReferee:
    """MuJoCo's answers for one mechanism that comes from an MJCF file.

    What the reader named as left out (tendons, springs that are not linear, ...) is left out there
    too, and loops are left open.

    Attributes
    ----------
    name : engine, version and how it came by the model
    joints : none: it gives no loads of joints
    tolerance : relative difference to the largest entry that rounding explains
    """

    tolerance = 1e-11
    joints: tuple[str, ...] = ()

    def __init__(self, model: Model) -> None:
        description = model.description
        if description.format != "MJCF" or description.source is None:
            raise ModelError("MuJoCo is asked only about mechanisms that come from an MJCF file")
        if model.floating or description.payloads or model.flexible:
            raise ModelError(
                "MuJoCo is asked only about the machine as its file has it, without a base that is "
                "set free, payloads and links that bend"
            )
        compiled = compile_mjcf(description.source, Document(description.source))
        self.name = f"MuJoCo {compiled.engine.__version__}, its own reading of the file"
        self.twin = Twin(compiled, model)
        theirs = compiled.model
        theirs.opt.gravity[:] = model.gravity
        theirs.opt.disableflags |= int(compiled.engine.mjtDisableBit.mjDSBL_CONSTRAINT)
        for name in (*LEFT_OUT, *(() if description.joint_dynamics else ARMATURES)):
            if hasattr(theirs, name):
                getattr(theirs, name)[...] = 0
        for kind, _, dof, body in self.twin.joints:
            if kind == FREE:
                theirs.dof_armature[dof : dof + 6] = 0.0
            if kind <= BALL:
                theirs.dof_damping[dof : dof + body.type.nv] = 0.0
        theirs.jnt_stiffness[np.asarray(theirs.jnt_type) <= BALL] = 0.0

    def inverse(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return the generalised forces (nv,) at one state, without springs and damping."""
        T, rate = self.twin.put(q, v)
        forces = self.twin.inertia() @ (T @ a + rate) + self.twin.data.qfrc_bias
        return T.T @ forces, np.zeros((0, 6))

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv) at one state."""
        T, _ = self.twin.put(q, np.zeros(self.twin.model.nv))
        return np.asarray(T.T @ self.twin.inertia() @ T)

    def passive(self, q: Array, v: Array) -> Array:
        """Return the generalised forces (nv,) of springs and damping at one state."""
        T, _ = self.twin.put(q, v)
        return np.asarray(T.T @ (self.twin.data.qfrc_spring + self.twin.data.qfrc_damper))
