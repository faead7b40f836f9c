"""Trajectories on their way in the lanes of vectors, group by group, over threads.

The march leads them past singular positions, each in its lane (`steps.detour`). One that finds no
way so stops there, and goes alone (`batch.run`).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np

from mbd_bridge.base.errors import FunctionError, StateError
from mbd_bridge.kernels import kernel as pool
from mbd_bridge.kernels.march import Addresses, March
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.outputs import REPORTED, STATE
from mbd_bridge.simulation.run.problem import MOST_BYTES, Clock, Pace
from mbd_bridge.simulation.steps.compiled import SystemStep, step_in_parts
from mbd_bridge.simulation.steps.detour import Passing
from mbd_bridge.simulation.steps.trusted_step import CARRIED
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import held, instants, sampled, stream as streamed
from mbd_bridge.solve.tolerances import STEP_ERROR, STEP_RISK


class BatchMemory:
    """The memories of many trajectories of a system."""

    def __init__(self, step: SystemStep) -> None:
        self._step, self.scheme = step, step.scheme
        self._kernel = step.start_kernel if step.memory.size else None

    def begun(self, q: Array, v: Array, t: Array, own: Array) -> Array:
        """Return t (L, ...) with the memories of motions that begin at states.

        Parameters
        ----------
        q, v, t : (L, nq), (L, nv), (L, size) states; a memory in t does not matter
        own : (L,) the numbers of the trajectories
        """
        if self._kernel is None:
            return t
        system, behind = self._step.system, CARRIED + self._step.system.nz
        time = np.concatenate([t[:, :1], t[:, CARRIED:behind]], axis=1)
        now = instants(system, t[:1, 0], own)[0]
        more = [] if system.parameters is None else [system.parameters.inputs[own]]
        (start,) = self._kernel(q, v, time, held(system, own), now, *more)
        return np.concatenate([t[:, :behind], self._step.begun(start)], axis=1)

    def renew(self, march: March, stage: Array, own: Array) -> None:
        """Renew the memories in a stage, after a jump of forces."""
        q, v, t = (part.reshape(march.lanes, -1) for part in march.state_of(stage))
        march.put(stage, q, v, self.begun(q, v, t, own))


def reported_arrays(march: March, shape: tuple[int, int]) -> list[Array]:
    """Return places (N, K, ...) for what steps tell of the records, beside q and v."""
    sizes = march.shapes[REPORTED + len(STATE) : -1]
    needed = 8 * shape[0] * shape[1] * sum(prod(size) for size in sizes)
    if needed > MOST_BYTES:
        raise StateError(
            f"loads and outputs of {shape[0]} trajectories with {shape[1]} records need "
            f"{needed / 2**30:.1f} GiB; record less often (every=) or simulate in parts"
        )
    return [np.full((*shape, prod(size)), np.nan) for size in sizes]


BLOCK_STEPS = 20_000
"""Steps of a march between two looks whether they are short enough, at most."""


LOOK_STEPS = 1_000
"""Steps between two looks whether they are short enough, where calls are shorter than that."""


STREAM_NUMBERS = 2**20
"""Numbers of a stream that are made at a time (8 MiB)."""


class Lanes:
    """All trajectories; those that arrive have their records written, and are marked.

    Parameters
    ----------
    system : whose trajectories they are
    clock : of all of them
    inputs : for each input of the march, up to the stream, (N, size), or (size,) for all
    q, v, t : (N, K, nq), (N, K, nv), (N, K, size) where records go, without memories; the first one
        is there; no t where there are no states of force elements; `ends` (N, ...) are t in the
        end, with memories
    report : is called with the number of steps taken
    scale : (nq,) of the coordinates; with it trajectories whose steps are too long stop
    """

    def __init__(
        self,
        system: System,
        clock: Clock,
        inputs: Sequence[Array],
        q: Array,
        v: Array,
        t: Array | None = None,
        report: Callable[[int], None] | None = None,
        scale: Array | None = None,
    ) -> None:
        self.system, self.clock, self.inputs = system, clock, inputs
        self.q, self.v, self.t, self.report, self._scale = q, v, t, report, scale
        self._states = [q, v] if t is None else [q, v, t]
        self.done = np.zeros(len(q), dtype=bool)
        self.ends = np.zeros((len(q), inputs[2].shape[-1]))
        self.reported: list[Array] = []
        self._lock = threading.Lock()
        self._halted = False
        self._streamed: tuple[tuple[int, int], Array] | None = None
        size = system.layout.sizes[1]
        most = STREAM_NUMBERS // (16 * size) if size else BLOCK_STEPS
        self._most = most - most % clock.every if most >= clock.every else max(1, most)
        if system.sampled:
            self._most = 1

    def run(
        self,
        march: March,
        members: Array,
        threads: int,
        memory: BatchMemory,
    ) -> None:
        """Advance trajectories, shared by threads in whole groups.

        Parameters
        ----------
        memory : of the steps
        """
        lanes = march.lanes
        self._knots = self.system.knots(self.clock.start, self.clock.h, memory.scheme)
        self._memory = memory
        if self.system.outputs is not None and not self.reported:
            self.reported = reported_arrays(march, self.q.shape[:2])
        groups = -(-len(members) // lanes)
        # lanes left over in the last group do what its last trajectory does
        own = members[np.minimum(np.arange(groups * lanes), len(members) - 1)]
        each = zip(self.inputs, march.inputs.values(), strict=False)
        parts = [self._by_lane(x[..., :size], own, lanes) for x, size in each]
        starts = np.concatenate(parts, axis=1)
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
        stage, clock, now = stages[0], self.clock, self.clock.start
        nowhere = np.zeros((len(march.shapes), march.lanes), dtype=np.int64)
        places = nowhere.copy()
        for row, array in zip(places, self._states, strict=False):
            row[:] = array.ctypes.data + own * array.strides[0] + array.strides[1]
        going = np.ones(march.lanes, dtype=bool)
        passing = Passing(march, stage)
        passing.allow()
        taken, look = 0, 0
        while taken < clock.steps:
            portion = min(self._most, clock.steps - taken)
            if self.system.sampled:
                self._sample(march, stage, going)
            if taken >= look:
                look = taken + max(self._most, LOOK_STEPS)
                going &= self._short_enough(march, stages, nowhere, now, own)
            if not going.any():
                return
            times = clock.of_steps(now, portion)
            stream = self._numbers(taken, times, own) if self._streams else None
            now = float(times[-1])
            first, end = taken, taken + portion
            while taken < end:
                free, inside = self._ahead(times, taken - first)
                wanted, every = self._call(taken, min(end, taken + free), pace)
                part = None if stream is None else stream[taken - first : taken - first + wanted]
                t = float(times[taken - first])
                if self._memory.scheme.remembers and self._knots.at(t, clock.h):
                    self._memory.renew(march, stage, own)
                if inside:
                    every = self._over(march, stage, t, inside, taken, own)
                elif self.reported:
                    self._advance_reporting(march, stage, taken, wanted, part, own)
                else:
                    march.advance_into(stage, wanted, every, places, STEP_RISK, part)
                going &= stage[-march.lanes :] == wanted
                if self._halted or not going.any():
                    return
                columns = stage[: sum(march.inputs.values()) * march.lanes].reshape(-1, march.lanes)
                columns[:, real:], going[real:] = columns[:, real - 1 : real], going[real - 1]
                passing.registers[:, real:] = passing.registers[:, real - 1 : real]
                taken += wanted
                for row, array in zip(places, self._states, strict=False):
                    row += array.strides[1] * (wanted // every)
                pace.took(wanted)
                if self.report is not None:
                    with self._lock:
                        self.report(wanted * int(going[:real].sum()))
        ends = [last.reshape(march.lanes, -1) for last in march.state_of(stage)]
        self.ends[own[going], : ends[2].shape[1]] = ends[2][going]
        if self.reported or clock.steps % clock.every:
            for array, last in zip(self._states, ends, strict=False):
                array[own[going], -1] = last[going, : array.shape[-1]]
        if self.reported:  # what a step from the end would tell
            stream = self._numbers(taken, clock.of_steps(now, 1), own) if self._streams else None
            march.advance_into(
                stage, 1, 1, self._report_addresses(march, own, -1), STEP_RISK, stream
            )
        self.done[own[going]] = True

    def _report_addresses(self, march: March, own: Array, record: int) -> Addresses:
        """Return where the outputs of steps from a record on go: q, v and what is reported."""
        places = np.zeros((len(march.shapes), march.lanes), dtype=np.int64)
        record %= self.q.shape[1]
        after = enumerate((self.q, self.v, *self.reported), REPORTED + 1)
        for k, array in [*after, *([] if self.t is None else [(REPORTED, self.t)])]:
            places[k] = array.ctypes.data + own * array.strides[0] + record * array.strides[1]
        return places

    def _advance_reporting(
        self,
        march: March,
        stage: Array,
        taken: int,
        wanted: int,
        stream: Array | None,
        own: Array,
    ) -> None:
        """Take steps, whose outputs of the states that they begin with are the records."""
        every, ahead, done = self.clock.every, -taken % self.clock.every, 0
        counts = np.zeros(march.lanes)
        for count, each in ((ahead, ahead + 1), (1, 1), (wanted, every)):
            count = min(count, wanted - done)
            if count <= 0:
                continue
            part = None if stream is None else stream[done : done + count]
            places = self._report_addresses(march, own, (taken + done + each - 1) // every)
            march.advance_into(stage, count, each, places, STEP_RISK, part)
            counts += stage[-march.lanes :]
            done += count
        stage[-march.lanes :] = counts

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
        clock = self.clock

        def numbers(a: float, b: float, h: float) -> Array:
            return np.ascontiguousarray(streamed(self.system, np.array([a, b]), h, own))

        if self.reported and taken % clock.every == 0:
            for array, state in zip(self._states, march.state_of(stage), strict=False):
                array[own, taken // clock.every] = state[..., : array.shape[-1]]
        memory, renew = self._memory, None
        if memory.scheme.remembers:
            renew = partial(memory.renew, march, stage, own)
        took = step_in_parts(march, stage, t, knots, clock.h, numbers, renew)
        stage[-march.lanes :] = took
        if (taken + 1) % clock.every:
            return 2
        for array, state in zip(self._states, march.state_of(stage), strict=False):
            array[own[took], (taken + 1) // clock.every] = state[took, : array.shape[-1]]
        return 1

    @property
    def _streams(self) -> bool:
        return self.system.layout.sizes[1] > 0

    def _sample(self, march: March, stage: Array, going: Array) -> None:
        """Call the Python functions of the trajectories that go on, and put what they say."""
        lanes, nq = march.lanes, self.system.model.nq
        rows = stage[: sum(march.inputs.values()) * lanes].reshape(-1, lanes)
        place, size = march.place_of("held") // lanes, march.inputs["held"]
        nv = self.system.model.nv
        for lane in np.flatnonzero(going):
            q, v, t = rows[:nq, lane], rows[nq : nq + nv, lane], float(rows[nq + nv, lane])
            held = rows[place : place + size, lane].copy()
            try:
                rows[place : place + size, lane] = sampled(self.system, held, t, q, v)
            except FunctionError:  # the step is not trusted then, and the lane's passage says why
                rows[place : place + size, lane] = np.nan

    def silence(self, number: int, records: slice) -> None:
        """Forget what was reported of some records."""
        for array in self.reported:
            array[number, records] = np.nan

    def _short_enough(
        self, march: March, stages: tuple[Array, Array], nowhere: Addresses, now: float, own: Array
    ) -> Array:
        """Return which lanes come to the same place by one step and by two of half its length."""
        stage, spare = stages
        if self._scale is None:
            return np.ones(march.lanes, dtype=bool)
        on_bridge = Passing(march, stage).on_bridge
        lanes = march.lanes
        place = march.place_of("h")
        whole, halves = np.empty((2, len(self._scale), lanes))
        for parts, end in ((1, whole), (2, halves)):
            h = self.clock.h / parts
            spare[:] = stage
            Passing(march, spare).allow(yes=False)
            spare[place : place + lanes] = h
            times = now + h * np.arange(parts + 1)
            stream = streamed(self.system, times, h, own) if self._streams else None
            march.advance_into(spare, parts, parts + 1, nowhere, stream=stream)
            end[:] = spare[: end.size].reshape(end.shape)
        apart = np.abs(whole - halves) / self._scale[:, None]
        return np.asarray((apart.max(axis=0, initial=0.0) <= STEP_ERROR) | on_bridge)

    def _numbers(self, taken: int, times: Array, own: Array) -> Array:
        """Return the numbers of tables, made once where they are the same for all groups."""
        key, last = (taken, len(own)), self._streamed
        common = self.system.common
        if common and last is not None and last[0] == key:
            return last[1]
        found = streamed(self.system, times, self.clock.h, own)
        self._streamed = (key, found)
        return found

    def _call(self, taken: int, end: int, pace: Pace) -> tuple[int, int]:
        """Return how many steps to take now, and after how many of them each record is made."""
        every = self.clock.every
        wanted = min(pace.steps(taken), end - taken)
        if taken % every == 0:
            return wanted, every
        return wanted, wanted if (taken + wanted) % every == 0 else wanted + 1
