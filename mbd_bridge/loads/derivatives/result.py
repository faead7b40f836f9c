"""Derivatives of joint loads as a user gets them: arrays, with names and units of every column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.named import Named
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.derivatives.base_parameters import BaseParameters, base_parameters
from mbd_bridge.loads.derivatives.request import (
    WRENCH,
    DerivativeColumn,
    per,
    places_named,
)
from mbd_bridge.loads.derivatives.sensitivities import (
    LoadSensitivities,
    SensitivityCounter,
    undetermined,
)
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT, actuation_units


class OneDerivative(NamedTuple):
    """Derivatives of one joint's load by K numbers.

    Attributes
    ----------
    force, moment : (..., 3, K)
    actuation : (..., degrees of freedom of the joint, K)
    reaction_force, reaction_moment : of the load without the actuation's part, if asked for
    """

    force: Array
    moment: Array
    actuation: Array
    reaction_force: Array | None = None
    reaction_moment: Array | None = None

    @property
    def wrench(self) -> Array:
        """Force and moment in one array, (..., 6, K)."""
        return np.concatenate([self.force, self.moment], axis=-2)


class OfColumns:
    """What is derived by K numbers, its `columns`."""

    columns: tuple[DerivativeColumn, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the K numbers."""
        return tuple(column.name for column in self.columns)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the K numbers."""
        return tuple(column.unit for column in self.columns)


@dataclass(frozen=True, eq=False)
class LoadDerivatives(
    OfColumns, Tabular, Named[OneDerivative], entries="joint in these derivatives of loads"
):
    """Derivatives of the loads of some joints by K numbers, at one state or at N states.

    Attributes
    ----------
    loads : the loads themselves, with their flags and convention
    columns : the K numbers: name, unit
    force, moment : (..., J, 3, K): N and N m, per unit of the column
    actuation : (..., F, K), per unit of the column
    reaction_force, reaction_moment : (..., J, 3, K), if asked for, else None
    held : of a machine with loops, the independent velocities: the others follow them, and by its
        numbers the loops close anew at their fixed motion. None: all of q, v and a are fixed
    trusted : (..., K) False, with nan beside it, near singular positions, and by numbers whose
        change would open loops that are redundant. nan is also in components of loads that are not
        determined (`loads.unique`)
    """

    loads: JointLoads
    columns: tuple[DerivativeColumn, ...]
    force: Array
    moment: Array
    actuation: Array
    reaction_force: Array | None = None
    reaction_moment: Array | None = None
    held: tuple[str, ...] | None = None
    trusted: Array = field(default_factory=lambda: np.ones(0, dtype=bool))

    @property
    def names(self) -> tuple[str, ...]:
        """The joints."""
        return self.loads.joints

    @property
    def wrench(self) -> Array:
        """Force and moment in one array, (..., J, 6, K)."""
        return np.concatenate([self.force, self.moment], axis=-2)

    def _entry(self, name: str) -> OneDerivative:
        k, place = self.names.index(name), self.loads.actuation_of[self.names.index(name)]
        parts = self.reaction_force, self.reaction_moment
        own = (None if part is None else part[..., k, :, :] for part in parts)
        force, moment = self.force[..., k, :, :], self.moment[..., k, :, :]
        return OneDerivative(force, moment, self.actuation[..., place, :], *own)

    def by(self, name: str) -> LoadDerivatives:
        """Return the derivatives by some of the numbers: "q", "q.crank", "rod.xyz", "rod.xyz.x"."""
        places = places_named(self.columns, name)
        arrays = ("force", "moment", "actuation", "reaction_force", "reaction_moment")
        changed = {
            part: array[..., places]
            for part in arrays
            if (array := getattr(self, part)) is not None
        }
        columns = tuple(self.columns[k] for k in places)
        return replace(self, columns=columns, trusted=self.trusted[..., places], **changed)

    def sensitivities(self) -> LoadSensitivities:
        """Return what changes the peaks and root mean squares of these loads along a motion."""
        if self.force.ndim != 4 or not len(self.force):
            raise StateError(
                f"sensitivities are those of a motion: expected derivatives at N states, got "
                f"{'none' if self.force.ndim == 4 else 'one state'}"
            )
        counter = SensitivityCounter()
        counter.add(self)
        return counter.result()

    def base_parameters(self) -> BaseParameters:
        """Return the combinations of inertial parameters that these loads tell.

        Of derivatives by "inertial", at many states in general position. With W the derivatives and
        B the result, W φ = W[..., B.independent] @ B.matrix @ φ: ready for least squares.
        """
        return base_parameters(self)

    def tables(self) -> tuple[Table, ...]:
        """Return for each joint a row for each number; of N states the largest values."""
        return tuple(self._rows(k, joint) for k, joint in enumerate(self.names))

    def _rows(self, k: int, joint: str) -> Table:
        flat = tuple(range(self.force.ndim - 3))
        wrench = _largest(self.wrench[..., k, :, :], flat)
        columns = [
            Series(name, [per(unit, column.unit) for column in self.columns], wrench[n])
            for n, (name, unit) in enumerate(WRENCH.items())
        ]
        place = self.loads.actuation_of[k]
        model = self.loads.model if place.stop > place.start else None
        units = () if model is None else actuation_units(model, joint)
        actuation = _largest(self.actuation[..., place, :], flat)
        names = self.loads.actuation_names[place]
        for name, row, unit in zip(names, actuation, units, strict=False):
            head = "actuation" + name.removeprefix(joint)
            units_of = [per(FORCE_UNIT[unit], column.unit) for column in self.columns]
            columns.append(Series(head, units_of, row))
        states = f", largest of {count(len(self.force), 'state')}" if flat else ""
        title = f"derivatives of the load of {joint}{states}; {self.loads.convention}"
        numbers = Series("by", "", self.column_names)
        notes = undetermined(self.columns, [one.values for one in columns])
        return Table(title, numbers, columns, notes=notes)

    def __repr__(self) -> str:
        states = count(1 if self.force.ndim == 3 else len(self.force), "state")
        names = ", ".join(self.names[:6]) + (", ..." if len(self.names) > 6 else "")
        return f"LoadDerivatives({states}; {names}; by {count(len(self.columns), 'number')})"


def _largest(array: Array, axes: tuple[int, ...]) -> Array:
    """Return the entries that are largest over some axes, with their signs; nan of none known."""
    if not axes:
        return array
    if not len(array):
        return np.full(array.shape[1:], np.nan)
    place = np.where(np.isnan(array), -1.0, np.abs(array)).argmax(axis=0)
    return np.asarray(np.take_along_axis(array, place[None], axis=0)[0])
