"""Outputs of a march that stay as they are unless a routine is called.

The step of a march may hand on numbers that it seldom changes: each is chosen between what it was
and what a routine gives that is called on a condition. Such outputs are written where the call is
made, not at each step.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from mbd_bridge.kernels.instructions.program import Program
from mbd_bridge.kernels.text.places import Slots


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
