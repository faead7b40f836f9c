"""The order of instructions where one state at a time waits for itself.

In vectors of states the processor is busy, and few values alive at a time are best (`order`). A
single trajectory is a chain: each stage of a step waits for the one before, and the processor
idles through latencies, unless it finds beside the chain what does not belong to it. It looks a few
hundred instructions ahead; a stage is longer. So the order is that in which an ideal processor
would issue: by time, and among what can start at the same time what most depends on. Sines whose
angles are known at about the same time go through one call in the lanes of a vector.
"""

from __future__ import annotations

import heapq

from mbd_bridge.kernels.graph.ops import OPERATIONS, SINES
from mbd_bridge.kernels.instruction import Instruction
from mbd_bridge.kernels.instructions.order import reordered
from mbd_bridge.kernels.instructions.program import Program

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
