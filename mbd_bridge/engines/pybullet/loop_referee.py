"""pybullet as a referee for closed loops: the tree from the file, loops by ``createConstraint``.

Loops are closed by point-to-points: one for a ball, two along the axis for a pin. pybullet solves
for the velocities at the end of a step, J(q_n) v_{n+1} = 0, so a single step from rest or motion
knows nothing of J̇ v; the second step does, since the first has left J(q_n) v_{n+1} = 0. With its
pull on open constraints switched off, what the second step says of forces is that of rigid
mechanics at the state where it began, up to the length of the step.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.engines.pybullet.referee import load_as_described, refuse, version
from mbd_bridge.engines.pybullet.sensors import Sensors
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.equations.cartesian import placement
from mbd_bridge.files import Loop
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame

STEP = 1e-6
"""Length of a step, s: the forces are right to about that, relative to 1 s."""

ITERATIONS = 2000
"""Of pybullet's solver, which relaxes one row at a time."""

STRONG = 1e9
"""Largest force of a constraint, N: none breaks."""


class LoopForces(NamedTuple):
    """What pybullet says of one state.

    Attributes
    ----------
    q, v : the state that it belongs to, as pybullet has it
    joints : (J, 6) loads of the tree's joints: parent on child, at the joint, in child axes
    cuts : (C, 6) loads of the loop joints: predecessor on successor, at the joint's frame on the
        successor, in its axes
    """

    q: Array
    v: Array
    joints: Array
    cuts: Array


class PybulletLoopReferee:
    """pybullet's answers for one mechanism with loops, a fixed base and one-axis joints.

    Attributes
    ----------
    name : engine and version
    joints : of the tree, in the order of the loads
    cuts : names of the loop joints
    """

    def __init__(self, model: Model, step: float = STEP) -> None:
        refuse(model)
        if any(body.coupled for body in model.bodies):
            raise ModelError("pybullet is not asked about loops of mechanisms with <mimic>")
        for cut in model.cuts:
            if cut.type not in ("spherical", "revolute"):
                raise ModelError(
                    f"pybullet is not asked about {cut.type} loop joints, such as {cut.name!r}"
                )
        self.model, self.step, self.client = model, step, Client.direct()
        with contextlib.ExitStack() as stack:
            stack.callback(self.close)
            self._set_up()
            stack.pop_all()  # closed only where setting up fails
        self.name = f"pybullet {version()}, loops by createConstraint"
        self.cuts = tuple(cut.name for cut in model.cuts)

    def _set_up(self) -> None:
        client, model = self.client, self.model
        client.setTimeStep(self.step)
        client.setPhysicsEngineParameter(
            erp=0, numSolverIterations=ITERATIONS, solverResidualThreshold=0
        )
        with quiet():
            self.body = load_as_described(model, client)
        self.sensors = Sensors(self.body)
        self.joints = self.sensors.joints
        self._numbers = {ours: theirs for theirs, ours in self.body.links.items()}
        self._pins = [self._pin(loop) for loop in model.loops]

    def _pin(self, loop: Loop) -> list[tuple[int, Array]]:
        """Close a loop; return its constraints and where they act in the successor's frame."""
        client, number = self.client, self.body.number
        links, frames = [], []
        for end in (loop.predecessor, loop.successor):
            links.append(self._numbers[self.model.link_number(end.link)])
            frames.append(self.body.centre(links[-1]).inverse() @ end.frame)
        offsets = [np.zeros(3)]
        if loop.type == "revolute":
            arm = 0.5 * self.model.size * np.array(loop.axis)
            offsets = [arm, -arm]
        found = []
        for offset in offsets:
            pivots = [(frame.rotation @ offset + frame.translation).tolist() for frame in frames]
            pin = client.createConstraint(
                number, links[0], number, links[1],
                client.engine.JOINT_POINT2POINT, [0, 0, 0], *pivots,
            )  # fmt: skip
            client.changeConstraint(pin, maxForce=STRONG, erp=0)
            found.append((pin, offset))
        return found

    def loads(self, q: Array, v: Array, tau: Array) -> LoopForces:
        """Return the loads near a state that satisfies the loops, under given forces.

        Parameters
        ----------
        q, v : (nq,), (nv,)
        tau : (nv,) generalised forces
        """
        with quiet():
            self.body.write(q, v)
            actuation = {joint.name: tau[joint.body.v] for joint in self.body.joints}
            self._step(actuation)
            q, v = self.body.read()
            self._step(actuation)
            joints = self.sensors.read(q, v, actuation, self.step)
        cuts = [
            self._at_frame(loop, pins, q)
            for loop, pins in zip(self.model.loops, self._pins, strict=True)
        ]
        return LoopForces(q, v, joints, np.array(cuts))

    def _step(self, actuation: dict[str, Array]) -> None:
        self.body.push(actuation, np.zeros(0), Frame.identity())
        self.client.stepSimulation()

    def _at_frame(self, loop: Loop, pins: list[tuple[int, Array]], q: Array) -> Array:
        """Return the load (6,) of a loop at its origin on the successor, in that link's axes."""
        link = self.model.link_number(loop.successor.link)
        turn = placement(self.model, q, link)[:3, :3]
        out = np.zeros(6)
        for pin, offset in pins:
            force = turn.T @ self.client.getConstraintState(pin)  # on the child, world axes
            out += np.concatenate([force, np.cross(offset, force)])
        return out

    def close(self) -> None:
        """Disconnect from the physics server."""
        self.client.disconnect()
