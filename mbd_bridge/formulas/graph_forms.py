"""From the traced equations to forms: each operation of a graph, on sums of terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mbd_bridge.errors import ModelError
from mbd_bridge.formulas.form import ZERO, Algebra, Form
from mbd_bridge.kernels.graph.graph import Graph


def forms_of(graph: Graph, algebra: Algebra, inputs: Mapping[str, list[Form]]) -> list[np.ndarray]:
    """Return the outputs of a graph as arrays of forms.

    Parameters
    ----------
    inputs : the components of each input
    """
    found: list[Form] = []
    do = _operations(algebra)
    for node in graph.nodes:
        op = node[0]
        if op == "input":
            found.append(inputs[node[1]][node[2]])
        elif op == "const":
            found.append(algebra.constant(float(node[1])))
        elif op in do:
            found.append(do[op](*(found[k] for k in node[1:])))
        else:
            raise ModelError(
                f"the equations have the operation {op!r}, which a symbolic model has not; it is "
                f"made of sums, products, sines and square roots"
            )
    arrays = []
    for indices, shape in zip(graph.outputs, graph.shapes, strict=True):
        array = np.empty(len(indices), dtype=object)
        array[:] = [found[k] for k in indices]
        arrays.append(array.reshape(shape))
    return arrays


def _operations(algebra: Algebra) -> dict[str, Callable[..., Form]]:
    """Return what each operation does with forms."""
    add, multiply = algebra.add, algebra.multiply
    return {
        "neg": lambda a: add(ZERO, a, -1.0),
        "add": add,
        "sub": lambda a, b: add(a, b, -1.0),
        "mul": multiply,
        "div": algebra.divide,
        "sqrt": algebra.root,
        "sin": algebra.sine,
        "cos": algebra.cosine,
    }
