"""Derivatives of traced functions: graphs of partial derivatives made from graphs.

*Forward*: along with each value its rates along directions are carried, by the partial derivatives
that `ops` gives for each operation. Directions are not the single inputs but groups of them that no
output depends on twice (`Colouring`): the entries of a Jacobian are then those of its columns, put
together. What is structurally zero is never formed.

*Reverse*: from an output backwards to all inputs, for gradients of few outputs by many inputs.

An operation that chooses (`where`, `minimum`, ...) passes on the derivative of what it takes, and
nothing of what it does not: infinite slopes there do no harm. At a kink it is that of one side.

Backward, a routine that is called (`tracing.shared`) has another one that brings weights of its
results back to its arguments, and forms its values again: more operations, in much less code.
Forward, where the lanes of a vector are directions, routines are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mbd_bridge.base.errors import KernelError, unknown_name
from mbd_bridge.kernels.expression import Symbol, operate
from mbd_bridge.kernels.ops import CONDITIONS, OPERATIONS, ROUTINE_CALLS, data, operands
from mbd_bridge.kernels.tracing import Graph, Routine, Traceable, shared, trace

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Colouring:
    """Which inputs share a direction.

    Attributes
    ----------
    columns : the inputs (name, component) that are derived by
    pattern : for each output entry the columns that it may depend on
    colour : of each column; columns of one colour meet in no output
    number : of colours
    """

    columns: tuple[tuple[str, int], ...]
    pattern: tuple[frozenset[int], ...]
    colour: tuple[int, ...]
    number: int


def colouring(graph: Graph, by: Sequence[str]) -> Colouring:
    """Return the pattern of a Jacobian, and colours of its columns, those that meet most first."""
    _check_inputs(graph, by)
    columns = tuple((name, k) for name in by for k in range(graph.inputs[name]))
    number = {column: k for k, column in enumerate(columns)}
    bits: list[int] = []
    for node in graph.nodes:
        if node[0] == "input":
            place = number.get((node[1], node[2]))
            bits.append(0 if place is None else 1 << place)
            continue
        depends = 0
        if not _is_flat(node[0]):
            for k in operands(node):
                depends |= bits[k]
        bits.append(depends)
    rows = [bits[index] for indices in graph.outputs for index in indices]
    meets = [0] * len(columns)
    pattern = []
    for row in rows:
        members = [k for k in range(len(columns)) if row >> k & 1]
        pattern.append(frozenset(members))
        for k in members:
            meets[k] |= row
    colour = [-1] * len(columns)
    for k in sorted(range(len(columns)), key=lambda k: -meets[k].bit_count()):
        taken = {colour[j] for j in range(len(columns)) if meets[k] >> j & 1}
        colour[k] = next(c for c in range(len(columns) + 1) if c not in taken)
    return Colouring(columns, tuple(pattern), tuple(colour), max(colour, default=-1) + 1)


def _check_inputs(graph: Graph, names: Iterable[str]) -> None:
    for name in names:
        if name not in graph.inputs:
            raise KernelError(unknown_name("input", name, list(graph.inputs)))


def _is_flat(op: str) -> bool:
    """Return whether the result of an operation never changes by little."""
    return op == "sign" or op in CONDITIONS


def jacobian(
    function: Traceable,
    inputs: Mapping[str, int],
    by: Sequence[str] | None = None,
    *,
    values: bool = True,
) -> Traceable:
    """Return a traceable function of the same inputs: the outputs, then their Jacobians.

    Parameters
    ----------
    function : to be derived
    inputs : name and size of each argument
    by : inputs to derive by; None: all
    values : with the outputs in front; else the Jacobians alone

    Returns
    -------
    traceable function
        its results are the outputs, and for each output (of shape s) an array s + (n,) of its
        derivatives by the n components of the inputs in `by`, side by side
    """
    graph = trace(function, inputs)
    colours = colouring(graph, tuple(inputs) if by is None else by)

    seeds = {
        column: {colour: 1.0}
        for column, colour in zip(colours.columns, colours.colour, strict=True)
    }

    def derived(*arguments: Array) -> tuple[Array, ...]:
        formed, rates = _forward(graph, seeds, arguments)
        results = _arrays(graph, formed) if values else []
        row = 0
        for indices, shape in zip(graph.outputs, graph.shapes, strict=True):
            block = np.zeros((len(indices), len(colours.columns)), dtype=object)
            for k, index in enumerate(indices):
                for j in colours.pattern[row]:
                    block[k, j] = rates[index].get(colours.colour[j], 0.0)
                row += 1
            results.append(_plain(block.reshape(*shape, len(colours.columns))))
        return tuple(results)

    return derived


def gradient(
    function: Traceable, inputs: Mapping[str, int], by: Sequence[str] | None = None
) -> Traceable:
    """Return a traceable function: the only output, a scalar, and its gradients, one an input.

    Parameters
    ----------
    function : returns one array with one entry
    inputs, by : as for `jacobian`
    """
    names = tuple(inputs) if by is None else tuple(by)

    def derived(*arguments: Array) -> tuple[Array, ...]:
        given = dict(zip(inputs, arguments, strict=True))
        results, slopes = pulled_back(function, given, [np.ones(1)], names)
        return (*results, *slopes.values())

    graph = trace(function, inputs)
    if [len(indices) for indices in graph.outputs] != [1]:
        raise KernelError("a gradient is of one output with one entry; for more take `jacobian`")
    _check_inputs(graph, names)
    return derived


def rates_along(
    function: Traceable,
    arguments: Mapping[str, Array],
    rates: Mapping[str, Array],
    *,
    backward: bool = False,
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Return the results of a traceable function and their rates along K directions.

    The chain rule: what moves the arguments may be symbols that were derived before.

    Parameters
    ----------
    arguments : (n,) floats or symbols, by name, in the order of the function's own
    rates : (n, K) of the arguments that move, by name
    backward : form the derivatives by the arguments, from each result backwards: fewer operations
        where results are few

    Returns
    -------
    The results, and of each (of shape s) an array s + (K,) of its rates.
    """
    graph = trace(function, {name: len(values) for name, values in arguments.items()})
    _check_inputs(graph, rates)
    (number,) = {array.shape[1] for array in rates.values()}
    seeds = {
        (name, k): {c: x for c, x in enumerate(map(_number, row)) if isinstance(x, Symbol) or x}
        for name, array in rates.items()
        for k, row in enumerate(array)
    }
    numbers = [[_number(x) for x in values] for values in arguments.values()]
    if backward:
        formed = _values(graph, numbers)
        places = sorted({index for indices in graph.outputs for index in indices})
        moved = _rows(graph, seeds, formed, places)
    else:
        formed, rates_of_nodes = _forward(graph, seeds, numbers)
        moved = dict(enumerate(rates_of_nodes))
    slopes = []
    for indices, shape in zip(graph.outputs, graph.shapes, strict=True):
        block = np.zeros((len(indices), number), dtype=object)
        for k, index in enumerate(indices):
            for c, rate in moved[index].items():
                block[k, c] = rate
        slopes.append(_plain(block.reshape(*shape, number)))
    return tuple(_arrays(graph, formed)), tuple(slopes)


