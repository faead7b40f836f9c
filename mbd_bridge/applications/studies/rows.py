"""A study as rows: a variant each; as arrays a grid has its factors as dimensions."""

from __future__ import annotations

from functools import partial

import numpy as np

from mbd_bridge.applications.studies.result import StudyResult, ends
from mbd_bridge.base.tabular import Arrays, Rows, Series


def rows_of(study: StudyResult) -> Rows:
    """Return factors and outputs, and how the motions ended."""
    columns = tuple(Series(name, study.units[name], x) for name, x in study.columns.items())
    index = Series("variant", "", np.arange(len(study)))
    notes = (f"{len(study):,} variants: {ends(study)}",) if study.statuses else ()
    return Rows(repr(study), index, columns, notes=notes, arrays=partial(_arrays, study))


def _arrays(study: StudyResult) -> Arrays:
    """Return the outputs over the factors of a grid, or over the variants."""
    design, units = study.design, study.units
    if design.kind == "grid":
        meshed = design.values.reshape(*design.shape, len(design.names))
        levels = (
            np.moveaxis(meshed[..., k], k, 0).reshape(design.shape[k], -1)[:, 0]
            for k in range(len(design.names))
        )
        dims = design.names
        coordinates = [
            Series(name, units[name], own, (name,)) for name, own in zip(dims, levels, strict=True)
        ]
    else:
        dims = ("variant",)
        values = {"variant": np.arange(len(study)), **design.columns()}
        coordinates = [Series(name, units.get(name, ""), x, dims) for name, x in values.items()]
    outputs = [
        Series(name, units[name], values.reshape(design.shape), dims)
        for name, values in study.outputs.items()
    ]
    return Arrays(outputs, coordinates, {"design": design.kind})
