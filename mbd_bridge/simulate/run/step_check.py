"""A look back at the steps of a run: whether they were too long, or lead off the loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd_bridge.kernels.run.march import March
from mbd_bridge.simulate.carried import carried
from mbd_bridge.simulate.checks.opening import leads_off, opening, openings
from mbd_bridge.simulate.checks.watch import spread, state_errs, too_long
from mbd_bridge.simulate.run.problem import Problem, Records
from mbd_bridge.simulate.singular.trust import Now
from mbd_bridge.solve.tolerances import LEAST_STATE, OPENING, STATE_ERROR, STEP_RISK
from mbd_bridge.spatial import Array

LOOKS = 8
"""Records at which a step is compared with two of half its length."""

SELDOM = 4
"""Of those records, one of so many at which accelerations are looked at."""


class StepCheck:
    """Looks at some steps of a run.

    Parameters
    ----------
    begun : gives a state the memory of its steps
    """

    def __init__(
        self, problem: Problem, march: March, rows: tuple[int, ...], begun: Callable[[Now], Now]
    ) -> None:
        self._problem, self._march, self._rows, self._begun = problem, march, rows, begun
        self._names = problem.trajectory.system.states.names

    def checked(self, found: Records) -> Records:
        """Return the motion up to where its steps are too long, if they are."""
        problem, model = self._problem, self._problem.model
        looks = spread(len(found.time) - 1, LOOKS)
        whole, z_whole, a = self._after(found, looks, 1)
        halves, z_halves, _ = self._after(found, looks, 2)
        trusted = np.isfinite(np.hstack([whole, halves])).all(axis=1)
        opens, seldom = np.zeros(len(looks)), slice(None, None, SELDOM)
        if problem.loops is not None:
            states = found.q[looks[seldom]], found.v[looks[seldom]], a[seldom]
            opens[seldom] = openings(model, problem.loops.values, self._rows, *states)
        # others are near a singular position, where steps are taken with more care
        for k in np.flatnonzero(trusted):
            what = too_long(model, whole[k], halves[k], self._problem.h)
            if what is None and not opens[k] <= OPENING:
                what = leads_off(opens[k])
            if what is not None:
                return found.until(int(looks[k]), what, problem)
        return self._of_states(found, looks, z_whole, z_halves, trusted)

    def _of_states(
        self, found: Records, looks: Array, whole: Array, halves: Array, trusted: Array
    ) -> Records:
        """Return the motion up to where states of force elements leave their course for good.

        One that has only just begun may settle yet: what counts are the last two looks.
        """
        if len(looks) < 2 or not whole.size:
            return found
        largest = np.maximum.accumulate(np.abs(found.z), axis=0)[looks]
        with np.errstate(invalid="ignore"):  # nan is bad
            wrong = ~(np.abs(whole - halves) <= STATE_ERROR * largest + LEAST_STATE)
        wrong &= trusted[:, None]
        astray = wrong[-2:].all(axis=0)
        if not astray.any():
            return found
        worst = int(np.argmax(astray))
        since = len(looks) - int(np.argmin([*wrong[::-1, worst], False]))
        why = state_errs(self._names[worst], self._problem.h)
        return found.until(int(looks[since]), why, self._problem)

    def opening(self, q: Array, v: Array, a: Array) -> str | None:
        """Return what is to be said of an acceleration that leads off the loops."""
        loops = self._problem.loops
        if loops is None:
            return None
        return opening(self._problem.model, loops.values, self._rows, q, v, a)

    def _after(self, found: Records, looks: Array, parts: int) -> tuple[Array, Array, Array]:
        """Return q (L, nq) and z (L, nz) after a step from some records, made of so many parts, and
        the acceleration (L, nv) at the start of the last part; nan where a step is not trusted.
        """
        trajectory, h = self._problem.trajectory, self._problem.h / parts
        sampled, t, q, v = (
            trajectory.system.sampled,
            found.time[looks],
            found.q[looks],
            found.v[looks],
        )
        states = zip(t.tolist(), q, v, found.z[looks], strict=True)
        beside = np.array([self._begun(Now(*one)).carried for one in states])
        lost = np.zeros(len(looks), dtype=bool)
        steps = 1 if sampled else parts  # Python is asked before each
        for _ in range(0, parts, steps):
            number = len(looks) if sampled else min(1, len(looks))
            own = [trajectory.more(float(t[k]), q[k], v[k]) for k in range(number)]
            more = [np.broadcast_to(x, (len(looks), len(x[0]))) for x in zip(*own, strict=True)]
            clock = np.column_stack([t, np.zeros(len(t)), beside, np.full(len(t), h)])
            ends = t[:, None] + h * np.arange(steps + 1)
            streams = [x for each in ends if (x := trajectory.stream(each, h)) is not None]
            out = self._march.from_each(np.hstack([q, v, clock, *more]), steps, STEP_RISK, streams)
            lost |= np.isnan(out[-1][:, 0])
            q, v = (np.where(lost[:, None], *x) for x in ((q, out[0]), (v, out[1])))
            beside = np.where(lost[:, None], beside, carried(out[2]))
            t = t + steps * h
        z = beside[:, : found.z.shape[1]]
        return np.where(lost[:, None], np.nan, q), z, out[3]