def _rows(
    graph: Graph,
    seeds: Mapping[tuple[str, int], dict[int, Any]],
    formed: list[Any],
    places: Sequence[int],
) -> dict[int, dict[int, Any]]:
    """Return the rates of some nodes along the directions, formed backwards."""
    names = {name for name, _ in seeds}
    found = _reverse(graph, names, formed, {index: {index: 1.0} for index in places})
    rows: dict[int, dict[int, Any]] = {index: {} for index in places}
    for column, bars in found.items():
        for c, rate in seeds.get(column, {}).items():
            for index, bar in bars.items():
                rows[index][c] = rows[index].get(c, 0.0) + bar * rate
    return rows


def pulled_back(
    function: Traceable, arguments: Mapping[str, Array], weights: Sequence[Array], by: Sequence[str]
) -> tuple[tuple[Array, ...], dict[str, Array]]:
    """Return the results of a traceable function, and the gradient of their weighted sum.

    The chain rule backward.

    Parameters
    ----------
    arguments : (n,) floats or symbols, by name, in the order of the function's own
    weights : of the results, of their shapes, floats or symbols
    by : names of arguments

    Returns
    -------
    The results, and the gradient (n,) by each of these arguments.
    """
    sizes = {name: len(values) for name, values in arguments.items()}
    graph = trace(function, sizes, calls=_calls_routines(arguments.values()))
    _check_inputs(graph, by)
    formed = _values(graph, [[_number(x) for x in values] for values in arguments.values()])
    seeds: dict[int, dict[int, Any]] = {}
    for indices, array in zip(graph.outputs, weights, strict=True):
        for index, weight in zip(indices, map(_number, np.ravel(array)), strict=True):
            if isinstance(weight, Symbol) or weight:
                seeds[index] = {0: seeds.get(index, {0: 0.0})[0] + weight}
    adjoints = _reverse(graph, set(by), formed, seeds)
    gradients = _adjoint_arrays(graph, by, adjoints)
    return tuple(_arrays(graph, formed)), dict(zip(by, gradients, strict=True))


