"""Derivatives of a motion as a user gets them, with names and units of every column."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mbd_bridge.base.errors import count
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.derivatives.request import DerivativeColumn, per, places_named
from mbd_bridge.loads.derivatives.result import OfColumns
from mbd_bridge.loads.derivatives.sensitivities import undetermined
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import state_units


@dataclass(frozen=True, eq=False)
class SimulationDerivatives(OfColumns, Tabular):
    """A motion and its derivatives by K numbers, at R records.

    Attributes
    ----------
    model : whose motion it is
    columns : the K numbers: name, unit
    time : (R,) s
    q, v : (R, nq), (R, nv)
    d_q, d_v : (R, nq, K), (R, nv, K): by each number, per unit of its column
    d_end : (K,) of the time of the last record, s per unit of the column: 0 but where the motion
        ends `until` a function is zero
    held : of a machine with loops, the velocities that are independent at the start: the others
        follow them there, and by numbers of the machine the loops close anew. None: all are
    trusted : (K,) False, with nan beside it, by numbers whose change would open loops that are
        redundant; of all where the motion only touches the end of `until`
    """

    model: Model
    columns: tuple[DerivativeColumn, ...]
    time: Array
    q: Array
    v: Array
    d_q: Array
    d_v: Array
    d_end: Array
    held: tuple[str, ...] | None
    trusted: Array

    def by(self, name: str) -> SimulationDerivatives:
        """Return the derivatives by some of the numbers: "q", "v.crank", "rod.xyz", "rod.xyz.x"."""
        places = places_named(self.columns, name)
        columns = tuple(self.columns[k] for k in places)
        names = ("d_q", "d_v", "d_end", "trusted")
        chosen = {name: getattr(self, name)[..., places] for name in names}
        return replace(self, columns=columns, **chosen)

    def tables(self) -> tuple[Table, ...]:
        """Return the derivatives of the final state: a row for each number."""
        units, names = state_units(self.model), self.model.velocity_names
        final = [*zip(self.model.coordinate_names, self.d_q[-1], strict=True)]
        final += [*zip((f"{name}.vel" for name in names), self.d_v[-1], strict=True)]
        series = [
            Series(name, [per(units[name], column.unit) for column in self.columns], row)
            for name, row in final
        ]
        numbers = Series("by", "", self.column_names)
        title = f"derivatives of the state at {self.time[-1]:.6g} s"
        notes = undetermined(self.columns, [one.values for one in series])
        return (Table(title, numbers, series, notes=notes),)

    def __repr__(self) -> str:
        records = count(len(self.time), "record")
        return f"SimulationDerivatives({records}; by {count(len(self.columns), 'number')})"


def untrusted(array: Array, trusted: Array) -> Array:
    """Return derivatives (..., K) with nan where nothing is known of them."""
    return array if trusted.all() else np.where(trusted, array, np.nan)
