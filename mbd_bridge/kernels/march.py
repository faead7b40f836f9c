"""Many steps of one function in machine code: the results of a step are the next one's inputs.

A program with routines, written out: the same digits without calls.

In vectors of states calls cost some five to twenty per cent, since what a routine gives goes
through memory; a single state gains by them. So one trajectory is computed with calls and many
without, and both to the same last bit, because what fixes the digits is decided routine by routine
(`lower`).

The order of instructions where one state at a time waits for itself.

In vectors of states the processor is busy, and few values alive at a time are best (`order`). A
single trajectory is a chain: each stage of a step waits for the one before, and the processor
idles through latencies, unless it finds beside the chain what does not belong to it. It looks a few
hundred instructions ahead; a stage is longer. So the order is that in which an ideal processor
would issue: by time, and among what can start at the same time what most depends on. Sines whose
angles are known at about the same time go through one call in the lanes of a vector.
"""

from __future__ import annotations

import ctypes
import heapq
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import KernelError, StateError
from mbd_bridge.kernels import cache as addresses, machine
from mbd_bridge.kernels.cache import DEFAULT_CACHE, Artifact, Cache, Store
from mbd_bridge.kernels.instructions import Program, TracedSource, depth_first, reordered
from mbd_bridge.kernels.layout import Floats
from mbd_bridge.kernels.llvm_march import march_module
from mbd_bridge.kernels.ops import OPERATIONS, SINES
from mbd_bridge.kernels.recipe import Instruction
from mbd_bridge.kernels.tracing import Traceable


def inlined(program: Program) -> Program:
    """Return the program with the instructions of its routines in the place of each call.

    A call on a condition stays one: what is rarely needed is not computed each time.
    """
    if not program.routines:
        return program
    code: list[Instruction] = []
    place: list[int] = []
    given: dict[int, list[int]] = {}
    for index, one in enumerate(program.instructions):
        operands = tuple(place[k] for k in one.operands)
        if one.op == "call":
            given[index] = _written_out(code, one.data, operands)
            place.append(-1)
        elif one.op == "part" and one.operands[0] in given:
            place.append(given[one.operands[0]][one.data])
        else:
            place.append(len(code))
            code.append(one._replace(operands=operands))
    outputs = tuple(tuple(place[k] for k in indices) for indices in program.outputs)
    return replace(program, instructions=tuple(code), outputs=outputs)


def _written_out(
    code: list[Instruction], routine: Program, arguments: tuple[int, ...]
) -> list[int]:
    """Write a routine's instructions for such arguments; return where its results are."""
    place: list[int] = []
    for one in routine.instructions:
        if one.op == "load":
            place.append(arguments[one.data])
        else:
            place.append(len(code))
            code.append(one._replace(operands=tuple(place[k] for k in one.operands)))
    return [place[k] for k in routine.outputs[0]]


WIDTH = 4
"""Instructions that can start in a cycle."""

TOGETHER = 30
"""Cycles that an angle waits for others; less than a sine takes, so that none waits for its own."""


def by_time(program: Program, sine_lanes: int) -> Program:
    """Return the program in the order of an ideal processor, sines in groups side by side."""
    program = program.with_routines(lambda routine: by_time(routine, sine_lanes))
    code = program.instructions
    ready, needed = _times(code)
    unit = _units(code, ready, sine_lanes)
    members: dict[int, list[int]] = {}
    for index, number in enumerate(unit):
        members.setdefault(number, []).append(index)
    before = {
        number: {unit[k] for index in inside for k in code[index].operands}
        for number, inside in members.items()
    }
    after: dict[int, list[int]] = {number: [] for number in members}
    for number, others in before.items():
        for other in others:
            after[other].append(number)
    waiting = {number: len(others) for number, others in before.items()}
    urgency = {number: -max(needed[k] for k in inside) for number, inside in members.items()}
    coming = [(0, number) for number, count in waiting.items() if not count]
    heapq.heapify(coming)
    able: list[tuple[int, int]] = []
    start = dict.fromkeys(members, 0)
    order: list[int] = []
    cycle = 0
    while coming or able:
        while coming and coming[0][0] <= cycle:
            number = heapq.heappop(coming)[1]
            heapq.heappush(able, (urgency[number], number))
        for _ in range(min(WIDTH, len(able))):
            number = heapq.heappop(able)[1]
            order += members[number]
            end = cycle + _latency(code[members[number][0]])
            for other in after[number]:
                waiting[other] -= 1
                start[other] = max(start[other], end)
                if not waiting[other]:
                    heapq.heappush(coming, (start[other], other))
        cycle = cycle + 1 if able or not coming else max(cycle + 1, coming[0][0])
    return reordered(program, order)


