"""Kernels of a model, or of variants of it, whose parameters are then an input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mbd_bridge.kernels import Cache, Kernel, compile_kernel
from mbd_bridge.kernels.cache import DEFAULT_CACHE
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model, digest
from mbd_bridge.model.parameters import Parameters


def model_kernel(
    model: Model,
    name: str,
    inputs: dict[str, int],
    outputs: Sequence[str],
    function: Traceable,
    identity: str | None,
    *,
    cache: Cache | None = DEFAULT_CACHE,
) -> Kernel:
    """Return the kernel of a function of a model, compiled or from the cache.

    Parameters
    ----------
    inputs, outputs : sizes of the arguments, and names of the results
    identity : all that the function depends on beside the model; None: only its graph tells
    """
    known = None if identity is None else f"{digest(model)} {identity}"
    return compile_kernel(function, inputs, outputs=outputs, name=name, identity=known, cache=cache)


def variants_kernel(
    model: Model,
    parameters: Parameters | None,
    name: str,
    inputs: dict[str, int],
    outputs: Sequence[str],
    function_of: Callable[[Model], Traceable],
    identity: str | None,
) -> Kernel:
    """Return the kernel of a model, or of its variants: their parameters are its last input, ``p``.

    Parameters
    ----------
    function_of : returns the function of a model
    identity : all that it depends on beside the model and its parameters; None: see `model_kernel`
    """
    if parameters is None:
        return model_kernel(model, name, inputs, outputs, function_of(model), identity)
    inputs, function = {**inputs, "p": parameters.size}, parameters.traced(function_of)
    identity = None if identity is None else f"{identity} {parameters.identity}"
    return model_kernel(model, name, inputs, outputs, function, identity)
