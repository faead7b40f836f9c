"""pybullet as a referee: its inverse dynamics, mass matrix and force sensors, of the same URDF."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree

from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.engines.pybullet.loaded_body import BASE, LoadedBody
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.equations.cartesian import placement
from mbd_bridge.equations.external import NOTHING, External, shift_to_link
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.files.elements import unphysical
from mbd_bridge.model import Model
from mbd_bridge.model.description import Loop
from mbd_bridge.model.spatial import Array, Frame, quaternion_matrix

# pybullet's own force sensors, as loads of joints by our conventions.
#
# ``enableJointForceTorqueSensor`` makes ``getJointState(...)[2]`` report what the parent exerts on
# the child, at the child's centre of mass and along its principal axes, at the state in which the
# step began. For a body that moves it is not the whole truth: pybullet goes through its equations
# a second time for the forces of contacts and constraints, and there it counts once more the
# gyroscopic moments ω × J ω and the Coriolis accelerations of the joints, with the velocities v +
# h q̈ that gravity and actuators alone would give in the step. This *echo* is the load of a motion
#
#     M q̈' = -h(q, v) + Σ J_iᵀ m_i ω_i × v_i,    without gravity, actuators and <mimic>,
#
# with v_i of the centres of mass of all links but a free root link. It is computed here, by the
# readable equations, and taken off.


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
            wrench = np.array(body.client.getJointState(body.number, k)[2])
            row[:3] = centre.rotation @ wrench[:3]
            row[3:] = centre.rotation @ wrench[3:] + np.cross(centre.translation, row[:3])
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
        wrenches = recursive_loads(self.weightless, q, v, a, self._joints, pushes).wrench
        children = [model.joints[j].child for j in self._joints]
        return np.array(
            [shift_to_link(model, k, w) for k, w in zip(children, wrenches, strict=True)]
        )

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
            at, inertia = state.bodies[link.body], link.inertia
            omega = at.Y[3:]
            velocity = at.Y[:3] + np.cross(omega, at.position + at.rotation @ inertia.centre)
            turn = at.rotation @ link.frame.rotation
            force = turn.T @ (inertia.mass * np.cross(omega, velocity))
            arm = link.frame.rotation.T @ (inertia.centre - link.frame.translation)
            out[k] = np.concatenate([force, np.cross(arm, force)])
        return out


STEP = 1e-4
"""Of the step after which the sensors are read, s; they tell of its beginning."""


class PybulletReferee:
    """pybullet's answers for one mechanism with a fixed base and one-axis joints.

    Attributes
    ----------
    name : engine and version
    sensors : its force sensors; None for a body of more than 128 joints
    """

    joints: tuple[str, ...] = ()  # it knows loads of joints only after a step: see `sensed`
    tolerance = 1e-6  # it turns inertias to principal axes, and stops at a residue of 1e-5

    def __init__(self, model: Model) -> None:
        refuse(model)
        self.model, self.client = model, Client.direct()
        try:
            with quiet():
                self.body = load_as_described(model, self.client)
        except (ModelError, StateError):
            self.close()
            raise
        self.client.setTimeStep(STEP)
        self.sensors: Sensors | None = None
        with suppress(ModelError):  # a body of too many joints
            self.sensors = Sensors(self.body)
        self.name = f"pybullet {version()}, its own reading of the file"
        joints = [joint.body for joint in self.body.joints]
        self.G, self.offset = np.zeros((len(joints), model.nv)), np.zeros(len(joints))
        for row, body in enumerate(joints):  # pybullet's coordinates are G q + offset
            self.G[row, body.v] = body.ratio
            self.offset[row] = body.offset

    def inverse(
        self, q: Array, v: Array, a: Array, wrenches: External = NOTHING
    ) -> tuple[Array, Array]:
        """Return the generalised forces (nv,) at one state; pybullet gives no loads with them.

        Its inverse dynamics knows no wrenches on links: they count by its Jacobians.
        """
        with quiet():
            torques = self._torques(q, v, a)
            if wrenches:
                self.body.write(q, v)
            for link, wrench in wrenches.items():
                torques = torques - self._along(link, wrench, q)
        return self.G.T @ torques, np.zeros((0, 6))

    def _along(self, link: int, wrench: Array, q: Array) -> Array:
        """Return the forces along pybullet's joints of a wrench on one of our links."""
        number = next(theirs for theirs, ours in self.body.links.items() if ours == link)
        if number == BASE:
            return np.zeros(len(self.G))
        pose = self.client.getLinkState(self.body.number, number, computeForwardKinematics=1)
        turn = quaternion_matrix(np.array(pose[1])) @ self.body.centre(number).rotation.T
        still = [0.0] * len(self.G)
        at = [list(self.G @ q + self.offset), still, still]
        # of the link's origin, though pybullet's guide says of its centre of mass
        linear, angular = self.client.calculateJacobian(self.body.number, number, (0, 0, 0), *at)
        return np.asarray((turn @ wrench[:3]) @ linear + (turn @ wrench[3:]) @ angular)

    def sensed(self, q: Array, v: Array, a: Array) -> Array:
        """Return the loads (J, 6) that the force sensors tell of a step from one state."""
        assert self.sensors is not None, "they are asked only if there are any"
        body = self.body
        with quiet():
            tau = self._torques(q, v, a)
            body.write(q, v)
            actuation = {j.name: np.array([t]) for j, t in zip(body.joints, tau, strict=True)}
            body.push(actuation, np.zeros(0), Frame.identity())
            self.client.stepSimulation()
            return self.sensors.read(q, v, actuation, STEP)

    def _torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the forces along each of pybullet's joints."""
        rows = [list(self.G @ q + self.offset), list(self.G @ v), list(self.G @ a)]
        return np.array(self.client.calculateInverseDynamics(self.body.number, *rows))

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv) at one state."""
        with quiet():
            M = self.client.calculateMassMatrix(self.body.number, list(self.G @ q + self.offset))
        return np.asarray(self.G.T @ np.array(M) @ self.G)

    def close(self) -> None:
        """Disconnect from the physics server."""
        self.client.disconnect()


def load_as_described(model: Model, client: Client) -> LoadedBody:
    """Load a model's file into a new world with its gravity, ready to be given forces."""
    # Without this flag pybullet makes its own inertia from the collision shapes.
    flags = client.engine.URDF_USE_INERTIA_FROM_FILE
    client.setGravity(*model.gravity)
    try:
        with _as_pybullet_reads_it(model) as path:
            number = client.loadURDF(path, useFixedBase=True, flags=flags)
    except StateError as problem:
        raise ModelError(f"pybullet does not load the file: {problem}") from None
    body = LoadedBody(model, client, number)
    body.release_joints()
    body.take_away_air()
    return body


