"""A look back at the steps of a run: whether they were too long, or lead off the loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd_bridge.kernels.run.march import March
from mbd_bridge.simulate.carried import carried
from mbd_bridge.simulate.checks.diagnosis import SHORTER, SHORTER_IMPLICIT
from mbd_bridge.simulate.checks.opening import leads_off, opening, openings
from mbd_bridge.simulate.checks.watch import (
    largest_speed,
    spread,
    state_errs,
    too_long,
    velocity_rings,
)
from mbd_bridge.simulate.run.problem import Problem, Records
from mbd_bridge.simulate.singular.trust import Now
from mbd_bridge.solve.tolerances import (
    LEAST_STATE,
    OPENING,
    RINGING,
    SLOWEST_RINGING,
    STATE_ERROR,
    STEP_RISK,
)
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
    implicit : whether these are implicit
    """

    def __init__(
        self,
        problem: Problem,
        march: March,
        rows: tuple[int, ...],
        begun: Callable[[Now], Now],
        implicit: bool,
    ) -> None:
        self._problem, self._march, self._rows, self._begun = problem, march, rows, begun
        self._implicit = implicit
        self._names = problem.trajectory.system.states.names

    def checked(self, found: Records) -> Records:
        """Return the motion up to where its steps are too long, if they are."""
        problem, model = self._problem, self._problem.model
        looks = spread(len(found.time) - 1, LOOKS)
        whole, v_whole, z_whole, a = self._after(found, looks, 1)
        halves, v_halves, z_halves, _ = self._after(found, looks, 2)
        trusted = np.isfinite(np.hstack([whole, halves])).all(axis=1)
        opens, seldom = np.zeros(len(looks)), slice(None, None, SELDOM)
        if problem.loops is not None:
            states = found.q[looks[seldom]], found.v[looks[seldom]], a[seldom]
            opens[seldom] = openings(model, problem.loops.values, self._rows, *states)
        advice = SHORTER_IMPLICIT if self._implicit else SHORTER
        # others are near a singular position, where steps are taken with more care
        for k in np.flatnonzero(trusted):
            what = too_long(model, whole[k], halves[k], self._problem.h, advice)
            if what is None and not opens[k] <= OPENING:
                what = leads_off(opens[k])
            if what is not None:
                return found.until(int(looks[k]), what, problem)
        if self._implicit:
            fast = float(largest_speed(found.v / model.velocity_scale))
            apart = np.abs((v_whole - v_halves) / model.velocity_scale)
            rings = _for_good(apart > max(RINGING * fast, SLOWEST_RINGING), apart, trusted)
            if rings is not None:
                why = velocity_rings(model.velocity_names[rings[0]], problem.h)
                return found.until(int(looks[rings[1]]), why, problem)
        return self._of_states(found, looks, z_whole, z_halves, trusted)

    def _of_states(
        self, found: Records, looks: Array, whole: Array, halves: Array, trusted: Array
    ) -> Records:
        """Return the motion up to where states of force elements leave their course for good."""
        if not whole.size:
            return found
        largest = np.maximum.accumulate(np.abs(found.z), axis=0)[looks]
        with np.errstate(invalid="ignore"):  # nan is bad
            apart = np.abs(whole - halves)
            wrong = ~(apart <= STATE_ERROR * largest + LEAST_STATE)
        astray = _for_good(wrong, apart, trusted)
        if astray is None:
            return found
        why = state_errs(self._names[astray[0]], self._problem.h)
        return found.until(int(looks[astray[1]]), why, self._problem)

    def opening(self, q: Array, v: Array, a: Array) -> str | None:
        """Return what is to be said of an acceleration that leads off the loops."""
        loops = self._problem.loops
        if loops is None:
            return None
        return opening(self._problem.model, loops.values, self._rows, q, v, a)

    def _after(self, found: Records, looks: Array, parts: int) -> tuple[Array, Array, Array, Array]:
        """Return q (L, nq), v and z (L, nz) after a step from some records, made of so many parts,
        and the acceleration (L, nv) at the start of the last part; nan where it is not trusted.
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
        return np.where(lost[:, None], np.nan, q), v, z, out[3]


def _for_good(wrong: Array, apart: Array, trusted: Array) -> tuple[int, int] | None:
    """Return which number goes wrong for good, and since which look; None if none does.

    One that has only just begun may settle yet: what counts are the last two looks.

    Parameters
    ----------
    wrong, apart : (L, n) whether it is wrong at each look, and by how much
    trusted : (L,) whether steps were trusted there
    """
    wrong = wrong & trusted[:, None]
    if len(wrong) < 2 or not wrong[-2:].all(axis=0).any():
        return None
    worst = int(np.argmax(np.where(wrong[-2:].all(axis=0), apart[-1], -1.0)))
    return worst, len(wrong) - int(np.argmin([*wrong[::-1, worst], False]))
