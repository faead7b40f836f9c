"""Results as tables: on a terminal, in notebooks and reports, as data frames and data sets.

A result says its tables (`Tabular.tables`): columns of values in SI units. How they are read is
decided here for all of them: prefixes, digits, rounding errors as 0, bands, what is not determined.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import count, visible
from mbd_bridge.base.extras import needed
from mbd_bridge.base.readable import Shown, number, shown_in

if TYPE_CHECKING:
    import pandas
    import xarray

MOST = 24
"""Rows of a table in a notebook; more are counted."""

BAND = "± 95 %"
"""Heading of half the widths of the bands that hold 95 % of the errors."""

PART = "quantity"
"""Label of a joint's forces and moments: nobody needs it as a heading."""

HIDDEN = "undetermined"
"""Stands in place of numbers that rigid-body mechanics does not determine."""

WHY = {
    False: f"{HIDDEN}: rigid-body mechanics does not determine this load",
    True: "(...) is not determined by rigid-body mechanics",
}
"""Notes of tables with such numbers, by whether these stand in brackets."""

PROSE = 40
"""Letters from which on a cell of a page may be broken into lines."""

HEAD = "head"
"""Mark of headings."""

LOOK = (
    ".mbd{overflow-x:auto}.mbd table{border-collapse:collapse;margin:.3em 0;font-size:90%}"
    ".mbd th,.mbd td{padding:.1em .6em;text-align:left;white-space:pre-line}"
    ".mbd th{border-bottom:1px solid color-mix(in srgb, currentColor 22%, transparent)}"
    ".mbd .number{text-align:right;font-variant-numeric:tabular-nums}"
    ".mbd td:first-child{white-space:pre}.mbd p{opacity:.8;margin:.2em 0}"
)
"""Of a table in a notebook: in the page's own colours, so that they suit a light and a dark one.
The first cell of a row is never broken: a tree may be drawn in it."""


class Series(NamedTuple):
    """A column of a table, or an array of a data set.

    Attributes
    ----------
    name : heading
    unit : of its values, "" for words and counts; a sequence has that of each row
    values : one for each row; None and NaN where there is none
    dims : names of an array's dimensions
    shown : how a value is read: a function, or a text for each row; None: by its type, numbers with
        five digits and the unit's prefix
    bands : half the widths of the bands that hold 95 % of the errors, None where nothing is known
    sure : whether rigid-body mechanics determines each; () where that is no question
    marks : "good", "bad", "doubt" or "" of each row, or one of "tree" and "prose" for all
    listed : False: for data frames only
    """

    name: str
    unit: str | Sequence[str]
    values: Sequence[Any] | NDArray[Any]
    dims: tuple[str, ...] = ()
    shown: Callable[[Any], str] | Sequence[str] | None = None
    bands: Sequence[float | None] = ()
    sure: Sequence[bool] | NDArray[np.bool_] = ()
    marks: Sequence[str] | str = ""
    listed: bool = True

    def unit_of(self, row: int) -> str:
        """Return the unit of a row."""
        return self.unit if isinstance(self.unit, str) else self.unit[row]

    @property
    def plain_unit(self) -> str:
        """The unit if all rows have the same, "see unit" if they have not."""
        known = {self.unit} if isinstance(self.unit, str) else {*self.unit} - {""}
        return "".join(known) if len(known) < 2 else "see unit"


class Arrays(NamedTuple):
    """What a data set holds: arrays, the names and places along their dimensions, attributes."""

    variables: Sequence[Series]
    coordinates: Sequence[Series]
    attributes: Mapping[str, str] = MappingProxyType({})


class Cell(NamedTuple):
    """A text that is shown, and its mark."""

    text: str = ""
    mark: str = ""


class ScreenColumn(NamedTuple):
    """A column as it is shown."""

    head: str
    numeric: bool
    cells: list[Cell]


