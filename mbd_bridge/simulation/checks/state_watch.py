"""Whether states of force elements keep their course, where steps are taken one by one.

As runs look back at their steps (`run.step_check`), every `EACH`-th step is compared with two of
half its length. A state may be off once, as a tyre's that has just come down; twice one after the
other is for good.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.checks.watch import state_errs
from mbd_bridge.simulation.singular.trust import Now, Step
from mbd_bridge.solve.tolerances import LEAST_STATE, STATE_ERROR, STEP_RISK

EACH = 50
"""Steps between two looks: they cost three of them."""


class StateWatch:
    """Looks at the states z of a motion as it goes.

    Parameters
    ----------
    names : of the states
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.begin()

    def begin(self) -> None:
        """Forget what was seen: another motion begins."""
        self._steps, self._largest = 0, np.zeros(len(self._names))
        self._wrong = np.zeros(len(self._names), dtype=bool)

    @property
    def due(self) -> bool:
        """Whether the step that follows is to be looked at; called once a step."""
        self._steps += 1
        return bool(self._names) and self._steps % EACH == 0

    def look(self, step: Step, now: Now, h: float) -> None:
        """Look at the step of h seconds from a state.

        Raises
        ------
        SolveError
            A state has left its course for good.
        """
        with np.errstate(all="ignore"):
            whole, half = step(now, h), step(now, 0.5 * h)
            both = step(now.after(0.5 * h, half), 0.5 * h)
            if not all(one.risk < STEP_RISK for one in (whole, half, both)):
                return  # near a singular position, where steps are taken with more care
            z = self._z(now.carried)
            self._largest = np.maximum(self._largest, np.abs(z))
            apart = np.abs(self._z(whole.carried) - self._z(both.carried))
            wrong = ~(apart <= STATE_ERROR * self._largest + LEAST_STATE)  # nan is bad
        astray, self._wrong = np.flatnonzero(wrong & self._wrong), wrong
        if len(astray):
            raise SolveError(state_errs(self._names[astray[0]], h))

    def _z(self, carried: Array) -> Array:
        return carried[: len(self._names)]
