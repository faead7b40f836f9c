"""States of one machine in MuJoCo's coordinates and velocities, and in ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.mujoco.compiled import Compiled
from mbd_bridge.engines.mujoco.places import Names
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, quaternion_matrix

FREE, BALL = 0, 1
"""MuJoCo's joint types with quaternions, (w, x, y, z) there."""

SIZES = (7, 4, 1, 1)
"""How many coordinates a free joint, a ball, a slide and a hinge have."""


class Twin:
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
                own = v[body.v]
                rate[dof : dof + 3] = R @ np.cross(own[3:], own[:3])
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