@dataclass(frozen=True, eq=False)
class Table:
    """A table, as everybody shows it who shows it.

    Columns with the same unit are shown with the same prefix: of each row where rows have units of
    their own, else of the whole columns. Columns and rows without any value are left out.

    Attributes
    ----------
    title : what it is, in a line
    labels : what the rows stand for: times, joints, or joints and quantities
    columns : all with as many values as the labels
    long : rows are instants: the range of each column is shown
    caption : what a reader of a page must know of the columns
    notes : sentences below the table
    floors : by unit, the size up to which a number is shown as 0: rounding errors
    brackets : numbers that are not determined stand in brackets, and not a word in their place
    """

    title: str
    labels: Series | tuple[Series, ...]
    columns: Sequence[Series]
    long: bool = False
    caption: str = ""
    notes: tuple[str, ...] = ()
    floors: Mapping[str, float] = field(default_factory=dict)
    brackets: bool = False

    @property
    def index(self) -> tuple[Series, ...]:
        """The labels, as columns."""
        return (self.labels,) if isinstance(self.labels, Series) else self.labels

    def __len__(self) -> int:
        return len(self.index[0].values)

    def rows(self, kept: Sequence[bool] | slice) -> Table:
        """Return the table with some of its rows."""

        def some(each: Any) -> Any:
            fixed = each is None or isinstance(each, str) or callable(each) or not len(each)
            if fixed or isinstance(kept, slice):
                return each if fixed else each[kept]
            return list(itertools.compress(each, kept))

        def of(one: Series) -> Series:
            names = ("unit", "values", "shown", "bands", "sure", "marks")
            return one._replace(**{name: some(getattr(one, name)) for name in names})

        labels = tuple(of(one) for one in self.index)
        return replace(self, labels=labels, columns=[of(one) for one in self.columns])

    @property
    def determined(self) -> list[bool]:
        """Which rows rigid-body mechanics determines in all columns."""
        flags = [np.asarray(one.sure) for one in self.columns if len(one.sure)]
        return [bool(x) for x in np.all(flags, axis=0)] if flags else [True] * len(self)

    @property
    def empty(self) -> list[bool]:
        """Which rows have no number but zeros (`floors`)."""
        found = [True] * len(self)
        for one in self.columns:
            for k, value in enumerate(one.values):
                size = float(abs(value)) if _is_number(value) else 0.0
                found[k] = found[k] and (one.shown is not None or size <= self._floor(one, k))
        return found

    def screen(self, most: int | None = None) -> list[ScreenColumn]:
        """Return the columns as they are shown, of so many rows at most."""
        shown = self._ranges() if self.long else self
        if most is not None:
            shown = shown.rows(slice(most))
        first, rest = list(shown._read(shown.index)), list(shown._read(shown.columns))
        filled = [any(column.cells[k].text for column in rest) for k in range(len(shown))]
        kept = filled if any(filled) else [True] * len(shown)
        columns = [
            one._replace(cells=list(itertools.compress(one.cells, kept))) for one in (*first, *rest)
        ]
        if len(first) > 1:
            columns[0] = columns[0]._replace(cells=_said_once(columns[0].cells))
            columns[1] = columns[1]._replace(head=columns[1].head.removeprefix(PART))
        return [one for one in columns if any(cell.text for cell in one.cells) or not any(kept)]

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and why numbers are not shown."""
        unsure = any(not all(one.sure) for one in self.columns)
        return (*self.notes, *([WHY[self.brackets]] if unsure else []))

    def lines(self) -> Iterator[list[Cell]]:
        """Yield the table with its notes as lines of texts; marks are styles of a terminal."""
        columns = self.screen()
        cells = [[Cell(one.head, HEAD), *one.cells] for one in columns]
        widths = [max(_width(visible(cell.text)) for cell in each) for each in cells]
        for row in zip(*cells, strict=True):
            line = list[Cell]()
            for cell, column, width in zip(row, columns, widths, strict=True):
                text = visible(cell.text)
                blank = Cell(" " * (width - _width(text)))
                numeric = [blank] * column.numeric
                line += [*numeric, Cell(text, cell.mark), *[blank] * (not numeric), Cell("  ")]
            yield line
        notes = [[Cell(visible(note))] for note in self.remarks]
        yield from [*([[Cell()]] if notes and columns else []), *notes]

    def __str__(self) -> str:
        return "\n".join("".join(cell.text for cell in line).rstrip() for line in self.lines())

    def html(self, most: int | None = None) -> str:
        """Return the table as part of a page; its classes are `number` and the marks."""
        from html import escape

        columns = self.screen(most)
        head = "".join(
            f'<th scope="col"{css_class("number" * one.numeric)}>{escape(one.head)}</th>'
            for one in columns
        )
        body = "\n".join(
            "<tr>" + "".join(map(_html_cell, columns, row)) + "</tr>"
            for row in zip(*(one.cells for one in columns), strict=True)
        )
        return (
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{body}\n</tbody></table></div>"
        )

    def _repr_html_(self) -> str:
        """Return a compact table, for a notebook in a light or a dark theme."""
        from html import escape

        rows = 0 if self.long else len(self) - MOST
        more = [f"... and {count(rows, 'more row')}"] if rows > 0 else []
        caption = [self.caption] if self.caption else []
        below = "".join(f"<p>{escape(note)}</p>" for note in (*more, *caption, *self.remarks))
        return (
            f'<div class="mbd"><style>{LOOK}</style><div><b>{escape(self.title)}</b></div>'
            f"{self.html(MOST)}{below}</div>"
        )

    def flat(self) -> list[Series]:
        """Return all columns but the labels as data frames have them, in SI units.

        Beside the numbers there are units that differ from row to row, the bands, and last whether
        the numbers of a row are determined. Of a name that stands twice the column before is told.
        """
        mixed: dict[tuple[str, ...], list[Series]] = {}
        for one in self.columns:
            if not isinstance(one.unit, str):
                mixed.setdefault(tuple(one.unit), []).append(one)
        names, found, last = [one.name for one in self.columns], list[Series](), ""
        for one in self.columns:
            unit, group = one.plain_unit, mixed.get(tuple(one.unit), [])
            words = "unit" if len(mixed) == 1 else f"{group[0].name}_units" if group else ""
            several = names.count(one.name) > 1
            name = f"{last} {one.name}" if several else one.name
            last = last if several else name
            of_each = unit.replace("see unit", f"see {words}")
            found.append(Series(name, of_each, one.values))
            if any(one.bands):
                found.append(Series(f"{name} {BAND}", of_each, one.bands))
            if group and one is group[-1]:
                found.append(Series(words, "", list(one.unit)))
        if any(len(one.sure) for one in self.columns):
            found.append(Series("determined", "", self.determined))
        return found

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the rows as a pandas table; ``.attrs["units"]`` has the unit of each column."""
        pandas = needed("pandas", "to_dataframe() needs pandas", "mbd_bridge[studies]")
        labels, columns = self.index, self.flat()
        index = pandas.Index(labels[0].values, name=labels[0].name)
        if len(labels) > 1:
            names = [one.name for one in labels]
            index = pandas.MultiIndex.from_arrays([one.values for one in labels], names=names)
        frame = pandas.DataFrame({one.name: _plain(one.values) for one in columns}, index=index)
        frame.attrs["units"] = {one.name: one.plain_unit for one in (*labels, *columns)}
        return frame

    def _floor(self, one: Series, row: int) -> float:
        return self.floors.get(one.unit_of(row), 0.0)

    def _read(self, columns: Iterable[Series]) -> Iterator[ScreenColumn]:
        """Yield columns as they are shown, with their bands, and the units of rows."""
        listed = [one for one in columns if one.listed]
        groups: dict[Hashable, list[Series]] = {}
        for one in listed:
            groups.setdefault(_key(one), []).append(one)
        scales = {key: self._scales(group) for key, group in groups.items()}
        there = {key: [False] * len(self) for key in groups}
        hidden = [False] * len(self)
        for one in listed:
            key = _key(one)
            head, cells, bands = self._head(one, scales[key]), list[Cell](), list[Cell]()
            for k, scale in enumerate(scales[key]):
                cell = self._cell(one, k, scale)
                there[key][k] |= bool(cell.text)
                unsure = bool(cell.text) and len(one.sure) > 0 and not one.sure[k]
                if unsure:
                    word = "" if hidden[k] else HIDDEN
                    cell = Cell(f"({cell.text})" if self.brackets else word, "doubt")
                hidden[k] = unsure and not self.brackets
                cells.append(cell)
                bands.append(Cell() if unsure else self._band(one, k, scale))
            yield ScreenColumn(head, any(map(_is_number, one.values)), cells)
            if any(band.text for band in bands):
                yield ScreenColumn(BAND, True, bands)
            if not isinstance(one.unit, str) and one is groups[key][-1]:
                pairs = zip(scales[key], there[key], strict=True)
                yield ScreenColumn("unit", False, [Cell(x.unit * seen) for x, seen in pairs])

    def _head(self, one: Series, scales: Sequence[Shown]) -> str:
        if not isinstance(one.unit, str) or not one.unit:
            return one.name
        unit = scales[0].unit if len(scales) and one.shown is None else one.unit
        return f"{one.name}, {unit}"

    def _scales(self, run: Sequence[Series]) -> list[Shown]:
        """Return the unit in which each row is shown: the rows' own, or one for all."""

        def size(one: Series, k: int) -> float:
            value = one.values[k]
            known = _is_number(value) and np.isfinite(value) and abs(value) > self._floor(one, k)
            return float(abs(value)) if known else 0.0

        largest = [max(size(one, k) for one in run) for k in range(len(self))]
        if isinstance(run[0].unit, str):
            largest = [max(largest, default=0.0)] * len(self)
        return [shown_in(run[0].unit_of(k), each) for k, each in enumerate(largest)]

    def _band(self, one: Series, row: int, scale: Shown) -> Cell:
        band = one.bands[row] if len(one.bands) else None
        seen = band and abs(one.values[row]) > self._floor(one, row)
        return Cell(f"{band * scale.factor:.2g}" if band and seen else "")

    def _cell(self, one: Series, row: int, scale: Shown) -> Cell:
        mark = one.marks if isinstance(one.marks, str) else one.marks[row]
        return Cell(self._text(one, row, one.values[row], scale), mark)

    def _text(self, one: Series, row: int, value: Any, scale: Shown) -> str:
        if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
            return ""
        if callable(one.shown):
            return one.shown(value)
        if one.shown is not None:
            return one.shown[row]
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if isinstance(value, float | np.floating):
            return number(float(value) * scale.factor, self._floor(one, row) * scale.factor)
        return str(value)

    def _ranges(self) -> Table:
        """Return the range of each column over all instants, a row each."""
        every = (*self.index, *self.columns)
        found = []
        for one in every:
            values = np.asarray(one.values, dtype=np.float64)
            values = np.where(np.abs(values) <= self.floors.get(one.plain_unit, 0.0), 0.0, values)
            known = values[np.isfinite(values)]
            ends = [float(known.min()), float(known.max())] if len(known) else [np.nan, np.nan]
            rms = float(np.sqrt(np.mean(known**2))) if len(known) else np.nan
            found.append([*ends, np.nan if one in self.index else rms])
        names, units = [one.name for one in every], [one.plain_unit for one in every]
        numbers = zip(("least", "largest", "RMS"), zip(*found, strict=True), strict=True)
        columns = [Series("unit", "", units), *(Series(name, "", x) for name, x in numbers)]
        return replace(self, labels=Series("", "", names), columns=columns, long=False)


