"""From a function of arrays to the list of operations that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels.graph.expression import FUNCTION_ADVICE, Tape
from mbd_bridge.kernels.graph.graph import Graph, alive
from mbd_bridge.kernels.graph.routine import with_needed_results
from mbd_bridge.kernels.graph.symbol import Symbol, apply

Traceable = Callable[..., tuple[np.ndarray[Any, Any], ...]]
"""A function of 1-D arrays that returns a tuple of arrays, made of the operations of `ops`."""


def trace(function: Traceable, inputs: Mapping[str, int], *, calls: bool = False) -> Graph:
    """Call `function` on symbols and return the graph of what its outputs depend on.

    Parameters
    ----------
    function : takes one 1-D array an input, returns a tuple of arrays
    inputs : name and size of each argument, in order
    calls : functions that are `shared` are called; else they are written out each time
    """
    tape = Tape(calls)
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
    return with_needed_results(alive(tape.nodes, dict(inputs), flat, shapes))


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
