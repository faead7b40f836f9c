"""Where values are that are not in registers: in the stage, vectors for a group of states.

First the inputs and the outputs. Then what passes between the parts of a long function; what its
routines are given; and what they give.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

from mbd_bridge.kernels.instructions import Program
from mbd_bridge.kernels.ops import ROUTINE_CALLS

WHOLE_LENGTH, PART_LENGTH = 10_000, 150
"""Instructions from which on a function is cut into parts, and of a part. LLVM shares registers out
among all values of a function, in more than proportional time, and keeps in registers what had
better wait in memory. Measured, in parts by in one piece (of two processors, eight states in a
vector): M of a chain of 120 joints (127,000 operations) compiles in 0.6 of the time and runs in
0.8, the step of forty four-bars in 0.65 and 0.8, derivatives of a chain of 16 in 0.8 and 0.9;
forward dynamics of a chain of 30 (7,000) in 0.95 and 1.1."""

IN_MEMORY = ("load", "const", "call", "call_if", "part")
"""Operations whose results can be had in any part of a function."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Where the inputs and outputs of one group of states are in the stage, counted in vectors.

    Attributes
    ----------
    inputs, outputs : first slot of each array
    first_free : slot from which on there is room for other values
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    first_free: int


@dataclass(frozen=True, slots=True)
class Crossing:
    """How a function and its parts find their values.

    Attributes
    ----------
    inputs : slot of each component of its inputs
    parts : first and last instruction of each part
    slot : for each value that a later part needs, where it waits
    routines : of each program that this one calls, by its `id`
    results : for each call the first slot of what it gives
    end : slot after the last one
    """

    inputs: list[int]
    parts: list[tuple[int, int]]
    slot: dict[int, int]
    routines: dict[int, TextRoutine]
    results: dict[int, int]
    end: int


@dataclass(frozen=True, slots=True)
class TextRoutine:
    """A function of the module that takes its arguments from the stage and writes to an address.

    Attributes
    ----------
    number : of the function ``@NAME_routine...``
    crossing : how it finds its values
    passed : for each call the operands that must be written to a slot before
    """

    number: int
    program: Program
    crossing: Crossing
    passed: dict[int, list[tuple[int, int]]]


def cross(program: Program, slots: Slots) -> Crossing:
    """Cut a program into parts and give each value that must be in memory a slot."""
    inputs = [
        first + k
        for first, size in zip(slots.inputs, program.inputs.values(), strict=True)
        for k in range(size)
    ]
    return _crossing(program, inputs, slots.first_free)


def _crossing(program: Program, inputs: list[int], first_free: int) -> Crossing:
    code = program.instructions
    number = round(len(code) / PART_LENGTH) if len(code) > WHOLE_LENGTH else 1
    cuts = [len(code) * k // number for k in range(number + 1)]
    parts = list(itertools.pairwise(cuts))
    slot, end = _waiting(program, parts, first_free)
    results, end = _results(program, end)
    routines = {}
    for number, called in enumerate(program.routines):
        one = _routine(number, called, program, inputs, results, end)
        routines[id(called)] = one
        end = one.crossing.end
    return Crossing(inputs, parts, slot, routines, results, end)


def _waiting(
    program: Program, parts: list[tuple[int, int]], end: int
) -> tuple[dict[int, int], int]:
    """Return a slot for each value that crosses a cut, used again later, and the slot after all."""
    code = program.instructions
    part_of = [k for k, (first, last) in enumerate(parts) for _ in range(first, last)]
    last_part: dict[int, int] = {}
    for index, one in enumerate(code):
        for k in one.operands:
            if part_of[k] != part_of[index] and code[k].op not in IN_MEMORY:
                last_part[k] = part_of[index]
    slot: dict[int, int] = {}
    free: list[int] = []
    until: list[list[int]] = [[] for _ in parts]
    for k, (first, last) in enumerate(parts):
        for index in range(first, last):
            if index in last_part:
                if not free:
                    free.append(end)
                    end += 1
                slot[index] = free.pop()
                until[last_part[index]].append(slot[index])
        free += until[k]
    return slot, end


def _results(program: Program, end: int) -> tuple[dict[int, int], int]:
    """Return the first slot of what each call gives, and the slot after the last.

    The next call of the same routine overwrites what nobody asks of the one before.
    """
    asked: dict[int, int] = {}
    for one in program.instructions:
        if one.op == "part":
            call = one.operands[0]
            asked[call] = max(asked.get(call, 0), one.data + 1)
    results = {}
    for routine in program.routines:
        beyond, (outputs,) = 0, routine.outputs
        for index, one in enumerate(program.instructions):
            if one.op in ROUTINE_CALLS and one.data is routine:
                results[index] = end
                beyond = max(beyond, len(outputs)) - asked[index]
                end += asked[index]
        end += beyond
    return results, end


def _routine(
    number: int,
    routine: Program,
    program: Program,
    inputs: list[int],
    results: dict[int, int],
    end: int,
) -> TextRoutine:
    """Return how a program calls a routine.

    An argument that is the same for all calls and in memory already is read where it is; others
    have a slot, which is written before a call unless the value is there from the call before.
    """
    code = program.instructions
    calls = [k for k, one in enumerate(code) if one.op in ROUTINE_CALLS and one.data is routine]
    slots: list[int] = []
    passed: dict[int, list[tuple[int, int]]] = {call: [] for call in calls}
    for operands in zip(*(code[call].arguments for call in calls), strict=True):
        one = code[operands[0]]
        if len(set(operands)) == 1 and one.op == "load":
            slots.append(inputs[one.data])
        elif len(set(operands)) == 1 and one.op == "part":
            slots.append(results[one.operands[0]] + one.data)
        else:
            before = -1
            for call, operand in zip(calls, operands, strict=True):
                if operand != before:
                    passed[call].append((operand, end))
                before = operand
            slots.append(end)
            end += 1
    return TextRoutine(number, routine, _crossing(routine, slots, end), passed)


# Outputs of a march that stay as they are unless a routine is called.
#
# The step of a march may hand on numbers that it seldom changes: each is chosen between what it
# was and what a routine gives that is called on a condition. Such outputs are written where the
# call is made, not at each step.


class HeldOutput(NamedTuple):
    """An output that stays as it is.

    Attributes
    ----------
    choice : the instruction that chooses it
    entry : of what the call gives
    component : of the inputs, which it becomes in the next step
    slot : where the output is
    """

    choice: int
    entry: int
    component: int
    slot: int


def held_outputs(program: Program, slots: Slots, state: int) -> dict[int, list[HeldOutput]]:
    """Return such outputs by the instruction of the call.

    Parameters
    ----------
    state : number of outputs that are fed back to the inputs at the same places
    """
    code = program.instructions
    fed = list(itertools.chain.from_iterable(program.outputs[:state]))
    everywhere = list(itertools.chain.from_iterable(program.outputs))
    operands = {k for one in code for k in one.operands}
    found: dict[int, list[HeldOutput]] = {}
    for component, index in enumerate(fed):
        one = code[index]
        if one.op != "where" or index in operands or everywhere.count(index) > 1:
            continue
        condition, new, old = one.operands
        if code[new].op != "part" or code[old].op != "load" or code[old].data != component:
            continue
        call = code[new].operands[0]
        if code[call].op == "call_if" and code[call].operands[0] == condition:
            held = HeldOutput(index, code[new].data, component, slots.outputs[0] + component)
            found.setdefault(call, []).append(held)
    return found
