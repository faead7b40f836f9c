"""Derivatives of joint loads as a user gets them: arrays, with names and units of every column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.named import Named
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.derivatives.request import (
    INERTIAL_WORD,
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


# Which combinations of a machine's inertial parameters some loads tell at all.
#
# Loads are linear in the inertial parameters φ, but not all of these matter: W φ = W_I β, where the
# columns I of W are independent and β = φ_I + C φ_D are the base parameters (Gautier and Khalil
# 1990; here by the triangles of W over given states: Gautier 1991).

DEPENDENT = 1e-9
"""Part of a column of W, relative to its length, that is rounding: it is made up by others."""

SHOWN = 1e-6
"""Coefficient below which a parameter is not part of a combination: rounding, and what files
round."""


@dataclass(frozen=True, eq=False)
class BaseParameters(Tabular):
    """The combinations of inertial parameters that loads tell.

    Attributes
    ----------
    columns : the K parameters
    independent : (B,) which of them are the first of each combination: W's columns there belong to
        the base parameters
    matrix : (B, K) base parameters by parameters: β = matrix @ φ
    """

    columns: tuple[DerivativeColumn, ...]
    independent: tuple[int, ...]
    matrix: Array

    @property
    def names(self) -> tuple[str, ...]:
        """The combinations as texts, such as "rod.inertial.m + 0.4 pin.inertial.mx"."""
        return tuple(map(self._text, self.independent, self.matrix))

    @property
    def values(self) -> Array:
        """The machine's own base parameters (B,)."""
        return np.asarray(self.matrix @ np.array([column.value for column in self.columns]))

    def _text(self, first: int, row: Array) -> str:
        text = self.columns[first].name
        for k in np.flatnonzero(np.abs(row) > SHOWN):
            if k != first:
                size = "" if abs(abs(row[k]) - 1.0) < SHOWN else f"{abs(row[k]):.6g} "
                text += f" {'-' if row[k] < 0 else '+'} {size}{self.columns[k].name}"
        return text

    def tables(self) -> tuple[Table, ...]:
        """Return the combinations and their values."""
        units = [self.columns[k].unit for k in self.independent]
        return (
            Table(repr(self), Series("combination", "", self.names), [
                Series("value", units, self.values)
            ]),
        )  # fmt: skip

    def __repr__(self) -> str:
        base = count(len(self.independent), "base parameter")
        return f"BaseParameters({base} of {count(len(self.columns), 'inertial parameter')})"


def base_parameters(slopes: LoadDerivatives) -> BaseParameters:
    """Return the base parameters of loads whose derivatives by inertial parameters are known.

    Parameters
    ----------
    slopes : at so many states in general position that they tell all that can be told
    """
    places = [k for k, column in enumerate(slopes.columns) if f".{INERTIAL_WORD}." in column.name]
    if not places:
        raise StateError(
            f"base parameters are combinations of inertial parameters; derive by "
            f"'{INERTIAL_WORD}', or 'LINK.{INERTIAL_WORD}'"
        )
    size = len(slopes.columns)
    parts = [x.reshape(-1, size) for x in (slopes.force, slopes.moment, slopes.actuation)]
    rows = np.concatenate(parts)[:, places]
    rows = rows[np.isfinite(rows).all(axis=1)]
    lengths = np.linalg.norm(rows, axis=0)
    order = np.arange(len(places))  # from the root outwards, as the literature groups them
    moved = order[lengths[order] > DEPENDENT * lengths.max(initial=0.0)]
    _, R = np.linalg.qr(rows[:, moved] / lengths[moved])
    basis: list[int] = []
    for k in range(len(moved)):
        left = R[:, k]
        if basis:
            left = left - R[:, basis] @ np.linalg.lstsq(R[:, basis], left, rcond=None)[0]
        if np.linalg.norm(left) > DEPENDENT**0.5:
            basis.append(k)
    matrix = np.zeros((len(basis), len(places)))
    shares = np.linalg.lstsq(R[:, basis], R, rcond=None)[0]
    matrix[:, moved] = shares / lengths[moved[basis]][:, None] * lengths[moved]
    matrix[np.abs(matrix) < SHOWN] = 0.0
    backwards = np.argsort([moved[k] for k in basis])
    chosen = [int(moved[basis[k]]) for k in backwards]
    columns = tuple(slopes.columns[k] for k in places)
    return BaseParameters(columns, tuple(chosen), matrix[backwards])
