"""Numbers made of a state, as users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd_bridge.base.arguments import function_or_none
from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import Kernel, compile_kernel, gradient
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

StateNumber = Callable[[Any, Array, Array], Any]
"""(t, q, v) -> one number, made of + - * / and `mbd_bridge.functions`."""


def number_kernel(model: Model, name: str, given: StateNumber | None) -> Kernel | None:
    """Return the kernel of a number and its derivatives by t, q and v; None without a function.

    Parameters
    ----------
    name : of the argument, for messages
    """
    function = function_or_none(name, given, "of (t, q, v)")
    if function is None:
        return None
    sizes = {"t": 1, "q": model.nq, "v": model.nv}

    def number(t: Array, q: Array, v: Array) -> tuple[Array, ...]:
        found = np.asarray(function(t[0], q, v)).reshape(-1)
        if len(found) != 1:
            raise StateError(
                f"{name}: expected a function that returns one number, got {len(found)}"
            )
        return (found,)

    outputs = ("value", *(f"by_{one}" for one in sizes))
    return compile_kernel(gradient(number, sizes), sizes, outputs=outputs)
