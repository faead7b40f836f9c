"""A simulation as rows: an instant each."""

from __future__ import annotations

from mbd_bridge.mechanism.units import model_units
from mbd_bridge.simulate.results.simulation import Simulation
from mbd_bridge.tabular import Rows, Series


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
    columns += [Series(name, "", values) for name, values in run.states.items()]
    index = Series("time", "s", run.time)
    return Rows(repr(run), index, tuple(columns), long=True, notes=run.notes)
