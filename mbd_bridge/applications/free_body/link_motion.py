"""How one link moves, in its own axes, and where its neighbours are: nothing of loads is in it.

By the papers' state vectors (`equations.state_vectors`); loads come from the recursion in body axes
(`equations.newton_euler`). A free body that is in equilibrium checks one by the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross, zeros
from mbd_bridge.solve.model_kernel import model_kernel


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
    what = f"link_motion {link} {np.asarray(point).tolist()!r} {others}"
    kernel = model_kernel(model, "link_motion", inputs, outputs, function, what)
    return LinkMotion(*kernel(q, v, a))
