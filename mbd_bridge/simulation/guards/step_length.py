"""Whether steps are too long: for positions, velocities that ring, states of force elements.

A run compares some of its steps with two of half their length; where steps are taken one by one,
every `EACH`-th one is. A state of a force element may be off once, as a tyre's that has just come
down; twice one after the other is for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.kernels.march import March
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import model_units
from mbd_bridge.simulation.guards.loops import leads_off, opening, openings, spread
from mbd_bridge.simulation.guards.messages import SHORTER, SHORTER_IMPLICIT, StepLengthError
from mbd_bridge.simulation.run.problem import Problem, Records
from mbd_bridge.simulation.steps.trusted_step import CARRIED, Now, Step, carried
from mbd_bridge.solve.tolerances import (
    LEAST_STATE,
    OPENING,
    RINGING,
    SLOWEST_RINGING,
    STATE_ERROR,
    STEP_ERROR,
    STEP_RISK,
)

if TYPE_CHECKING:
    from mbd_bridge.simulation.steps.compiled import Start


SURELY = 0.1 * STEP_ERROR
"""A difference of coordinates, by the smallest of their scales, that is no difference of positions
as large as `STEP_ERROR`: a quaternion's is half the turn."""


FAR = 2.0 * np.pi
"""rad, or sizes of the mechanism: an error whose figure says nothing more."""


GROWN = 100.0
"""Growth of a state of a force element in the second half of a motion that is looked at."""


def coordinate_scale(model: Model) -> Array:
    """Return the scale of each coordinate (nq,): `size` for lengths, 1 for angles and the rest."""
    scale = np.ones(model.nq)
    for body in model.bodies:
        if not body.coupled:
            plain = body.type.nv if body.type.nq == body.type.nv else body.type.nq - 4
            scale[body.q.start : body.q.start + plain] = model.velocity_scale[body.v][:plain]
    return scale


def surely(model: Model) -> float:
    """Return the difference of coordinates up to which a step is surely short enough."""
    return SURELY * float(model.velocity_scale.min(initial=1.0))


def too_long(
    model: Model, whole: Array, halves: Array, h: float, advice: str = SHORTER
) -> StepLengthError | None:
    """Return what is to be said of a step that differs too much from two of half its length."""
    if np.abs(whole - halves).max(initial=0.0) <= surely(model):
        return None
    apart = np.abs(model.difference(whole, halves) / model.velocity_scale)
    if apart.max(initial=0.0) <= STEP_ERROR:
        return None
    worst = int(np.argmax(apart))
    unit = model_units(model)[1][worst]
    amount = f"{apart[worst] * model.velocity_scale[worst]:.2g} {unit}"
    if not apart[worst] <= FAR:  # what is not finite too
        amount = "more than a turn" if unit == "rad" else "more than the mechanism's size"
    return StepLengthError(
        f"the step of {h:.3g} s is too long for this motion: one step errs by {amount} in "
        f"{model.velocity_names[worst]!r}; ",
        advice,
    )


def state_errs(name: str, h: float) -> StepLengthError:
    """Return what is to be said of steps by which a state of a force element goes astray."""
    return StepLengthError(
        f"the step of {h:.3g} s is too long for the state {name!r} of a force element, whose time "
        f"constant is shorter; "
    )


def velocity_rings(name: str, h: float) -> StepLengthError:
    """Return what is to be said of velocities that change their sign from step to step."""
    return StepLengthError(
        f"the velocity {name!r} changes its sign from step to step, as the trapezoidal rule lets "
        f"it behind a damper for which the step of {h:.3g} s is too long: start with velocities "
        f"that the damper allows, take mbd.integrators.Newmark(beta=0.5, gamma=1.0), of the first "
        "order, which takes them away within a step, or ",
        SHORTER_IMPLICIT,
    )


def largest_speed(v: Array) -> Array:
    """Return the largest speed (...) of motions with scaled velocities (..., K, nv)."""
    return np.asarray(np.abs(v).max(axis=(-2, -1), initial=0.0))


def may_ring(v: Array, change: Array) -> Array:
    """Return which of many motions may end with velocities that ring: a run of its own tells.

    Parameters
    ----------
    v : (N, K, nv) velocities of the records, relative to their scales
    change : (N, nv) their change in the last step
    """
    largest = np.abs(change).max(axis=1, initial=0.0)
    return np.asarray(largest > np.maximum(RINGING * largest_speed(v), SLOWEST_RINGING))