CALLED = 0.125
"""Part of `tracing.WORTH` from which on a routine derived backward is called: the 1,000 operations
of an iiwa's slopes then cost as much a step as written out, and a third to compile."""


def _calls_routines(arguments: Iterable[Array]) -> float:
    """Return from which part of `WORTH` on routines are called, 0 in a trace that calls none."""
    symbols = (x for array in arguments for x in array if isinstance(x, Symbol))
    return CALLED if any(symbol.tape.calls for symbol in symbols) else 0.0


def _routines(function: Callable[..., list[Any]]) -> Callable[[Routine], Callable[..., list[Any]]]:
    """Return what makes of a routine another one, for all calls of the first.

    Parameters
    ----------
    function : of the routine's graph, and of lists of values and weights
    """

    @cache
    def made(routine: Routine) -> Callable[..., list[Any]]:
        return shared(lambda *arguments: function(routine.graph, *arguments), 0.0)

    return made


def _results(graph: Graph, x: list[Any]) -> list[Any]:
    """Return the results of a routine."""
    formed = _values(graph, [x])
    return [formed[k] for k in graph.outputs[0]]


def _weights(graph: Graph, x: list[Any], w: list[Any], moving: list[bool], chosen: bool) -> Any:
    """Return the weights of a routine's arguments, those that move, for weights of its results."""
    seeds: dict[int, dict[int, Any]] = {}
    for k, one in zip(graph.outputs[0], w, strict=True):
        if isinstance(one, Symbol) or one:
            seeds[k] = {0: seeds.get(k, {0: 0.0})[0] + one}
    found = _reverse(graph, {"x"}, _values(graph, [x]), seeds, set(seeds) if chosen else set())
    return [found.get(("x", k), {}).get(0, 0.0) if own else 0.0 for k, own in enumerate(moving)]


def _called(
    node: tuple[Any, ...], formed: list[Any]
) -> tuple[Routine, tuple[int, ...], dict[str, Any]]:
    """Return the routine of a call, the places of its arguments, and its condition if it has one.

    One that is known to hold is none; what is known not to hold may give anything.
    """
    places = operands(node)
    if node[0] == "call":
        return node[-1], places, {}
    condition = formed[places[0]]
    return node[-1], places[1:], {"condition": condition} if isinstance(condition, Symbol) else {}


