"""Content addresses: models with the same digest have the same equations, requests with the same
address the same machine code. Both walk over fields; nobody writes one by hand.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from mbd_bridge.model.joint_table import JointType
from mbd_bridge.model.model import Model, once_a_model
from mbd_bridge.model.spatial import Frame


@once_a_model
def digest(model: Model) -> str:
    """Return the SHA-256 of everything that the equations of a model depend on, and of its names.

    A renamed joint moves in the same way, but force elements and parameters find their places by
    names: with two of them exchanged they act elsewhere.
    """
    walk = _Walk()
    take = walk.take
    take((model.coordinate_names, model.velocity_names, model.gravity))
    for kind in sorted({type(body.type) for body in model.bodies}, key=lambda k: k.__qualname__):
        # Types of this package are covered by the address of its source; others bring their own.
        if not kind.__module__.startswith("mbd_bridge."):
            take((kind.__module__, kind.__qualname__, _source(kind)))
    take((model.bodies, model.links, model.joints, model.flexible, model.cuts))
    if model.cuts:
        take(model.rank_tolerance)  # which rows a kernel leaves out
    return walk.sink.hexdigest()


def address(*values: Any) -> str | None:
    """Return the SHA-256 of all that values hold, such as models and requests, field by field.

    What has an `identity` of its own is told by it. None where something cannot be
    told in a text, such as a caller's function: then only its graph tells the machine code.
    """
    walk = _Walk()
    walk.take(values)
    return walk.sink.hexdigest() if walk.tells else None


class _Walk:
    """Takes in values, field by field; `tells` where all of them could be told."""

    def __init__(self) -> None:
        self.sink, self.tells = hashlib.sha256(), True

    def take(self, value: Any) -> None:
        """Take in all that a value holds."""
        if isinstance(value, Model):
            self.take(digest(value))
        elif isinstance(value, np.ndarray):
            self.sink.update(f"|{value.shape}".encode() + (value + 0.0).tobytes())  # no -0.0
        elif isinstance(value, tuple | list):
            self.sink.update(f"|{type(value).__name__} {len(value)}".encode())
            for item in value:
                self.take(item)
        elif isinstance(value, Mapping):
            self.take(tuple(value.items()))
        elif hasattr(value, "identity") and not isinstance(value, type | Frame):
            self.tells = self.tells and value.identity is not None
            self.sink.update(f"|{type(value).__name__} {value.identity}".encode())
        elif is_dataclass(value) and not isinstance(value, JointType):  # its text says all
            self.sink.update(f"|{type(value).__name__}".encode())
            for name in value.__dataclass_fields__:
                self.take(getattr(value, name))
        elif callable(value):
            self.tells = False
        else:
            said = value + 0.0 if isinstance(value, float) else value
            self.sink.update(f"|{said!r}".encode())


def _source(kind: type) -> str:
    """Return the source of a class, or something that no other class has."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        import uuid

        return uuid.uuid4().hex
