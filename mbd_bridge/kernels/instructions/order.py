"""The order of a program's instructions, which decides how many values are alive at a time.

The order of tracing goes through a mechanism stage by stage and keeps all of a stage's results
waiting for the next one: hundreds of values for 32 registers. Depth first from the outputs forms
a value just before it is needed. Measured on inverse dynamics of 32 degrees of freedom: 154 values
alive instead of 230, and code that is 15 % shorter.
"""

from __future__ import annotations

from dataclasses import replace

from mbd_bridge.kernels.graph.ops import CALLS
from mbd_bridge.kernels.instruction import Instruction
from mbd_bridge.kernels.instructions.program import Program


def depth_first(program: Program) -> Program:
    """Return the program reordered: calls on inputs, then each output with what it still needs.

    A sine or an exponential is a call, around which every register is saved: those that can be had
    at once come first, while nothing is alive yet.
    """
    program = program.with_routines(depth_first)
    code = program.instructions
    order: list[int] = []
    seen = [False] * len(code)

    def visit(root: int) -> None:
        stack = [root]
        while stack:
            index = stack.pop()
            if index < 0:
                order.append(~index)
                continue
            if seen[index]:
                continue
            seen[index] = True
            stack.append(~index)
            stack += [k for k in code[index].operands if not seen[k]]

    for index, instruction in enumerate(code):
        if instruction.op in CALLS and all(code[k].op == "load" for k in instruction.operands):
            visit(index)
    for indices in program.outputs:
        for index in indices:
            visit(index)
    return reordered(program, order)


def reordered(program: Program, order: list[int]) -> Program:
    """Return the program with its instructions in another order, each after its operands."""
    code = program.instructions
    place = [0] * len(code)
    for new, old in enumerate(order):
        place[old] = new
    at = place.__getitem__
    instructions = tuple(
        [
            Instruction(one.op, tuple(map(at, one.operands)), one.data)
            for one in map(code.__getitem__, order)
        ]
    )
    outputs = tuple(tuple(place[k] for k in indices) for indices in program.outputs)
    return replace(program, instructions=instructions, outputs=outputs)
