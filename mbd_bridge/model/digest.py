"""A content address for models: two models with the same digest have the same equations."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from mbd_bridge.model.joint_table import JointType
from mbd_bridge.model.model import Model, once_a_model


@once_a_model
def digest(model: Model) -> str:
    """Return the SHA-256 of everything that the equations of a model depend on, and of its names.

    A renamed joint moves in the same way, but force elements and parameters find their places by
    names: with two of them exchanged they act elsewhere.
    """
    sink = hashlib.sha256()

    def take(value: Any) -> None:
        """Take in all that a value holds."""
        if isinstance(value, np.ndarray):
            sink.update(f"|{value.shape}".encode() + (value + 0.0).tobytes())  # no -0.0
        elif isinstance(value, tuple):
            sink.update(f"|{type(value).__name__} {len(value)}".encode())
            for item in value:
                take(item)
        elif is_dataclass(value) and not isinstance(value, JointType):  # its text says all
            sink.update(f"|{type(value).__name__}".encode())
            for name in value.__dataclass_fields__:
                take(getattr(value, name))
        else:
            sink.update(f"|{value + 0.0 if isinstance(value, float) else value!r}".encode())

    take((model.coordinate_names, model.velocity_names, model.gravity))
    for kind in sorted({type(body.type) for body in model.bodies}, key=lambda k: k.__qualname__):
        # Types of this package are covered by the address of its source; others bring their own.
        if not kind.__module__.startswith("mbd_bridge."):
            take((kind.__module__, kind.__qualname__, _source(kind)))
    take((model.bodies, model.links, model.joints, model.flexible, model.cuts))
    if model.cuts:
        take(model.rank_tolerance)  # which rows a kernel leaves out
    return sink.hexdigest()


def _source(kind: type) -> str:
    """Return the source of a class, or something that no other class has."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        import uuid

        return uuid.uuid4().hex
