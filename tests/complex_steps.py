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
