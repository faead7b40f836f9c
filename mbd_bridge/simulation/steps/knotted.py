"""One step of the grid in parts that end where forces jump, by the machine code of a march."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mbd_bridge.kernels.run.march import March
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.knots import length_to
from mbd_bridge.solve.tolerances import STEP_RISK

Numbers = Callable[[float, float, float], Array | None]
"""What is streamed into a step from one time to another, of the length h."""


def step_in_parts(
    march: March,
    stage: Array,
    start: float,
    knots: Sequence[float],
    h: float,
    numbers: Numbers,
    renew: Callable[[], None] | None = None,
) -> Array:
    """Take one step of h in parts; return which lanes (lanes,) have taken it.

    The others are where they were.

    Parameters
    ----------
    renew : is called between the parts, for steps with a memory
    """
    lanes, before = march.lanes, stage.copy()
    at, length = march.place_of("t"), march.place_of("h")
    nowhere = np.zeros((len(march.shapes), lanes), dtype=np.int64)
    took = np.ones(lanes, dtype=bool)
    a, end = start, start + h
    for b in (*knots, end):
        part = length_to(a, b)
        if renew is not None and a != start:
            renew()
        stage[at : at + lanes], stage[length : length + lanes] = a, part
        taken = march.advance_into(stage, 1, 2, nowhere, STEP_RISK, numbers(a, b, part))
        took &= march.steps_of(stage) > 0 if lanes > 1 else bool(taken)
        a = b
    stage[at : at + lanes], stage[length : length + lanes] = end, h
    size = sum(march.inputs.values()) * lanes
    columns, old = stage[:size].reshape(-1, lanes), before[:size].reshape(-1, lanes)
    columns[:, ~took] = old[:, ~took]
    return took
