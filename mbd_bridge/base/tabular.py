"""Results with rows: as tables in notebooks, as pandas data frames and as xarray data sets.

A class says in which module its rows are made: ``class Motors(Tabular, rows="mbd_bridge....")``;
that module has a function `rows_of`. It is imported when somebody asks for a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import count
from mbd_bridge.base.extras import needed
from mbd_bridge.base.readable import number

if TYPE_CHECKING:
    import pandas
    import xarray

MOST = 24
"""Rows of a table in a notebook; more are counted."""

EDGE = "1px solid color-mix(in srgb, currentColor 22%, transparent)"
"""Lines between rows: in the page's own colour, so that they suit a light and a dark one."""

NUMBER, WORDS = "text-align:right;font-variant-numeric:tabular-nums", "text-align:left"


class Series(NamedTuple):
    """A column: its name, its unit ("" for words and counts), and a value for each row.

    One of `Arrays` has its dimensions, too.
    """

    name: str
    unit: str
    values: Sequence[Any] | NDArray[Any]
    dims: tuple[str, ...] = ()


class Arrays(NamedTuple):
    """What a data set holds: arrays, the names and places along their dimensions, attributes."""

    variables: Sequence[Series]
    coordinates: Sequence[Series]
    attributes: Mapping[str, str] = MappingProxyType({})


class Rows(NamedTuple):
    """A table.

    Attributes
    ----------
    title : what it is, in a line
    labels : what the rows stand for: times, joints, signals
    columns : all with as many values as the labels
    long : rows are instants: a notebook shows the range of each column
    notes : sentences below the table in a notebook
    floors : by unit, the size up to which a notebook shows a number as 0: rounding errors
    arrays : gives what a data set holds; None: a variable for each column
    shown : what a notebook shows in place of labels and columns
    """

    title: str
    labels: Series
    columns: tuple[Series, ...]
    long: bool = False
    notes: tuple[str, ...] = ()
    floors: Mapping[str, float] = MappingProxyType({})
    arrays: Callable[[], Arrays] | None = None
    shown: tuple[Series, ...] = ()


class Tabular:
    """A result that has rows."""

    __slots__ = ()
    _rows_module: ClassVar[str] = ""

    def __init_subclass__(cls, *, rows: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        if rows:  # a dataclass with slots makes its class twice, the second time without it
            cls._rows_module = rows

    def _rows(self) -> Rows:
        rows: Rows = import_module(self._rows_module).rows_of(self)
        return rows

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the rows as a pandas table; ``.attrs["units"]`` has the unit of each column."""
        pandas = needed("pandas", "to_dataframe() needs pandas", "mbd_bridge[studies]")
        _, index, columns, *_ = self._rows()
        table = pandas.DataFrame(
            {column.name: column.values for column in columns},
            index=pandas.Index(index.values, name=index.name),
        )
        table.attrs["units"] = {one.name: one.unit for one in (index, *columns)}
        return table

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray data set: arrays with named dimensions, ``.attrs["units"]`` on each.

        Where the entries of an array have several units, such as the coordinates ``q`` of a
        machine, the coordinate ``q_units`` tells them.
        """
        package = needed("xarray", "to_xarray() needs xarray", "mbd_bridge[studies]")
        rows = self._rows()
        found = _columns_as_arrays(rows) if rows.arrays is None else rows.arrays()
        variables, coordinates = (
            {one.name: (one.dims, np.asarray(one.values), {"units": one.unit}) for one in some}
            for some in found[:2]
        )
        attributes = {"title": rows.title, **found.attributes}
        table: xarray.Dataset = package.Dataset(variables, coordinates, attributes)
        return table

    def _repr_html_(self) -> str:
        """Return a compact table, for a notebook in a light or a dark theme."""
        rows = self._rows()
        columns = _ranges(rows) if rows.long else rows.shown or (rows.labels, *rows.columns)
        return html_table(rows.title, columns, rows.notes, rows.floors)


class AlongTime(Tabular):
    """A result whose rows are the instants of its `time`."""

    __slots__ = ()
    time: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.time)


