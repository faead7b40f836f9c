"""A body that the user has loaded in pybullet, seen as one of our mechanisms.

Joints and links are matched by name. pybullet's frames are those of the links' centres of mass,
turned to the principal axes of ``<inertial>``; ours are the file's link frames. pybullet knows
neither ``<mimic>`` nor loops: each of its joints has a coordinate of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import ModelError, StateError, some, warn
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.equations.motions import joint_coordinates, joint_velocities
from mbd_bridge.model import Body, Model, rebuilt
from mbd_bridge.model.quaternions import conjugate, product
from mbd_bridge.model.spatial import Array, Frame, Inertia, lump, quaternion_matrix

BASE = -1
"""pybullet's number of the root link."""

FREE = 1e10
"""Limits of a joint that has none: rad or m, and their rates."""

LARGEST = 128
"""Joints of a body, fixed ones counted, up to which pybullet tells their states."""

ALIKE = 1e-3
"""Relative difference of masses and moments that pybullet's reading of a file may bring: it turns
inertias to principal axes, and stops at a residue of 1e-5."""


class MovingJoint(NamedTuple):
    """A joint that moves: its number in pybullet, the body of ours, whether it is a ball."""

    number: int
    name: str
    body: Body
    ball: bool


SAME_STATE = 1e-9
"""How far pybullet's state may be from the one that was written, rad, m and their rates: rounding
of quaternions and of the base's frame."""


class TreeState(NamedTuple):
    """A state of the open tree, as pybullet has it.

    Attributes
    ----------
    q, v : (nq,), (nv,) of `LoadedBody.tree`
    motors : (nv,) what pybullet's motors gave in its last step, N m or N
    """

    q: Array
    v: Array
    motors: Array


def open_tree(model: Model) -> Model:
    """Return what pybullet knows of a model: its tree, in which nothing mimics."""
    if not model.has_loops and not any(body.coupled for body in model.bodies):
        return model
    free = tuple(replace(joint, mimic=None) for joint in model.description.joints)
    return rebuilt(model, replace(model.description, joints=free, loops=(), couplings=()))