def _latency(instruction: Instruction) -> int:
    return OPERATIONS[instruction.op].latency


def _times(code: tuple[Instruction, ...]) -> tuple[list[int], list[int]]:
    """Return when each value is there at the earliest, and how long the rest takes after it."""
    ready, needed = [0] * len(code), [0] * len(code)
    for index, one in enumerate(code):
        ready[index] = _latency(one) + max((ready[k] for k in one.operands), default=0)
    for index in range(len(code) - 1, -1, -1):
        needed[index] += _latency(code[index])
        for k in code[index].operands:
            needed[k] = max(needed[k], needed[index])
    return ready, needed


def _units(code: tuple[Instruction, ...], ready: list[int], sine_lanes: int) -> list[int]:
    """Return for each instruction the first of those with which it is issued."""
    unit = list(range(len(code)))
    sines: dict[int, list[int]] = {}
    for index, (op, operands, _) in enumerate(code):
        if op in SINES:
            sines.setdefault(operands[0], []).append(index)
    group: list[int] = []
    first = 0
    for angle in sorted(sines, key=lambda k: (ready[k], k)):
        if not group or len(group) == sine_lanes or ready[angle] > ready[group[0]] + TOGETHER:
            group, first = [], sines[angle][0]
        group.append(angle)
        for index in sines[angle]:
            unit[index] = first
    return unit


_INT, _AT = ctypes.c_int64, ctypes.c_void_p
_MARCH = ctypes.CFUNCTYPE(_INT, _AT, _INT, _INT, _AT, ctypes.c_double, _AT)
_ALIGNMENT = 64

_FORM = "march 10"
"""Machine code kept from another form of march is not to be found under this one."""

SMALL = 3_000
"""Operations of a step up to which two vectors side by side are quicker than one: each waits for
itself, and their values still fit the registers. Measured: a four-bar (1,370) 23.7 instead of
31.5 ns a step, ten four-bars in a row (11,000) 287 instead of 249."""

MOST_LANES = 0
"""As `lanes` of `compile_march`: as many as are quickest where there are trajectories enough."""

Addresses = NDArray[np.int64]


class Detour(NamedTuple):
    """What a lane does whose step is not to be taken: other steps, until it is past that place.

    Attributes
    ----------
    function : (registers, *inputs of the step, *its outputs, finite) -> registers, the state and
        the next input (a length) with which the step is called next, and what it is then, (1,):
        0 the function is called again with what comes of that step; 1 the state given is that
        after the step; 2 the lane stays. `finite` (1,) is nan where an output of the step is not
    registers : how many numbers it keeps. The first one is 1 where no detour is on, more as long as
        steps of the lane come from it alone; 0 or less where it is not to be called
    """

    function: Traceable
    registers: int


