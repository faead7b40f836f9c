"""The function behind a kernel, traced when somebody needs it."""

from __future__ import annotations

from collections.abc import Mapping

from mbd_bridge.kernels.graph.trace import Graph, Traceable, trace
from mbd_bridge.kernels.instructions.order import depth_first
from mbd_bridge.kernels.instructions.program import Program, lower
from mbd_bridge.lazy import cached_property


class Source:
    """A traceable function, its graph and its program, each formed at the first question.

    A kernel that comes from the cache never asks, unless it is exported.
    """

    def __init__(self, function: Traceable, inputs: Mapping[str, int]) -> None:
        self.function = function
        self.inputs = dict(inputs)

    @cached_property
    def graph(self) -> Graph:
        """The graph of the function."""
        return trace(self.function, self.inputs)

    @cached_property
    def program(self) -> Program:
        """The instructions, in the order in which they are emitted."""
        return depth_first(lower(self.graph))
