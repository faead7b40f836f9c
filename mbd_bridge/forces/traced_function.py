"""A user's function in a force element: told from others by what it computes, not by its name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mbd_bridge.base.errors import KernelError, StateError
from mbd_bridge.kernels import trace
from mbd_bridge.model.spatial import Array


class TracedFunction:
    """A function of scalars and vectors that can be traced.

    Attributes
    ----------
    digest : of what it computes: two functions with the same one have the same machine code
    timed : whether its result depends on its argument t
    """

    def __init__(self, function: Callable[..., Any], digest: str, timed: bool) -> None:
        self._function, self.digest, self.timed = function, digest, timed

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function returns."""
        return self._function(*arguments)

    def __repr__(self) -> str:
        return str(getattr(self._function, "__qualname__", self._function))

    @staticmethod
    def of(
        label: str,
        function: Callable[..., Any],
        inputs: Mapping[str, int | None],
        size: int | None = None,
    ) -> TracedFunction:
        """Return a checked function.

        Parameters
        ----------
        label : of the element, for messages
        inputs : its arguments: sizes of vectors, None of scalars
        size : of the vector that it returns; None for a scalar
        """
        if isinstance(function, TracedFunction):
            return function

        def flat(*vectors: Array) -> tuple[Array, ...]:
            arguments = [
                vector[0] if inner is None else vector
                for vector, inner in zip(vectors, inputs.values(), strict=True)
            ]
            found = np.asarray(function(*arguments))
            if found.shape != (() if size is None else (size,)):
                expected = "a number" if size is None else f"({size},) numbers"
                raise StateError(
                    f"{label}: the function returned the shape {found.shape}; expected {expected}"
                )
            return (found.reshape(-1),)

        sizes = {name: 1 if inner is None else inner for name, inner in inputs.items()}
        try:
            graph = trace(flat, sizes)
        except KernelError as problem:
            raise StateError(f"{label}: {problem}") from problem
        content = repr((graph.nodes, graph.outputs, graph.shapes))
        timed = any(node[:2] == ("input", "t") for node in graph.nodes)
        return TracedFunction(function, hashlib.sha256(content.encode()).hexdigest(), timed)
