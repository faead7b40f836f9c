"""What follows from a model alone is found once for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from mbd_bridge.model.model import Model

T = TypeVar("T")


def once_a_model(function: Callable[[Model], T]) -> Callable[[Model], T]:
    """Return a function that keeps what it has found as long as the model lives.

    Models are frozen. Of two threads that ask at once both compute, and the first answer stays.
    """
    known: WeakKeyDictionary[Model, T] = WeakKeyDictionary()

    @wraps(function)
    def asked(model: Model) -> T:
        found = known.get(model)
        return known.setdefault(model, function(model)) if found is None else found

    return asked
