"""A batch of simulations as rows: a trajectory each."""

from __future__ import annotations

from functools import partial

import numpy as np

from mbd_bridge.base.tabular import Arrays, Rows, Series
from mbd_bridge.model.units import model_units
from mbd_bridge.motion.state_arrays import state_arrays
from mbd_bridge.simulation.batch.result import SimulationBatch


def rows_of(batch: SimulationBatch) -> Rows:
    """Return how each trajectory ended, when, and where: its last coordinates."""
    there = np.isfinite(batch.q).all(axis=-1)
    last = np.maximum(there.sum(axis=1) - 1, 0)
    at_end = batch.q[np.arange(len(batch)), last]
    units, _ = model_units(batch.model)
    columns = (
        Series("status", "", batch.status),
        Series("end", "s", batch.time[last]),
        *(
            Series(f"{name} at the end", unit, at_end[:, k])
            for k, (name, unit) in enumerate(zip(batch.model.coordinate_names, units, strict=True))
        ),
    )
    index = Series("trajectory", "", np.arange(len(batch)))
    return Rows(repr(batch), index, columns, arrays=partial(_arrays, batch))


def _arrays(batch: SimulationBatch) -> Arrays:
    """Return the states over trajectories and time, and how each trajectory ended."""
    own = dict(zip(batch.states, batch.system.states.units, strict=True))
    states = {"q": batch.q, "v": batch.v, "z": batch.z}
    found = state_arrays(batch.model, batch.time, states, own)
    status = Series("status", "", batch.status, ("trajectory",))
    return Arrays([*found.variables, status], found.coordinates)
