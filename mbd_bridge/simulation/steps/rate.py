"""Rates of a system's state, and the way back onto its constraints, compiled, at one time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acting import Acting, kernel_of
from mbd_bridge.simulation.inputs.motions import PrescribedMotions
from mbd_bridge.simulation.steps.runge_kutta import corrections, projected, residuals, slopes
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import Closed, correction


class Rate:
    """y' = (q', v', z') of one trajectory.

    Parameters
    ----------
    rows : independent rows of the loops
    alpha : 1/s, with which open loops and prescribed motions are pulled closed
    """

    def __init__(self, trajectory: Trajectory, rows: tuple[int, ...], alpha: float = 0.0) -> None:
        self._trajectory, self._rows, self._alpha = trajectory, rows, alpha
        self._kernel = _rate_kernel(trajectory.system, rows, alpha)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rate, (self._trajectory, self._rows, self._alpha)

    def __call__(self, t: float, q: Array, v: Array, z: Array = NO_STATES) -> tuple[Array, float]:
        """Return y' (nq + nv + nz,), and the risk of being near a singular position."""
        rate, risk = self._kernel(q, v, *self._trajectory.now(t, q, v, z))
        return rate, float(risk[0])


class Settle:
    """Puts a state of one trajectory onto its constraints."""

    def __init__(self, trajectory: Trajectory, rows: tuple[int, ...]) -> None:
        self._trajectory = trajectory
        self._kernel = _settle_kernel(trajectory.system, rows)
        self._still = np.zeros(trajectory.system.nz)  # forces do not matter

    def __call__(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float, float]:
        """Return q and v, what was left open before the last correction, and the risk."""
        q, v, facts = self._kernel(q, v, *self._trajectory.now(t, q, v, self._still))
        return q, v, float(facts[0]), float(facts[1])


def _rate_kernel(system: System, rows: tuple[int, ...], alpha: float) -> Kernel:
    def of(acting: Callable[[Array, Array], Acting]) -> Traceable:
        def function(q: Array, v: Array, t: Array, held: Array, now: Array) -> tuple[Array, ...]:
            acts = acting(held, now)
            model, stage = acts.model, acts.stage()
            dq, found, _, dz = slopes(model, rows, *stage)(q, v, t[0], t[1:])
            a, risk = found.a, zeros(1, q, v)
            risk[0] = found.risk
            if alpha and found.inner is not None:
                a = a + _pull(model, rows, q, v, stage.motions, t[0], found, alpha)
            return np.concatenate([dq, a, dz]), risk

        return function

    return kernel_of(system, of, ("rate", "risk"), "rate", f"{rows} {alpha}")


def _settle_kernel(system: System, rows: tuple[int, ...]) -> Kernel:
    def of(acting: Callable[[Array, Array], Acting]) -> Traceable:
        def function(q: Array, v: Array, t: Array, held: Array, now: Array) -> tuple[Array, ...]:
            acts = acting(held, now)
            model, motions = acts.model, acts.stage().motions
            found = slopes(model, rows, None, motions)(q, v, t[0], t[1:])[1]
            q_on, v_on, left, _ = projected(corrections(model, rows, motions), q, v, t[0], found)
            facts = zeros(2, q, v)
            facts[0], facts[1] = left, found.risk
            return q_on, v_on, facts

        return function

    return kernel_of(system, of, ("q", "v", "facts"), "settle", f"{rows}")


def _pull(
    model: Model,
    rows: tuple[int, ...],
    q: Array,
    v: Array,
    motions: PrescribedMotions | None,
    t: Any,
    found: Closed,
    alpha: float,
) -> Array:
    phi, rate, _ = residuals(model, rows, q, v, motions, t)
    return correction(found, 2.0 * alpha * rate + alpha**2 * phi)
