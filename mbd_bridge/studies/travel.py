"""What travels to the workers of a study, and what tells its parts from those of another study."""

from __future__ import annotations

import functools
import hashlib
import pickle
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from mbd_bridge.errors import StateError
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.run.identity import acting_identity
from mbd_bridge.simulate.system import System
from mbd_bridge.spatial import Array
from mbd_bridge.studies.evaluate import Variants

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


def digest_of(evaluate: object) -> str:
    """Return what tells the numbers that are computed from others: by content, not by name."""
    return hashlib.sha256(repr(_content(evaluate)).encode()).hexdigest()


def _content(thing: Any) -> Any:
    """Return plain texts and tuples that differ where two things compute other numbers."""
    if isinstance(thing, Variants):
        system = System(thing.machine, **thing.given)
        own = {one.name: getattr(thing, one.name) for one in fields(thing)}
        own |= {"machine": None, "given": acting_identity(system)}
        return type(thing).__name__, _content(own)
    if isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return _content(thing.__code__), _content(cells), _content(thing.__defaults__)
    if isinstance(thing, types.CodeType):
        return thing.co_code.hex(), thing.co_names, [_content(one) for one in thing.co_consts]
    if isinstance(thing, functools.partial):
        return _content(thing.func), _content(thing.args), _content(thing.keywords)
    if isinstance(thing, Mapping):
        return [(str(name), _content(value)) for name, value in thing.items()]
    if isinstance(thing, list | tuple | np.ndarray):
        return [_content(one) for one in thing]
    if thing is None or isinstance(thing, str | int | float | bool | np.generic):
        return repr(thing)
    if isinstance(thing, types.BuiltinFunctionType | np.ufunc | type):
        return repr(thing)
    if isinstance(getattr(thing, "model", None), Model):
        return acting_identity(System(thing))
    return hashlib.sha256(pickle.dumps(thing, protocol=5)).hexdigest()