def _number(x: Any) -> Any:
    """Return a symbol as it is, a number as a float."""
    return x if isinstance(x, Symbol) else float(x)


def _values(graph: Graph, arguments: Sequence[Sequence[Any] | Array]) -> list[Any]:
    """Return the value of every node for arguments of floats or symbols; of a call its results."""
    given, calls = dict(zip(graph.inputs, arguments, strict=True)), _routines(_results)
    formed: list[Any] = []
    for node in graph.nodes:
        if node[0] == "part":
            formed.append(formed[node[1]][node[2]])
        elif node[0] in ROUTINE_CALLS:
            routine, places, told = _called(node, formed)
            formed.append(calls(routine)([formed[k] for k in places], **told))
        else:
            formed.append(_value(node, formed, given))
    return formed


def _value(
    node: tuple[Any, ...], formed: list[Any], given: Mapping[str, Sequence[Any] | Array]
) -> Any:
    op = node[0]
    if op == "input":
        return given[node[1]][node[2]]
    if op == "const":
        return node[1]
    try:
        return operate(op, *(formed[k] for k in operands(node)), data=next(iter(data(node)), None))
    except ZeroDivisionError:
        raise KernelError(
            "a number is divided by zero where it is derived: without mass a body has no centre; "
            "derive by what is not zero, or by LINK.inertial"
        ) from None


def _partials(node: tuple[Any, ...], y: Any, given: list[Any]) -> tuple[Any, ...]:
    row = OPERATIONS[node[0]]
    assert row.partials is not None
    return row.partials(operate, y, *given, *data(node))


def _forward(
    graph: Graph,
    seeds: Mapping[tuple[str, int], dict[int, Any]],
    arguments: Sequence[Sequence[Any] | Array],
) -> tuple[list[Any], list[dict[int, Any]]]:
    """Return the values of all nodes, and their rates along the directions that move them.

    Parameters
    ----------
    seeds : rates of the inputs (name, component), by the number of the direction
    """
    given = dict(zip(graph.inputs, arguments, strict=True))
    formed: list[Any] = []
    rates: list[dict[int, Any]] = []
    for node in graph.nodes:
        y = _value(node, formed, given)
        formed.append(y)
        if node[0] == "input":
            rates.append(seeds.get((node[1], node[2]), {}))
            continue
        places = operands(node)
        moving = sorted({c for k in places for c in rates[k]})
        if not moving or _is_flat(node[0]):
            rates.append({})
            continue
        values = [formed[k] for k in places]
        choice = OPERATIONS[node[0]].choice
        if choice is not None:
            condition, (a, b) = choice(operate, *values), places[-2:]
            rates.append(
                {
                    c: operate("where", condition, rates[a].get(c, 0.0), rates[b].get(c, 0.0))
                    for c in moving
                }
            )
            continue
        slopes = _partials(node, y, values)
        rates.append({c: _along(slopes, [rates[k].get(c) for k in places]) for c in moving})
    return formed, rates


def _along(slopes: Sequence[Any], rates: Sequence[Any]) -> Any:
    """Return the sum of slopes times rates, None being no rate."""
    total: Any = 0.0
    for slope, rate in zip(slopes, rates, strict=True):
        if rate is not None:
            total = total + slope * rate
    return total


