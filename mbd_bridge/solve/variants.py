"""A kernel of a model, or of variants of it: the same function, with its parameters as an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.mechanism.parameters import Parameters


class KernelRequest(NamedTuple):
    """What is to be compiled: a function of a model, its inputs, outputs and name.

    ``identity`` says all that the function depends on beside the model and its parameters; None:
    only its graph tells.
    """

    function_of: Callable[[Model], Traceable]
    inputs: dict[str, int]
    outputs: tuple[str, ...]
    name: str
    identity: str | None

    def kernel(self, model: Model, parameters: Parameters | None = None) -> Kernel:
        """Return the kernel; with parameters these are its last input, ``p``."""
        function, inputs = self.function_of, self.inputs
        known = self.identity is not None
        if parameters is None:
            traced = function(model)
        else:
            traced = parameters.traced(function)
            inputs = {**inputs, "p": parameters.size}
        own = "" if parameters is None else f" {parameters.identity}"
        identity = f"{digest(model)} {self.identity}{own}" if known else None
        return compile_kernel(
            traced, inputs, outputs=self.outputs, name=self.name, identity=identity
        )