@contextmanager
def _as_pybullet_reads_it(model: Model) -> Iterator[str]:
    """Yield the path of a copy of the file without shapes, in which links without inertia weigh 0.

    pybullet gives 1 kg to a link that has no <inertial>, and takes seconds to read a robot's
    meshes, of which its dynamics needs none.
    """
    source = model.description.source
    assert source is not None
    bare = {link.name for link in model.description.links if link.inertia is None}
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        robot = etree.fromstring(Path(source).read_bytes().lstrip(), parser)
    except (OSError, etree.XMLSyntaxError) as problem:
        raise ModelError(f"pybullet is not asked: the file cannot be copied: {problem}") from None
    for link in robot.findall("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
        if link.get("name") in bare:
            for old in link.findall("inertial"):
                link.remove(old)
            inertial = etree.SubElement(link, "inertial")
            etree.SubElement(inertial, "mass", value="0")
            moments = dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), "0")
            etree.SubElement(inertial, "inertia", moments)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "robot.urdf")
        etree.ElementTree(robot).write(path, encoding="utf-8", xml_declaration=True)
        yield path


def refuse(model: Model) -> None:
    """Say which mechanisms pybullet cannot be asked about."""
    if model.description.source is None or not model.description.source.endswith(".urdf"):
        raise ModelError("pybullet is asked only about mechanisms that come from a URDF file")
    if model.floating:
        raise ModelError("pybullet is asked only about mechanisms with a fixed base")
    if model.nv == 0:
        raise ModelError("pybullet is asked only about mechanisms that move")
    for link in model.description.links:
        if model.links[model.link_index[link.name]].body == 0:
            continue  # the base does not move
        body = model.bodies[model.links[model.link_index[link.name]].body]
        if body.inertia.mass == 0.0:
            raise ModelError(
                f"pybullet is not asked about moving links without mass, such as {link.name!r}"
            )
        if link.inertia is not None and unphysical(link.inertia.mass, link.inertia.central):
            raise ModelError(f"pybullet would change the inertia of link {link.name!r}")
    for joint in model.joints:
        if joint.type.name not in ("fixed", "revolute", "continuous", "prismatic"):
            raise ModelError(f"pybullet is not asked about {joint.type.name} joints")


def version() -> str:
    """Return pybullet's version."""
    from importlib.metadata import version

    return version("pybullet")


# pybullet as a referee for closed loops: the tree from the file, loops by ``createConstraint``.
#
# Loops are closed by point-to-points: one for a ball, two along the axis for a pin. pybullet
# solves for the velocities at the end of a step, J(q_n) v_{n+1} = 0, so a single step from rest or
# motion knows nothing of J̇ v; the second step does, since the first has left J(q_n) v_{n+1} = 0.
# With its pull on open constraints switched off, what the second step says of forces is that of
# rigid mechanics at the state where it began, up to the length of the step.

LOOP_STEP = 1e-6
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

    def __init__(self, model: Model, step: float = LOOP_STEP) -> None:
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
        pins = []
        for offset in offsets:
            pivots = [(frame.rotation @ offset + frame.translation).tolist() for frame in frames]
            pin = client.createConstraint(
                number, links[0], number, links[1],
                client.engine.JOINT_POINT2POINT, [0, 0, 0], *pivots,
            )  # fmt: skip
            client.changeConstraint(pin, maxForce=STRONG, erp=0)
            pins.append((pin, offset))
        return pins

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
