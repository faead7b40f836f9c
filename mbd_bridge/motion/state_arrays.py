"""States along time as arrays with named dimensions, coordinates and units."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mbd_bridge.base.table import Arrays, Series, of_units
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT, RATE, model_units


def state_arrays(
    model: Model,
    time: Array,
    states: Mapping[str, Array],
    own: Mapping[str, str] | None = None,
) -> Arrays:
    """Return states over time, or over trajectories and time.

    Parameters
    ----------
    states : some of q (..., nq), v, a, efforts (..., nv), and z (..., nz)
    own : names and units of the states z of force elements
    """
    own, (of_q, of_v) = own or {}, model_units(model)
    q, v, z = "coordinate", "velocity", "state"
    names = {q: model.coordinate_names, v: model.velocity_names, z: tuple(own)}
    known = {
        "q": (q, of_q),
        "v": (v, [unit + RATE[1] for unit in of_v]),
        "a": (v, [unit + RATE[2] for unit in of_v]),
        "efforts": (v, [FORCE_UNIT[unit] for unit in of_v]),
        "z": (z, list(own.values())),
    }
    variables, coordinates = [], [Series("time", "s", time, ("time",))]
    for name, values in states.items():
        dim, units = known[name]
        if not names[dim]:
            continue
        before = ("time",) if values.ndim == 2 else ("trajectory", "time")
        variable, unit = of_units(name, values, (*before, dim), units)
        variables.append(variable)
        coordinates += [Series(dim, "", names[dim], (dim,)), unit]
        if values.ndim == 3:
            coordinates.append(Series(before[0], "", np.arange(len(values)), before[:1]))
    return Arrays(variables, coordinates)
