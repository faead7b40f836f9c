"""pybullet's own force sensors, as loads of joints by our conventions.

``enableJointForceTorqueSensor`` makes ``getJointState(...)[2]`` report what the parent exerts on
the child, at the child's centre of mass and along its principal axes, at the state in which the
step began. For a body that moves it is not the whole truth: pybullet goes through its equations a
second time for the forces of contacts and constraints, and there it counts once more the
gyroscopic moments ω × J ω and the Coriolis accelerations of the joints, with the velocities
v + h q̈ that gravity and actuators alone would give in the step. This *echo* is the load of a
motion

    M q̈' = -h(q, v) + Σ J_iᵀ m_i ω_i × v_i,    without gravity, actuators and <mimic>,

with v_i of the centres of mass of all links but a free root link. It is computed here, by the
readable equations, and taken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.pybullet.loaded_body import BASE, LoadedBody
from mbd_bridge.equations.body_composites import mass_matrix_by_bodies
from mbd_bridge.equations.external import External, shift_to_link
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model.spatial import Array


class Sensors:
    """Force sensors in all joints of a loaded body.

    Attributes
    ----------
    joints : their names, in pybullet's order
    """

    def __init__(self, body: LoadedBody) -> None:
        body.need_states()
        if len(body.links) != len(body.model.links):
            raise ModelError(
                "pybullet has merged links over fixed joints, whose sensors are gone: load without "
                "URDF_MERGE_FIXED_LINKS"
            )
        self.body = body
        client, number = body.client, body.number
        self._numbers = [k for k in body.links if k != BASE]
        rows = [client.getJointInfo(number, k) for k in self._numbers]
        self.joints = tuple(row[1].decode() for row in rows)
        self._centres = [body.centre(k) for k in self._numbers]
        for k in self._numbers:
            client.enableJointForceTorqueSensor(number, k)
        self._echo = Echo(body, self.joints)

    def read(self, q: Array, v: Array, actuation: Mapping[str, Array], h: float) -> Array:
        """Return the loads (J, 6) of the last step: parent on child, at the joint, child's axes.

        Parameters
        ----------
        q, v : (nq,), (nv,) with which the step began
        actuation : by joint name, what it was given, N m or N; ``root_joint`` of a free base
        h : s, the step
        """
        body = self.body
        out = np.zeros((len(self.joints), 6))
        for row, k, centre in zip(out, self._numbers, self._centres, strict=True):
            found = np.array(body.client.getJointState(body.number, k)[2])
            row[:3] = centre.rotation @ found[:3]
            row[3:] = centre.rotation @ found[3:] + np.cross(centre.translation, row[:3])
        return out - self._echo(q, v, actuation, h)


class Echo:
    """What pybullet's sensors count twice (see the module's text)."""

    def __init__(self, body: LoadedBody, joints: tuple[str, ...]) -> None:
        self.body, self.model = body, body.tree
        self.weightless = replace(self.model, gravity=np.zeros(3))
        self._links = tuple(k for k, link in enumerate(self.model.links) if k and link.inertia.mass)
        self._joints = self.model.joint_numbers(joints)

    def __call__(self, q: Array, v: Array, actuation: Mapping[str, Array], h: float) -> Array:
        """Return the loads (J, 6) that are counted twice."""
        model, still = self.model, np.zeros(self.model.nv)
        if not model.nv:
            return np.zeros((len(self._joints), 6))
        q, v, tau = self._uncoupled(q, v, actuation)
        M = mass_matrix_by_bodies(model, q)
        a = np.linalg.solve(M, tau - recursive_loads(model, q, v, still).forces)
        if model.floating:  # pybullet steps the velocity of the centre of mass, along fixed axes
            omega, centre = v[3:6], model.links[0].inertia.centre
            a[:3] += np.cross(omega, v[:3]) + np.cross(omega, np.cross(omega, centre))
        v = v + h * a
        pushes = self._pushes(q, v)
        bias = recursive_loads(self.weightless, q, v, still, external=pushes).forces
        a = np.linalg.solve(M, -bias)
        found = recursive_loads(self.weightless, q, v, a, self._joints, pushes).wrench
        children = [model.joints[j].child for j in self._joints]
        return np.array([shift_to_link(model, k, w) for k, w in zip(children, found, strict=True)])

    def _uncoupled(
        self, q: Array, v: Array, actuation: Mapping[str, Array]
    ) -> tuple[Array, Array, Array]:
        """Return coordinates, velocities and forces of the tree in which nothing mimics."""
        tau = np.zeros(self.model.nv)
        for body in self.model.bodies:
            name = self.model.joints[body.joint].name
            if body.type.nv and name in actuation:
                tau[body.v] = actuation[name]
        return *self.body.opened(q, v), tau

    def _pushes(self, q: Array, v: Array) -> External:
        """Return m ω × v (6,) by link, at their origins, in their axes."""
        state, out = state_vectors(self.model, q, v, "world"), {}
        for k in self._links:
            link = self.model.links[k]
            at, own = state.bodies[link.body], link.inertia
            omega = at.Y[3:]
            velocity = at.Y[:3] + np.cross(omega, at.position + at.rotation @ own.centre)
            turn = at.rotation @ link.frame.rotation
            force = turn.T @ (own.mass * np.cross(omega, velocity))
            arm = link.frame.rotation.T @ (own.centre - link.frame.translation)
            out[k] = np.concatenate([force, np.cross(arm, force)])
        return out