class Tabular:
    """A result that has tables."""

    __slots__ = ()

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of the result; `print` shows them as a terminal does."""
        raise NotImplementedError

    def _arrays(self) -> Arrays:
        """Return what a data set holds: here the columns, those of units as coordinates."""
        table = self._table()
        labels = table.index
        name = ".".join(one.name for one in labels)
        places = [".".join(map(str, row)) for row in zip(*(x.values for x in labels), strict=True)]
        label = labels[0] if len(labels) == 1 else Series(name, "", places)
        along = (label.name,)
        every = [one._replace(dims=along) for one in (label, *table.flat())]
        units = [one for one in every[1:] if one.name.endswith(("unit", "_units"))]
        return Arrays([one for one in every[1:] if one not in units], [every[0], *units])

    def _table(self) -> Table:
        """Return one table with the columns of all that have the same labels."""
        first, *others = self.tables()
        names = [one.name for one in first.index]
        same = [one for one in others if [x.name for x in one.index] == names]
        columns = [x for one in (first, *same) for x in one.columns]
        return replace(first, columns=columns)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the rows as a pandas table; ``.attrs["units"]`` has the unit of each column."""
        return self._table().to_dataframe()

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray data set: arrays with named dimensions, ``.attrs["units"]`` on each.

        Where the entries of an array have several units, such as the coordinates ``q`` of a
        machine, the coordinate ``q_units`` tells them.
        """
        package = needed("xarray", "to_xarray() needs xarray", "mbd_bridge[studies]")
        arrays = self._arrays()
        variables, coordinates = (
            {one.name: (one.dims, _plain(one.values), {"units": one.plain_unit}) for one in some}
            for some in arrays[:2]
        )
        attributes = {"title": self.tables()[0].title, **arrays.attributes}
        data: xarray.Dataset = package.Dataset(variables, coordinates, attributes)
        return data

    def _repr_html_(self) -> str:
        """Return compact tables, for a notebook in a light or a dark theme."""
        return "\n".join(table._repr_html_() for table in self.tables())


class AlongTime(Tabular):
    """A result whose rows are the instants of its `time`."""

    __slots__ = ()
    time: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.time)


def only(values: Sequence[Any], known: Sequence[bool]) -> list[Any]:
    """Return values, None where they are not known."""
    return [value if there else None for value, there in zip(values, known, strict=True)]


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


def _key(one: Series) -> Hashable:
    """Return what columns with the same prefix have in common."""
    return one.shown is None, one.unit if isinstance(one.unit, str) else tuple(one.unit)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if max(text, default="") < "\u0300":  # Latin letters, and those with accents
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.number) and not isinstance(value, bool)


def _plain(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return values as an array; of numbers NaN where there is none."""
    if isinstance(values, np.ndarray):
        return values
    if any(map(_is_number, values)):
        values = [np.nan if value is None else value for value in values]
    return np.asarray(values)


def _said_once(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells, blank where the one above says the same."""
    found, last = [], None
    for cell in cells:
        found.append(Cell() if cell == last else cell)
        last = cell
    return found


def _html_cell(column: ScreenColumn, cell: Cell) -> str:
    from html import escape

    wraps = not column.numeric and len(cell.text) > PROSE and cell.mark not in ("tree", "prose")
    prose = "prose" if wraps else ""
    return f"<td{css_class('number' * column.numeric, cell.mark, prose)}>{escape(cell.text)}</td>"


def css_class(*names: str) -> str:
    """Return the attribute with the names that are not empty."""
    given = " ".join(filter(None, names))
    return f' class="{given}"' if given else ""
