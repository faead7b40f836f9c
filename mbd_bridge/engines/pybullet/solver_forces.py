"""What pybullet does to a body in a step beside the forces that we give it.

Its motors, stops and gears are constraints on velocities, which its solver satisfies together with
contacts; torques and forces that a script applies are added to ours. None but the motors can be
asked for. All of them are in the change of velocity: with the tree's equations M a + h(q, v), given
the forces f under which it was to accelerate with a, the step of h seconds came to v',

    f_solver = M (Δ/h) - Σ J_iᵀ w_i,    Δ = v' - v - h a,

w_i the wrenches of contacts, which are known. What motors and damping do not explain comes from
stops or gears, if a joint has them there, or else is *unread*: its place is not known, only what it
does to the motion. This works on `LoadedBody.tree`, since pybullet knows neither loops nor mimics,
with the inertias that pybullet has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.engines.pybullet.loaded_body import LoadedBody, TreeState
from mbd_bridge.equations.external import from_world_axes
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.kernels import Single
from mbd_bridge.model import Model, rebuilt
from mbd_bridge.model.spatial import Array, Frame, Inertia, quaternion_matrix
from mbd_bridge.solve.model_kernel import model_kernel

# What the rest of a pybullet world does to a body: contact points, and constraints of the user.
#
# ``getContactPoints`` without a filter names the two bodies as the solver has them, and normal and
# friction act on the first. With a filter it exchanges bodies and normal, but not the friction.
# ``getConstraintState`` gives a point-to-point's force on the child, but a fixed one's force and
# moment on the parent; forces along the world's axes, the moment along those of the parent's
# frame.


class Touch(NamedTuple):
    """What another body does to a link, in pybullet's world axes.

    Attributes
    ----------
    link : name of the link
    other : pybullet's number of the other body (-1: the world)
    other_link : its link
    position : (3,) m, where the force acts
    force : (3,) N on the link
    moment : (3,) N m on the link; contacts give none
    """

    link: str
    other: int
    other_link: int
    position: Array
    force: Array
    moment: Array


Placement = Callable[[int], Frame]
"""Our link's frame in pybullet's world, by its index."""


def touches(body: LoadedBody, placement: Placement) -> tuple[Touch, ...]:
    """Return what acted on a body in pybullet's last step."""
    return (*_contacts(body), *_constraints(body, placement))


def _contacts(body: LoadedBody) -> Iterator[Touch]:
    names, none = body.model.links, np.zeros(3)
    for row in body.client.getContactPoints():
        if body.number not in row[1:3] or not any((row[9], row[10], row[12])):
            continue
        _, first, second, link, other_link, point, other_place, normal, _, *sizes = row[:14]
        push, along, way, across, side = sizes
        force = push * np.array(normal) + along * np.array(way) + across * np.array(side)
        if first == body.number:
            name = names[body.links[link]].name
            yield Touch(name, second, other_link, np.array(point), force, none)
        if second == body.number:
            name = names[body.links[other_link]].name
            yield Touch(name, first, link, np.array(other_place), -force, none)


def _constraints(body: LoadedBody, placement: Placement) -> Iterator[Touch]:
    client, engine = body.client, body.client.engine
    for row, number in _constraints_of(client):
        parent, parent_link, child, child_link, kind = row[:5]
        if (parent == body.number) == (child == body.number):
            continue
        ours_is_child = child == body.number
        if kind not in (engine.JOINT_POINT2POINT, engine.JOINT_FIXED):
            raise ModelError(
                f"constraint {number} holds pybullet's body {body.number}, and only the forces of "
                f"JOINT_POINT2POINT and JOINT_FIXED can be read; remove it"
            )
        link, other, other_link = (
            (child_link, parent, parent_link) if ours_is_child else (parent_link, child, child_link)
        )
        ours = body.links[link]
        centre = placement(ours) @ body.centre(link)
        force, moment = np.array(client.getConstraintState(number)[:3]), np.zeros(3)
        if kind == engine.JOINT_FIXED:
            turn = client.frame(parent, parent_link).rotation if ours_is_child else centre.rotation
            turn = turn @ quaternion_matrix(np.array(row[8]))
            force, moment = -force, -turn @ client.getConstraintState(number)[3:]
        sign = 1.0 if ours_is_child else -1.0  # so far they were on the child
        point = centre.rotation @ row[7 if ours_is_child else 6] + centre.translation
        name = body.model.links[ours].name
        yield Touch(name, other, other_link, point, sign * force, sign * moment)


