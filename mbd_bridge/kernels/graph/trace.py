"""From a function of arrays to the list of operations that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd_bridge.errors import KernelError
from mbd_bridge.kernels.graph.expression import FUNCTION_ADVICE, Tape
from mbd_bridge.kernels.graph.ops import moved, operands
from mbd_bridge.kernels.graph.symbol import Symbol, apply

Traceable = Callable[..., tuple[np.ndarray[Any, Any], ...]]
"""A function of 1-D arrays that returns a tuple of arrays, made of the operations of `ops`."""


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
        """Return how often each operation occurs, inputs and constants left out."""
        found: dict[str, int] = {}
        for node in self.nodes:
            if node[0] not in ("input", "const"):
                found[node[0]] = found.get(node[0], 0) + 1
        return found


def trace(function: Traceable, inputs: Mapping[str, int]) -> Graph:
    """Call `function` on symbols and return the graph of what its outputs depend on.

    Parameters
    ----------
    function : takes one 1-D array an input, returns a tuple of arrays
    inputs : name and size of each argument, in order
    """
    tape = Tape()
    arguments = []
    for name, size in inputs.items():
        vector = np.empty(size, dtype=object)
        for k in range(size):
            vector[k] = tape.put("input", name, k)
        arguments.append(vector)
    try:
        results = function(*arguments)
    except (TypeError, AttributeError) as problem:
        if isinstance(problem, KernelError):
            raise
        advice = "" if FUNCTION_ADVICE in str(problem) else f"; {FUNCTION_ADVICE}"
        raise KernelError(f"{_name(function)} cannot be traced: {problem}{advice}") from problem
    if not isinstance(results, tuple):
        raise KernelError(
            f"{_name(function)}: a traced function returns a tuple of arrays, "
            f"got {type(results).__name__}"
        )
    flat: list[list[int]] = []
    shapes = []
    for result in results:
        array = np.asarray(result)
        shapes.append(array.shape)
        flat.append([_index(tape, value) for value in array.flat])
    return _alive(tape, dict(inputs), flat, shapes)


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", function))


def _index(tape: Tape, value: Any) -> int:
    """Return the position of an entry of a result."""
    if isinstance(value, Symbol):
        if value.tape is not tape:
            raise KernelError("a result contains a symbol of another trace; do not keep symbols")
        if value.conditional:
            value = apply("where", value, 1.0, 0.0)
        return int(value.index)
    if not isinstance(value, (float, int, np.floating, np.integer, np.bool_)):
        raise KernelError(f"a result contains {value!s:.60}; expected numbers and symbols")
    return tape.const(float(value)).index


def _alive(
    tape: Tape, inputs: dict[str, int], flat: list[list[int]], shapes: list[tuple[int, ...]]
) -> Graph:
    """Return the graph of the nodes that some output needs, renumbered."""
    needed = [False] * len(tape.nodes)
    for indices in flat:
        for index in indices:
            needed[index] = True
    for index in range(len(tape.nodes) - 1, -1, -1):
        if needed[index]:
            for operand in operands(tape.nodes[index]):
                needed[operand] = True
    position: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []
    for index, node in enumerate(tape.nodes):
        if needed[index]:
            position[index] = len(nodes)
            nodes.append(moved(node, position))
    outputs = tuple(tuple(position[index] for index in indices) for indices in flat)
    return Graph(inputs, tuple(nodes), outputs, tuple(shapes))
