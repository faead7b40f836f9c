"""The end of a motion where a function g(t, q, v) changes its sign, and how it moves.

The last step, from x_k, has the length h at which g is zero. With the derivatives S of its end at a
fixed length, and x_h that by its length,

    dx = S + x_h dh,   dh = -(g_x S) / (g_x x_h + g_t)

so that g stays zero: the saltation of the state, of the step as it is computed. Where the motion
touches g = 0 along it, the denominator vanishes, and there is no derivative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.march import OneStep
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.derivatives.marched import DerivedMotion, EqualSteps
from mbd_bridge.simulation.run.events import HALVINGS
from mbd_bridge.simulation.trajectory import Trajectory

GRAZING = 1e-5
"""Part of a step, about, that the end is from where the motion would only touch g = 0."""


class Turn(NamedTuple):
    """The end of a motion at g = 0.

    Attributes
    ----------
    by_q, by_v : derivatives of g there
    rate_q, rate_v : derivatives of the end by the length of the last step
    rate : that of g; nan where g = 0 is only touched
    """

    by_q: Array
    by_v: Array
    rate_q: Array
    rate_v: Array
    rate: float


class Until:
    """Where a motion ends.

    Parameters
    ----------
    kernel : of g and its derivatives by t, q and v
    direction : 1: only where g grows, -1: where it falls
    """

    def __init__(self, kernel: Kernel, direction: float, trajectory: Trajectory) -> None:
        self._kernel, self._direction, self._trajectory = kernel, direction, trajectory

    def cut(self, motion: DerivedMotion) -> tuple[DerivedMotion, Turn]:
        """Return the motion up to where g first changes its sign, and its end.

        Raises
        ------
        SolveError
            It does not.
        """
        march, sign = motion.steps.run, 0.0
        stage = motion.begun(march)
        for part in motion.parts():
            q, v, t = motion.marched(march, stage, part)
            signs = np.nan_to_num(np.sign(self._kernel(t[:, :1], q, v)[0][:, 0]))
            for k in np.flatnonzero(signs).tolist():
                if sign and signs[k] != sign and self._direction * signs[k] >= 0.0:
                    return self._located(motion, part, k - 1, (q[k - 1], v[k - 1], t[k - 1]), sign)
                sign = signs[k]
        raise SolveError(
            f"until: the function does not change its sign up to t = {motion.grid.times[-1]:.6g} "
            f"s; take a longer duration, or another start"
        )

    def _located(
        self,
        motion: DerivedMotion,
        part: EqualSteps,
        k: int,
        state: tuple[Array, Array, Array],
        sign: float,
    ) -> tuple[DerivedMotion, Turn]:
        """Return the motion whose last step, the k-th of a part, ends where g is zero."""
        step, once = part.first + k, OneStep(motion.steps.run)
        start, before, h = float(motion.grid.times[step]), 0.0, part.h

        def stream(h: float) -> Array | None:
            return self._trajectory.stream(np.array([start, start + h]), h)

        def inputs(h: float) -> list[Array]:
            return [*state, np.array([h]), *motion.constant]

        for _ in range(HALVINGS):
            middle = 0.5 * (before + h)
            if not before < middle < h:
                break
            q, v, t, *_ = once(*inputs(middle), stream=stream(middle))
            if np.sign(self._kernel(t[:1], q, v)[0][0]) == sign:
                before = middle
            else:
                h = middle
        q, v, t, *_ = once(*inputs(h), stream=stream(h))
        before, tables = float(self._kernel(state[2][:1], *state[:2])[0][0]), stream(h)
        more = [] if tables is None else [tables.ravel()]
        rate_q, rate_v = motion.steps.by_length(*inputs(h), *more)
        _, by_t, by_q, by_v = self._kernel(t[:1], q, v)
        rate = float(by_q @ rate_q + by_v @ rate_v + by_t[0])
        if abs(rate) <= GRAZING * abs(before) / h:
            rate = np.nan
        turn = Turn(by_q, by_v, rate_q, rate_v, rate)
        return motion.until(step, h, self._trajectory), turn
