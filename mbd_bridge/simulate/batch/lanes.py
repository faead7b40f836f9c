"""Trajectories on their way in the lanes of vectors, group by group, over threads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from mbd_bridge.errors import SolveError
from mbd_bridge.kernels.run import threads as pool
from mbd_bridge.kernels.run.march import Addresses, March
from mbd_bridge.simulate.batch.alone import Alone, Road
from mbd_bridge.simulate.given.knots import NO_KNOTS, Knots
from mbd_bridge.simulate.knotted_step import step_in_parts
from mbd_bridge.simulate.pace import Pace
from mbd_bridge.simulate.trust import TRUSTED, Now
from mbd_bridge.simulate.watch import STEP_ERROR
from mbd_bridge.spatial import Array

BLOCK_STEPS = 20_000
"""Steps of a march between two looks whether they are short enough, at most."""

HELD = 200
"""Steps of a call at most, once one of the trajectories had to be led past a singular position."""

STREAM_NUMBERS = 2**20
"""Numbers of a stream that are made at a time (8 MiB)."""


class Clock(NamedTuple):
    """So many steps of h seconds from the start, every `every`-th recorded."""

    start: float
    h: float
    steps: int
    every: int

    def times(self) -> Array:
        """Return the times of the records, with the roundings of the steps that add them up."""
        at = self.of_steps(self.start, self.steps)
        times = at[:: self.every]
        return times if self.steps % self.every == 0 else np.append(times, at[-1])

    def of_steps(self, start: float, count: int) -> Array:
        """Return the times (count + 1,) of steps that begin at `start`."""
        return np.add.accumulate(np.concatenate([[start], np.full(count, self.h)]))


class Stream(Protocol):
    """Numbers that a step takes from outside, other ones at each step."""

    @property
    def size(self) -> int:
        """How many."""

    @property
    def common(self) -> bool:
        """Whether they are the same for all trajectories."""

    def numbers(self, times: Array, h: float, own: Array) -> Array:
        """Return (steps, size, lanes) for steps between times (steps + 1,) of trajectories."""

    def knots(self, start: float, h: float) -> Knots:
        """Return where steps of h from `start` have to end."""


Led = tuple[int, int, list[Now]]
"""A trajectory, the steps it had taken, and its states after those that follow."""


class Lanes:
    """All trajectories; those that arrive have their records written, and are marked.

    Parameters
    ----------
    clock : of all of them
    inputs : for each input of the march, up to the stream, (N, size), or (size,) for all
    q, v : (N, K, nq), (N, K, nv), where records go; the first one is there; `work` (N,) in the end
    stream : the last input, if it is one
    report : is called with the number of steps taken
    scale : (nq,) of the coordinates; with it trajectories whose steps are too long stop
    """

    def __init__(
        self,
        clock: Clock,
        inputs: Sequence[Array],
        q: Array,
        v: Array,
        stream: Stream | None = None,
        report: Callable[[int], None] | None = None,
        scale: Array | None = None,
    ) -> None:
        self.clock, self.inputs, self.stream = clock, inputs, stream
        self.q, self.v, self.report, self._scale = q, v, report, scale
        self.done = np.zeros(len(q), dtype=bool)
        self.work = np.zeros(len(q))
        self._lock = threading.Lock()
        self._knots = NO_KNOTS if stream is None else stream.knots(clock.start, clock.h)
        self._halted = False
        self._streamed: tuple[tuple[int, int], Array] | None = None
        most = BLOCK_STEPS if stream is None else STREAM_NUMBERS // (16 * stream.size)
        self._most = most - most % clock.every if most >= clock.every else max(1, most)

    def run(
        self, march: March, members: Array, threads: int, road: Callable[[], Road] | None = None
    ) -> None:
        """Advance trajectories, shared by threads in whole groups.

        Parameters
        ----------
        road : on which one goes by itself past a singular position; None: it stops there
        """
        lanes = self._lanes = march.lanes
        self._road = road
        groups = -(-len(members) // lanes)
        # lanes left over in the last group do what its last trajectory does
        own = members[np.minimum(np.arange(groups * lanes), len(members) - 1)]
        starts = np.concatenate([self._by_lane(x, own, lanes) for x in self.inputs], axis=1)
        starts, own = starts.reshape(groups, -1), own.reshape(groups, lanes)
        real = [min(lanes, len(members) - lanes * g) for g in range(groups)]
        shares = max(1, min(threads, groups))
        cuts = [groups * k // shares for k in range(shares + 1)]

        def work(first: int, last: int) -> None:
            stage, spare = march.start(), march.start()
            pace = Pace(self.clock.every)
            try:
                for g in range(first, last):
                    if self._halted:
                        return
                    stage[: starts.shape[1]] = starts[g]
                    self._group(march, (stage, spare), own[g], real[g], pace)
            except BaseException:  # Ctrl-C: the other threads need not go on either
                self._halted = True
                raise

        try:
            pool.run(work, list(itertools.pairwise(cuts)))
        except BaseException:
            self._halted = True
            raise

    def _by_lane(self, values: Array, own: Array, lanes: int) -> Array:
        """Return values of trajectories as (groups, size, lanes)."""
        size = values.shape[-1]
        rows = np.broadcast_to(values, (len(self.q), size))[own]
        return rows.reshape(len(own) // lanes, lanes, size).transpose(0, 2, 1)

    def _group(
        self, march: March, stages: tuple[Array, Array], own: Array, real: int, pace: Pace
    ) -> None:
        """Advance as many trajectories as there are lanes, `real` of them different ones."""
        late: list[Led] = []
        self._together(march, stages, own, real, pace, late)
        for number, first, found in late:
            self._write(number, first, found)
            self.done[number] = True

    def _together(
        self,
        march: March,
        stages: tuple[Array, Array],
        own: Array,
        real: int,
        pace: Pace,
        late: list[Led],
    ) -> None:
        stage, clock, now = stages[0], self.clock, self.clock.start
        nowhere = np.zeros((len(march.shapes), march.lanes), dtype=np.int64)
        places = nowhere.copy()
        for k, array in enumerate((self.q, self.v)):
            places[k] = array.ctypes.data + own * array.strides[0] + array.strides[1]
        going = np.ones(march.lanes, dtype=bool)
        taken, held = 0, False
        while taken < clock.steps:
            portion = min(self._most, clock.steps - taken)
            going &= self._short_enough(march, stages, nowhere, now, own)
            if not going.any():
                return
            stream, times = None, np.zeros(0)
            if self.stream is not None:
                times = clock.of_steps(now, portion)
                stream, now = self._numbers(self.stream, taken, times, own), float(times[-1])
            first, end = taken, taken + portion
            while taken < end:
                until = min(end, taken + HELD) if held else end
                free, inside = self._ahead(times, taken - first)
                wanted, every = self._call(taken, min(until, taken + free), pace)
                part = None if stream is None else stream[taken - first : taken - first + wanted]
                if inside:
                    every = self._over(
                        march, stage, float(times[taken - first]), inside, taken, own
                    )
                else:
                    march.advance_into(stage, wanted, every, places, TRUSTED, part)
                for lane in np.flatnonzero((going & (stage[-march.lanes :] < wanted))[:real]):
                    held = True
                    going[lane] = self._led(stage, lane, int(own[lane]), taken, wanted, late)
                if self._halted or not going.any():
                    return
                columns = stage[: sum(march.inputs.values()) * march.lanes].reshape(-1, march.lanes)
                columns[:, real:], going[real:] = columns[:, real - 1 : real], going[real - 1]
                taken += wanted
                places[0] += self.q.strides[1] * (wanted // every)
                places[1] += self.v.strides[1] * (wanted // every)
                pace.took(wanted)
                if self.report is not None:
                    with self._lock:
                        self.report(wanted * int(going[:real].sum()))
        q_end, v_end, t_end, *_ = march.state_of(stage)
        self.work[own[going]] = t_end.reshape(march.lanes, 2)[going, 1]
        if clock.steps % clock.every:
            self.q[own[going], -1], self.v[own[going], -1] = q_end[going], v_end[going]
        self.done[own[going]] = True

    def _ahead(self, times: Array, k: int) -> tuple[int, list[float]]:
        """Return how many steps may be taken together, and the knots in one that is in parts."""
        if not len(self._knots.times):
            return self.clock.steps, []
        now, end = times[k : k + 2].tolist()
        free = self._knots.steps_before(now, self.clock.h)
        return (free, []) if free else (1, self._knots.within(now, end))

    def _over(
        self, march: March, stage: Array, t: float, knots: list[float], taken: int, own: Array
    ) -> int:
        """Take a step in parts, and record it; return after how many steps the record is."""
        source, clock = self.stream, self.clock
        assert source is not None, "it has the knots"

        def numbers(a: float, b: float, h: float) -> Array:
            return np.ascontiguousarray(source.numbers(np.array([a, b]), h, own))

        took = step_in_parts(march, stage, t, knots, clock.h, numbers)
        stage[-march.lanes :] = took
        if (taken + 1) % clock.every:
            return 2
        q, v, *_ = march.state_of(stage)
        record = (taken + 1) // clock.every
        self.q[own[took], record], self.v[own[took], record] = q[took], v[took]
        return 1

    def _led(
        self, stage: Array, lane: np.intp, number: int, taken: int, wanted: int, late: list[Led]
    ) -> bool:
        """Lead a trajectory that stopped to where the others are; say whether it is there.

        One that is led beyond goes on by itself to its end; it is among the `late` ones then.
        """
        clock, lanes = self.clock, self._lanes
        first = taken + int(stage[-lanes:][lane])
        if self._road is None or first == 0:
            return False
        road, left = self._road(), clock.steps - first
        nq, nv = road.model.nq, road.model.nv
        state = stage[: (nq + nv + 1) * lanes].reshape(-1, lanes)[:, lane]
        work = stage[(nq + nv + 1) * lanes : (nq + nv + 2) * lanes]
        now = Now(float(state[-1]), state[:nq].copy(), state[nq:-1].copy())
        more = [self._of(x, number) for x in self.inputs[4:]]
        alone = Alone(road, clock, self.stream, number, more, more[-1:] if road.variant else [])
        try:
            found = alone.on(now, taken + wanted - first, left)
            if len(found) > taken + wanted - first:
                found += alone.plain(found[-1], left - len(found))
                if len(found) < left:
                    found += alone.on(found[-1], left - len(found), left - len(found))
        except SolveError:
            return False
        if len(found) > taken + wanted - first:
            # energy is kept past singular positions: what it gains is work
            self.work[number] = work[lane] + alone.gained(now, found[-1])
            late.append((number, first, found))  # its lane, which stands, writes into its records
            return False
        self._write(number, first, found)
        work[lane] += alone.gained(now, found[-1])
        last = np.concatenate([found[-1].q, found[-1].v, [found[-1].t]])
        stage[: len(last) * lanes].reshape(-1, lanes)[:, lane] = last
        return True

    def _write(self, number: int, first: int, found: Sequence[Now]) -> None:
        """Write the records among the states after steps that follow the first so many."""
        clock = self.clock
        for k, place in enumerate(found, first + 1):
            if k % clock.every == 0 or k == clock.steps:
                self.q[number, -(-k // clock.every)] = place.q
                self.v[number, -(-k // clock.every)] = place.v

    def _of(self, values: Array, number: int) -> Array:
        """Return an input of one trajectory."""
        return values if values.ndim == 1 else values[number]

    def _short_enough(
        self, march: March, stages: tuple[Array, Array], nowhere: Addresses, now: float, own: Array
    ) -> Array:
        """Return which lanes come to the same place by one step and by two of half its length."""
        stage, spare = stages
        if self._scale is None:
            return np.ones(march.lanes, dtype=bool)
        lanes = march.lanes
        place = march.place_of("h")
        whole, halves = np.empty((2, len(self._scale), lanes))
        for parts, end in ((1, whole), (2, halves)):
            h = self.clock.h / parts
            spare[:] = stage
            spare[place : place + lanes] = h
            stream = None
            if self.stream is not None:
                stream = self.stream.numbers(now + h * np.arange(parts + 1), h, own)
            march.advance_into(spare, parts, parts + 1, nowhere, stream=stream)
            end[:] = spare[: end.size].reshape(end.shape)
        apart = np.abs(whole - halves) / self._scale[:, None]
        return np.asarray(apart.max(axis=0, initial=0.0) <= STEP_ERROR)

    def _numbers(self, stream: Stream, taken: int, times: Array, own: Array) -> Array:
        """Return what the stream gives, made once where it is the same for all groups."""
        key, last = (taken, len(own)), self._streamed
        if stream.common and last is not None and last[0] == key:
            return last[1]
        found = stream.numbers(times, self.clock.h, own)
        self._streamed = (key, found)
        return found

    def _call(self, taken: int, end: int, pace: Pace) -> tuple[int, int]:
        """Return how many steps to take now, and after how many of them each record is made."""
        every = self.clock.every
        wanted = min(pace.steps(taken), end - taken)
        if taken % every == 0:
            return wanted, every
        return wanted, wanted if (taken + wanted) % every == 0 else wanted + 1
