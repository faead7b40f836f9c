"""The guards of steps that are taken one by one, in somebody else's loop or at wall-clock pace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Kernel
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.energy import Account
from mbd_bridge.simulation.guards.loops import allowed_opening, opening
from mbd_bridge.simulation.guards.step_length import EACH, StateWatch
from mbd_bridge.simulation.steps.schemes import RK4, Scheme
from mbd_bridge.simulation.steps.trusted_step import Now, Step, StepResult
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.tolerances import STEP_RISK

LOOK = 100
"""Steps from one look to the next whether accelerations keep the loops closed."""


class StepGuards:
    """Energy, open loops, accelerations, states of force elements, step by step.

    Parameters
    ----------
    trajectory : whose steps they are
    scheme : of the steps

    Attributes
    ----------
    loops : Φ and Φ_q, None without loops
    energy : what has been worked, and what there is
    """

    def __init__(self, trajectory: Trajectory, scheme: Scheme = RK4) -> None:
        model = self._model = trajectory.model
        self.loops = LoopChecker(model) if model.has_loops else None
        self.energy = Account(trajectory, scheme)
        names = trajectory.system.states.names
        # a scheme that remembers takes what is stiff
        self._states = StateWatch(names) if names and not scheme.remembers else None
        self._steps, self._still = 0, np.zeros(model.nv)

    def open(self, q: Array, v: Array, z: Array) -> None:
        """Begin a motion at a state."""
        self._steps = 0
        if self._states is not None:
            self._states.begin()
        self.energy.open(q, v, z)

    def prepare(self) -> None:
        """Compile what looking at a state needs."""
        if self.loops is not None:
            _ = self._constraints

    def due(self) -> bool:
        """Return whether the next step is to be looked at before; called once a step."""
        self._steps += 1
        if self.loops is not None and self._steps % LOOK == 1:
            return True
        return self._states is not None and self._steps % EACH == 0

    def look(self, step: Step, now: Now, h: float, rows: tuple[int, ...]) -> None:
        """Look at the step of h seconds from a state, which keeps such rows.

        Raises
        ------
        SolveError
            A state of a force element has left its course, or accelerations open the loops.
        """
        if self._steps % LOOK == 1:
            self.check_acceleration(now, step(now, h), rows)
        if self._states is not None and self._steps % EACH == 0:
            self._states.look(step, now, h)

    def check_acceleration(self, now: Now, taken: StepResult, rows: tuple[int, ...]) -> None:
        """Refuse an acceleration that leads off the loops, if no singular position is near."""
        if self.loops is None or not taken.near < STEP_RISK:
            return
        fault = opening(self._model, self.loops.values, rows, now.q, now.v, taken.a)
        if fault is not None:
            raise SolveError(fault)

    def opened(self, q: Array) -> bool:
        """Return whether a loop is open: others than the chosen rows have come to matter."""
        if self.loops is None:
            return False
        phi = self._constraints(q, self._still)[0]
        if phi @ phi <= self._surely:
            return False
        return not np.abs(phi / self._model.row_scale).max() <= self._allowed

    @cached_property
    def _allowed(self) -> float:
        return allowed_opening(self._model)

    @cached_property
    def _surely(self) -> float:
        """Sum of squares below which none is."""
        return float((self._allowed * self._model.row_scale.min(initial=np.inf)) ** 2)

    @cached_property
    def _constraints(self) -> Callable[[Array, Array], tuple[Array, ...] | list[Array]]:
        assert self.loops is not None
        values = self.loops.values
        return values.single().run if isinstance(values, Kernel) else values
