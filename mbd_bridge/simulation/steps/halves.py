"""A step of any scheme in parts: halves, quarters, ... of one that is not trusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model import Model
from mbd_bridge.simulation.guards import messages
from mbd_bridge.simulation.steps.compiled import Start
from mbd_bridge.simulation.steps.trusted_step import Now, Step, StepResult
from mbd_bridge.solve.tolerances import STEP_RISK

MOST_HALVINGS = 12
"""Times that a step is halved, at most."""


class Halves:
    """Steps of a scheme in parts.

    Parameters
    ----------
    step : takes any step
    start : makes memories
    """

    def __init__(self, model: Model, step: Step, start: Start) -> None:
        self._model, self._step, self._start = model, step, start

    def over(self, now: Now, h: float, ends: Sequence[float]) -> tuple[Now, float]:
        """Return the state after steps to `ends`, times one after the other, and the work, J.

        Between two of them forces jump.

        Parameters
        ----------
        h : s, length of the step that was not trusted

        Raises
        ------
        SolveError
            The motion cannot be continued: why, and what to try.
        """
        work = 0.0
        for number, end in enumerate(ends):
            if number:
                now = self._start.begun(now)
            for halvings in range(0 if len(ends) > 1 else 1, MOST_HALVINGS + 1):
                parts = 2**halvings
                found = self._in_parts(now, end, parts, (end - now.t) / (parts * h))
                if not isinstance(found, StepResult):
                    break
            if isinstance(found, StepResult):
                raise why_not(self._model, now, found, (end - now.t) / parts, self._start.explicit)
            now, done = found
            work += done
        return now, work

    def _in_parts(
        self, now: Now, end: float, parts: int, ratio: float
    ) -> tuple[Now, float] | StepResult:
        """Return the state at the end and the work; or the first part that is not trusted."""
        first, work, length = now, 0.0, (end - now.t) / parts
        now = self._start.stretched(now, ratio)
        for part in range(parts):
            with np.errstate(all="ignore"):
                taken = self._step(now, length)
            if not taken.trusted:
                return taken
            now = now.after(length, taken)._replace(t=first.t + (part + 1) * length)
            work += taken.work
        return self._start.like(now._replace(t=end), first), work


def why_not(
    model: Model, now: Now, taken: StepResult, length: float, explicit: str | None = None
) -> SolveError:
    """Return why no step is taken from a state, and what to try.

    Parameters
    ----------
    explicit : name of a scheme that does not iterate
    """
    if not taken.finite:
        return messages.runs_away(model, now.v)
    if not taken.near < STEP_RISK:
        steps = "implicit steps do" if explicit is None else f"{explicit} does"
        return SolveError(
            f"the motion is near a singular position of its loops, which {steps} not pass; "
            f"integrator='rk4' does"
        )
    if explicit is not None:
        found = (
            f"the motion cannot be put back onto its loops after steps of {length:.2g} s either: "
        )
        return messages.step_too_long(length, found)
    if not taken.risk < STEP_RISK:
        return SolveError(
            f"Newton's iterations do not converge, in steps of {length:.2g} s neither: forces jump "
            f"or are not smooth here. Make them smoother (tanh(v/0.01) for sign(v)), or allow more "
            f"iterations=, with refresh=1 a Jacobian for each of them"
        )
    return SolveError(
        f"the tolerance is not met with steps of {length:.2g} s: the motion has a jump here, or "
        f"the tolerance is too small"
    )