def of_units(
    name: str, values: Sequence[Any] | NDArray[Any], dims: tuple[str, ...], units: Sequence[str]
) -> tuple[Series, Series]:
    """Return an array whose entries along the last dimension have units of their own, and these.

    An entry with the unit "" has no number.
    """
    each = f"{name}_units"
    known = set(units) - {""}
    unit = "".join(known) if len(known) < 2 else f"see {each}"
    return Series(name, unit, values, dims), Series(each, "", units, dims[-1:])


def html_table(
    title: str,
    columns: Sequence[Series],
    notes: Sequence[str] = (),
    floors: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """Return a table as part of a page; texts from files are shown as texts."""
    number = len(columns[0].values)
    heads = [f"{one.name}, {one.unit}" if one.unit else one.name for one in columns]
    cells = list(zip(*(_shown(one, floors) for one in columns), strict=True))
    aligned = [_alignment(value) for value in cells[0]] if cells else [WORDS] * len(heads)
    head = "".join(
        f'<th style="{style};padding:.1em .6em;border-bottom:{EDGE}">{escape(one)}</th>'
        for style, one in zip(aligned, heads, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_cell(value, k == 0) for k, value in enumerate(row)) + "</tr>"
        for row in cells
    )
    rows = count(number - MOST, "more row")
    more = [f"... and {rows}"] if number > MOST else []
    below = "".join(f'<div style="opacity:.8">{escape(note)}</div>' for note in (*more, *notes))
    return (
        f'<div style="overflow-x:auto"><div><b>{escape(title)}</b></div>'
        f'<table style="border-collapse:collapse;margin:.3em 0;font-size:90%;color:inherit">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )


def _shown(one: Series, floors: Mapping[str, float]) -> list[Any]:
    """Return a column's first values, rounding errors as 0."""
    floor = floors.get(one.unit, 0.0)
    return [0.0 if isinstance(x, float) and abs(x) <= floor else x for x in one.values[:MOST]]


def _alignment(value: Any) -> str:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return NUMBER if number else WORDS


def _cell(value: Any, first: bool) -> str:
    """Return a cell; the first of a row is never broken: a tree may be drawn in it."""
    text = str(value)
    if isinstance(value, float | np.floating):
        text = "" if np.isnan(value) else number(float(value))
    style = f"{_alignment(value)};padding:.1em .6em;white-space:{'pre' if first else 'pre-line'}"
    return f'<td style="{style}">{escape(text)}</td>'


def _ranges(rows: Rows) -> tuple[Series, ...]:
    """Return the range of each column over all instants, as columns."""
    every = (rows.labels, *rows.columns)
    found = []
    for one in every:
        values = np.asarray(one.values, dtype=np.float64)
        values = np.where(np.abs(values) <= rows.floors.get(one.unit, 0.0), 0.0, values)
        known = values[np.isfinite(values)]
        ends = [float(known.min()), float(known.max())] if len(known) else [np.nan, np.nan]
        rms = float(np.sqrt(np.mean(known**2))) if len(known) else np.nan
        found.append([*ends, np.nan if one is rows.labels else rms])
    words = Series("", "", [one.name for one in every]), Series("unit", "", [x.unit for x in every])
    numbers = zip(("least", "largest", "RMS"), zip(*found, strict=True), strict=True)
    return (*words, *(Series(name, "", values) for name, values in numbers))


def _columns_as_arrays(rows: Rows) -> Arrays:
    """Return the columns as variables along the rows; those of units are coordinates."""
    along = (rows.labels.name,)
    every = [one._replace(dims=along) for one in (rows.labels, *rows.columns)]
    units = [one for one in every[1:] if one.name.endswith(("unit", "_units"))]
    return Arrays([one for one in every[1:] if one not in units], [every[0], *units])
