"""Joint loads as rows: of N states an instant each, of one state a joint each."""

from __future__ import annotations

import numpy as np

from mbd_bridge.loads.export import load_columns, load_rows
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.motions.table import FORCES, MOMENTS
from mbd_bridge.tabular import Rows, Series

DETERMINED = "'?' marks what rigid-body mechanics does not determine"


def rows_of(loads: JointLoads) -> Rows:
    """Return force, moment and actuation, columns as `JointLoads.save` writes them."""
    floors = {"N": loads.round_off.force, "N m": loads.round_off.moment}
    notes = () if loads.determined.all() else (DETERMINED,)
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
        return Rows(title, index, (*columns, *more), notes=notes, floors=floors)
    values = load_rows(loads)
    columns = [
        Series(column.name, column.unit or "", values[:, k])
        for k, column in enumerate(load_columns(loads))
    ]
    return Rows(title, _index(loads), tuple(columns), long=True, notes=notes, floors=floors)


def _index(loads: JointLoads) -> Series:
    if loads.time is not None:
        return Series("time", "s", loads.time)
    return Series("state", "", np.arange(len(loads.force)))
