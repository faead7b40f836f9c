"""What a traced function computes: the list of operations that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mbd_bridge.kernels.graph.ops import ROUTINE_CALLS, moved, operands


@dataclass(frozen=True, slots=True)
class Graph:
    """What a traced function computes.

    Attributes
    ----------
    inputs : sizes of the input vectors, by name, in the order of the arguments
    nodes : the live operations (see `Tape`), each after its operands
    outputs : for each output array, flattened in C order, the position of each entry in `nodes`
    shapes : the shapes of the outputs
    """

    inputs: dict[str, int]
    nodes: tuple[tuple[Any, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, ...], ...]

    def counts(self) -> dict[str, int]:
        """Return how often each operation is done, inputs and constants left out."""
        found: dict[str, int] = {}
        for node in self.nodes:
            if node[0] in ROUTINE_CALLS:
                for op, number in node[-1].graph.counts().items():
                    found[op] = found.get(op, 0) + number
            elif node[0] not in ("input", "const", "part"):
                found[node[0]] = found.get(node[0], 0) + 1
        return found


def alive(
    tape: Sequence[tuple[Any, ...]],
    inputs: dict[str, int],
    flat: list[list[int]],
    shapes: Sequence[tuple[int, ...]],
) -> Graph:
    """Return the graph of those of a tape's nodes that some output needs, renumbered."""
    needed = [False] * len(tape)
    for indices in flat:
        for index in indices:
            needed[index] = True
    for index in range(len(tape) - 1, -1, -1):
        if needed[index]:
            for operand in operands(tape[index]):
                needed[operand] = True
    position: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []
    for index, node in enumerate(tape):
        if needed[index]:
            position[index] = len(nodes)
            nodes.append(moved(node, position))
    outputs = tuple(tuple(position[index] for index in indices) for indices in flat)
    return Graph(inputs, tuple(nodes), outputs, tuple(shapes))
