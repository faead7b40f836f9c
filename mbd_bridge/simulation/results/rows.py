"""A simulation as rows: an instant each."""

from __future__ import annotations

from functools import partial

from mbd_bridge.base.tabular import Rows, Series
from mbd_bridge.model.units import model_units
from mbd_bridge.motion.state_arrays import state_arrays
from mbd_bridge.simulation.results.simulation import Simulation


def rows_of(run: Simulation) -> Rows:
    """Return coordinates, velocities and states of force elements."""
    model, (of_q, of_v) = run.model, model_units(run.model)
    columns = [
        Series(name, unit, run.q[:, k])
        for k, (name, unit) in enumerate(zip(model.coordinate_names, of_q, strict=True))
    ]
    columns += [
        Series(f"{name}.vel", f"{unit}/s", run.v[:, k])
        for k, (name, unit) in enumerate(zip(model.velocity_names, of_v, strict=True))
    ]
    own = dict(zip(run.states, run.system.states.units, strict=True))
    columns += [Series(name, unit, run.states[name]) for name, unit in own.items()]
    states = {"q": run.q, "v": run.v, "z": run.z}
    arrays = partial(state_arrays, model, run.time, states, own)
    index = Series("time", "s", run.time)
    return Rows(repr(run), index, tuple(columns), True, run.notes, arrays=arrays)
