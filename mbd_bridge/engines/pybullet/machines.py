"""A body of a user's own script that a stepper of ours moves: what its script told of it so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import SolveError, StateError, warn
from mbd_bridge.engines.pybullet.loaded_body import LoadedBody
from mbd_bridge.engines.pybullet.stepper import SAME, Stepper, gravity_in
from mbd_bridge.model import Model, build_model
from mbd_bridge.model.description import Description, Loop, LoopEnd
from mbd_bridge.model.model import ROOT_JOINT
from mbd_bridge.model.spatial import Array, Frame, quaternion_matrix
from mbd_bridge.solve import assemble
from mbd_bridge.solve.dynamics import prepare

LOOP = "constraint_"
"""Begin of the names of joints that ``createConstraint`` makes, before their numbers."""

JUMP = 1e-2
"""How far joints may jump where a loop is closed, rad or m; else pybullet pulls it closed."""

FEW_DIGITS_GIVEN = 1e-3
"""Rank tolerance of such loops: scripts write their points with few digits."""


@dataclass
class Machine:
    """A body that a stepper moves, or will from the next step on.

    Attributes
    ----------
    torques : by joint, what TORQUE_CONTROL adds in the next step, N m or N
    wrenches : by link number, (6,) what is applied in the next step, at the link's centre of mass,
        along pybullet's axes there
    sensors : joint numbers with a force sensor
    loads : what they tell, by joint number, once it is asked for after a step
    loops : by number of the constraint, those that ``createConstraint`` has closed
    closed : the numbers of those that the stepper has
    """

    description: Description
    floating: bool
    body: LoadedBody
    made: Stepper | None = None
    torques: dict[str, Array] = field(default_factory=dict)
    wrenches: dict[int, Array] = field(default_factory=dict)
    sensors: set[int] = field(default_factory=set)
    loads: dict[int, Array] = field(default_factory=dict)
    loops: dict[int, Loop] = field(default_factory=dict)
    closed: list[int] = field(default_factory=list)

    @property
    def stepper(self) -> Stepper:
        """The stepper, under the gravity that pybullet has now, and with the loops of now."""
        body, made = self.body, self.made
        gravity = gravity_in(body.world(), body.client.getPhysicsEngineParameters())
        if (
            made is not None
            and self.closed == [*self.loops]
            and np.abs(made.model.gravity - gravity).max() <= SAME
        ):
            return made
        model, (q, v) = self._closed(gravity)
        self.closed, before = [*self.loops], made
        self.made = made = Stepper(model, body.client.number, body, q=q, v=v, release=False)
        if before is not None:
            made.time, made.after_step = before.time, before.after_step
        return made

    def _closed(self, gravity: Array) -> tuple[Model, tuple[Array | None, Array | None]]:
        """Return the model, and if there are loops the state that closes them near pybullet's."""
        description, body = self.description, self.body
        if not self.loops:
            return build_model(description, floating=self.floating, gravity=gravity), (None, None)
        model = build_model(
            replace(description, loops=(*description.loops, *self.loops.values())),
            floating=self.floating,
            gravity=gravity,
            rank_tolerance=FEW_DIGITS_GIVEN,
        )
        q, v = LoadedBody(model, body.client, body).read()
        rates = dict(zip(model.velocity_names, v.tolist(), strict=True))
        root = ROOT_JOINT if model.floating else ()
        try:
            found = assemble(model, q, fixed=root, velocity=rates)
            if np.abs(found.q - q).max() < JUMP:
                for number in self.loops:  # one solver closes them, ours
                    body.client.changeConstraint(number, maxForce=0)
                return model, (found.q, found.v)
            why = f"joints would jump by {np.abs(found.q - q).max():.2g} rad or m"
        except SolveError as problem:
            why = str(problem)
        warn(
            f"pybullet holds the constraints {sorted(self.loops)} of body {body.number} itself, so "
            f"that joint_loads is refused: they cannot be closed exactly from where they are "
            f"({why}). Reset its joints to where they are closed, and create them anew"
        )
        self.loops.clear()
        return self._closed(gravity)

    def push(self) -> None:
        """Do what is before ``stepSimulation``."""
        stepper = self.stepper
        stepper.push(self._forces(stepper), self._wrenches(), "link")

    def take(self) -> None:
        """Do what is after it; what acted acts no longer."""
        assert self.made is not None
        self.made.take()
        for told in (self.torques, self.wrenches, self.loads):
            told.clear()

    def add_torque(self, joint: int, torque: ArrayLike) -> None:
        """Add the torque of a joint, N m or N, in the next step."""
        tree = self.body.tree
        names = (known.name for known in self.body.joints if known.number == joint)
        for name in names:  # fixed joints take whatever is given
            size = tree.bodies[tree.joint(name).body].type.nv
            wanted = finite_numbers("force", torque, (size,))
            self.torques[name] = self.torques.get(name, 0.0) + wanted

    def add_wrench(
        self, link: int, force: ArrayLike, moment: ArrayLike, point: ArrayLike | None, world: bool
    ) -> None:
        """Add a force, a moment on a link in the next step, along its axes or the world's.

        Parameters
        ----------
        point : where the force acts, m in the same frame; None: at the centre of mass
        """
        centre = self._centre(link)
        f, m, arm = (
            finite_numbers(name, value, (3,))
            for name, value in (
                ("forceObj", force),
                ("torqueObj", moment),
                ("posObj", (0.0, 0.0, 0.0) if point is None else point),
            )
        )
        if world:
            turn = centre.rotation.T
            f, m = turn @ f, turn @ m
            arm = arm if point is None else turn @ (arm - centre.translation)
        wrench = np.concatenate([f, m + np.cross(arm, f)])
        self.wrenches[link] = self.wrenches.get(link, 0.0) + wrench

    def sensed(self) -> dict[int, Array]:
        """Return by joint number what the sensors tell.

        It is what the parent exerts on the child, at its centre of mass, along pybullet's axes.
        """
        if not self.loads:
            client, body = self.body.client, self.body
            joints = {k: client.getJointInfo(body, k)[1].decode() for k in self.sensors}
            joint_loads = self.stepper.joint_loads([*joints.values()])
            for k, name in joints.items():
                centre, load = body.centre(k), joint_loads[name]
                moment = load.moment - np.cross(centre.translation, load.force)
                turn = centre.rotation.T
                self.loads[k] = np.concatenate([turn @ load.force, turn @ moment])
        return self.loads

    def close(self, number: int, kind: str, ends: Sequence[tuple[int, Any, Any]]) -> None:
        """Close a loop from the next step on.

        Parameters
        ----------
        number : of the constraint
        ends : link, point and quaternion in the frame of its centre of mass, of parent and child
        """
        body = self.body
        parent, child = (
            LoopEnd(
                body.model.links[body.links[link]].name,
                body.centre(link) @ Frame(quaternion_matrix(np.array(turn)), np.array(place)),
            )
            for link, place, turn in ends
        )
        self.loops[number] = Loop(f"{LOOP}{number}", kind, parent, child)

    def carried(self, number: int) -> tuple[float, ...]:
        """Return force, and moment, of a loop, as pybullet tells those of its constraints.

        Of a point the force on the child along the world's axes; of a weld force and moment on the
        parent, the moment along the axes of its frame there.
        """
        loop, stepper = self.loops[number], self.stepper
        point = loop.type == "spherical"
        load = stepper.joint_loads([loop.name], on="child" if point else "parent", in_="world")
        force = self.body.world().rotation @ load.force[0]
        if point:
            return tuple(force.tolist())
        own = stepper.joint_loads([loop.name], on="parent", in_="parent")
        moment = loop.predecessor.frame.rotation.T @ own.moment[0]
        return (*force.tolist(), *moment.tolist())

    def calculated(
        self, what: Literal["inverse_dynamics", "mass_matrix"], given: Sequence[ArrayLike]
    ) -> Any:
        """Return a function of the open tree, in which every joint has a coordinate of its own."""
        stepper = self.stepper
        body, tree = stepper.body, stepper.body.tree
        if stepper.model.has_loops:
            raise StateError(
                f"{what}: body {body.number} has loops, in which pybullet's joints do not move "
                f"alone: mbd.Mechanism(p.getStepper({body.number}).model).{what}(...)"
            )
        packed = []
        for k, values in enumerate(given):
            array = np.asarray(values, dtype=np.float64)
            places, size = (body.v_places, tree.nv) if k else (body.q_places, tree.nq)
            if array.ndim not in (1, 2) or array.shape[-1] != len(places):
                raise StateError(
                    f"{what}: expected {len(places)} numbers, those of the joints that move, or "
                    f"(N, {len(places)}), got {array.shape}"
                )
            whole = np.zeros((*array.shape[:-1], size))
            whole[..., places] = array
            packed.append(whole)
        (found,) = prepare(tree, what)(*packed)
        for axis in range(1 if what == "inverse_dynamics" else 2):
            found = found.take(body.v_places, axis=-1 - axis)
        if any(array.ndim == 2 for array in packed):
            return found
        return tuple(map(tuple, found)) if found.ndim == 2 else tuple(found)

    def _forces(self, stepper: Stepper) -> Array | None:
        """Return the torques of the next step along the machine's velocities."""
        if not self.torques:
            return None
        tree = np.zeros(stepper.body.tree.nv)
        for name, torque in self.torques.items():
            tree[stepper.places[name]] = torque
        return np.asarray(stepper.body.rates.T @ tree)

    def _wrenches(self) -> Mapping[str, Array]:
        """Return the wrenches of the next step by link, at its origin and along its axes."""
        wrenches, body = {}, self.body
        for number, wrench in self.wrenches.items():
            centre = body.centre(number)
            force, moment = centre.rotation @ wrench[:3], centre.rotation @ wrench[3:]
            moment = moment + np.cross(centre.translation, force)
            wrenches[body.model.links[body.links[number]].name] = np.concatenate([force, moment])
        return wrenches

    def _centre(self, link: int) -> Frame:
        """Return pybullet's frame of a link, at its centre of mass."""
        body = self.body
        if link not in body.links:
            raise StateError(f"link {link}: body {body.number} has links -1 to {max(body.links)}")
        return body.client.frame(body.number, link)
