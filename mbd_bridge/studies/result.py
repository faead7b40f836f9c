"""What a study found: the factors and outputs of all variants, as arrays and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.errors import MissingPackageError, StateError, count, unknown_name
from mbd_bridge.formats.table import Column
from mbd_bridge.formats.tables import TableWriter
from mbd_bridge.spatial import Array
from mbd_bridge.studies.design import Design
from mbd_bridge.tabular import HINT, MOST, html_table

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Outputs of N variants.

    Attributes
    ----------
    design : the factors and their values
    outputs : by name, (N,); nan where a variant has none. "finished" says which came to their end
    statuses : how many motions ended in which way
    reused : variants that were not computed, since their part was there
    """

    design: Design
    outputs: dict[str, Array]
    statuses: Mapping[str, int]
    reused: int = 0

    def __len__(self) -> int:
        return len(self.design)

    def __getitem__(self, name: str) -> Array:
        """Return the values (N,) of an output or a factor."""
        if name in self.outputs:
            return self.outputs[name]
        if name in self.design.names:
            return self.design[name]
        known = [*self.outputs, *self.design.names]
        raise StateError(unknown_name("output or factor", name, known))

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.outputs, *self.design.names]

    def _repr_html_(self) -> str:
        """Return the first variants and how they ended, for a notebook."""
        columns = self.columns
        cells = list(zip(*(values[: MOST + 1] for values in columns.values()), strict=True))
        ends = ", ".join(f"{number:,} {status}" for status, number in self.statuses.items())
        below = (f"{count(len(self), 'variant')}: {ends}",)
        return html_table("StudyResult", list(columns), cells[:MOST], below)

    @property
    def columns(self) -> dict[str, Array]:
        """Factors, then outputs, (N,) each."""
        return {**self.design.columns(), **self.outputs}

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a table with a row for each variant (needs pandas)."""
        try:
            import pandas
        except ImportError:
            raise MissingPackageError(f"to_dataframe() needs pandas: {HINT}") from None
        return pandas.DataFrame(self.columns)

    def to_xarray(self) -> xarray.Dataset:
        """Return a data set (needs xarray): of a grid with the factors as dimensions."""
        try:
            import xarray
        except ImportError:
            raise MissingPackageError(f"to_xarray() needs xarray: {HINT}") from None
        design = self.design
        if design.kind == "grid":
            meshed = design.values.reshape(*design.shape, len(design.names))
            levels = {
                name: np.moveaxis(meshed[..., k], k, 0).reshape(design.shape[k], -1)[:, 0]
                for k, name in enumerate(design.names)
            }
            parts = {
                name: (design.names, values.reshape(design.shape))
                for name, values in self.outputs.items()
            }
            return xarray.Dataset(parts, coords=levels)
        parts = {name: (("variant",), values) for name, values in self.outputs.items()}
        factors = {name: (("variant",), values) for name, values in design.columns().items()}
        return xarray.Dataset(parts, coords=factors)

    def save(self, path: str | PathLike[str]) -> None:
        """Write factors and outputs to .csv, .parquet, .npz or .h5, a row for each variant."""
        columns = self.columns
        with TableWriter(
            path, [Column(name) for name in columns], {"study": design_words(self)}
        ) as file:
            file.append(np.stack(list(columns.values()), axis=1))

    def sensitivity(self, output: str) -> dict[str, Any]:
        """Return Sobol indices of an output, by factor: first order and total, with 95 % bounds.

        The design is one of `saltelli`; SALib estimates the indices.

        Returns
        -------
        dict with "names", "first", "first_bound", "total", "total_bound", (P,) each
        """
        if self.design.kind != "saltelli":
            raise StateError(
                f"Sobol indices need a design of mbd.studies.saltelli, this is a {self.design.kind}"
            )
        values = self[output]
        bad = int(np.count_nonzero(~np.isfinite(values)))
        if bad:
            raise StateError(
                f"{output!r} has no value in {bad} of {len(self)} variants ({_said(self)}): Sobol "
                f"indices need all; choose ranges in which every variant comes to its end"
            )
        try:
            from SALib.analyze import sobol
        except ImportError:
            raise MissingPackageError(f"Sobol indices need SALib: {HINT}") from None
        names = list(self.design.names)
        unit = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
        found = sobol.analyze(unit, values, calc_second_order=False, seed=0)
        parts = {"first": "S1", "first_bound": "S1_conf", "total": "ST", "total_bound": "ST_conf"}
        return {"names": tuple(names)} | {own: np.asarray(found[k]) for own, k in parts.items()}

    def __repr__(self) -> str:
        told = [f"{count(len(self), 'variant')} of {', '.join(self.design.names)}"]
        told += [f"outputs {', '.join(self.outputs)}", _said(self)]
        told += [f"{self.reused} read, not computed"] if self.reused else []
        return f"StudyResult({'; '.join(one for one in told if one)})"


def design_words(found: StudyResult) -> str:
    """Return a sentence about a study, for its files."""
    return f"{found.design.kind}, {count(len(found), 'variant')}"


def _said(found: StudyResult) -> str:
    """Return how many motions ended in which way, the most frequent first."""
    ordered = sorted(found.statuses.items(), key=lambda one: -one[1])
    return ", ".join(f"{times} {status}" for status, times in ordered[:3])
