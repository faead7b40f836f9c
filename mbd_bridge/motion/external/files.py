"""External forces from files: tables of forces, or sensors in a recording."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import numpy as np

from mbd_bridge.base.arguments import by_name
from mbd_bridge.base.errors import StateError, some
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.files.tables import open_table, read_table
from mbd_bridge.model import Model
from mbd_bridge.motion.external.columns import How, forces_of
from mbd_bridge.motion.external.forces import ExternalForces
from mbd_bridge.motion.external.naming import ForceNaming
from mbd_bridge.motion.external.sensors import Reads, sensor_columns, sensor_forces
from mbd_bridge.motion.names import TIMES, plain


def external_from_file(
    path: str | PathLike[str],
    model: Model,
    *,
    how: How | None = None,
    sensors: Mapping[str, str] | None = None,
    reads: Reads = "environment",
    naming: ForceNaming | None = None,
) -> ExternalForces:
    """Return the external forces that a file gives to a model.

    Parameters
    ----------
    path : a table, see `columns`; or a recording with sensors
    how : axes, point of action, what is outside; see `How`
    sensors : link -> prefix of the columns of its force/torque sensor; then only these are read
    reads : what sensors read; see `sensors`
    naming : what the columns of a table are
    """
    how = how or How()
    if sensors is None or (isinstance(sensors, Mapping) and not sensors):
        table = read_table(path)
        table = table if naming is None else naming.of_table(table, model)
        return ExternalForces(model, forces_of(table, model, how))
    if naming is not None and (naming.rename or naming.units):
        raise StateError("rename, unit: of tables of forces; a sensor's columns have a prefix")
    table = _sensor_table(path, sensors)
    forces = sensor_forces(table, model, sensors, reads, how.axes, how.point)
    return ExternalForces(model, forces)


def _sensor_table(path: str | PathLike[str], sensors: Mapping[str, str]) -> ColumnTable:
    """Return the columns of a recording that sensors need, and its times."""
    source = open_table(path)
    time = next((name for name in source.names if plain(name) in TIMES), "time")
    wanted = {time}
    for prefix in by_name("sensors", sensors, "{'tool0': 'wrench'}").values():
        columns = sensor_columns(source.names, prefix)
        if not columns:
            raise source.error(
                f"no columns of a sensor begin with {prefix!r}; expected {prefix}.fx [N] ... "
                f"{prefix}.mz [N m], {prefix}.force.x or {prefix}_0 ... _5; the table has "
                f"{some(source.names, 12)}"
            )
        wanted |= set(columns.values())
    kept = [column for column in source.columns if column.name in wanted]
    blocks = [block for _, block in source.chunks(columns=[column.name for column in kept])]
    named = tuple(Column("time", c.unit) if c.name == time else c for c in kept)
    return ColumnTable(named, np.concatenate(blocks), None, source.path, source.attributes)
