"""One step at a time under forces that somebody else decides: coupling with another simulator.

The generalised forces and the wrenches on the bodies are constant within a step. A wrench is given
about the *world's origin*, so that the momentum that the mechanism takes from the other side, about
any point, is the wrench times the step, however the body moves meanwhile:

    Q_j = B_jᵀ Σ w_i  over the bodies i that j carries          (B: `equations.state_vectors`)
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.errors import SolveError
from mbd_bridge.kernels import Kernel, Single, compile_kernel
from mbd_bridge.lazy import cached_property
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.simulate import trouble
from mbd_bridge.simulate.accelerations import Accelerations, Answer
from mbd_bridge.simulate.energy import energy_kernel
from mbd_bridge.simulate.passage import Passage
from mbd_bridge.simulate.reference_step import ReferenceStep
from mbd_bridge.simulate.rows import Loops, independent_rows
from mbd_bridge.simulate.step import runge_kutta_step
from mbd_bridge.simulate.trust import STAGE, TRUSTED, Now, Taken, taken
from mbd_bridge.simulate.watch import OPEN
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.spatial import Array, zeros


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
    q, v : (nq,), (nv,) a state that satisfies its loops; rows of them are chosen there (see `rows`)
    """

    def __init__(self, model: Model, q: Array, v: Array | None = None) -> None:
        self.model = model
        self._accelerations = Accelerations(model)
        self._loops = Loops(model) if model.has_loops else None
        self._steps: dict[tuple[int, ...], Single] = {}
        self._motions: dict[tuple[int, ...], Single] = {}
        self.choose(q, v)

    def choose(self, q: Array, v: Array | None = None) -> None:
        """Choose rows for steps that go on from another state."""
        self.rows = independent_rows(self.model, q, None, v)

    def __call__(
        self, q: Array, v: Array, tau: Array, wrenches: Array, h: float
    ) -> tuple[Array, Array]:
        """Return q and v after h seconds under forces tau (nv,) and wrenches (bodies, 6).

        Raises
        ------
        SolveError
            The step cannot be taken: which loop or joint, and what to try.
        """
        chosen = self.rows
        try:
            found = self._taken(q, v, tau, wrenches, h)
        except SolveError:
            self.choose(q, v)
            if self.rows == chosen:
                raise
            found = self._taken(q, v, tau, wrenches, h)
        if self._open(found[0]) > self._allowed:  # others than the chosen rows have come to matter
            self.choose(q, v)
            closed = None if self._loops is None else self._loops.closed(q)
            found = self._taken(q if closed is None else closed, v, tau, wrenches, h)
            if self._open(found[0]) > self._allowed and self._loops is not None:
                phi = self._loops.at(found[0])[0]
                raise SolveError(trouble.stays_open(self.model, None, phi, h))
        return found

    def forces(self, q: Array, wrenches: Array) -> Array:
        """Return the generalised forces (nv,) of wrenches (bodies, 6) about the world's origin."""
        (found,) = self._forces.run(q, wrenches.reshape(-1))
        return found.copy()

    def accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations (nv,) under the generalised forces tau (nv,), loops closed."""
        a, risk = self._motion().run(q, v, tau)
        if risk[0] < STAGE and np.all(np.isfinite(a)):
            return a.copy()
        return np.asarray(self.answer(q, v, tau).a[0])

    def answer(self, q: Array, v: Array, tau: Array) -> Answer:
        """Return accelerations (1, nv) and multipliers (1, m), at singular positions too."""
        return self._accelerations(q[None], v[None], tau[None], np.zeros(1))

    def _taken(
        self, q: Array, v: Array, tau: Array, wrenches: Array, h: float
    ) -> tuple[Array, Array]:
        given = tau, wrenches.reshape(-1)
        found = self._step().run(q, v, np.zeros(2), np.array([h]), *given)
        if found[-1][0] < TRUSTED and np.isfinite(found[0]).all() and np.isfinite(found[1]).all():
            return found[0].copy(), found[1].copy()
        place = self._passage(tau, wrenches, h).over(Now(0.0, q, v), 1, begins=True)[0]
        return place.q, place.v

    def _passage(self, tau: Array, wrenches: Array, h: float) -> Passage:
        """Return the way past singular positions under these forces."""
        model, given = self.model, (tau, wrenches.reshape(-1))

        def step(q: Array, v: Array, t: float, h: float) -> Taken:
            return taken(self._step().run(q, v, np.array([t, 0.0]), np.array([h]), *given))

        def forces(t: float, q: Array, v: Array) -> Array:
            return tau + self.forces(q, wrenches)

        def energy(q: Array, v: Array) -> float:
            return float(self._energy(q, v)[0][0])

        slow = partial(ReferenceStep, model, forces, None, self.rows)
        return Passage(model, step, h, slow, energy)

    @cached_property
    def _energy(self) -> Kernel:
        return energy_kernel(self.model)

    @cached_property
    def _allowed(self) -> float:
        """How far the loops may be open, relative to the mechanism's size: as far as in runs."""
        return OPEN if self._loops is None else max(OPEN, self._loops.choice().leeway)

    def _open(self, q: Array) -> float:
        """Return the largest residual of the loops, relative to the mechanism's size."""
        if self._loops is None:
            return 0.0
        return float(np.abs(self._loops.at(q)[0]).max(initial=0.0))

    def _step(self) -> Single:
        model, bodies, rows = self.model, len(self.model.bodies), self.rows

        def step(
            q: Array, v: Array, t: Array, h: Array, tau: Array, packed: Array
        ) -> tuple[Array, ...]:
            wrenches = packed.reshape(bodies, 6)

            def forces(t: Array, q: Array, v: Array) -> Array:
                return tau + forces_of_wrenches(model, q, wrenches)

            return runge_kutta_step(model, rows, forces)(q, v, t, h)

        if rows not in self._steps:
            inputs = {"q": model.nq, "v": model.nv, "t": 2, "h": 1, "tau": model.nv}
            self._steps[rows] = compile_kernel(
                step,
                inputs | {"wrenches": 6 * bodies},
                outputs=("q", "v", "t", "a", "risks", "risk"),
                name="coupled_step",
                identity=f"{digest(model)} coupled step {rows}",
            ).single()
        return self._steps[rows]

    def _motion(self) -> Single:
        model, rows = self.model, self.rows

        def function(q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
            found = closed_acceleration(model, rows, q, v, tau)
            risk = zeros(1, q, v)
            risk[0] = found.risk
            return found.a, risk

        if rows not in self._motions:
            self._motions[rows] = compile_kernel(
                function,
                {"q": model.nq, "v": model.nv, "tau": model.nv},
                outputs=("a", "risk"),
                name="coupled_motion",
                identity=f"{digest(model)} coupled motion {rows}",
            ).single()
        return self._motions[rows]

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
