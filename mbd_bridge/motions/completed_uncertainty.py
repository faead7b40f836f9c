"""How exactly a completed motion is known: the errors of what is recorded, carried to all of it.

Let δ be the error of one recorded degree of freedom. To first order the completed motion is off by

    δq = d δ,    δv = (∂v/∂δ) δ + d δ̇,    δv̇ = (∂v̇/∂δ) δ + (∂v̇/∂δ̇) δ̇ + d δ̈,

with d and the derivatives from differences of the equations of the completion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mbd_bridge.kinematics.completion import Completion
from mbd_bridge.kinematics.given import GivenMotion
from mbd_bridge.mechanism import Model
from mbd_bridge.motions.motion import Motion
from mbd_bridge.motions.smoothing import Channel, MotionUncertainty
from mbd_bridge.motions.smoothing.spline import at_times
from mbd_bridge.solve.moves import moved
from mbd_bridge.spatial import Array

ROWS = 1000
"""Rows of a motion, at most, at which derivatives are computed; between them they are linear."""
STEP = 1e-5
"""rad or m, of the differences over positions: as many digits are lost as the square of it leaves
out."""
RATE_STEP = 1.0
"""rad/s or m/s, of the differences over velocities: accelerations are quadratic in them, and of
quadratic functions such differences are exact."""


@dataclass(frozen=True, eq=False)
class CompletedChannel:
    """The errors of one recorded degree of freedom, and what they do to a completed motion.

    Attributes
    ----------
    model : of the whole machine
    recorded : the errors of what is recorded
    times : (K,) s
    derivatives : (K, 4, nv) there, linear between: d, ∂v/∂δ, ∂v̇/∂δ and ∂v̇/∂δ̇
    """

    model: Model
    recorded: Channel
    times: Array
    derivatives: Array

    def roots(self, time: Array) -> Array:
        """Return directions (N, 3, 3) of one standard deviation at times; see `Channel`."""
        return self.recorded.roots(time)

    def standard_deviations(self, time: Array, q: Array, nv: int) -> Array:
        """Return those of position, velocity and acceleration, (3, N, nv); see `Channel`."""
        roots = self.recorded.roots(time)
        ways = np.stack([self._ways(time, roots[:, :, k]) for k in range(3)])
        return np.asarray(np.linalg.norm(ways, axis=0))

    def displaced(
        self, time: Array, q: Array, v: Array, a: Array, way: Array
    ) -> tuple[Array, Array, Array]:
        """Return states (N, n) moved by a direction (N, 3) of position, velocity, acceleration."""
        position, velocity, acceleration = self._ways(time, way)
        return moved(self.model, q, position), v + velocity, a + acceleration

    def _ways(self, time: Array, way: Array) -> Array:
        """Return by how much states are off, (3, N, nv), for errors (N, 3) of what is recorded."""
        d, v, a, a_of_v = np.moveaxis(at_times(time, self.times, self.derivatives), 1, 0)
        first, second, third = (way[:, k : k + 1] for k in range(3))
        return np.stack(
            [d * first, v * first + d * second, a * first + a_of_v * second + d * third]
        )


def completed_uncertainty(
    completion: Completion,
    recorded: Motion,
    given: Callable[[Motion], GivenMotion],
    q: Array,
) -> MotionUncertainty | None:
    """Return how exactly a completed motion is known, None if what is recorded is exact.

    Parameters
    ----------
    recorded : the motion of the stand-in (`motions.given_columns`)
    given : makes what is given of such a motion
    q : (N, nq) the completed positions; nan where there is none
    """
    known = recorded.uncertainty
    if known is None or not len(q):
        return None
    rows = np.unique(np.append(np.arange(0, len(q), -(-len(q) // ROWS)), len(q) - 1))
    states = recorded.q[rows], recorded.v[rows], recorded.a[rows]
    time, place = recorded.time[rows], q[rows]
    reached = np.isfinite(place).all(axis=1)[:, None]
    place = np.where(reached, place, completion.model.neutral())

    def rates(channel: Channel, entry: int, size: float, place: Array) -> Array:
        """Return v and v̇ (2, K, nv) with an error of one size at positions."""
        way = np.zeros((len(time), 3))
        way[:, entry] = size
        off = channel.displaced(time, *states, way)
        moved_motion = replace(recorded, time=time, q=off[0], v=off[1], a=off[2])
        return np.stack(completion.rates(place, given(moved_motion))[1:])

    def derivatives(channel: Channel) -> Array:
        ends = [rates(channel, 1, size, place) for size in (RATE_STEP, -RATE_STEP)]
        d, a_of_v = (ends[0] - ends[1]) / (2.0 * RATE_STEP)
        ends = [
            rates(channel, 0, size, moved(completion.model, place, size * d))
            for size in (STEP, -STEP)
        ]
        v, a = (ends[0] - ends[1]) / (2.0 * STEP)
        return np.stack([np.where(reached, x, 0.0) for x in (d, v, a, a_of_v)], axis=1)

    channels = [channel for channel in known.channels if isinstance(channel, Channel)]
    found = [
        CompletedChannel(completion.model, channel, time, derivatives(channel))
        for channel in channels
    ]
    completed = tuple(one for one in found if one.derivatives.any())
    return MotionUncertainty(completed) if completed else None
