"""Places for what the steps of a batch report."""

from __future__ import annotations

from math import prod

import numpy as np

from mbd_bridge.errors import StateError
from mbd_bridge.kernels.run.march import March
from mbd_bridge.simulate.outputs import REPORTED, STATE
from mbd_bridge.simulate.run.problem import MOST_BYTES
from mbd_bridge.spatial import Array


def reported_arrays(march: March, shape: tuple[int, int]) -> list[Array]:
    """Return places (N, K, ...) for what steps tell of the records, beside q and v."""
    sizes = march.shapes[REPORTED + len(STATE) : -1]
    needed = 8 * shape[0] * shape[1] * sum(prod(size) for size in sizes)
    if needed > MOST_BYTES:
        raise StateError(
            f"loads and outputs of {shape[0]} trajectories with {shape[1]} records need "
            f"{needed / 2**30:.1f} GiB; record less often (every=) or simulate in parts"
        )
    return [np.full((*shape, prod(size)), np.nan) for size in sizes]