class Inside(NamedTuple):
    """Constraints between links of one body, whose forces pass inside of it.

    Attributes
    ----------
    geared : names of the joints along which gears act
    others : whether there are such of which it is not told what they do to joints
    """

    geared: frozenset[str]
    others: bool


def inside(body: LoadedBody) -> Inside:
    """Return which constraints of pybullet are between links of a body."""
    gear = body.client.engine.JOINT_GEAR
    rows = [row for row, _ in _constraints_of(body.client) if row[0] == row[2] == body.number]
    numbers = {number for row in rows if row[4] == gear for number in (row[1], row[3])}
    geared = frozenset(joint.name for joint in body.joints if joint.number in numbers)
    return Inside(geared, any(row[4] != gear for row in rows))


def _constraints_of(client: Client) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield what is told of constraints that may exert forces, and their numbers."""
    for k in range(client.getNumConstraints()):
        number = client.getConstraintUniqueId(k)
        row = client.getConstraintInfo(number)
        if row[MAX_FORCE] > 0.0:
            yield row, number


MAX_FORCE = 10
"""Where ``getConstraintInfo`` tells the largest force."""

ROUNDING = 1e-8
"""Forces that rounding may feign in velocities, relative to the forces of the bodies."""

AT_CONTACTS = 2e-2
"""Forces that contacts may feign, relative to theirs: both bodies are touched at points of their
own, and moments of rolling and spinning friction are not told."""

AT_A_STOP = 1e-3
"""How near to a stop a joint is that it holds, rad or m: the step ends near it, not on it."""


class SolverForces(NamedTuple):
    """What pybullet did beside our forces in a step.

    Attributes
    ----------
    forces : (nv of the tree,) all of it
    unread : by joint, what neither motors, damping, stops nor gears explain, N m or N along its
        degrees of freedom, or (6,) on a free root link
    """

    forces: Array
    unread: dict[str, Array]


class Begun(NamedTuple):
    """How a step of the tree was begun.

    Attributes
    ----------
    q, v, a : of the tree: a under our forces, without contact
    forces : (nv of the tree,) the forces along its joints that give a
    """

    q: Array
    v: Array
    a: Array
    forces: Array


class TreeForces:
    """The equations of pybullet's tree, asked before and after each of its steps.

    Parameters
    ----------
    released : whether damping and stops of pybullet's body were taken away
    alike : whether pybullet's inertias are the mechanism's; where not, motors have the forces that
        change the mechanism's velocities as pybullet's change, whatever bounds they have

    Attributes
    ----------
    places : where each joint's forces are among the tree's, those of a free root link too
    """

    def __init__(self, body: LoadedBody, *, released: bool, alike: bool = True) -> None:
        self.body, self.tree = body, body.tree
        self._kernel = _inverse(_as_pybullet_has_it(body))
        self._ours = None if alike else _inverse(self.tree)
        moving = {
            self.tree.joints[moves.joint].name: moves for moves in self.tree.bodies if moves.type.nv
        }
        self.places = {name: moves.v for name, moves in moving.items()}
        self._damping = np.zeros(self.tree.nv)
        self._stops: list[tuple[str, int, float, float]] = []
        if released:
            return
        for joint in body.joints:
            row, moves = (
                body.client.getJointInfo(body.number, joint.number),
                moving[joint.name],
            )
            self._damping[moves.v] = row[6]
            if not joint.ball and row[8] <= row[9]:  # others have no limits, as pybullet has it
                self._stops.append((joint.name, moves.q.start, row[8], row[9]))

    def begin(self, q: Array, v: Array, a: Array) -> Begun:
        """Return the forces under which the tree accelerates as the mechanism (q, v, a) does."""
        q, v = self.body.opened(q, v)
        a = self.body.rates @ a
        return Begun(q, v, a, self._needed(q, v, a))

    def after(
        self, begun: Begun, state: TreeState, wrenches: Array, h: float, inside: Inside
    ) -> SolverForces:
        """Return what pybullet did in a step beside our forces and contacts.

        Parameters
        ----------
        state : where pybullet's step came to
        wrenches : (bodies, 6) of contacts, about the world's origin
        inside : constraints of pybullet between links of the body
        """
        q, v, a, forces = begun
        missed = self._missed(begun, state, h)
        rounding = ROUNDING * h * np.abs(a).max(initial=0.0)
        if not wrenches.any() and np.abs(missed).max(initial=0.0) <= rounding:
            return SolverForces(np.zeros_like(v), {})
        touched = self._needed(q, v, a, wrenches) - forces  # minus what contacts do along joints
        whole = self._needed(q, v, a + missed / h) - forces + touched
        damping = -self._damping * v
        live = np.abs(whole - damping - state.motors) <= np.abs(whole - damping)
        told = damping + np.where(live, state.motors, 0.0)  # of one without force the last is told
        if self.body.model.has_loops and inside.others:
            return SolverForces(told, {})
        sizes = self._needed(q, v, np.zeros_like(a)), forces, whole
        noise = ROUNDING * sum(np.abs(size).max(initial=0.0) for size in sizes)
        noise += AT_CONTACTS * np.abs(touched).max(initial=0.0)
        rest = np.where(np.abs(whole - told) > noise, whole - told, 0.0)
        driving = told + rest
        if self._ours is not None:
            ends = (a + missed / h, wrenches), (a, np.zeros_like(wrenches))
            changed, before = (np.array(self._ours.run(q, v, x, w.reshape(-1))[0]) for x, w in ends)
            driving = np.where(driving != 0.0, changed - before, 0.0)
        if not rest.any():
            return SolverForces(driving, {})
        known = {*self._held_by_stops(state.q), *inside.geared}
        unread = {
            name: rest[columns]
            for name, columns in self.places.items()
            if name not in known and rest[columns].any()
        }
        return SolverForces(driving, unread)

    def _needed(self, q: Array, v: Array, a: Array, wrenches: Array | None = None) -> Array:
        if wrenches is None:
            wrenches = np.zeros(6 * len(self.tree.bodies))
        (forces,) = self._kernel.run(q, v, a, wrenches.reshape(-1))
        return np.array(forces)

    def _missed(self, begun: Begun, state: TreeState, h: float) -> Array:
        """Return v' - v - h a of the tree's velocities; of a free base at the step's begin.

        pybullet steps the velocity of the base's centre of mass along fixed axes.
        """
        q, v, a, _ = begun
        missed = state.v - v - h * a
        if self.tree.floating:
            root, centre = self.tree.bodies[0], self.body.centre(-1).translation
            old, new = (quaternion_matrix(x[root.q][3:]) for x in (q, state.q))
            speed, omega = v[root.v][:3], v[root.v][3:]
            linear, angular = a[root.v][:3], a[root.v][3:]
            turned = old.T @ new
            spin = turned @ state.v[root.v][3:]
            new_speed = turned @ (state.v[root.v][:3] + np.cross(state.v[root.v][3:], centre))
            old_speed = speed + np.cross(omega, centre)
            linear = linear + np.cross(angular, centre) + np.cross(omega, old_speed)
            spin = spin - omega - h * angular
            missed[root.v] = np.concatenate(
                [new_speed - old_speed - h * linear - np.cross(spin, centre), spin]
            )
        return missed

    def _held_by_stops(self, q: Array) -> Iterator[str]:
        for name, index, low, high in self._stops:
            if not low + AT_A_STOP < q[index] < high - AT_A_STOP:
                yield name


def _as_pybullet_has_it(body: LoadedBody) -> Model:
    """Return the tree with the masses, centres and moments that pybullet has."""
    tree, inertias = body.tree, dict[str, Inertia]()
    for number, link in body.links.items():
        row, centre = body.client.getDynamicsInfo(body.number, number), body.centre(number)
        central = centre.rotation @ np.diag(row[2]) @ centre.rotation.T
        inertias[body.model.links[link].name] = Inertia(row[0], centre.translation, central)
    links = tuple(replace(link, inertia=inertias.get(link.name)) for link in tree.description.links)
    return rebuilt(tree, replace(tree.description, links=links))


def _inverse(tree: Model) -> Single:
    """Return what tells forces along the tree's velocities, under wrenches on all bodies."""
    first = {link.body: number for number, link in reversed([*enumerate(tree.links)])}

    def function(q: Array, v: Array, a: Array, w: Array) -> tuple[Array, ...]:
        at = {link: w[6 * body : 6 * body + 6] for body, link in first.items() if body in moving}
        pushes = from_world_axes(tree, q, at, about_origin=True)
        return (recursive_loads(tree, q, v, a, external=pushes).forces,)

    moving = set(range(0 if tree.floating else 1, len(tree.bodies)))
    inputs = {"q": tree.nq, "v": tree.nv, "a": tree.nv, "w": 6 * len(tree.bodies)}
    return model_kernel(tree, "tree_forces", inputs, ("forces",), function, ()).single()
