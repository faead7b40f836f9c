"""Joint loads as tables, arrays and files, with units and convention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.table import Arrays, Series, Table, of_units
from mbd_bridge.files.table import UNDETERMINED
from mbd_bridge.files.tables import Column, TableWriter
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model import Model
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion.smoothing import BAND
from mbd_bridge.motion.table import (
    ACTUATION,
    COMPONENTS,
    FORCES,
    LOAD,
    MOMENTS,
    REACTION,
    SPINS,
    TIME,
    FurtherColumns,
    attributes,
    band_of,
)

AXES = ("x", "y", "z")


def load_columns(loads: JointLoads) -> tuple[Column, ...]:
    """Return for each joint its force, moment, actuators and (asked for) reaction.

    A joint with one degree of freedom has the column ``<joint>.actuation``, with more one for each,
    such as ``<joint>.actuation.wx``; a fixed joint has none. Loads that are uncertain have at the
    end, of each number but those of the reaction, ``<column>.band``.
    """
    if loads.model is None:
        raise StateError(
            "these loads do not know their mechanism, so the units of actuators neither"
        )
    columns = []
    sure = np.asarray(np.atleast_2d(loads.actuation_unique).all(axis=0))
    for joint, flags, place in zip(loads.joints, loads.determined, loads.actuation_of, strict=True):
        columns += _wrench(joint, flags)
        names = loads.actuation_names[place]
        units = actuation_units(loads.model, joint) if names else ()
        for name, unit, known in zip(names, units, sure[place], strict=True):
            column = f"{joint}.{ACTUATION}{name.removeprefix(joint)}"
            columns.append(Column(column + ("" if known else UNDETERMINED), FORCE_UNIT[unit]))
        if loads.reaction_unique is not None:
            own = loads.reaction_unique[..., loads.joints.index(joint), :].reshape(-1, 6)
            columns += _wrench(f"{joint}.{REACTION}", np.asarray(own.all(axis=0)))
    bands = [c for c in columns if f".{REACTION}." not in c.name] * (loads.uncertainty is not None)
    columns += [replace(c, name=band_of(c.name)) for c in bands]
    return tuple(columns)


def load_names(model: Model, joint: str) -> list[str]:
    """Return the names of the columns that the load of a joint may have, if it is determined."""
    suffixes = model.joint(joint).type.velocities if joint in model.joint_index else ("",)
    names = [*COMPONENTS, *(ACTUATION + suffix for suffix in suffixes)]
    return [f"{joint}.{name}" for name in names]


def load_rows(loads: JointLoads, bands: bool | None = None) -> Floats:
    """Return the rows (N, columns) under `load_columns` of loads at N states.

    Parameters
    ----------
    bands : whether there are columns of bands, as of the piece before; None: as of these loads
    """
    if loads.force.ndim != 3:
        raise StateError(f"expected loads along a motion, (N, joints, 3), got one state: {loads}")
    parts = []
    for k, place in enumerate(loads.actuation_of):
        parts += [loads.force[:, k], loads.moment[:, k], loads.actuation[:, place]]
        if loads.reaction_force is not None and loads.reaction_moment is not None:
            parts += [loads.reaction_force[:, k], loads.reaction_moment[:, k]]
    known = loads.uncertainty
    if known is not None if bands is None else bands:
        for k, place in enumerate(loads.actuation_of):
            some = [loads.force[:, k], loads.moment[:, k], loads.actuation[:, place]]
            if known is not None:
                some = [known.force[:, k], known.moment[:, k], known.actuation[:, place]]
            parts += [BAND * x if known is not None else 0.0 * x for x in some]
    return np.hstack(parts)


def load_table(loads: JointLoads) -> Table:
    """Return loads of one state, a joint each; of N states an instant each, columns as in files."""
    title, floors = repr(loads), loads.round_off.floors
    if loads.force.ndim == 3:
        columns = [
            Series(column.name, column.unit or "", values)
            for column, values in zip(load_columns(loads), load_rows(loads).T, strict=True)
        ]
        return Table(title, _index(loads), columns, long=True, floors=floors)
    columns = [
        Series(name, unit, vectors[:, k], sure=loads.unique[:, first + k])
        for names, unit, vectors, first in (
            (FORCES, "N", loads.force, 0),
            (MOMENTS, "N m", loads.moment, 3),
        )
        for k, name in enumerate(names)
    ]
    single = [place if place.stop - place.start == 1 else None for place in loads.actuation_of]
    moved = [
        actuation_units(loads.model, joint) if loads.model and place else ("",)
        for joint, place in zip(loads.joints, single, strict=True)
    ]
    actuation = Series(
        "actuation",
        [FORCE_UNIT.get(unit, "") for (unit,) in moved],
        [None if place is None else float(loads.actuation[place][0]) for place in single],
        sure=[place is None or bool(loads.actuation_unique[place][0]) for place in single],
    )
    labels = Series("joint", "", loads.joints)
    return Table(title, labels, [*columns, actuation], floors=floors, brackets=True)


def _index(loads: JointLoads) -> Series:
    if loads.time is not None:
        return Series("time", "s", loads.time)
    return Series("state", "", np.arange(len(loads.force)))


def load_arrays(loads: JointLoads, along: Sequence[Series] | None = None) -> Arrays:
    """Return loads as arrays over joints and axes, or actuators.

    Parameters
    ----------
    along : places along the dimensions before these, such as trajectories and times; None: those
        of these loads
    """
    if along is None:
        along = [_index(loads)] * (loads.force.ndim == 3)
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


def load_attributes(loads: JointLoads) -> dict[str, str]:
    """Return what a reader of the columns must know."""
    said = {
        LOAD: str(loads.convention),
        ACTUATION: "generalised force along the joint's own degrees of freedom; part of the load",
    }
    if loads.reaction_force is not None:
        said[REACTION] = "the load without the actuation's part: what the bearing carries"
    if any(column.name.endswith(UNDETERMINED) for column in load_columns(loads)):
        said[UNDETERMINED.strip(" ()")] = (
            "rigid-body mechanics does not determine this component; the smallest solution stands "
            "there"
        )
    if loads.uncertainty is not None:
        said["band"] = "half the width of what holds 95 % of the errors from the motion's noise"
    if loads.spins:
        said[SPINS] = (
            f"accelerations of spins that no joint actuates were solved for: "
            f"{', '.join(loads.spins)}"
        )
    return said


def beside_motion(loads: JointLoads) -> FurtherColumns:
    """Return loads as further columns of a motion's table."""
    return FurtherColumns(load_columns(loads), load_rows(loads), load_attributes(loads))


def save_loads(
    loads: JointLoads,
    path: str | PathLike[str],
    time: ArrayLike | None = None,
    *,
    digits: int | None = None,
    notes: Sequence[str] = (),
    gaps: bool = False,
) -> None:
    """Write loads along a motion; see `JointLoads.save`."""
    times = loads.time if time is None else as_floats("time", time)
    rows = load_rows(loads)
    if times is None:
        raise StateError("the times of these loads are not known; give time=(N,) s")
    if times.shape != rows.shape[:1]:
        raise StateError(f"time: expected {len(rows)}, one a state, got the shape {times.shape}")
    assert loads.model is not None
    said = attributes(f"joint loads of {loads.model.name}", notes) | load_attributes(loads)
    columns = [TIME, *load_columns(loads)]
    with TableWriter(path, columns, said, digits=digits, gaps=gaps) as out:
        out.append(np.column_stack([times, rows]))


def _wrench(prefix: str, determined: Sequence[bool] | NDArray[np.bool_]) -> list[Column]:
    return [
        Column(
            f"{prefix}.{name}" + ("" if sure else UNDETERMINED), "N" if name in FORCES else "N m"
        )
        for name, sure in zip(COMPONENTS, determined, strict=True)
    ]
