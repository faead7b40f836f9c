"""The Runge-Kutta step as it reads, with singular values: for positions at which rows depend.

Accelerations near such a position are taken from both sides of it (`near_singular`). The velocity
tells the branch. At rest nothing does, and the motion is not determined.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards import messages
from mbd_bridge.simulation.results.accelerations import Accelerations
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.runge_kutta import Stage
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.tolerances import AT_REST, OPEN_AFTER_STEP, SINGULAR, SINGULAR_AT_REST


class ReferenceStep:
    """One step of a mechanism, any rank (see `step` for the compiled one).

    Parameters
    ----------
    stage : what acts, in floats
    rows : that the motion keeps (see `independent_rows`); found at each state if not given
    """

    def __init__(
        self,
        model: Model,
        stage: Stage,
        rows: tuple[int, ...] | None = None,
    ) -> None:
        self.model, self._rows = model, rows
        self._torque, self.motions, self._rates = stage[:3]
        own = () if self.motions is None else self.motions.v
        self._dynamics = Accelerations(model, own)
        self._loops = LoopChecker(model) if model.has_loops else None

    def __call__(self, now: Now, h: float) -> Now:
        """Return the state after a step of h seconds.

        Raises
        ------
        SolveError
            The step cannot be taken: which loop, prescribed motion or joint, and what to try.
        """
        model, (t, q, v, z) = self.model, now
        a1, z1 = self.acceleration(q, v, t, z), self._rate(q, v, t, z)
        q2, v2, at2 = model.integrate(q, 0.5 * h * v), v + 0.5 * h * a1, z + 0.5 * h * z1
        a2, z2 = self.acceleration(q2, v2, t + 0.5 * h, at2), self._rate(q2, v2, t + 0.5 * h, at2)
        q3, v3, at3 = model.integrate(q, 0.5 * h * v2), v + 0.5 * h * a2, z + 0.5 * h * z2
        a3, z3 = self.acceleration(q3, v3, t + 0.5 * h, at3), self._rate(q3, v3, t + 0.5 * h, at3)
        q4, v4, at4 = model.integrate(q, h * v3), v + h * a3, z + h * z3
        a4, z4 = self.acceleration(q4, v4, t + h, at4), self._rate(q4, v4, t + h, at4)
        q_end = model.integrate(q, h / 6 * (v + 2 * (v2 + v3) + v4))
        v_end = v + h / 6 * (a1 + 2 * (a2 + a3) + a4)
        z_end = z + h / 6 * (z1 + 2 * (z2 + z3) + z4)
        if not all(np.isfinite(x).all() for x in (q_end, v_end, z_end)):
            raise messages.runs_away(model, v)
        return Now(t + h, *self._onto(q_end, v_end, t + h, h), z_end)

    def _rate(self, q: Array, v: Array, t: float, z: Array) -> Array:
        """Return the rates of states of force elements; what else is carried stays."""
        return np.zeros(len(z)) if self._rates is None else self._rates(t, q, v, z)

    def acceleration(self, q: Array, v: Array, t: float, z: Array = NO_STATES) -> Array:
        """Return q̈ at one state."""
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
            return np.full(self.model.nv, np.nan)
        at_rest = np.linalg.norm(v / self.model.velocity_scale) <= AT_REST
        if at_rest and self._loops is not None and self._singular(self._loops, q, v):
            raise SolveError(self._at_rest(self._loops, q))
        tau = np.zeros(self.model.nv) if self._torque is None else self._torque(t, q, v, z)
        given = np.asarray(tau, dtype=np.float64)
        wanted = None if self.motions is None else self.motions.at(t)[2][None]
        return np.asarray(self._dynamics(q[None], v[None], given[None], wanted).a[0])

    def _singular(self, loops: LoopChecker, q: Array, v: Array) -> bool:
        if self._rows is None:
            self._rows = independent_rows(self.model, q, self.motions, v)
        if not self._rows:
            return False
        _, J = loops.at(q)
        return bool(self._sizes(J)[len(self._rows) - 1] < SINGULAR_AT_REST * np.linalg.norm(J, 2))

    def _sizes(self, J: Array) -> Array:
        """Return the singular values of Φ_q without the prescribed columns."""
        prescribed_velocities = () if self.motions is None else self.motions.v
        return np.asarray(
            np.linalg.svd(np.delete(J, list(prescribed_velocities), axis=1), compute_uv=False)
        )

    def _at_rest(self, loops: LoopChecker, q: Array) -> str:
        assert self._rows is not None
        J = loops.at(q)[1]
        here = int(np.sum(self._sizes(J) > SINGULAR_AT_REST * np.linalg.norm(J, 2)))
        return messages.at_rest(self.model, J, self._rows, len(self._rows) - here)

    def _onto(self, q: Array, v: Array, t: float, h: float) -> tuple[Array, Array]:
        least, _, inverse = self._open(q, v, t)
        q = self.model.integrate(q, -inverse @ least)
        for _ in range(2):
            phi, _, inverse = self._open(q, v, t)
            if np.abs(phi).max(initial=0.0) < np.abs(least).max(initial=0.0):
                least = phi
            q = self.model.integrate(q, -inverse @ phi)
        phi, rate, inverse = self._open(q, v, t)
        if not np.max(np.abs(phi), initial=0.0) <= OPEN_AFTER_STEP:
            raise messages.stays_open(self.model, self.motions, least, h)
        return q, v - inverse @ rate

    def _open(self, q: Array, v: Array, t: float) -> tuple[Array, Array, Array]:
        """Return Φ and Φ̇, dimensionless, and the pseudo-inverse of Φ_q for such rows."""
        model, motions = self.model, self.motions
        phi, J = np.zeros(0), np.zeros((0, model.nv))
        columns = model.velocity_scale
        if self._loops is not None:
            phi, J = self._loops.at(q)
        rate = J @ (v / columns)
        if motions is not None:
            f, f1, _ = motions.at(t)
            phi = np.concatenate([phi, (q[list(motions.q)] - f) / motions.scale])
            rate = np.concatenate([rate, (v[list(motions.v)] - f1) / motions.scale])
            J = np.vstack([J, np.eye(model.nv)[list(motions.v)]])
        if not np.all(np.isfinite(J)):
            raise messages.runs_away(model, v)
        inverse = np.linalg.pinv(J, rcond=SINGULAR)
        return phi, rate, columns[:, None] * inverse
