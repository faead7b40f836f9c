"""What travels to the workers of a study."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from mbd_bridge.errors import StateError
from mbd_bridge.spatial import Array

WORKERS_REMEMBER = 8
"""Studies whose machine code a worker keeps from part to part."""


def packed(evaluate: Callable[[Mapping[str, Array]], Any]) -> bytes:
    """Return what computes the parts, ready to travel to another process.

    Raises
    ------
    StateError
        It holds a function that cannot travel.
    """
    try:
        return pickle.dumps(evaluate, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        try:
            import cloudpickle  # comes with Dask
        except ImportError:
            raise StateError(
                f"what the study computes cannot go to another process ({problem}): define its "
                f"functions at the top of a module, or install cloudpickle"
            ) from None
        return bytes(cloudpickle.dumps(evaluate, protocol=5))


@functools.lru_cache(maxsize=WORKERS_REMEMBER)
def unpacked(content: bytes) -> Callable[[Mapping[str, Array]], Any]:
    """Return what computes the parts, in a worker: the same one for all parts of a study."""
    found: Callable[[Mapping[str, Array]], Any] = pickle.loads(content)
    return found
