"""Results without their zeros: what a kernel forms, each number once, and where it stands.

Most entries of a large mechanism's derivatives are structurally zero, and writing them takes longer
than forming the others. A packed kernel writes these alone, side by side: of a mass matrix, which
is symmetric, half of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels.cache import DEFAULT_CACHE, Cache
from mbd_bridge.kernels.compile import compile_kernel
from mbd_bridge.kernels.kernel import Kernel
from mbd_bridge.kernels.layout import Floats


@dataclass(frozen=True, eq=False)
class PackedKernel:
    """A kernel that gives one vector of numbers, and what they are in the results of another.

    Attributes
    ----------
    kernel : its inputs are those of the other; its only output are the numbers (E,)
    shapes : of each result of the other, by name
    places : of each, where its entries stand that are not structurally zero, in C order (E',);
        ``np.unravel_index(places["by_q"], shapes["by_q"])`` are rows and columns
    numbers : of each, which number stands there (E',)
    """

    kernel: Kernel
    shapes: dict[str, tuple[int, ...]]
    places: dict[str, NDArray[np.intp]]
    numbers: dict[str, NDArray[np.intp]]

    def unpack(self, numbers: ArrayLike) -> dict[str, Floats]:
        """Return the whole results, zeros included, of numbers (E,) or (N, E)."""
        values = as_floats("numbers", numbers)
        (size,) = self.kernel.shapes[0]
        if values.ndim not in (1, 2) or values.shape[-1] != size:
            raise StateError(
                f"numbers: expected what .kernel gives, ({size},) or (N, {size}), got "
                f"{values.shape}"
            )
        found = {}
        for name, shape in self.shapes.items():
            whole = np.zeros((*values.shape[:-1], prod(shape)))
            whole[..., self.places[name]] = values[..., self.numbers[name]]
            found[name] = whole.reshape(*values.shape[:-1], *shape)
        return found


def packed(kernel: Kernel, cache: Cache | None = DEFAULT_CACHE) -> PackedKernel:
    """Return the kernel that forms the same without zeros.

    Examples
    --------
    >>> lean = packed(robot.compile("inverse_dynamics_derivatives"))   # doctest: +SKIP
    >>> (numbers,) = lean.kernel(q, v, a)                              # doctest: +SKIP
    >>> numbers[lean.numbers["by_q"]]                                  # doctest: +SKIP
    """
    graph = kernel.graph
    first: dict[int, int] = {}
    for place, index in enumerate(index for indices in graph.outputs for index in indices):
        if graph.nodes[index] != ("const", 0.0):
            first.setdefault(index, place)
    order = {index: k for k, index in enumerate(first)}

    def function(*arguments: Floats) -> tuple[Floats, ...]:
        whole = [np.ravel(result) for result in kernel.function(*arguments)]
        return (np.concatenate([np.zeros(0), *whole])[list(first.values())],)

    lean = compile_kernel(
        function, kernel.inputs, outputs=("numbers",), name=f"packed_{kernel.name}", cache=cache
    )
    places, numbers = {}, {}
    for name, indices in zip(kernel.outputs, graph.outputs, strict=True):
        places[name] = np.array([k for k, index in enumerate(indices) if index in order], np.intp)
        numbers[name] = np.array([order[index] for index in indices if index in order], np.intp)
    return PackedKernel(
        lean, dict(zip(kernel.outputs, kernel.shapes, strict=True)), places, numbers
    )
