"""What looks odd in a motion, though it can be computed: said, never corrected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.errors import count, some
from mbd_bridge.loads.units import velocity_units
from mbd_bridge.mechanism import Model, ModelJoint

Floats = NDArray[np.float64]

NAMED = 6
"""How many names a sentence gives before it counts."""
UNEVEN = 10.0
"""Ratio of the longest to the usual time step from which a spline may swing."""
BEYOND = 1e-6
"""How far, rad or m, a joint may be beyond its limit: rounding in files."""


def left_out(model: Model, of: str) -> str:
    """Return a sentence about what the file gives and nothing here uses, "" if there is nothing."""
    joints = [joint for joint in model.description.joints if joint.damping or joint.friction]
    kinds = [kind for kind in ("damping", "friction") if any(getattr(j, kind) for j in joints)]
    if not joints:
        return ""
    verb = "is" if len(kinds) == 1 else "are"
    return f"{' and '.join(kinds)} of {count(len(joints), 'joint')} {verb} not part of {of}"


def oddities(model: Model, time: Floats, q: Floats, derived: Sequence[ModelJoint]) -> list[str]:
    """Return sentences about joints beyond their limits, wrapped angles and uneven times.

    Parameters
    ----------
    time, q : (N,) s and (N, nq)
    derived : the joints whose positions were differentiated: jumps matter to these
    """
    notes = _beyond_limits(model, q)
    if not derived:
        return notes
    for joint in derived:
        body = model.bodies[joint.body]
        if joint.type.nq != joint.type.nv:
            continue
        for k, unit in enumerate(velocity_units(joint.type)):
            jumps = np.abs(np.diff(q[:, body.q.start + k]))
            if unit == "rad" and jumps.max() > np.pi:
                row = int(np.argmax(jumps))
                notes.append(
                    f"{model.coordinate_names[body.q.start + k]} jumps by {jumps[row]:.4g} rad at "
                    f"{time[row + 1]:g} s; if its angle is wrapped, unwrap it first (numpy.unwrap)"
                )
    steps = np.diff(time)
    if steps.max() > UNEVEN * np.median(steps):
        notes.append(
            f"the times have a gap of {steps.max():g} s (usual step {np.median(steps):g} s): "
            f"a spline may swing there"
        )
    return notes


def _beyond_limits(model: Model, q: Floats) -> list[str]:
    limits = {joint.name: joint.limits for joint in model.description.joints}
    found = []
    for joint in model.joints:
        if joint.name not in limits or joint.type.nq != 1 or joint.follows is not None:
            continue
        limit = limits[joint.name]
        values = q[:, model.bodies[joint.body].q.start]
        if limit.upper is not None and values.max() > limit.upper + BEYOND:
            found.append(f"{joint.name} ({values.max():.4g} above {limit.upper:.4g})")
        elif limit.lower is not None and values.min() < limit.lower - BEYOND:
            found.append(f"{joint.name} ({values.min():.4g} below {limit.lower:.4g})")
    return [f"beyond the limits of the file: {some(found, NAMED)}"] if found else []
