"""A kernel of a system at one time: its model and force elements, with their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mbd_bridge.forces.base import ForceElement
from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.simulate.system import System

Forces = tuple[ForceElement, ...]
"""Bound force elements."""


def system_kernel(
    system: System,
    function_of: Callable[[Model, Forces], Traceable],
    inputs: dict[str, int],
    outputs: tuple[str, ...],
    name: str,
    identity: str | None,
) -> Kernel:
    """Return the kernel of a function of a system; of one with parameters, ``p`` is its last input.

    Parameters
    ----------
    function_of : returns the function, for a model and force elements, maybe with symbols in them
    identity : all that the function depends on beside model and parameters; None: its graph tells
    """
    parameters = system.parameters
    sizes = inputs if parameters is None else {**inputs, "p": parameters.size}
    if identity is not None:
        own = "" if parameters is None else f" {parameters.identity}"
        identity = f"{digest(system.model)} {identity}{own}"
    function = system_function(system, function_of)
    return compile_kernel(function, sizes, outputs=outputs, name=name, identity=identity)


def system_function(system: System, function_of: Callable[[Model, Forces], Traceable]) -> Traceable:
    """Return the function of a system, whose last argument are the parameters if it has some."""
    if system.parameters is None:
        return function_of(system.model, system.forces)

    def function(*arguments: Array) -> tuple[Array, ...]:
        *own, p = arguments
        return function_of(system.model_with(p), system.forces_with(p))(*own)

    return function
