"""From a function of arrays to the list of operations that it needs."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels.expression import FUNCTION_ADVICE, Symbol, Tape, apply, operate
from mbd_bridge.kernels.ops import ROUTINE_CALLS, moved, operands

# What a traced function computes: the list of operations that it needs.


@dataclass(frozen=True, slots=True)
class Graph:
    """What a traced function computes.

    Attributes
    ----------
    inputs : sizes of the input vectors, by name, in the order of the arguments
    nodes : the live operations (see `Tape`), each after its operands
    outputs : for each output array, flattened in C order, the position of each entry in `nodes`
    shapes : the shapes of the outputs
    ways : operations that each of several ways would add, where the fewest were taken
    """

    inputs: dict[str, int]
    nodes: tuple[tuple[Any, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    ways: dict[str, int] = field(default_factory=dict)

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


# Functions that are traced once and called several times, where the trace allows it.
#
# A Runge-Kutta step asks four times for the same accelerations. Written out, that is four times
# the code to trace, to order and to compile, and to fetch at each step. `shared` makes one routine
# of such a function: a graph of its own, and for each call a node. What of its result does not
# depend on the arguments (zeros, structure) stays what it is, so that nothing is lost to who
# calls.

WORTH = 8_000
"""Operations from which on a function is called, not written out. Measured on a Runge-Kutta step of
one trajectory: slopes of 5,000 operations (twenty four-bars) take a tenth longer by calls, those of
10,000 (forty; a Stewart platform), which written out outgrow the caches, 5 to 8 % less."""


class Routine:
    """The graph of a function of one vector, which gives one vector.

    Routines are told apart by what they are, their addresses by what they compute.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __repr__(self) -> str:
        content = repr((self.graph.nodes, self.graph.outputs))
        return f"Routine({hashlib.sha256(content.encode()).hexdigest()})"

    def only(self, wanted: list[int]) -> Routine:
        """Return the routine that gives some of the results."""
        (outputs,) = self.graph.outputs
        chosen = [[outputs[k] for k in wanted]]
        return Routine(alive(self.graph.nodes, self.graph.inputs, chosen, [(len(wanted),)]))


class _Traced:
    """A function traced for arguments with symbols in some places, ready to be called."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        tape = Tape()
        numbers = itertools.count()
        own = _changed(arguments, lambda _: tape.put("input", "x", next(numbers)))
        self.result = function(*own)
        self.places: dict[int, int] = {}
        for symbol in _symbols(self.result):
            if symbol.node[0] not in ("input", "const"):
                self.places.setdefault(symbol.index, len(self.places))
        graph = alive(tape.nodes, {"x": next(numbers)}, [list(self.places)], [(len(self.places),)])
        self.used = sorted(node[2] for node in graph.nodes if node[0] == "input")
        self.routine = Routine(_with_inputs(graph, self.used))

    def call(self, tape: Tape, given: list[Symbol], condition: Symbol | None = None) -> Any:
        """Return the result for such symbols; where a condition does not hold, it is arbitrary."""
        arguments = [given[k].index for k in self.used]
        if condition is None:
            call = tape.put("call", *arguments, self.routine).index
        else:
            call = tape.put("call_if", condition.index, *arguments, self.routine).index

        def here(symbol: Symbol) -> Any:
            if symbol.node[0] == "input":
                return given[symbol.node[2]]
            if symbol.node[0] == "const":
                return symbol.node[1]
            return tape.put("part", call, self.places[symbol.index])

        return _changed(self.result, here)


def shared(function: Callable[..., Any], part: float = 1.0) -> Callable[..., Any]:
    """Return the same function, which is traced once for all its calls if it is long.

    Parameters
    ----------
    function : takes and gives scalars and arrays, also in tuples and lists. It must not keep
        symbols of the trace around it: all that varies are arguments.
    part : of `WORTH`, from which on it is long

    Returns
    -------
    The function, which may be told a ``condition``: where it does not hold the result is arbitrary.
    """
    known: dict[tuple[Tape, Any], _Traced] = {}

    def call(*arguments: Any, condition: Symbol | None = None) -> Any:
        given = list(_symbols(arguments))
        if not given or not given[0].tape.calls:
            return function(*arguments)
        tape = given[0].tape
        key = tape, _pattern(arguments)
        if key not in known:
            known[key] = _Traced(function, arguments)
        if len(known[key].routine.graph.nodes) < part * tape.calls * WORTH:
            return function(*arguments)
        return known[key].call(tape, given, condition)

    return call


class Conditional:
    """A function whose result is needed in few states only: a routine that is called for these.

    In the lanes of vectors it is called where one of them needs it. Without routines (floats, or a
    trace without calls) it is evaluated in any case; the digits are the same.

    Attributes
    ----------
    result : arrays whose structure (zeros, other constants) is that of the result
    """

    def __init__(self, function: Callable[..., tuple[Any, ...]], *arguments: Any) -> None:
        self._given = list(_symbols(arguments))
        self._traced = None
        if self._given and self._given[0].tape.calls:
            self._traced = _Traced(function, arguments)
            self.result: tuple[Any, ...] = self._traced.result
        else:
            self.result = function(*arguments)

    def where(self, condition: Any, otherwise: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return its arrays where a condition holds, elsewhere others of the same shapes."""
        result = self.result
        if self._traced is not None:
            result = self._traced.call(self._given[0].tape, self._given, condition)
        chosen = np.frompyfunc(lambda a, b: operate("where", condition, a, b), 2, 1)
        return tuple(chosen(one, other) for one, other in zip(result, otherwise, strict=True))


