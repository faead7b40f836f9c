"""The motion of a stand-in model (`given_columns`) as coordinates of the machine and poses."""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.frames import Frames, find_frame
from mbd_bridge.motion.given import FrameRows, GivenMotion
from mbd_bridge.motion.given_columns import TURN, GivenColumns
from mbd_bridge.motion.motion import Motion
from mbd_bridge.solve.moves import matrices_of

TURNS = (3, 4, 5)
"""Rows of a frame's orientation."""


def frame_rows(model: Model, columns: GivenColumns, frames: Frames) -> tuple[FrameRows, ...]:
    """Return the frames of which something is given."""
    names = dict.fromkeys([*columns.origins, *columns.orientations])
    return tuple(
        FrameRows(
            find_frame(model, name, frames),
            (*columns.origins.get(name, ()), *(TURNS if name in columns.orientations else ())),
        )
        for name in names
    )


def given_motion(
    model: Model,
    columns: GivenColumns,
    frames: tuple[FrameRows, ...],
    near: Array,
    motion: Motion,
) -> GivenMotion:
    """Return the values of the stand-in's motion as the machine's; else those of a guess."""
    stand_in, N = columns.stand_in, len(motion.time)
    q = np.tile(near, (N, 1))
    v, a = np.zeros((2, N, model.nv))
    F = len(frames)
    x, R = np.zeros((N, F, 3)), np.tile(np.eye(3), (N, F, 1, 1))
    twist, change = np.zeros((2, N, F, 6))
    places = {own.frame.name: f for f, own in enumerate(frames)}
    own_bodies = stand_in.bodies[: len(columns.sources)]  # <mimic> joints come last
    for own, source in zip(own_bodies, columns.sources, strict=True):
        parts = motion.q[:, own.q], motion.v[:, own.v], motion.a[:, own.v]
        if isinstance(source, int):
            body = model.bodies[model.joints[source].body]
            q[:, body.q], v[:, body.v], a[:, body.v] = parts
        elif source[1] == TURN:
            f = places[source[0]]
            R[:, f] = matrices_of(parts[0])
            twist[:, f, 3:] = np.einsum("nij,nj->ni", R[:, f], parts[1])
            change[:, f, 3:] = np.einsum("nij,nj->ni", R[:, f], parts[2])
        else:
            f, k = places[source[0]], source[1]
            x[:, f, k], twist[:, f, k], change[:, f, k] = (part[:, 0] for part in parts)
    return GivenMotion(motion.time, q, v, a, x, R, twist, change)
