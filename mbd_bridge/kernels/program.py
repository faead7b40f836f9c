"""From a graph to the list of machine operations: fused products, shared sine and cosine.

Everything that fixes the *digits* of a result is decided here, once, for machine code and C alike:
which products are fused with which sums, which divisions share a reciprocal. The emitters behind
translate one instruction at a time and add no arithmetic of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mbd_bridge.kernels.reciprocals import share_reciprocals
from mbd_bridge.kernels.trace import Graph


class Instruction(NamedTuple):
    """One operation on values that are named by their position in `Program.instructions`.

    Attributes
    ----------
    op : ``load`` (of the input component `operands[0]`), ``const``, ``neg``, ``add``, ``sub``,
        ``mul``, ``div``, ``sqrt``, ``sin``, ``cos``, or one of the fused
        ``fma`` = a b + c, ``fms`` = a b - c, ``fnma`` = c - a b
    operands : positions of the operands; for ``load`` the component, counted over all inputs
    value : the constant of a ``const``
    """

    op: str
    operands: tuple[int, ...]
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Program:
    """What a kernel does for one state.

    Attributes
    ----------
    inputs : sizes of the input vectors by name
    shapes : shapes of the outputs
    instructions : each one after its operands
    outputs : for each output the instruction of each entry, in C order
    """

    inputs: dict[str, int]
    shapes: tuple[tuple[int, ...], ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[tuple[int, ...], ...]


def lower(graph: Graph) -> Program:
    """Return the program of a graph, with each product fused into the sum that alone uses it."""
    graph = share_reciprocals(graph)
    uses = [0] * len(graph.nodes)
    for node in graph.nodes:
        if node[0] not in ("input", "const"):
            for operand in node[1:]:
                uses[operand] += 1
    for indices in graph.outputs:
        for index in indices:
            uses[index] += 1
    starts: dict[str, int] = {}
    total = 0
    for name, size in graph.inputs.items():
        starts[name] = total
        total += size

    instructions: list[Instruction] = []
    place = [-1] * len(graph.nodes)

    def product(index: int) -> bool:
        return graph.nodes[index][0] == "mul" and uses[index] == 1

    # A product that disappears into a sum is not emitted at all: find those first.
    swallowed: dict[int, int] = {}
    for index, node in enumerate(graph.nodes):
        if node[0] in ("add", "sub"):
            for operand in (node[2], node[1]):
                if product(operand):
                    swallowed[index] = operand
                    break
    gone = set(swallowed.values())
    for index, node in enumerate(graph.nodes):
        if index in gone:
            continue
        op = node[0]
        if op == "input":
            made = Instruction("load", (starts[node[1]] + node[2],))
        elif op == "const":
            made = Instruction("const", (), float(node[1]))
        elif index in swallowed:
            factor = swallowed[index]
            a, b = (place[k] for k in graph.nodes[factor][1:])
            if op == "add":
                other = node[1] if node[2] == factor else node[2]
                made = Instruction("fma", (a, b, place[other]))
            elif node[2] == factor:
                made = Instruction("fnma", (a, b, place[node[1]]))
            else:
                made = Instruction("fms", (a, b, place[node[2]]))
        else:
            made = Instruction(op, tuple(place[k] for k in node[1:]))
        place[index] = len(instructions)
        instructions.append(made)
    outputs = tuple(tuple(place[k] for k in indices) for indices in graph.outputs)
    return Program(dict(graph.inputs), graph.shapes, tuple(instructions), outputs)
