"""A program with routines, written out: the same digits without calls.

In vectors of states calls cost some five to twenty per cent, since what a routine gives goes
through memory; a single state gains by them. So one trajectory is computed with calls and many
without, and both to the same last bit, because what fixes the digits is decided routine by routine
(`lower`).
"""

from __future__ import annotations

from dataclasses import replace

from mbd_bridge.kernels.instruction import Instruction
from mbd_bridge.kernels.instructions.program import Program


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
