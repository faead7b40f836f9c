"""A kernel of a system at one time: its model and force elements, with their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mbd_bridge.forces.base import ForceElement
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.model_kernel import model_kernel

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System

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
    if parameters is not None:
        inputs = {**inputs, "p": parameters.size}
        identity = None if identity is None else f"{identity} {parameters.identity}"
    function = system_function(system, function_of)
    return model_kernel(system.model, name, inputs, outputs, function, identity)


def system_function(system: System, function_of: Callable[[Model, Forces], Traceable]) -> Traceable:
    """Return the function of a system, whose last argument are the parameters if it has some."""
    if system.parameters is None:
        return function_of(system.model, system.forces)

    def function(*arguments: Array) -> tuple[Array, ...]:
        *own, p = arguments
        return function_of(system.model_with(p), system.forces_with(p))(*own)

    return function
