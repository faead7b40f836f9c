"""A tyre of tables: slip forces as a test rig or another program gives them, over slip and load.

    F_x, F_y, M_z = tables(κ, α, F_z)        straight lines along all three, from 0 at no load

The table has a row for each place of a grid of slips, slip angles and loads, with any spacing:
what belongs to combined slip is in it. Beyond the first and last slips, angles and loads forces
stay as they are there. Signs are those of the report: F_x along the wheel's way, F_y to its left,
κ above 0 drives, α above 0 where the wheel moves to the left, so that F_y is below 0 there. Camber
does not act.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers, known_name
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.files.tables import read_table
from mbd_bridge.forces.base import NO_STATES, Bodies, Effect, number
from mbd_bridge.forces.law import Stiffness
from mbd_bridge.forces.roads.grid import joined
from mbd_bridge.forces.tyres.contact import slips
from mbd_bridge.forces.tyres.tyre import LOW_SPEED, SlipForce, Tyre, spring_damper, tyre_effect
from mbd_bridge.functions import Lookup, arctan
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

PLACES = {"slip": "1", "angle": "rad", "load": "N"}
FORCES = {"longitudinal": "N", "lateral": "N", "aligning": "N m"}
"""Columns of the table, and their units; `aligning` may be left out."""

MOST_ROWS = 200_000


class GridSide(NamedTuple):
    """Places along one side of a grid: as a fraction of their numbers, and the number before."""

    fraction: Lookup
    before: Lookup
    size: int

    @staticmethod
    def of(places: Floats) -> GridSide:
        """Return the look-ups of places that increase."""
        numbers = np.arange(float(len(places)))
        steps = Lookup.of_polynomials(places[:-1], numbers[None, :-1], float(places[-1]))
        return GridSide(Lookup(places, numbers), steps, len(places))


@final
@dataclass(frozen=True, eq=False)
class TableTyre(Tyre):
    """A tyre whose slip forces come from a table.

    Parameters
    ----------
    radius : R, m
    stiffness : vertical, N/m; coefficients of a polynomial, or a `functions.Lookup`
    table : columns (K,) `slip`, `angle` (rad), `load` (N), `longitudinal`, `lateral` (N) and
        `aligning` (N m, may be left out) of a grid, its places in any order; or the path of a file
        with these columns, whose heads may say other units
    damping : vertical, N s/m; it sets in over the first millimetre
    low_speed : v0, m/s; below it slips are taken over a lower bound of the speed
    """

    radius: Annotated[float, number("m", positive=True)]
    stiffness: Stiffness
    table: str | os.PathLike[str] | Mapping[str, ArrayLike]
    damping: Annotated[float, number("N s/m", 0.0)] = 0.0
    low_speed: Annotated[float, number("m/s", positive=True)] = LOW_SPEED

    def bind(self, model: Model) -> Self:
        """Return the element checked, with the content of its table."""
        bound = replace(self.checked(model), table=self._columns())
        return bound if bound._grid else self  # `_grid` says what is wrong with the table

    def _columns(self) -> dict[str, tuple[float, ...]]:
        where, units = f"{self.label}: table", PLACES | FORCES
        needed = [name for name in units if name != "aligning"]
        if isinstance(self.table, Mapping):
            for name in needed:
                known_name("column", name, self.table, f"{where}: ")
            for name in self.table:
                known_name("column", name, units, f"{where}: ")
            columns = {k: finite_numbers(f"{where}: {k}", x) for k, x in self.table.items()}
        else:
            read = read_table(self.table, max_cells=10 * MOST_ROWS)
            names = [*needed, *({"aligning"} & {*read.names})]
            columns = {name: read.in_si(name, units[name]) for name in names}
        shapes = {column.shape for column in columns.values()}
        if len(shapes) > 1 or len(next(iter(shapes))) != 1:
            raise StateError(f"{where}: expected columns of one length, got {sorted(shapes)}")
        return {name: tuple(column.tolist()) for name, column in columns.items()}

    @cached_property
    def _grid(self) -> tuple[GridSide, GridSide, GridSide, dict[str, Lookup]]:
        assert isinstance(self.table, Mapping)
        where, columns = f"{self.label}: table", {k: np.array(x) for k, x in self.table.items()}
        sides, numbers = zip(
            *(np.unique(columns[name], return_inverse=True) for name in PLACES), strict=True
        )
        shape = tuple(map(len, sides))
        cells = np.ravel_multi_index(tuple(numbers), shape)
        if len(cells) > MOST_ROWS or len(cells) != np.prod(shape) or len({*cells}) < len(cells):
            raise StateError(
                f"{where}: expected one row for each of {' x '.join(map(str, shape))} slips, "
                f"angles and loads, at most {MOST_ROWS}, got {len(cells)} rows at {len({*cells})} "
                f"places; resample it to a grid"
            )
        slip, angle, load = sides
        if min(shape[:2]) < 2 or load[0] < 0.0 or load[-1] == 0.0:
            known = f"loads from {load[0]:g} to {load[-1]:g} N" if len(load) else "no loads"
            raise StateError(
                f"{where}: expected two slips and two angles or more, and loads above 0, got "
                f"{shape[0]} slips, {shape[1]} angles and {known}"
            )
        tables = {}
        for name in FORCES.keys() & columns.keys():
            values = np.empty(np.prod(shape))
            values[cells] = columns[name]
            grid = values.reshape(shape)
            if load[0] > 0.0:
                grid = np.concatenate([np.zeros((*shape[:2], 1)), grid], axis=2)
            elif np.any(grid[..., 0]):
                raise StateError(f"{where}: {name}: expected no force at load 0, got some")
            tables[name] = joined(grid.transpose(0, 2, 1).reshape(shape[0], -1), "linear")
        loads = load if load[0] == 0.0 else np.append(0.0, load)
        return GridSide.of(slip), GridSide.of(angle), GridSide.of(loads), tables

    @property
    def rolling_radius(self) -> float:
        """R."""
        return self.radius

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrench on the wheel, and the report."""
        touch = self.contact(model, t, Bodies(model, q, v), self.radius)
        spring = spring_damper(touch, self.stiffness, self.damping)
        kappa, tan_alpha, _ = slips(touch, self.low_speed, z, None)
        slip = self.slip_forces(kappa, arctan(tan_alpha), spring.push * touch.length)
        return tyre_effect(touch, spring, slip, (kappa, tan_alpha))

    def slip_forces(self, kappa: Any, alpha: Any, load: Any) -> SlipForce:
        """Return the forces of a slip and a slip angle (rad) under a load (N)."""
        slip, angle, loads, tables = self._grid
        along = slip.fraction(kappa)
        row, high = angle.before(alpha), loads.before(load)
        across, above = angle.fraction(alpha) - row, loads.fraction(load) - high
        place = along + slip.size * (row + angle.size * high)

        def between(table: Lookup, start: Any) -> Any:
            near = table(start)
            return near + across * (table(start + slip.size) - near)

        def value(table: Lookup) -> Any:
            low = between(table, place)
            return low + above * (between(table, place + slip.size * angle.size) - low)

        found = {name: value(table) for name, table in tables.items()}
        return SlipForce(found["longitudinal"], found["lateral"], found.get("aligning", 0.0))
