"""Joint loads along time, read back from the table that they were written to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, ModelError, some
from mbd_bridge.files.table import UNDETERMINED, ColumnTable
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model import Model
from mbd_bridge.model.units import FORCE_UNIT, RATE, actuation_units, model_units
from mbd_bridge.motion.columns import times
from mbd_bridge.motion.table import ACTUATION, COMPONENTS, FORCES, LOAD, REACTION


def loads_from_table(table: ColumnTable, model: Model) -> JointLoads:
    """Return the loads in a table that `JointLoads.save`, `Simulation.save` or ``mbd`` wrote.

    Where the table holds the velocities of the whole motion too, the speeds of the actuators are
    known.

    Raises
    ------
    FileError
        No joint of the mechanism has its six components there, units are wrong, times do not
        grow, or the convention is not told.
    """
    names = [*model.joint_index, *(cut.name for cut in model.cuts)]
    found = {name: _components(table, name) for name in names}
    joints = [name for name in names if found[name]]
    joints.sort(key=lambda name: table.names.index(found[name][0]))
    if not joints:
        raise table.error(
            f"expected columns <joint>.fx ... <joint>.mz of joints of {model.name!r}, which has "
            f"{some(names, 8)}; the table has {some(table.names, 8)}"
        )
    time = times(table)
    wrenches = np.stack([_wrench(table, found[joint]) for joint in joints], axis=1)
    unique = _flags([found[joint] for joint in joints])
    actuations, actuation_names, places = list[Floats](), list[str](), list[slice]()
    actuation_flags: list[bool] = []
    for joint in joints:
        start = len(actuations)
        for name, unit in _actuation(model, joint):
            column = f"{joint}.{ACTUATION}{name.removeprefix(joint)}"
            actuation_flags.append(column + UNDETERMINED not in table.names)
            column += "" if actuation_flags[-1] else UNDETERMINED
            if column not in table.names:
                raise table.error(f"expected a column {column!r}, the actuation of {joint!r}")
            actuations.append(table.in_si(column, unit))
            actuation_names.append(name)
        places.append(slice(start, len(actuations)))
    rest = [_components(table, f"{joint}.{REACTION}") for joint in joints]
    reaction = np.stack([_wrench(table, c) for c in rest], axis=1) if all(rest) else None
    loads = JointLoads(
        tuple(joints),
        wrenches[..., :3],
        wrenches[..., 3:],
        np.array(actuations).reshape(-1, len(time)).T,
        tuple(actuation_names),
        tuple(places),
        np.broadcast_to(unique, wrenches.shape),
        np.broadcast_to(np.array(actuation_flags, dtype=bool), (len(time), len(actuations))),
        _convention(table),
        None if reaction is None else reaction[..., :3],
        None if reaction is None else reaction[..., 3:],
        None if reaction is None else np.broadcast_to(_flags(rest), reaction.shape),
        model=model,
        time=time,
    )
    rates = [name + ".vel" for name in model.velocity_names]
    if not all(name in table.names for name in rates):
        return loads
    _, of_v = model_units(model)
    v = [table.in_si(name, unit + RATE[1]) for name, unit in zip(rates, of_v, strict=True)]
    return loads.along(time, np.array(v).reshape(-1, len(time)).T)


def _flags(columns: list[list[str]]) -> NDArray[np.bool_]:
    """Return which columns, by joint, are not called undetermined."""
    return np.array([[not name.endswith(UNDETERMINED) for name in each] for each in columns])


def _components(table: ColumnTable, joint: str) -> list[str]:
    """Return the names of the columns of a joint's six components, none if one is missing."""
    found = []
    for component in COMPONENTS:
        name = f"{joint}.{component}"
        found += [c for c in (name, name + UNDETERMINED) if c in table.names][:1]
    return found if len(found) == len(COMPONENTS) else []


def _wrench(table: ColumnTable, names: list[str]) -> Floats:
    units = ["N" if component in FORCES else "N m" for component in COMPONENTS]
    return np.stack([table.in_si(n, unit) for n, unit in zip(names, units, strict=True)], axis=1)


def _actuation(model: Model, joint: str) -> list[tuple[str, str]]:
    """Return names and units of a joint's actuators."""
    gears = [coupling.name for coupling in model.description.couplings]
    if joint in gears:
        names = [joint]
    elif joint in model.joint_index and model.joint(joint).moving:
        names = [joint + suffix for suffix in model.joint(joint).type.velocities]
    else:
        return []
    return [
        (n, FORCE_UNIT[unit]) for n, unit in zip(names, actuation_units(model, joint), strict=True)
    ]


def _convention(table: ColumnTable) -> Convention:
    if LOAD not in table.attributes:
        raise table.error(
            f"the file does not say on whom, at which point and in whose axes these loads are "
            f"given; expected '{LOAD}: {Convention()}' among its attributes (in CSV a comment "
            f"before the header)"
        )
    try:
        return Convention.from_text(table.attributes[LOAD])
    except ModelError as error:
        raise FileError(str(error), table.source) from None
