"""The function behind a kernel, traced when somebody needs it."""

from __future__ import annotations

from collections.abc import Mapping

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels.graph.graph import Graph
from mbd_bridge.kernels.graph.trace import Traceable, trace
from mbd_bridge.kernels.instructions.order import depth_first
from mbd_bridge.kernels.instructions.program import Program, lower


class TracedSource:
    """A traceable function, its graph and its program, each formed at the first question.

    A kernel that comes from the cache never asks, unless it is exported.

    Parameters
    ----------
    calls : functions that are `shared` become routines of the program (see `trace`)
    """

    def __init__(
        self, function: Traceable, inputs: Mapping[str, int], *, calls: bool = False
    ) -> None:
        self.function, self.calls = function, calls
        self.inputs = dict(inputs)

    @cached_property
    def graph(self) -> Graph:
        """The graph of the function."""
        return trace(self.function, self.inputs, calls=self.calls)

    @cached_property
    def program(self) -> Program:
        """The instructions, in the order in which they are emitted."""
        return depth_first(lower(self.graph))
