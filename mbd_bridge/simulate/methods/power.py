"""The power of what acts on a motion, at one state: integrated, it is the work of `balance`.

    P = v·τ;  with prescribed motions, whose forces are not known, P = v·(M a + h),

since loops do no work; and P = -η̇ D η̇ of flexible links more.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.equations.flexible import damping_forces
from mbd_bridge.simulate.run.problem import Problem
from mbd_bridge.solve import prepare
from mbd_bridge.spatial import Array


class Power:
    """Of the forces and prescribed motions of a problem, W."""

    def __init__(self, problem: Problem) -> None:
        self._model, self._forces = problem.model, problem.forces
        prescribed_velocities = problem.motions is not None
        self._inverse = (
            prepare(problem.model, "inverse_dynamics") if prescribed_velocities else None
        )

    @property
    def none(self) -> bool:
        """Whether nothing acts."""
        nothing = self._forces is None and self._inverse is None
        return nothing and damping_forces(self._model, np.zeros(self._model.nv)) is None

    def __call__(self, t: float, q: Array, v: Array, z: Array, a: Array) -> float:
        """Return the power in a state whose acceleration is a (nv,)."""
        damping = damping_forces(self._model, v)
        lost = 0.0 if damping is None else float(v @ damping)
        if self._inverse is not None:
            (tau,) = self._inverse(q, v, a)
            return float(v @ np.asarray(tau)) + lost
        if self._forces is None:
            return lost
        return float(v @ np.asarray(self._forces(t, q, v, z))) + lost