class LoadedBody(int):
    """One body of a pybullet client and the model that describes it; an int, as pybullet's bodies.

    Attributes
    ----------
    model, client, number : the mechanism, the connection, pybullet's number of the body
    tree : the same without loops and couplings, as pybullet knows it
    rates : (nv of the tree, nv) the tree's velocities are these times the mechanism's
    leaders : where the mechanism's coordinates and velocities are in the tree's
    followers : where joints are there that mimic others
    joints : those that move, in pybullet's order
    q_places, v_places : where the coordinates and velocities of these are in the tree's
    links : our link's index by pybullet's link number
    """

    def __new__(cls, model: Model, client: Client, number: int) -> LoadedBody:
        """Return pybullet's number of the body."""
        return super().__new__(cls, number)

    def __init__(self, model: Model, client: Client, number: int) -> None:
        self.model, self.client, self.number = model, client, number
        base = self.check()
        count = client.getNumJoints(number)
        rows = [client.getJointInfo(number, k) for k in range(count)]
        names = {BASE: base} | {k: row[12].decode() for k, row in enumerate(rows)}
        unknown = [name for name in names.values() if name not in model.link_index]
        if unknown:
            raise ModelError(
                f"pybullet's body {number} has links that {model.name!r} has not: "
                f"{some(unknown, 5)}. Are both loaded from the same file?"
            )
        self.links = {k: model.link_index[name] for k, name in names.items()}
        self.joints = self._moving(rows)
        self._centres: dict[int, Frame] = {}
        fixed = client.getDynamicsInfo(number, BASE)[0] == 0.0
        if fixed == model.floating:
            ours, theirs = ("free", "fixed") if fixed else ("fixed", "free")
            raise ModelError(
                f"the base of {model.name!r} is {ours}, that of pybullet's body {number} {theirs}: "
                f"pair floating=True with useFixedBase=False, and floating=False with "
                f"useFixedBase=True"
            )
        self.tree = open_tree(model)
        self._index_tree()

    def _index_tree(self) -> None:
        """Find where pybullet's joints are in the tree, and the mechanism's coordinates there."""
        model, tree = self.model, self.tree
        self._numbers, self._neutral = [joint.number for joint in self.joints], tree.neutral()
        bodies = [tree.bodies[tree.joint(joint.name).body] for joint in self.joints]
        self.q_places = [k for body in bodies for k in range(tree.nq)[body.q]]
        self.v_places = [k for body in bodies for k in range(tree.nv)[body.v]]
        self.rates = np.zeros((tree.nv, model.nv))
        self.followers: dict[str, int] = {}
        leaders = np.zeros(model.nq, dtype=int), np.zeros(model.nv, dtype=int)
        for body in model.bodies:
            if not body.type.nv:
                continue
            tree_body = tree.bodies[tree.joint(model.joints[body.joint].name).body]
            self.rates[tree_body.v, body.v] = (body.ratio if body.coupled else 1.0) * np.eye(
                tree_body.type.nv
            )
            if body.coupled:
                self.followers[model.joints[body.joint].name] = tree_body.q.start
                continue
            leaders[0][body.q], leaders[1][body.v] = (
                range(tree.nq)[tree_body.q],
                range(tree.nv)[tree_body.v],
            )
        self.leaders = leaders

    def opened(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the tree's coordinates and velocities in a state of the mechanism."""
        model, tree = self.model, self.tree
        if not (self.followers or model.has_loops):
            return q, v
        coordinates = tree.neutral()
        for body in model.bodies:
            coordinates[tree.bodies[tree.joint(model.joints[body.joint].name).body].q] = (
                joint_coordinates(body, q)
            )
        return coordinates, self.rates @ v

    def _moving(self, rows: list[Any]) -> tuple[MovingJoint, ...]:
        """Return the moving joints, paired by name."""
        model, engine = self.model, self.client.engine
        ours = {model.joints[body.joint].name: body for body in model.bodies[1:] if body.type.nv}
        theirs = {row[1].decode(): row for row in rows if row[2] != engine.JOINT_FIXED}
        if set(ours) != set(theirs):
            missing = sorted(set(ours) ^ set(theirs))
            raise ModelError(
                f"pybullet's body {self.number} moves in other joints than {model.name!r}: "
                f"{some(missing, 5)} only in one of them. Load both from the same file, the "
                f"mechanism with cuts='authored'"
            )
        kinds = dict.fromkeys(("revolute", "continuous"), engine.JOINT_REVOLUTE)
        kinds |= {"prismatic": engine.JOINT_PRISMATIC, "spherical": engine.JOINT_SPHERICAL}
        for name, row in theirs.items():
            kind = ours[name].type.name
            if kinds.get(kind) != row[2]:
                raise ModelError(
                    f"joint {name!r}: a {kind} joint here is of pybullet's type {row[2]} there; "
                    f"revolute, continuous, prismatic and spherical joints can be stepped"
                )
        return tuple(
            MovingJoint(row[0], name, ours[name], row[2] == engine.JOINT_SPHERICAL)
            for name, row in theirs.items()
        )

    def need_states(self) -> None:
        """Raise if pybullet does not tell the states of so many joints."""
        if len(self.links) - 1 > LARGEST:
            raise ModelError(
                f"pybullet tells the states of up to {LARGEST} joints, and {self.model.name!r} has "
                f"{len(self.links) - 1} there; URDF_MERGE_FIXED_LINKS makes them fewer"
            )

    def check(self) -> str:
        """Return the name of the root link; raise if the body is not there (any more)."""
        try:
            name: bytes = self.client.getBodyInfo(self.number)[0]
        except StateError:
            self.client.check()
            bodies = [self.client.getBodyUniqueId(k) for k in range(self.client.getNumBodies())]
            raise StateError(
                f"pybullet has no body {self.number!r} (any more); there are {bodies or 'none'}"
            ) from None
        return name.decode()

    def release_joints(self) -> None:
        """Take away what would move the body beside our forces: motors, damping, stops."""
        client, number = self.client, self.number
        engine = client.engine
        for joint in self.joints:
            if joint.ball:
                client.setJointMotorControlMultiDof(
                    number, joint.number, engine.POSITION_CONTROL, targetPosition=[0, 0, 0, 1],
                    positionGain=0, velocityGain=0, force=[0, 0, 0],
                )  # fmt: skip
                continue
            client.setJointMotorControl2(number, joint.number, engine.VELOCITY_CONTROL, force=0)
            client.changeDynamics(number, joint.number, jointLowerLimit=-FREE, jointUpperLimit=FREE)
            # in a call of its own: together with the limits it takes them back
            client.changeDynamics(number, joint.number, maxJointVelocity=FREE)
        for link in self.links:
            client.changeDynamics(number, link, jointDamping=0)

    def take_away_air(self) -> None:
        """Take away pybullet's resistance of the air, and what it adds to links without inertia.

        Masses stay, since contacts feel them; links without inertia lose the kilogram that
        pybullet gives them.
        """
        client, number = self.client, self.number
        for link, ours in self.links.items():
            client.changeDynamics(number, link, linearDamping=0, angularDamping=0)
            if link != BASE and self.model.links[ours].inertia.is_zero():
                client.changeDynamics(number, link, mass=0, localInertiaDiagonal=[0, 0, 0])

    # frames

    def centre(self, link: int) -> Frame:
        """Return pybullet's frame of a link, at its centre of mass, in the link's own frame."""
        if link not in self._centres:
            row = self.client.getDynamicsInfo(self.number, link)
            self._centres[link] = Frame(quaternion_matrix(np.array(row[4])), np.array(row[3]))
        return self._centres[link]

    def base(self) -> Frame:
        """Return the frame of the root link in pybullet's world."""
        return self.client.frame(self.number, BASE) @ self.centre(BASE).inverse()

    def world(self) -> Frame:
        """Return the frame of the mechanism's world in pybullet's."""
        return Frame.identity() if self.model.floating else self.base()

    # states

    def read(self) -> tuple[Array, Array]:
        """Return q and v as they are in pybullet; couplings are taken from their leaders."""
        state = self.tree_state()
        return state.q[self.leaders[0]], state.v[self.leaders[1]]

    def tree_state(self) -> TreeState:
        """Return the tree's state as it is in pybullet."""
        tree, client, number = self.tree, self.client, self.number
        q, v, motors = self._neutral.copy(), np.zeros(tree.nv), np.zeros(tree.nv)
        if self._numbers:
            rows = client.getJointStatesMultiDof(number, self._numbers)
            q[self.q_places] = [x for row in rows for x in row[0]]
            v[self.v_places] = [x for row in rows for x in row[1]]
            motors[self.v_places] = [x for row in rows for x in row[3]]
        if tree.floating:
            root, position = tree.bodies[0], self.base().translation
            turned = np.array(client.getBasePositionAndOrientation(number)[1])
            inertial = np.array(client.getDynamicsInfo(number, BASE)[4])
            turn = product(turned, conjugate(inertial))
            q[root.q] = root.type.normalise(np.concatenate([position, turn]))
            v[root.v] = self.root_twist(q[root.q])
        return TreeState(q, v, motors)

    def root_twist(self, pose: Array) -> Array:
        """Return the velocities (6,) of a free root link in pybullet, in a pose's (7,) axes."""
        turn = quaternion_matrix(pose[3:])
        speed, spin = map(np.array, self.client.getBaseVelocity(self.number))
        speed = speed - np.cross(spin, turn @ self.centre(BASE).translation)
        return np.concatenate([turn.T @ speed, turn.T @ spin])

    def write(self, q: Array, v: Array) -> None:
        """Put the body into a state, positions and velocities."""
        model, client, number = self.model, self.client, self.number
        if model.floating:
            root = model.bodies[0]
            # not by pybullet: its multiplyTransforms has single precision
            centre, inertial = map(np.array, client.getDynamicsInfo(number, BASE)[3:5])
            pose, twist = q[root.q], v[root.v]
            turn = quaternion_matrix(pose[3:])
            turned = product(pose[3:], inertial)
            position = pose[:3] + turn @ centre
            client.resetBasePositionAndOrientation(number, position.tolist(), turned.tolist())
            speed = turn @ (twist[:3] + np.cross(twist[3:], centre))
            client.resetBaseVelocity(number, speed.tolist(), (turn @ twist[3:]).tolist())
        if self._numbers:
            pairs = [
                (
                    joint_coordinates(joint.body, q).tolist(),
                    joint_velocities(joint.body, v).tolist(),
                )
                for joint in self.joints
            ]
            places, rates = map(list, zip(*pairs, strict=True))
            client.resetJointStatesMultiDof(number, self._numbers, places, rates)

    def push(self, actuation: dict[str, Array], root: Array, base: Frame) -> None:
        """Give pybullet's body forces for its next step.

        Parameters
        ----------
        actuation : by joint name, N m or N along its degrees of freedom
        root : (6,) on the root link at its origin, in its axes; counts for a free base
        base : frame of the root link
        """
        client, number, engine = self.client, self.number, self.client.engine
        simple = [joint for joint in self.joints if not joint.ball]
        if simple:
            client.setJointMotorControlArray(
                number, [joint.number for joint in simple], engine.TORQUE_CONTROL,
                forces=[float(actuation[joint.name][0]) for joint in simple],
            )  # fmt: skip
        for joint in self.joints:
            if joint.ball:
                client.setJointMotorControlMultiDof(
                    number, joint.number, engine.TORQUE_CONTROL,
                    force=actuation[joint.name].tolist(),
                )  # fmt: skip
        if self.model.floating and np.any(root):
            force, moment = base.rotation @ root[:3], base.rotation @ root[3:]
            point = base.translation.tolist()
            client.applyExternalForce(number, BASE, force.tolist(), point, engine.WORLD_FRAME)
            client.applyExternalTorque(number, BASE, moment.tolist(), engine.WORLD_FRAME)

    # inertia

    def warn_of_other_inertia(self) -> bool:
        """Return whether pybullet's masses and moments are the mechanism's; warn if not."""
        different = [
            self.model.links[ours].name
            for link, ours in self.links.items()
            if (link != BASE or self.model.floating) and not self._alike(link)
        ]
        if different:
            warn(
                f"pybullet's body {self.number} has other inertia than {self.model.name!r} at "
                f"{some(different, 4)}: its contacts feel the wrong mass (motion and loads are "
                f"computed with the mechanism's). Load it with "
                f"flags=pybullet.URDF_USE_INERTIA_FROM_FILE, as Stepper.load does; without "
                f"URDF_MERGE_FIXED_LINKS, if links without <inertial> were merged"
            )
        return not different

    def _alike(self, link: int) -> bool:
        row = self.client.getDynamicsInfo(self.number, link)
        ours = self._welded(link)
        theirs = Inertia(row[0], np.array(row[3]), np.diag(row[2]))
        size = max(ours.mass, theirs.mass, 1e-300)
        moments = [np.linalg.eigvalsh(inertia.central) for inertia in (ours, theirs)]
        largest = max(float(np.abs(moments).max()), 1e-300)
        return bool(
            abs(ours.mass - theirs.mass) <= ALIKE * size
            and np.abs(moments[0] - moments[1]).max() <= ALIKE * largest
        )

    def _welded(self, link: int) -> Inertia:
        """Return the inertia of what pybullet has merged into one of its links."""
        model, known = self.model, set(self.links.values())
        carrier, group = self.links[link], [self.links[link]]
        for joint in model.joints[1:]:  # parents before children
            if not joint.moving and joint.parent in group and joint.child not in known:
                group.append(joint.child)
        frame = model.links[carrier].frame.inverse()
        return lump(model.links[k].inertia.seen_from(frame) for k in group)
