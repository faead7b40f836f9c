"""Which combinations of a machine's inertial parameters some loads tell at all.

Loads are linear in the inertial parameters φ, but not all of these matter: W φ = W_I β, where the
columns I of W are independent and β = φ_I + C φ_D are the base parameters (Gautier and Khalil
1990; here by the triangles of W over given states: Gautier 1991).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.derivatives.request import INERTIAL_WORD, DerivativeColumn
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.loads.derivatives.result import LoadDerivatives

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
