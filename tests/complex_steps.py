"""Imaginary steps through operations of traced functions; machines with one number changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import trace
from mbd_bridge.kernels.ops import OPERATIONS, data, operands
from mbd_bridge.model.parameters import Parameters

STEP = 1e-30


def evaluated(graph, arguments):
    """Return the results of a graph for complex numbers, operation by operation."""
    formed = []
    for node in graph.nodes:
        if node[0] == "input":
            formed.append(arguments[node[1]][node[2]])
        elif node[0] == "const":
            formed.append(node[1])
        else:
            values = [formed[k] for k in operands(node)]
            formed.append(OPERATIONS[node[0]].evaluate(*values, *data(node)))
    return [np.array([formed[k] for k in indices]) for indices in graph.outputs]


def derivatives(function, arguments, directions):
    """Return the results' derivatives, each (entries, K), exact to rounding.

    Parameters
    ----------
    arguments : (n,) by name
    directions : (n, K) by name: what moves
    """
    graph = trace(function, {name: len(x) for name, x in arguments.items()})
    count = {x.shape[1] for x in directions.values()}.pop()
    columns = []
    for k in range(count):
        moved = {
            name: np.asarray(x) + (1j * STEP * directions[name][:, k] if name in directions else 0j)
            for name, x in arguments.items()
        }
        columns.append([np.imag(x) / STEP for x in evaluated(graph, moved)])
    return [np.stack(parts, axis=-1) for parts in zip(*columns, strict=True)]


def varied(mechanism, name, step):
    """Return the machine with one number changed."""
    own = Parameters.own(mechanism.model, [name])
    values = own.values.copy()
    values[0, [column.name for column in own.columns].index(name)] += step
    return mbd.Mechanism(replace(own, values=values).variant(0))


IN_PYTHON = {
    "neg": "-{}",
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "sqrt": "cmath.sqrt({})",
    "sin": "cmath.sin({})",
    "cos": "cmath.cos({})",
    "exp": "cmath.exp({})",
    "lt": "{}.real < {}.real",
    "le": "{}.real <= {}.real",
    "and": "{} and {}",
    "or": "{} or {}",
    "not": "not {}",
    "where": "{1} if {0} else {2}",
    "abs": "({0} if {0}.real >= 0 else -{0})",
    "max": "({0} if {0}.real > {1}.real else {1})",
    "min": "({0} if {0}.real < {1}.real else {1})",
}
"""Operations of complex numbers, as Python writes them."""


def in_python(function, sizes, outputs):
    """Return a traced function's first results as plain Python, of lists of complex numbers."""
    graph = trace(function, sizes)
    wanted = graph.outputs[:outputs]
    needed = {k for indices in wanted for k in indices}
    for k in range(len(graph.nodes) - 1, -1, -1):
        if k in needed:
            needed.update(operands(graph.nodes[k]))
    lines = ["import cmath", f"def evaluated({', '.join(sizes)}):"]
    for k in sorted(needed):
        node = graph.nodes[k]
        if node[0] == "input":
            text = f"{node[1]}[{node[2]}]"
        elif node[0] == "const":
            text = f"complex({node[1]!r})"
        else:
            text = IN_PYTHON[node[0]].format(*(f"x{i}" for i in operands(node)))
        lines.append(f"    x{k} = {text}")
    results = ", ".join(f"[{', '.join(f'x{i}' for i in indices)}]" for indices in wanted)
    space = {}
    exec("\n".join([*lines, f"    return {results}"]), space)
    return space["evaluated"]