def grown(z: Array) -> Array:
    """Return which of many motions (N, K, nz) end with states of force elements far beyond all that
    they were in its first half: a run of its own tells whether steps are too long for them.
    """
    half = z.shape[1] // 2
    before = np.abs(z[:, :half]).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore"):  # nan is bad
        kept = np.abs(z[:, -1]) <= GROWN * before + LEAST_STATE
    return np.asarray((half > 1) & ~kept.all(axis=1))


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
        self._largest = np.zeros(len(self._names))
        self._wrong = np.zeros(len(self._names), dtype=bool)

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
        self.compare(self._z(now.carried), self._z(whole.carried), self._z(both.carried), h)

    def compare(self, z: Array, whole: Array, both: Array, h: float) -> None:
        """Compare states after a step of h seconds from z, and after two of half its length.

        Raises
        ------
        SolveError
            One has left its course for good.
        """
        with np.errstate(all="ignore"):
            self._largest = np.maximum(self._largest, np.abs(z))
            apart = np.abs(whole - both)
            wrong = ~(apart <= STATE_ERROR * self._largest + LEAST_STATE)  # nan is bad
        astray, self._wrong = np.flatnonzero(wrong & self._wrong), wrong
        if len(astray):
            raise state_errs(self._names[astray[0]], h)

    def _z(self, carried: Array) -> Array:
        return carried[: len(self._names)]


LOOKS = 8
"""Records at which a step is compared with two of half its length."""


SELDOM = 4
"""Of those records, one of so many at which accelerations are looked at."""


class StepCheck:
    """Looks at some steps of a run.

    Parameters
    ----------
    begin : of the memories of these steps
    """

    def __init__(self, problem: Problem, march: March, begin: Start) -> None:
        self._problem, self._march, self._begin = problem, march, begin
        self._names = problem.trajectory.system.states.names

    def checked(self, found: Records) -> Records:
        """Return the motion up to where its steps are too long, if they are."""
        problem, model = self._problem, self._problem.model
        looks = spread(len(found.time) - 1, LOOKS)
        whole, v_whole, z_whole, a = self._after(found, looks, 1)
        halves, v_halves, z_halves, _ = self._after(found, looks, 2)
        between = np.abs(whole - halves).max(axis=1, initial=0.0)
        trusted = np.isfinite(between)
        opens, seldom = np.zeros(len(looks)), slice(None, None, SELDOM)
        if problem.loops is not None:
            states = found.q[looks[seldom]], found.v[looks[seldom]], a[seldom]
            opens[seldom] = openings(model, problem.loops.values, problem.rows, *states)
        advice = SHORTER_IMPLICIT if self._begin.implicit else SHORTER
        doubtful = ~(between <= surely(model)) | ~(opens <= OPENING)
        # others are near a singular position, where steps are taken with more care
        for k in np.flatnonzero(trusted & doubtful):
            what: object = too_long(model, whole[k], halves[k], self._problem.h, advice)
            if what is None and not opens[k] <= OPENING:
                what = leads_off(opens[k])
            if what is not None:
                return found.until(int(looks[k]), what, problem)
        if self._begin.implicit:
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
        return opening(self._problem.model, loops.values, self._problem.rows, q, v, a)

    def _after(self, found: Records, looks: Array, parts: int) -> tuple[Array, Array, Array, Array]:
        """Return q (L, nq), v and z (L, nz) after a step from some records, made of so many parts,
        and the acceleration (L, nv) at the start of the last part; nan where it is not trusted.
        """
        trajectory, h, begin = self._problem.trajectory, self._problem.h / parts, self._begin
        sampled, number = trajectory.system.sampled, len(looks)
        t, q, v = found.time[looks], found.q[looks], found.v[looks]
        beside: Array = found.z[looks]
        if begin.makes_memory:
            states = zip(t.tolist(), q, v, beside, strict=True)
            beside = np.array([begin.begun(Now(*one)).carried for one in states])
        lost, length = np.zeros(number, dtype=bool), np.full((number, 1), h)
        steps = 1 if sampled else parts  # Python is asked before each
        for _ in range(0, parts, steps):
            clock = np.zeros((number, CARRIED))
            clock[:, 0] = t
            own = [
                trajectory.more(float(t[k]), q[k], v[k])
                for k in range(number if sampled else min(1, number))
            ]
            more = [np.broadcast_to(x, (number, len(x[0]))) for x in zip(*own, strict=True)]
            streams = []
            if "stream" in trajectory.system.more:
                ends = t[:, None] + h * np.arange(steps + 1)
                streams = [x for each in ends if (x := trajectory.stream(each, h)) is not None]
            inputs = np.concatenate([q, v, clock, beside, length, *more], axis=1)
            out = self._march.from_each(inputs, steps, STEP_RISK, streams)
            lost |= np.isnan(out[-1][:, 0])
            q = np.where(lost[:, None], q, out[0])
            v = np.where(lost[:, None], v, out[1])
            beside = np.where(lost[:, None], beside, carried(out[2]))
            t = t + steps * h
        q[lost] = np.nan
        return q, v, beside[:, : found.z.shape[1]], out[3]


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
