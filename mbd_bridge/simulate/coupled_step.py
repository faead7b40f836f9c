"""One step at a time under forces that somebody else decides: coupling with another simulator.

The generalised forces and the wrenches on the bodies are constant within a step. A wrench is given
about the *world's origin*, so that the momentum that the mechanism takes from the other side, about
any point, is the wrench times the step, however the body moves meanwhile:

    Q_j = B_jᵀ Σ w_i  over the bodies i that j carries          (B: `equations.state_vectors`)
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.errors import SolveError
from mbd_bridge.kernels import Single, compile_kernel
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.simulate.accelerations import Accelerations, Answer
from mbd_bridge.simulate.reference_step import ReferenceStep
from mbd_bridge.simulate.right_hand_side import RISK
from mbd_bridge.simulate.rows import independent_rows
from mbd_bridge.simulate.step import runge_kutta_step
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.spatial import Array, zeros

PARTS = (0.37, 0.63)
"""Unequal parts of a step that comes too near to a singular position whole."""


def forces_of_wrenches(model: Model, q: Array, wrenches: Array) -> Array:
    """Return the generalised forces (nv,) of wrenches (bodies, 6) about the world's origin.

    Force (N), then moment (N m), in the world's axes; floats or symbols.
    """
    state = state_vectors(model, q, np.zeros(model.nv), "world")
    carried = list(wrenches)
    out = zeros(model.nv, q, wrenches)
    for k in range(len(model.bodies) - 1, -1, -1):
        body = model.bodies[k]
        if body.type.nv:
            own = state.bodies[k].B.T @ carried[k]
            out[body.v] = out[body.v] + (body.ratio * own if body.coupled else own)
        if body.parent >= 0:
            carried[body.parent] = carried[body.parent] + carried[k]
    return out


class CoupledStep:
    """Compiled Runge-Kutta steps with projection, one at a time.

    Parameters
    ----------
    model : the mechanism
    q : (nq,) a position at which its loops are closed; rows are chosen there
    """

    def __init__(self, model: Model, q: Array) -> None:
        self.model = model
        self.rows = independent_rows(model, q)
        self._accelerations = Accelerations(model)

    def __call__(
        self, q: Array, v: Array, tau: Array, wrenches: Array, h: float
    ) -> tuple[Array, Array]:
        """Return q and v after h seconds under forces tau (nv,) and wrenches (bodies, 6)."""
        for parts in ((1.0,), PARTS):
            state: tuple[Array, Array] | None = q, v
            for part in parts:
                if state is not None:
                    state = self._compiled(*state, tau, wrenches, part * h)
            if state is not None:
                return state
        return self._readable(q, v, tau, wrenches, h)

    def forces(self, q: Array, wrenches: Array) -> Array:
        """Return the generalised forces (nv,) of wrenches (bodies, 6) about the world's origin."""
        (found,) = self._forces.run(q, wrenches.reshape(-1))
        return found.copy()

    def accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations (nv,) under the generalised forces tau (nv,), loops closed."""
        a, risk = self._motion.run(q, v, tau)
        if risk[0] < RISK and np.all(np.isfinite(a)):
            return a.copy()
        return np.asarray(self.answer(q, v, tau).a[0])

    def answer(self, q: Array, v: Array, tau: Array) -> Answer:
        """Return accelerations (1, nv) and multipliers (1, m), at singular positions too."""
        return self._accelerations(q[None], v[None], tau[None], np.zeros(1))

    def _compiled(
        self, q: Array, v: Array, tau: Array, wrenches: Array, h: float
    ) -> tuple[Array, Array] | None:
        """Return the state after a step, or None where its pivots are not to be trusted."""
        q, v, _, risk = self._step.run(q, v, np.zeros(1), np.array([h]), tau, wrenches.reshape(-1))
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v)) and risk[0] < RISK):
            return None
        return q.copy(), v.copy()

    def _readable(
        self, q: Array, v: Array, tau: Array, wrenches: Array, h: float
    ) -> tuple[Array, Array]:
        """Take the step with singular values, whose rank may change on the way."""

        def forces(t: float, q: Array, v: Array) -> Array:
            return tau + self.forces(q, wrenches)

        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the error says it
                q, v = ReferenceStep(self.model, forces, None, self.rows)(q, v, 0.0, h)
            sound = bool(np.all(np.isfinite(q)) and np.all(np.isfinite(v)))
        except np.linalg.LinAlgError:
            sound = False
        if not sound:
            raise SolveError("the motion runs away: numbers overflow. Take shorter steps")
        return q, v

    @cached_property
    def _step(self) -> Single:
        model, bodies = self.model, len(self.model.bodies)

        def step(
            q: Array, v: Array, t: Array, h: Array, tau: Array, packed: Array
        ) -> tuple[Array, ...]:
            wrenches = packed.reshape(bodies, 6)

            def forces(t: Array, q: Array, v: Array) -> Array:
                return tau + forces_of_wrenches(model, q, wrenches)

            return runge_kutta_step(model, self.rows, forces)(q, v, t, h)

        inputs = {"q": model.nq, "v": model.nv, "t": 1, "h": 1, "tau": model.nv}
        return compile_kernel(
            step,
            inputs | {"wrenches": 6 * bodies},
            outputs=("q", "v", "t", "risk"),
            name="coupled_step",
            identity=f"{digest(model)} coupled step {self.rows}",
        ).single()

    @cached_property
    def _motion(self) -> Single:
        model = self.model

        def function(q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
            found = closed_acceleration(model, self.rows, q, v, tau)
            risk = zeros(1, q, v)
            risk[0] = found.risk
            return found.a, risk

        return compile_kernel(
            function,
            {"q": model.nq, "v": model.nv, "tau": model.nv},
            outputs=("a", "risk"),
            name="coupled_motion",
            identity=f"{digest(model)} coupled motion {self.rows}",
        ).single()

    @cached_property
    def _forces(self) -> Single:
        model, bodies = self.model, len(self.model.bodies)
        return compile_kernel(
            lambda q, packed: (forces_of_wrenches(model, q, packed.reshape(bodies, 6)),),
            {"q": model.nq, "wrenches": 6 * bodies},
            outputs=("forces",),
            name="forces_of_wrenches",
            identity=f"{digest(model)} forces of wrenches",
        ).single()