def _reverse(
    graph: Graph,
    names: set[str],
    formed: list[Any],
    seeds: Mapping[int, dict[int, Any]],
    behind_choices: Iterable[int] = (),
) -> dict[tuple[str, int], dict[int, Any]]:
    """Return the derivatives of some sums of nodes by the inputs of some names.

    Behind a choice an adjoint may be 0 because the node was not taken, whatever its slopes are.

    Parameters
    ----------
    seeds : by node its weight in each sum, by the sum's number
    behind_choices : nodes that are not taken where their weight is 0
    """
    moving, brought_back = _moving(graph, names), _routines(_weights)
    adjoint = {index: dict(weights) for index, weights in seeds.items()}
    found: dict[tuple[str, int], dict[int, Any]] = {}
    chosen = set(behind_choices)
    for index in range(max(seeds, default=-1), -1, -1):
        bars = adjoint.pop(index, None)
        if bars is None or not moving[index]:
            continue
        node = graph.nodes[index]
        if node[0] == "input":
            found[node[1], node[2]] = bars
            continue
        if node[0] == "part":
            for row, bar in bars.items():
                adjoint.setdefault(node[1], {}).setdefault(row, {})[node[2]] = bar
            chosen.update(node[1:2] if index in chosen else ())
            continue
        if node[0] in ROUTINE_CALLS:
            routine, places, told = _called(node, formed)
            size, own = len(routine.graph.outputs[0]), [moving[k] for k in places]
            values = [formed[k] for k in places]
            for row, parts in bars.items():
                weights = [parts.get(k, 0.0) for k in range(size)]
                back = brought_back(routine)(values, weights, own, index in chosen, **told)
                for k, bar in zip(places, back, strict=True):
                    if told:
                        bar = operate("where", told["condition"], bar, 0.0)
                    if isinstance(bar, Symbol) or bar:
                        sums = adjoint.setdefault(k, {})
                        sums[row] = bar if row not in sums else sums[row] + bar
            continue
        places = operands(node)
        values = [formed[k] for k in places]
        choice = OPERATIONS[node[0]].choice
        condition: Any = None
        slopes: Sequence[Any] = (1.0, 1.0)
        if choice is not None:
            condition, places = choice(operate, *values), places[-2:]
            chosen.update(places)
        else:
            slopes = _partials(node, formed[index], values)
            if index in chosen:
                chosen.update(places)
        for n, (k, slope) in enumerate(zip(places, slopes, strict=True)):
            if not moving[k]:
                continue
            sums = adjoint.setdefault(k, {})
            for row, bar in bars.items():
                if choice is not None:
                    part = operate("where", condition, *((bar, 0.0) if n == 0 else (0.0, bar)))
                else:
                    part = _back(slope, bar, index in chosen)
                sums[row] = part if row not in sums else sums[row] + part
    return found


def _back(slope: Any, bar: Any, chosen: bool) -> Any:
    """Return slope times adjoint; 0 where it was not chosen, be the slope nan or infinite."""
    product = slope * bar
    if not chosen or isinstance(slope, float | int):
        return product
    return operate("where", operate("ne", bar, 0.0), product, 0.0)


def _moving(graph: Graph, names: set[str]) -> list[bool]:
    """Return for each node whether it changes with one of the inputs."""
    moving: list[bool] = []
    for node in graph.nodes:
        if node[0] == "input":
            moving.append(node[1] in names)
        else:
            moving.append(not _is_flat(node[0]) and any(moving[k] for k in operands(node)))
    return moving


def _adjoint_arrays(
    graph: Graph, names: Sequence[str], adjoints: Mapping[tuple[str, int], dict[int, Any]]
) -> list[Array]:
    """Return derivatives of the only sum by the components of inputs as arrays (n,), one an
    input.
    """
    arrays = []
    for name in names:
        parts = [adjoints.get((name, k), {}).get(0, 0.0) for k in range(graph.inputs[name])]
        arrays.append(_plain(np.array(parts, dtype=object)))
    return arrays


def _arrays(graph: Graph, formed: list[Any]) -> list[Array]:
    """Return the outputs of a graph as arrays."""
    results = []
    for indices, shape in zip(graph.outputs, graph.shapes, strict=True):
        flat = np.empty(len(indices), dtype=object)
        flat[:] = [formed[k] for k in indices]
        results.append(_plain(flat.reshape(shape)))
    return results


def _plain(array: Array) -> Array:
    """Return an array of floats if no entry is a symbol."""
    if all(isinstance(x, float | int | np.floating) for x in array.flat):
        return array.astype(np.float64)
    return array
