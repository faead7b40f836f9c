"""Events while a motion runs: it ends at them, or goes on from a state that they give.

A run looks at its records as they come, and stops soon after the first event that ends it or acts.
The event is then located: by steps from the record before it, the last one as long as it takes, so
that the state is as good as the motion's; where such steps are not trusted, on the dense output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.outcome import EVENT, Outcome
from mbd_bridge.simulation.results.interpolation import State, between
from mbd_bridge.simulation.results.simulation import Simulation
from mbd_bridge.simulation.run.events import (
    Events,
    Watch,
    crossings,
    direction_of,
    first_end,
    is_terminal,
    value_of,
)
from mbd_bridge.simulation.signals.tables import Knots, length_to
from mbd_bridge.simulation.steps.compiled import SystemStep, one_step
from mbd_bridge.simulation.steps.trusted_step import Now, Step, StepResult

MOST_EVENTS = 10_000
"""Events that act, of one motion."""
PROBES = 10
"""Times at which the way to the first record after an event is looked at, each half as far."""


class Lookout:
    """Tells a run that it need not go on: an event that ends it, or acts, lies behind."""

    def __init__(self, watches: Mapping[str, Watch], leave_zero: Collection[str] = ()) -> None:
        self._watches = {name: one for name, one in watches.items() if _stops(one)}
        self._signs = dict.fromkeys(self._watches, 0.0)
        self._leave_zero = set(leave_zero)

    def sees(self, time: Array, q: Array, v: Array) -> bool:
        """Return whether such an event is before or among these records, the next ones."""
        for name, watch in self._watches.items():
            for t, *state in zip(time, q, v, strict=True):
                sign = float(np.sign(value_of(watch, name, float(t), *state)))
                if name in self._leave_zero:
                    self._leave_zero.remove(name)
                    sign = 0.0
                before = self._signs[name]
                if sign and before and sign != before and direction_of(watch) * sign >= 0.0:
                    return True
                self._signs[name] = sign or before
        return False


def watched(
    run: Simulation, watches: Mapping[str, Watch], leave_zero: Collection[str] = ()
) -> Simulation:
    """Return a motion with its events, cut off at the first one that is terminal or acts.

    Parameters
    ----------
    leave_zero : names of functions that begin at zero, but for rounding
    """
    finer = Finer(run)
    found = {
        name: crossings(name, watch, run.time, run.q, run.v, finer, name in leave_zero)
        for name, watch in watches.items()
    }
    stops = {name: watch for name, watch in watches.items() if _stops(watch)}
    end = first_end(found, stops)
    if not end <= run.time[-1]:
        return replace(run, events=found)
    last, kept = finer(end), run.time < end
    states = finer.states(end)
    reported, samples = run.reported, run.samples
    if reported is not None:
        reported = {name: _longer(array[kept], np.nan) for name, array in reported.items()}
    if samples is not None:
        samples = np.vstack([samples[kept], samples[kept][-1:]])
    return replace(
        run,
        time=np.append(run.time[kept], end),
        q=np.vstack([run.q[kept], last.q]),
        v=np.vstack([run.v[kept], last.v]),
        z=np.vstack([run.z[kept], states]),
        samples=samples,
        reported=reported,
        steps=round((end - float(run.time[0])) / run.step),
        outcome=EVENT,
        events={name: events.until(end) for name, events in found.items()},
        history=None if run.history is None else run.history.until(end),
    )


def resampled(run: Simulation, times: Array) -> Simulation:
    """Return a motion with its records at times (N,) of it; see `Simulation.resampled`."""
    finer = Finer(run)
    states = [finer(time) for time in times.tolist()]
    before = np.searchsorted(run.time, times, "right") - 1
    return replace(
        run,
        time=times,
        q=np.array([state.q for state in states]),
        v=np.array([state.v for state in states]),
        z=np.array([finer.states(time) for time in times.tolist()]),
        samples=None if run.samples is None else run.samples[before],
        reported=None,
    )


def acting_events(run: Simulation, watches: Mapping[str, Watch]) -> list[Watch]:
    """Return the events at the end of a motion that act: that give a state to go on from."""
    if run.outcome != EVENT:
        return []
    at_end = [
        watch
        for name, watch in watches.items()
        if len(run.events[name]) and run.events[name].time[-1] == run.time[-1] and _stops(watch)
    ]
    return [] if any(is_terminal(watch) for watch in at_end) else at_end


def with_events(
    simulate: Callable[..., Simulation],
    watches: Mapping[str, Watch],
    start: float,
    duration: float,
    q: ArrayLike | None,
    v: ArrayLike | None,
    z: Array,
) -> Simulation:
    """Return a motion in as many parts as events make of it, joined.

    Parameters
    ----------
    simulate : (duration, q, v, z, start, lookout) -> the motion of a part
    """
    parts: list[Simulation] = []
    leave_zero: Collection[str] = ()
    begin, end = start, start + duration
    for _ in range(MOST_EVENTS):
        part = simulate(end - begin, q, v, z, begin, Lookout(watches, leave_zero))
        again = _unseen(part, watches, leave_zero)
        if again is not None:
            why = (
                f"event {again!r} acts again before the next record, "
                f"{part.time[1] - begin:.3g} s later. Record more often (step, every), or let it "
                f"end the motion (terminal = True)"
            )
            return replace(joined(parts), outcome=Outcome.stopped(begin, why))
        part = watched(part, watches, leave_zero)
        parts.append(part)
        acting = acting_events(part, watches)
        begin = float(part.time[-1])
        if not acting or end - begin <= 1e-12 * max(abs(end), duration):
            return joined(parts)
        last, z = (part.q[-1], part.v[-1]), part.z[-1]
        for watch in acting:
            last = _changed(watch, begin, *last)
        q, v = last
        leave_zero = _at_zero(watches, part, *last)
    why = f"more than {MOST_EVENTS} events that act"
    return replace(joined(parts), outcome=Outcome.stopped(begin, why))


def _at_zero(watches: Mapping[str, Watch], part: Simulation, q: Array, v: Array) -> list[str]:
    """Return the functions that have come to zero at the end of a part and start there again.

    Their values there are what rounding leaves, on one side or the other: the signs of these do not
    count. A function that an action has led away from zero is not among them.
    """
    time, found = part.time.tolist(), []
    for name, watch in watches.items():
        before, end = (value_of(watch, name, time[k], part.q[k], part.v[k]) for k in (-2, -1))
        again = value_of(watch, name, time[-1], q, v)
        if np.sign(before) != np.sign(end) and abs(again) <= abs(end):
            found.append(name)
    return found


def _unseen(
    part: Simulation, watches: Mapping[str, Watch], leave_zero: Collection[str]
) -> str | None:
    """Return an event that acted where a part begins and occurs again before its second record.

    Its function leaves zero to one side and is on the other side at that record: records do not
    tell it from one that goes through zero, as a ball that bounces ever faster.
    """
    if len(part.time) < 2:
        return None
    finer, (begin, first) = Finer(part), part.time[:2].tolist()
    for name in leave_zero:
        watch = watches[name]
        side = np.sign(value_of(watch, name, first, part.q[1], part.v[1]))
        if not _stops(watch) or direction_of(watch) * side < 0.0:
            continue
        for time in begin + (first - begin) * 0.5 ** np.arange(1, PROBES + 1):
            q, v, _ = finer(float(time))
            if value_of(watch, name, float(time), q, v) * side < 0.0:
                return name
    return None


def joined(parts: Sequence[Simulation]) -> Simulation:
    """Return parts of a motion as one; where they meet, the time stands twice."""
    if len(parts) == 1:
        return parts[0]
    last = parts[-1]
    facts = {**last.facts, "balance": max(part.facts.get("balance", 0.0) for part in parts)}
    events = {
        name: Events(
            *(
                np.concatenate([getattr(part.events[name], column) for part in parts])
                for column in ("time", "q", "v", "rising")
            )
        )
        for name in last.events
    }
    reported = None
    if last.reported is not None:
        several = [part.reported for part in parts if part.reported is not None]
        reported = {name: np.concatenate([one[name] for one in several]) for name in last.reported}
    samples = None
    if last.samples is not None:
        samples = np.concatenate([part.samples for part in parts if part.samples is not None])
    return replace(
        last,
        time=np.concatenate([part.time for part in parts]),
        q=np.concatenate([part.q for part in parts]),
        v=np.concatenate([part.v for part in parts]),
        z=np.concatenate([part.z for part in parts]),
        steps=sum(part.steps for part in parts),
        detours=sum(part.detours for part in parts),
        facts=facts,
        events=events,
        samples=samples,
        reported=reported,
        history=None,
    )


class Finer:
    """States of a motion at any time, by steps from the record before; see `Simulation.at`."""

    def __init__(self, run: Simulation) -> None:
        self.run = run
        self._known: list[Now] = []

    def __call__(self, time: float) -> State:
        """Return q, v and a."""
        found = self._reached(time)
        return self.run.at(time) if found is None else State(found.q, found.v, found.a)

    def states(self, time: float) -> Array:
        """Return the states z (nz,) of force elements."""
        found = self._reached(time)
        if found is not None:
            return found.carried[: self.run.system.nz]
        run = self.run
        return between(run.trajectory.rates, run.time, run.q, run.v, run.z, time)

    def _reached(self, time: float) -> StepResult | None:
        """Return what steps come to, None where there are none or they are not trusted."""
        run = self.run
        k = int(np.clip(np.searchsorted(run.time, time, "right") - 1, 0, len(run.time) - 1))
        step = self._step
        if step is None or time == run.time[k]:
            return None
        if not self._known or self._known[0].t != run.time[k]:
            self._known = [Now(float(run.time[k]), run.q[k], run.v[k], run.z[k])]
        while self._known[-1].t > time:
            self._known.pop()
        while True:
            now = self._known[-1]
            whole = time - now.t > run.step
            end = now.t + run.step if whole else time
            knots = self._knots.within(now.t, end)
            for b in (*knots, end):
                found = step(now, run.step if whole and not knots else length_to(now.t, b))
                if not found.trusted:
                    return None
                now = now.after(0.0, found)._replace(t=b)
            if not whole:
                return found
            self._known.append(now)

    @cached_property
    def _step(self) -> Step | None:
        run = self.run
        if "rows" not in run.facts or run.facts.get("integrator") != "rk4":
            return None
        return one_step(run.trajectory, SystemStep.of(run.system, run.facts["rows"]).march())

    @cached_property
    def _knots(self) -> Knots:
        return self.run.system.knots(float(self.run.time[0]), self.run.step)


def _stops(watch: Watch) -> bool:
    return is_terminal(watch) or callable(getattr(watch, "action", None))


def _longer(array: Array, value: float) -> Array:
    return np.concatenate([array, np.full((1, *array.shape[1:]), value)])


def _changed(watch: Watch, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    action = getattr(watch, "action", None)
    assert callable(action), "it acts"
    returned = action(t, q.copy(), v.copy())
    try:
        new_q, new_v = (np.array(part, dtype=np.float64) for part in returned)
    except (TypeError, ValueError):
        raise StateError(
            f"event: at t = {t:.6g} s its action returned {returned!r:.60}; expected (q, v)"
        ) from None
    return new_q, new_v


def raised(run: Simulation) -> Simulation:
    """Return a motion that reached its end; raise what ended it before.

    Raises
    ------
    SolveError
        The motion could not go on.
    """
    if not run.finished:
        raise SolveError(f"{run.status}. check=False returns the motion up to there")
    return run
