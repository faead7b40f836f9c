"""Kernels of a model, or of variants of it, whose parameters are then an input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mbd_bridge.kernels import Cache, Kernel, compile_kernel
from mbd_bridge.kernels.cache import DEFAULT_CACHE
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model, address
from mbd_bridge.model.parameters import Parameters, variant_of
from mbd_bridge.model.spatial import Array


def model_kernel(
    model: Model,
    name: str,
    inputs: dict[str, int],
    outputs: Sequence[str],
    function: Traceable,
    request: object,
    *,
    cache: Cache | None = DEFAULT_CACHE,
) -> Kernel:
    """Return the kernel of a function of a model, compiled or from the cache.

    Parameters
    ----------
    inputs, outputs : sizes of the arguments, and names of the results
    request : all that the function depends on beside the model, as values (`model.address`); None:
        only its graph tells
    """
    known = None if request is None else address(model, request)
    return compile_kernel(function, inputs, outputs=outputs, name=name, identity=known, cache=cache)


def variants_kernel(
    model: Model,
    parameters: Parameters | None,
    name: str,
    inputs: dict[str, int],
    outputs: Sequence[str],
    function_of: Callable[[Model], Traceable],
    request: object,
) -> Kernel:
    """Return the kernel of a model, or of its variants: their parameters are its last input, ``p``.

    Parameters
    ----------
    function_of : returns the function of a model
    request : all that it depends on beside the model and its parameters; None: see `model_kernel`
    """
    if parameters is None:
        return model_kernel(model, name, inputs, outputs, function_of(model), request)
    inputs, function = {**inputs, "p": parameters.size}, parameters.traced(function_of)
    both = None if request is None else (request, parameters)
    return model_kernel(model, name, inputs, outputs, function, both)


def shared_kernel(
    model: Model,
    name: str,
    inputs: dict[str, int],
    outputs: Sequence[str],
    function_of: Callable[[Model], Traceable],
    request: object,
) -> Callable[..., tuple[Array, ...]]:
    """Return a function of a model that all variants of one mechanism share the machine code of.

    It is called like a kernel. See `variants_kernel` for the arguments.
    """
    variant = variant_of(model)
    if variant is None:
        return model_kernel(model, name, inputs, outputs, function_of(model), request)
    parameters, p = variant
    base = parameters.model
    kernel = variants_kernel(base, parameters, name, inputs, outputs, function_of, request)
    return lambda *values, **options: kernel(*values, p, **options)
