"""What the columns of a table of forces are, where their names and units do not say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mbd_bridge.base.arguments import by_name, name_list
from mbd_bridge.base.errors import FileError, StateError, unknown_name
from mbd_bridge.base.units import find_unit, units_of
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.motion.external.abscissa import abscissa_of
from mbd_bridge.motion.external.columns import MEASURES

OF_COLUMNS = ("s", "rad", "m", "N", "N m")
"""What units of columns that do not say theirs measure."""


@dataclass(frozen=True)
class ForceNaming:
    """Names and units of columns.

    Attributes
    ----------
    rename : names there -> here; None (or "") leaves the column out
    units : of columns without one, at most one for each of angles, lengths, forces and moments
    """

    rename: Mapping[str, str | None]
    units: tuple[str, ...] = ()

    @staticmethod
    def of(
        rename: Mapping[str, str | None] | None = None, unit: Sequence[str] | str = ()
    ) -> ForceNaming:
        """Return a checked one."""
        units = name_list("unit", unit, "units, such as 'kN'")
        measures = []
        for one in units:
            known = find_unit(one)
            if known is None or known.measures not in OF_COLUMNS:
                fitting = ", ".join(units_of(*OF_COLUMNS))
                raise StateError(f"unit: expected one of {fitting}, got {one!r}")
            measures.append(known.measures)
        if len(set(measures)) < len(measures):
            raise StateError(f"unit: {', '.join(units)} measure the same; give one of them")
        return ForceNaming(by_name("rename", rename, "{'F1': 'ram.fz'}"), units)

    def of_table(self, table: ColumnTable, model: Model) -> ColumnTable:
        """Return a table with its columns as they are called and measured.

        Raises
        ------
        FileError
            It has not a column that is to be renamed.
        """
        for name in self.rename:
            if name not in table.names:
                told = unknown_name("column", name, table.names)
                raise FileError(f"rename: {told}", table.source)
        named = [self.rename.get(name, name) for name in table.names]
        kept = [k for k, name in enumerate(named) if name]
        columns = [self._column(table.columns[k], named[k] or "", model) for k in kept]
        return replace(table, columns=tuple(columns), values=table.values[:, kept])

    def _column(self, column: Column, name: str, model: Model) -> Column:
        """Return a column by its name here, with the unit of all that measure the same."""
        if column.unit is None:
            over = abscissa_of(model, name)
            measure = over.unit if over else MEASURES.get(name.rpartition(".")[2])
            for unit in self.units:
                known = find_unit(unit)
                if known is not None and known.measures == measure:
                    return Column(name, unit)
        return Column(name, column.unit)
