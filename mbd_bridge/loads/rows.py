"""Joint loads as rows: of N states an instant each, of one state a joint each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.tabular import Arrays, Rows, Series, of_units
from mbd_bridge.loads.export import load_columns, load_rows
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion.table import FORCES, MOMENTS

AXES = ("x", "y", "z")
DETERMINED = "'?' marks what rigid-body mechanics does not determine"


def rows_of(loads: JointLoads) -> Rows:
    """Return force, moment and actuation, columns as `JointLoads.save` writes them."""
    floors = {"N": loads.round_off.force, "N m": loads.round_off.moment}
    notes = () if loads.determined.all() else (DETERMINED,)
    arrays = partial(_arrays, loads)
    title = repr(loads)
    if loads.force.ndim == 2:
        index = Series("joint", "", loads.joints)
        columns = [
            Series(name, unit, vectors[:, k])
            for names, unit, vectors in ((FORCES, "N", loads.force), (MOMENTS, "N m", loads.moment))
            for k, name in enumerate(names)
        ]
        actuation = [
            float(loads.actuation[place][0]) if place.stop - place.start == 1 else np.nan
            for place in loads.actuation_of
        ]
        open_ = ["" if flags.all() else "?" for flags in loads.unique]
        more = Series("actuation", "", actuation), Series("undetermined", "", open_)
        return Rows(title, index, (*columns, *more), notes=notes, floors=floors, arrays=arrays)
    values = load_rows(loads)
    columns = [
        Series(column.name, column.unit or "", values[:, k])
        for k, column in enumerate(load_columns(loads))
    ]
    index = _index(loads)
    return Rows(title, index, tuple(columns), True, notes, floors, arrays)


def _index(loads: JointLoads) -> Series:
    if loads.time is not None:
        return Series("time", "s", loads.time)
    return Series("state", "", np.arange(len(loads.force)))


def _arrays(loads: JointLoads) -> Arrays:
    """Return the loads over times or states, joints and axes or actuators."""
    return load_arrays(loads, [_index(loads)] * (loads.force.ndim == 3))


def load_arrays(loads: JointLoads, along: Sequence[Series]) -> Arrays:
    """Return loads as arrays over joints and axes, or actuators.

    Parameters
    ----------
    along : places along the dimensions before these: none, times, or trajectories and times
    """
    if loads.model is None:
        raise StateError("these loads do not know their mechanism, so the units neither")
    pairs = zip(loads.joints, loads.actuation_of, strict=True)
    moved = [joint for joint, place in pairs if place.stop > place.start]
    rates = [unit for joint in moved for unit in actuation_units(loads.model, joint)]
    forces = [FORCE_UNIT[unit] for unit in rates]
    before, known = tuple(one.name for one in along), loads.uncertainty
    components = {
        "force": (loads.force, "N"),
        "moment": (loads.moment, "N m"),
        "force_unique": (loads.unique[..., :3], ""),
        "moment_unique": (loads.unique[..., 3:], ""),
        "reaction_force": (loads.reaction_force, "N"),
        "reaction_moment": (loads.reaction_moment, "N m"),
    }
    if loads.reaction_unique is not None:
        components["reaction_force_unique"] = loads.reaction_unique[..., :3], ""
        components["reaction_moment_unique"] = loads.reaction_unique[..., 3:], ""
    actuators = {
        "actuation": (loads.actuation, forces),
        "actuation_unique": (loads.actuation_unique, [""] * len(rates)),
        "speed": (loads.speed, [f"{unit}/s" for unit in rates]),
        "measured_efforts": (loads.measured_efforts, forces),
    }
    if known is not None:
        components["force_deviation"] = known.force, "N"
        components["moment_deviation"] = known.moment, "N m"
        actuators["actuation_deviation"] = known.actuation, forces
    variables = [
        Series(name, unit, values, (*before, "joint", "axis"))
        for name, (values, unit) in components.items()
        if values is not None
    ]
    places = [one._replace(dims=(one.name,)) for one in along]
    places += [Series("joint", "", loads.joints, ("joint",)), Series("axis", "", AXES, ("axis",))]
    if rates:
        places.append(Series("actuator", "", loads.actuation_names, ("actuator",)))
        for name, (values, units) in actuators.items():
            if values is not None:
                variable, unit = of_units(name, values, (*before, "actuator"), units)
                variables.append(variable)
                places += [unit] * any(units)
    return Arrays(variables, places, {"convention": str(loads.convention)})
