"""Gravity and inertia of a flexible link, spread over nodes: loads for its finite-element model.

A slice of the link at ρ, whose points are at ρ + D d, has the acceleration of the link's frame, of
its rotation and of the deformation:

    A = r̈ + α × ρ + ω × (ω × ρ) + 2 ω × ρ̇ + ρ̈        W = (α̃ + ω̃ ω̃) D + 2 ω̃ Ḋ + D̈
    f = -m A,   n = -∫ (D d) × (W d) dm                about ρ

Nodes are those of a modal basis, or places along a beam, each with the slices nearest to it. Forces
are given at nodes of the undeformed link: the moment there is that of the force at its deformed
place. So all of it, with what joints do, is in equilibrium at the undeformed nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.equations.flexible import amplitude_accelerations, amplitudes
from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors
from mbd_bridge.model import FlexibleBody, Model
from mbd_bridge.model.flexible import FlexibleLink, ModalBasis
from mbd_bridge.model.flexible.basis import basis, intervals_at
from mbd_bridge.model.flexible.integrals import Slices, node_slices, slices
from mbd_bridge.model.flexible_links import root_of
from mbd_bridge.model.joint_table import DEFLECTION
from mbd_bridge.model.spatial import Array, Inertia, cross, zeros
from mbd_bridge.solve.model_kernel import model_kernel

# How one link moves, in its own axes, and where its neighbours are: nothing of loads is in it.
#
# By the papers' state vectors (`equations.state_vectors`); loads come from the recursion in body
# axes (`equations.newton_euler`). A free body that is in equilibrium checks one by the other.


class LinkMotion(NamedTuple):
    """Motion of a link at K states, in its own axes.

    Attributes
    ----------
    omega, alpha : (K, 3) rad/s, rad/s²
    acceleration : (K, 3) m/s², of the point given (the centre of mass)
    gravity : (K, 3) m/s²
    neighbours : (K, L, 3, 4) rotation and position of other links' frames, in the link's frame
    """

    omega: Array
    alpha: Array
    acceleration: Array
    gravity: Array
    neighbours: Array


def link_motion(
    model: Model, link: int, point: Array, others: tuple[int, ...], q: Array, v: Array, a: Array
) -> LinkMotion:
    """Return the motion of a link and of its point (3,) m, and where other links are from it."""

    def function(q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        state = state_vectors(model, q, v)
        rates = state_accelerations(model, state, a)

        def pose(number: int) -> tuple[Array, Array]:
            entry = model.links[number]
            at = state.bodies[entry.body]
            origin = at.position + at.rotation @ entry.frame.translation
            return at.rotation @ entry.frame.rotation, origin

        body = model.links[link].body
        turn, origin = pose(link)
        x = origin + turn @ point
        omega, alpha = state.bodies[body].Y[3:], rates[body][3:]
        velocity = state.bodies[body].Y[:3] + cross(omega, x)
        acceleration = rates[body][:3] + cross(alpha, x) + cross(omega, velocity)
        around = zeros((len(others), 3, 4), q)
        for k, other in enumerate(others):
            rotation, position = pose(other)
            around[k, :, :3] = turn.T @ rotation
            around[k, :, 3] = turn.T @ (position - origin)
        own = [turn.T @ vector for vector in (omega, alpha, acceleration, state.gravity)]
        return (*own, around)

    inputs, outputs = {"q": model.nq, "v": model.nv, "a": model.nv}, LinkMotion._fields
    what = link, np.asarray(point, dtype=np.float64), tuple(others)
    kernel = model_kernel(model, "link_motion", inputs, outputs, function, what)
    return LinkMotion(*kernel(q, v, a))


PLACES = 16
"""Even parts of a beam between whose ends its mass is lumped, stations beside."""
PERMUTATION = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    PERMUTATION[_i, _j, _k], PERMUTATION[_i, _k, _j] = 1.0, -1.0


class Spread(NamedTuple):
    """Gravity and inertia at P nodes of a link, at K instants, in the link's axes.

    Attributes
    ----------
    names : (P,) of the nodes: their numbers, or m along the beam
    points : (P, 3) m, in the link's frame, not deformed
    gravity, inertia : (K, P, 6) N, N m about these points
    """

    names: tuple[str, ...]
    points: Array
    gravity: Array
    inertia: Array

    def pick(self, rows: NDArray[np.int64]) -> Spread:
        """Return it at some instants."""
        return self._replace(gravity=self.gravity[rows], inertia=self.inertia[rows])

    @staticmethod
    def joined(parts: list[Spread]) -> Spread | None:
        """Return that of one link at some instants as one; None of none."""
        if not parts:
            return None
        return parts[0]._replace(
            gravity=np.concatenate([one.gravity for one in parts]),
            inertia=np.concatenate([one.inertia for one in parts]),
        )

    def total(self, wrenches: Array, point: Array) -> Array:
        """Return the sum (K, 6) of wrenches (K, P, 6), about a point (3,)."""
        arms = self.points - point
        out = wrenches.copy()
        out[..., 3:] += np.cross(arms, wrenches[..., :3])
        return np.asarray(out.sum(axis=1))


class Lumped(NamedTuple):
    """Slices of a link, and to which node each belongs; names and points of the nodes."""

    slices: Slices
    node: NDArray[np.int64]
    names: tuple[str, ...]
    points: Array

    def inertia(self) -> Inertia:
        """Return mass, centre of mass and inertia about it of the undeformed link."""
        own = self.slices
        at, turn = own.u[0], own.turn[0]
        moved = own.mass[:, None] * at if own.mass.ndim == 1 else own.mass @ at
        mass = float(own.mass.sum())
        centre = moved.sum(axis=0) / mass
        second = at.T @ moved - mass * np.outer(centre, centre)
        second = second + np.einsum("nij,njk,nlk->il", turn, own.second, turn)
        return Inertia(mass, centre, np.trace(second) * np.eye(3) - second)


def lumped(model: Model, flexible: FlexibleLink) -> Lumped:
    """Return the slices of a link by the nodes that they belong to."""
    root = root_of(model.description, flexible)
    shape = flexible.beam
    if isinstance(shape, ModalBasis):
        assert shape.numbers is not None
        names = tuple(f"node {n}" for n in shape.numbers)
        return Lumped(node_slices(shape, root), np.arange(len(names)), names, shape.nodes)
    joints = [one for one in model.description.joints if one.parent == flexible.link]
    places = [shape.place(j.origin.translation) for j in joints if j.type == DEFLECTION]
    modes = basis(flexible, shape, root, places)
    even = np.linspace(0.0, shape.length, PLACES + 1)
    at = intervals_at(even, np.array([root, *places]), shape)
    edges = np.concatenate([at[:1], 0.5 * (at[1:] + at[:-1]), at[-1:]])
    cells = [
        slices(shape, modes, root, (low, high), stiffening=flexible.stiffening)
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    node = np.repeat(np.arange(len(cells)), [len(one.mass) for one in cells])
    whole = Slices(
        np.concatenate([one.u for one in cells], axis=1),
        np.concatenate([one.turn for one in cells], axis=1),
        np.concatenate([one.mass for one in cells]),
        np.concatenate([one.second for one in cells]),
        cells[0].pairs,
    )
    points = np.array([shape.point(x) for x in at.tolist()])
    return Lumped(whole, node, tuple(f"x = {x:.6g} m" for x in at), points)


def spread(
    part: FlexibleBody, parts: Lumped, motion: LinkMotion, q: Array, v: Array, a: Array
) -> Spread:
    """Return gravity and inertia of a link at its nodes.

    Parameters
    ----------
    motion : of the origin of the link's frame
    q, v, a : (K, n)
    """
    lumps, count = parts.slices, len(parts.points)
    gravity, inertia = np.zeros((2, len(q), count, 6))
    for k in range(len(q)):
        at = amplitudes(part, q[k], v[k])
        rates = (at.alpha, at.rate, amplitude_accelerations(part, at, v[k], a[k]))
        rho, rho_dot, rho_ddot = (np.tensordot(one, lumps.u, 1) for one in rates)
        D, D_dot, D_ddot = (np.tensordot(one, lumps.turn, 1) for one in rates)
        spin = np.cross(motion.omega[k], np.eye(3)).T  # ω̃
        field = np.cross(motion.alpha[k], np.eye(3)).T + spin @ spin
        A = motion.acceleration[k] + rho @ field.T + 2.0 * rho_dot @ spin.T + rho_ddot
        W = field @ D + 2.0 * spin @ D_dot + D_ddot
        mass = lumps.mass
        force = -(mass[:, None] * A if mass.ndim == 1 else mass @ A)
        weight = (mass if mass.ndim == 1 else mass.sum(axis=1))[:, None] * motion.gravity[k]
        turning = -np.einsum("ijk,nja,nab,nkb->ni", PERMUTATION, D, lumps.second, W)
        arms = rho - parts.points[parts.node]
        for out, f, n in ((gravity, weight, 0.0), (inertia, force, turning)):
            np.add.at(out[k], parts.node, np.hstack([f, n + np.cross(arms, f)]))
    return Spread(parts.names, parts.points, gravity, inertia)
