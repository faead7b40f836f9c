"""Limits of coordinates, as the file has them."""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


def limits_of(model: Model) -> tuple[Array, Array]:
    """Return lower and upper limits (nv,) of the file, of <mimic> joints too; infinite where none.

    A limit of a joint that follows another is one of its leader.
    """
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    limits = {joint.name: joint.limits for joint in model.description.joints}
    for joint in model.joints:
        own = limits.get(joint.name)
        body = model.bodies[joint.body]
        if own is None or not joint.moving or joint.type.nv != 1:
            continue
        ends = [
            (bound - body.offset) / body.ratio
            for bound in (own.lower, own.upper)
            if bound is not None and body.ratio
        ]
        given = (own.lower is not None, own.upper is not None)
        if body.ratio < 0.0:
            ends, given = ends[::-1], given[::-1]
        place = body.v.start
        if given[0]:
            lower[place] = max(lower[place], ends[0])
        if given[1]:
            upper[place] = min(upper[place], ends[-1])
    return lower, upper
