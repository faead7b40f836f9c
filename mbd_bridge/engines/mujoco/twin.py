"""States of one machine in MuJoCo's coordinates and velocities, and in ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.mujoco.compiled import BALL, FREE, Compiled, Names, compile_mjcf
from mbd_bridge.equations.external import NOTHING, External
from mbd_bridge.files.document import Document
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, quaternion_matrix

SIZES = (7, 4, 1, 1)
"""How many coordinates a free joint, a ball, a slide and a hinge have."""


class MujocoTwin:
    """A compiled MJCF and our model of it.

    Attributes
    ----------
    theirs, data : ``MjModel`` and ``MjData``
    model : ours; all joints of the file carry its tree
    """

    def __init__(self, compiled: Compiled, model: Model) -> None:
        self.engine, self.theirs, self.model = compiled.engine, compiled.model, model
        self.data = compiled.engine.MjData(self.theirs)
        bodies = {model.joints[body.joint].name: body for body in model.bodies}
        names = Names(compiled).joints
        missing = [name for name in names if name not in bodies]
        if missing:
            raise ModelError(f"joint {missing[0]!r} of the MJCF is no joint of the tree here")
        theirs = self.theirs
        self.joints = [
            (int(theirs.jnt_type[k]), theirs.jnt_qposadr[k], theirs.jnt_dofadr[k], bodies[name])
            for k, name in enumerate(names)
        ]

    def q_of(self, qpos: Array) -> Array:
        """Return our coordinates (nq,) of MuJoCo's."""
        q = self.model.neutral()
        for kind, at, _, body in self.joints:
            x = qpos[at : at + SIZES[kind]]
            q[body.q] = np.concatenate([x[:-4], x[-3:], x[-4:-3]]) if kind <= BALL else x
        return q

    def qpos_of(self, q: Array) -> Array:
        """Return MuJoCo's coordinates of ours."""
        qpos = np.zeros(self.theirs.nq)
        for kind, at, _, body in self.joints:
            x = q[body.q]
            x = np.concatenate([x[:-4], x[-1:], x[-4:-1]]) if kind <= BALL else x
            qpos[at : at + len(x)] = x
        return qpos

    def turn(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return T with theirs = T ours for velocities, and Ṫ v.

        The linear velocity of a free joint is in the body's axes here, in the world's there.
        """
        T, rate = np.zeros((self.theirs.nv, self.model.nv)), np.zeros(self.theirs.nv)
        for kind, _, dof, body in self.joints:
            n = body.v.stop - body.v.start
            block = np.eye(n)
            if kind == FREE:
                R = quaternion_matrix(q[body.q][3:])
                block[:3, :3] = R
                rates = v[body.v]
                rate[dof : dof + 3] = R @ np.cross(rates[3:], rates[:3])
            T[dof : dof + n, body.v] = block
        return T, rate

    def put(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Put a state of ours into MuJoCo's data; return T and Ṫ v of `turn`."""
        T, rate = self.turn(q, v)
        self.data.qpos[:], self.data.qvel[:] = self.qpos_of(q), T @ v
        self.engine.mj_forward(self.theirs, self.data)
        return T, rate

    def inertia(self) -> Any:
        """Return MuJoCo's M (nv, nv) at the state in its data, armature and all."""
        M = np.zeros((self.theirs.nv, self.theirs.nv))
        for row, unit in zip(M, np.eye(len(M)), strict=True):
            self.engine.mj_mulM(self.theirs, self.data, row, unit)  # mj_fullM has changed in 3.10
        return M


# MuJoCo as a referee: its M, bias, springs and damping of the same file, in our velocities.

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
        self.twin, self.links = MujocoTwin(compiled, model), Names(compiled).links
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

    def inverse(
        self, q: Array, v: Array, a: Array, wrenches: External = NOTHING
    ) -> tuple[Array, Array]:
        """Return the generalised forces (nv,) at one state, without springs and damping.

        Parameters
        ----------
        wrenches : on links
        """
        T, rate = self.twin.put(q, v)
        data = self.twin.data
        forces = self.twin.inertia() @ (T @ a + rate) + data.qfrc_bias
        pushed = np.zeros_like(forces)
        for link, wrench in wrenches.items():
            body = self.links.index(self.twin.model.links[link].name)
            turn = data.xmat[body].reshape(3, 3)
            acting = turn @ wrench[:3], turn @ wrench[3:], data.xpos[body], body, pushed
            self.twin.engine.mj_applyFT(self.twin.theirs, data, *acting)
        return T.T @ (forces - pushed), np.zeros((0, 6))

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv) at one state."""
        T, _ = self.twin.put(q, np.zeros(self.twin.model.nv))
        return np.asarray(T.T @ self.twin.inertia() @ T)

    def passive(self, q: Array, v: Array) -> Array:
        """Return the generalised forces (nv,) of springs and damping at one state."""
        T, _ = self.twin.put(q, v)
        return np.asarray(T.T @ (self.twin.data.qfrc_spring + self.twin.data.qfrc_damper))