def with_needed_results(graph: Graph) -> Graph:
    """Return the graph with routines that compute only what some call of them is asked for."""
    uses: dict[Routine, Counter[int]] = {}
    for node in graph.nodes:
        if node[0] == "part":
            uses.setdefault(graph.nodes[node[1]][-1], Counter())[node[2]] += 1
    if not uses:
        return graph
    # What most calls are asked for comes first: the rest may be overwritten (see `calls.py`).
    wanted = {one: [k for k, _ in used.most_common()] for one, used in uses.items()}
    places = {one: {k: n for n, k in enumerate(order)} for one, order in wanted.items()}
    leaner = {one: one.only(order) for one, order in wanted.items()}
    nodes: list[tuple[Any, ...]] = []
    for node in graph.nodes:
        if node[0] in ROUTINE_CALLS:
            node = (*node[:-1], leaner[node[-1]])
        elif node[0] == "part":
            node = ("part", node[1], places[graph.nodes[node[1]][-1]][node[2]])
        nodes.append(node)
    return Graph(graph.inputs, tuple(nodes), graph.outputs, graph.shapes)


def _with_inputs(graph: Graph, used: list[int]) -> Graph:
    """Return the graph that takes only the inputs that it uses."""
    place = {k: n for n, k in enumerate(used)}
    nodes = tuple(
        ("input", "x", place[node[2]]) if node[0] == "input" else node for node in graph.nodes
    )
    return Graph({"x": len(used)}, nodes, graph.outputs, graph.shapes)


def _symbols(value: Any) -> Iterator[Symbol]:
    """Go through the symbols of arguments or of a result."""
    if isinstance(value, Symbol):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _symbols(part)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        for part in value.flat:
            yield from _symbols(part)


def _changed(value: Any, here: Callable[[Symbol], Any]) -> Any:
    """Return arguments or a result with other values in place of the symbols."""
    if isinstance(value, Symbol):
        return here(value)
    if isinstance(value, tuple):
        parts = [_changed(part, here) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_changed(part, here) for part in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        array = np.empty(value.shape, dtype=object)
        for place, part in enumerate(value.flat):
            array.flat[place] = _changed(part, here)
        return array
    return value


def _pattern(value: Any) -> Any:
    """Return what is the same for all calls of a routine: all but the symbols."""
    if isinstance(value, Symbol):
        return None
    if isinstance(value, (tuple, list)):
        return tuple(_pattern(part) for part in value)
    if isinstance(value, np.ndarray):
        return value.shape, tuple(_pattern(part) for part in value.flat)
    return value


Traceable = Callable[..., tuple[np.ndarray[Any, Any], ...]]
"""A function of 1-D arrays that returns a tuple of arrays, made of the operations of `ops`."""


def trace(function: Traceable, inputs: Mapping[str, int], *, calls: float = False) -> Graph:
    """Call `function` on symbols and return the graph of what its outputs depend on.

    Parameters
    ----------
    function : takes one 1-D array an input, returns a tuple of arrays
    inputs : name and size of each argument, in order
    calls : functions that are `shared` are called, from this part of `WORTH` on (True: all of it);
        else they are written out each time
    """
    tape = Tape(calls)
    arguments = []
    for name, size in inputs.items():
        arguments.append(tape.vector(name, size))
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
    return replace(
        with_needed_results(alive(tape.nodes, dict(inputs), flat, shapes)), ways=tape.ways
    )


def fewest_operations(
    known: Sequence[Any], function: Callable[[Any], tuple[Any, ...]], ways: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return function(way) of the way that adds the fewest operations to what is known.

    How many each would add is in the graph (`Graph.ways`).

    Parameters
    ----------
    known : arrays that are computed in any case
    ways : by name; of several that tie, or of floats, the first one counts
    """
    results = [function(way) for way in ways.values()]
    roots = [list(_roots(known)), *([*_roots(known), *_roots(result)] for result in results)]
    before, *after = (_operations(each) for each in roots)
    added = [each - before for each in after]
    for root in roots[-1][:1]:
        root.tape.ways |= zip(ways, added, strict=True)
    return results[added.index(min(added))]


def _roots(arrays: Sequence[Any]) -> Iterator[Symbol]:
    for array in arrays:
        yield from (entry for entry in np.ravel(array) if isinstance(entry, Symbol))


def _operations(roots: Sequence[Symbol]) -> int:
    """Return how many operations symbols of one tape need, in routines what they need of these."""
    if not roots:
        return 0
    graph = alive(roots[0].tape.nodes, {}, [[root.index for root in roots]], [(len(roots),)])
    return sum(with_needed_results(graph).counts().values())


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
