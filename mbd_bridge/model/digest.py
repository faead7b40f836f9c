"""A content address for models: two models with the same digest have the same equations."""

from __future__ import annotations

import hashlib
import inspect
import uuid

import numpy as np

from mbd_bridge.model.model import Model, once_a_model
from mbd_bridge.model.spatial import Frame, Inertia


@once_a_model
def digest(model: Model) -> str:
    """Return the SHA-256 of everything that the equations of a model depend on, and of its names.

    A renamed joint moves in the same way, but force elements and parameters find their places by
    names: with two of them exchanged they act elsewhere.
    """
    sink = hashlib.sha256()

    def numbers(*values: object) -> None:
        for value in values:
            array = np.ascontiguousarray(np.asarray(value, dtype=np.float64) + 0.0)  # no -0.0
            sink.update(str(array.shape).encode() + array.tobytes())

    def frame(value: Frame) -> None:
        numbers(value.rotation, value.translation)

    def inertia(value: Inertia) -> None:
        numbers(value.mass, value.centre, value.central)

    names = tuple(model.link_index), tuple(model.joint_index), [cut.name for cut in model.cuts]
    sink.update(f"{names} {model.coordinate_names} {model.velocity_names}".encode())
    numbers(model.gravity)
    for kind in sorted({type(body.type) for body in model.bodies}, key=lambda k: k.__qualname__):
        # Types of this package are covered by the address of its source; others bring their own.
        if not kind.__module__.startswith("mbd_bridge."):
            sink.update(f"|{kind.__module__} {kind.__qualname__} {_source(kind)}".encode())
    for body in model.bodies:
        sink.update(f"|{body.parent} {body.joint} {body.type!r} {body.q} {body.v}".encode())
        sink.update(f" {body.coupled} {body.ratio!r} {body.offset!r} {body.rotor!r}".encode())
        frame(body.placement)
        inertia(body.inertia)
    for link in model.links:
        sink.update(f"|{link.body}".encode())
        frame(link.frame)
    for joint in model.joints:
        sink.update(f"|{joint.body} {joint.parent} {joint.child} {joint.beyond}".encode())
        sink.update(str(joint.children).encode())
        sink.update(str(joint.turned).encode())
        frame(joint.parent_frame)
        frame(joint.frame)
        inertia(joint.inertia)
    for part in model.flexible:
        sink.update(f"|{part.link} {part.body} {part.q} {part.v}".encode())
        numbers(part.integrals.mass, part.integrals.first, part.integrals.second)
        sink.update(str(part.integrals.pairs).encode())
        numbers(part.stiffness, part.damping)
    if model.cuts:
        numbers(model.rank_tolerance)  # which rows a kernel leaves out
    for cut in model.cuts:
        sink.update(f"|{cut.predecessor} {cut.successor} {cut.links} {cut.rows!r}".encode())
        frame(cut.a)
        frame(cut.b)
        frame(cut.described)
    return sink.hexdigest()


def _source(kind: type) -> str:
    """Return the source of a class, or something that no other class has."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return uuid.uuid4().hex