class March:
    """A compiled step, to be taken many times; made by `compile_march`.

    Attributes
    ----------
    inputs : sizes of the inputs by name; the first `state` of them are fed back
    shapes : sizes of the outputs; the first `state` are the next step's inputs, the last one (of
        size 1) tells how risky the step is
    lanes : trajectories that advance together
    unrecorded : numbers at the end of the state that records leave out
    registers : numbers that its detours keep
    ways : operations that each formulation of loads would add, where the fewest were taken
    code : the machine code: stage, steps, every, places, limit, stream -> steps taken (see
        `advance_into`), of addresses
    """

    def __init__(
        self,
        artifact: Artifact,
        from_cache: bool,
        state: int,
        unrecorded: int = 0,
        registers: int = 0,
    ) -> None:
        self.inputs, self.registers = dict(artifact.inputs), registers
        self.shapes, self.unrecorded = artifact.shapes, unrecorded
        self.lanes, self.state, self.from_cache = artifact.lanes, state, from_cache
        self.counts, self.compile_seconds = artifact.counts, artifact.compile_seconds
        self.ways = artifact.ways
        self._loaded = machine.Loaded(artifact.code, "march")
        self.code = _MARCH(self._loaded.address)
        self._bytes = artifact.stage_bytes
        self._sizes = [prod(shape) for shape in artifact.shapes]
        self._end = sum(list(self.inputs.values())[:state])

    def start(self, *values: Floats) -> Floats:
        """Return a stage (inputs in place): what `advance` works on, owned by the caller.

        Parameters
        ----------
        values : for each input (size,) with one lane, (lanes, size) or (size,) with several; none
            leaves them all zero
        """
        stage = np.zeros(self._bytes // 8 + _ALIGNMENT // 8)
        skip = (-stage.ctypes.data % _ALIGNMENT) // 8
        stage = stage[skip : skip + self._bytes // 8]
        if len(values) not in (0, len(self.inputs)):
            raise StateError(f"expected {len(self.inputs)} inputs {list(self.inputs)}")
        self.put(stage, *values)
        return stage

    def put(self, stage: Floats, *values: Floats) -> None:
        """Write the first inputs of a stage."""
        place = 0
        for (name, size), value in zip(self.inputs.items(), values, strict=False):
            array = np.asarray(value, dtype=np.float64)
            if array.shape not in ((size,), (self.lanes, size)):
                raise StateError(
                    f"{name}: expected ({size},) or ({self.lanes}, {size}), got {array.shape}"
                )
            full = np.broadcast_to(array, (self.lanes, size))
            stage[place : place + size * self.lanes] = full.T.ravel()
            place += size * self.lanes

    def place_of(self, name: str) -> int:
        """Return where an input begins in a stage."""
        before = itertools.takewhile(lambda other: other != name, self.inputs)
        return sum(self.inputs[other] for other in before) * self.lanes

    def advance(
        self,
        stage: Floats,
        steps: int,
        every: int = 1,
        limit: float = np.inf,
        stream: Floats | None = None,
    ) -> tuple[int, list[Floats]]:
        """Take steps; return how many were taken and the outputs of each `every`-th.

        Parameters
        ----------
        stage : from `start`; its state is that after the last step taken
        limit : a step whose last output is not below this, or that gives what is not finite, is
            not taken: one lane stops there; of several, that one stays while the others go on
        stream : see `advance_into`

        Returns
        -------
        taken : equal to `steps` unless it stopped, or all lanes did (see `steps_of`)
        outputs : for each output (records, lanes, size), without the lanes' axis for one lane;
            records of a lane after it stopped mean nothing
        """
        sizes = recorded(self._sizes, self.state, self.unrecorded)
        out = [np.empty((self.lanes, steps // every, size)) for size in sizes]
        places = [array.ctypes.data + np.arange(self.lanes) * array.strides[0] for array in out]
        where = np.array(places, dtype=np.int64)
        taken = self.advance_into(stage, steps, every, where, limit, stream)
        kept = [array[:, : taken // every].transpose(1, 0, 2) for array in out]
        return taken, [array[:, 0] for array in kept] if self.lanes == 1 else kept

    def advance_into(
        self,
        stage: Floats,
        steps: int,
        every: int,
        places: Addresses,
        limit: float = np.inf,
        stream: Floats | None = None,
    ) -> int:
        """Take steps; return how many were taken. The caller says where records go.

        Parameters
        ----------
        places : (outputs, lanes) addresses of C-ordered (records, size) arrays of doubles; a row
            of 0 for an output that is not wanted
        stream : of a march that is ``streamed``: (steps, size, lanes), C-ordered, the values of
            the last input at each step
        """
        assert places.shape == (len(self.shapes), self.lanes)
        assert places.flags.c_contiguous
        at = None if stream is None else self.stream_at(stream, steps)
        return int(self.code(stage.ctypes.data, steps, every, places.ctypes.data, limit, at))

    def stream_at(self, stream: Floats, steps: int) -> int:
        """Return the address of a stream for so many steps (see `advance_into`)."""
        size = list(self.inputs.values())[-1]
        assert stream.shape == (steps, size, self.lanes)
        assert stream.flags.c_contiguous
        return int(stream.ctypes.data)

    def from_each(
        self,
        inputs: Floats,
        steps: int,
        limit: float,
        streams: Sequence[Floats] = (),
    ) -> list[Floats]:
        """Take the same number of steps from each of N places, one after the other, in one lane.

        Parameters
        ----------
        inputs : (N, n) all inputs but a stream, side by side
        streams : of each, if there are any (see `advance_into`)

        Returns
        -------
        list
            each output (N, size) of the last step; nan where a step was not taken
        """
        assert self.lanes == 1
        stage, (number, size) = self.start(), inputs.shape
        ends = [0, *itertools.accumulate(self._sizes)]
        found = np.empty((number, ends[-1]))
        places = found.ctypes.data + found.itemsize * (
            np.arange(number, dtype=np.int64)[:, None] * ends[-1] + np.array(ends[:-1])
        )
        at, where = stage.ctypes.data, places.ctypes.data
        for k in range(number):
            stage[:size] = inputs[k]
            stream = self.stream_at(streams[k], steps) if streams else None
            if self.code(at, steps, steps, where + k * places.strides[0], limit, stream) < steps:
                found[k] = np.nan
            elif self.unrecorded:
                end = ends[self.state]
                found[k, end - self.unrecorded : end] = self.unrecorded_of(stage)
        return [found[:, a:b] for a, b in itertools.pairwise(ends)]

    def unrecorded_of(self, stage: Floats) -> Floats:
        """Return what records leave out, of one lane, where the stage is now."""
        return stage[self._end - self.unrecorded : self._end]

    def steps_of(self, stage: Floats) -> Floats:
        """Return how many steps each lane took in the last `advance` (lanes,)."""
        return stage[-self.lanes :].copy()

    def registers_of(self, stage: Floats) -> Floats:
        """Return the registers of detours (registers, lanes), in place."""
        first = (sum(self.inputs.values()) + sum(self._sizes)) * self.lanes
        return stage[first : first + self.registers * self.lanes].reshape(-1, self.lanes)

    def state_of(self, stage: Floats) -> list[Floats]:
        """Return the state inputs of a stage, (size,) or (lanes, size) each."""
        found, place = [], 0
        for size in list(self.inputs.values())[: self.state]:
            part = stage[place : place + size * self.lanes].reshape(size, self.lanes).T
            found.append(part[0].copy() if self.lanes == 1 else part.copy())
            place += size * self.lanes
        return found


class OneStep:
    """The step of a march of one lane, one at a time, in places of its own."""

    def __init__(self, march: March) -> None:
        assert march.lanes == 1
        self._march, self._stage = march, march.start()
        ends = list(itertools.accumulate(march.inputs.values(), initial=0))
        self._inputs = [self._stage[a:b] for a, b in itertools.pairwise(ends)]
        self._out = [np.empty(prod(shape)) for shape in march.shapes]
        self._places = np.array([[out.ctypes.data] for out in self._out], dtype=np.int64)
        self._addresses = self._stage.ctypes.data, self._places.ctypes.data

    def __call__(self, *values: Floats | float, stream: Floats | None = None) -> list[Floats]:
        """Return the outputs for such inputs: views of these places; nan if they are not finite."""
        for place, value in zip(self._inputs, values, strict=False):
            place[:] = value
        at = None if stream is None else self._march.stream_at(stream, 1)
        if not self._march.code(self._addresses[0], 1, 1, self._addresses[1], np.inf, at):
            for out in self._out:
                out[:] = np.nan
        elif self._march.unrecorded:
            last = self._out[self._march.state - 1]
            last[-self._march.unrecorded :] = self._march.unrecorded_of(self._stage)
        return self._out


def compile_march(
    function: Traceable,
    inputs: Mapping[str, int],
    state: int,
    *,
    name: str = "march",
    identity: str | None = None,
    cache: Cache | None = DEFAULT_CACHE,
    lanes: int = 1,
    streamed: bool = False,
    unrecorded: int = 0,
    detour: Detour | None = None,
) -> March:
    """Compile a step: a function whose first `state` outputs become its first `state` inputs.

    Parameters
    ----------
    lanes : trajectories that advance together, or `MOST_LANES`
    streamed : the last input has other values at each step (`March.advance_into`)
    unrecorded : numbers at the end of the state that records leave out
    detour : what a lane does whose step is not to be taken; None: it stays

    Notes
    -----
    See `compile_kernel` for the other parameters.
    """
    start = time.perf_counter()
    host = machine.host()
    source = TracedSource(function, dict(inputs), calls=True)
    registers = 0 if detour is None else detour.registers

    def way_round(shapes: Sequence[tuple[int, ...]]) -> TracedSource:
        assert detour is not None
        outputs = {f"out{k}": prod(shape) for k, shape in enumerate(shapes)}
        given = {"registers": registers, **inputs, **outputs, "finite": 1}
        return TracedSource(detour.function, given, calls=True)

    address = None
    if cache is not None and identity is not None:
        address = addresses.of_request(identity, name, dict(inputs))
    elif cache is not None:
        graph = source.graph
        more = None if detour is None else addresses.of_graph(way_round(graph.shapes).graph, name)
        address = addresses.of_graph(graph, name if more is None else f"{name} {more}")

    def make() -> Artifact:
        graph = source.graph
        sizes = [prod(shape) for shape in graph.shapes]
        if sizes[:state] != list(inputs.values())[:state] or sizes[-1:] != [1]:
            raise KernelError(
                f"a step returns {state} arrays of the sizes of its first inputs, and last one "
                f"number; got {sizes} for {dict(inputs)}"
            )
        width = lanes
        if lanes == MOST_LANES:
            width = host.lanes * (2 if sum(graph.counts().values()) <= SMALL else 1)
        sine_lanes = host.lanes if width == 1 else width

        def ordered(program: Program) -> Program:
            if width == 1:
                return by_time(program, sine_lanes)
            return depth_first(inlined(program)) if program.routines else program

        program, other = ordered(source.program), None
        if detour is not None:
            other = ordered(way_round(graph.shapes).program)
        sizes = recorded(sizes, state, unrecorded)
        text, stage_bytes = march_module(
            program, state, width, sine_lanes, host.triple, streamed, sizes, other
        )
        return Artifact(
            code=machine.emit(text),
            name=name,
            inputs=dict(inputs),
            outputs=tuple(f"out{k}" for k in range(len(sizes))),
            shapes=graph.shapes,
            counts=graph.counts(),
            lanes=width,
            stage_bytes=stage_bytes,
            compile_seconds=time.perf_counter() - start,
            ways=graph.ways,
        )

    form = f"{_FORM} {lanes} {state} {streamed} {unrecorded} {registers}"
    store = Store(cache, address, host.tag)
    return store.loaded(form, lambda: March(*store.get(form, make), state, unrecorded, registers))


def recorded(sizes: Sequence[int], state: int, unrecorded: int) -> list[int]:
    """Return the sizes of the outputs in records: of the state without its last numbers."""
    return [size - (unrecorded if k == state - 1 else 0) for k, size in enumerate(sizes)]
