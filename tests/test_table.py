"""Claims: a table reads the same on a terminal, in a page and as a data frame."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import html

from mbd_bridge.base.table import BAND, HIDDEN, MOST, Series, Table, Tabular

JOINTS = Series("joint", "", ["a", "a", "b"])
PARTS = Series("quantity", "", ["fx", "mx", "fx"])
UNITS = ["N", "N m", "N"]


def lines(table):
    return [line.split() for line in str(table).splitlines()]


def cells(table):
    rows = html.fromstring(table.html()).findall(".//tr")
    return [[cell.text_content() for cell in row] for row in rows]


def test_a_row_has_one_prefix_and_a_column_with_a_unit_of_its_own_has_one():
    rows = [Series("peak", UNITS, [2e4, 3.0, 5.0]), Series("RMS", UNITS, [1.0, 2e-3, 5.0])]
    power = Series("power", "W", [2e4, 1.0, None])
    table = Table("", (JOINTS, PARTS), [*rows, power])
    assert lines(table) == [
        ["joint", "peak", "RMS", "unit", "power,", "kW"],
        ["a", "fx", "20", "0.001", "kN", "20"],
        ["mx", "3", "0.002", "N", "m", "0.001"],
        ["b", "fx", "5", "5", "N"],
    ]
    frame = table.to_dataframe()
    assert list(frame) == ["peak", "RMS", "unit", "power"]
    assert frame.loc[("a", "mx"), "RMS"] == 2e-3 and list(frame.unit) == UNITS
    assert frame.attrs["units"]["peak"] == "see unit" and frame.attrs["units"]["power"] == "W"
    assert np.isnan(frame.power.iloc[2])


def test_a_page_has_the_cells_of_the_terminal():
    peak = Series("peak", UNITS, [1.0, 2.0, 3.0], bands=[0.1, None, 0.2], marks=["", "bad", ""])
    table = Table("", (JOINTS, PARTS), [peak, Series("note", "", ["", "", "<b>"])])
    assert [" ".join(row).split() for row in cells(table)] == lines(table)
    assert '<td class="number bad">2</td>' in table.html()


def test_what_is_not_determined_is_called_so_or_stands_in_brackets():
    columns = [
        Series("cycles", "", [1, 2, 3], sure=[True, False, True]),
        Series("range", UNITS, [1.0, 2.0, 3.0], sure=[True, False, True], bands=[0.1] * 3),
    ]
    hidden = Table("", JOINTS, columns)
    assert lines(hidden)[2] == ["a", HIDDEN, "N", "m"]
    assert str(hidden).endswith("rigid-body mechanics does not determine this load")
    shown = Table("", JOINTS, columns, brackets=True)
    assert lines(shown)[2] == ["a", "(2)", "(2)", "N", "m"]
    assert str(shown).endswith("(...) is not determined by rigid-body mechanics")
    frame = hidden.to_dataframe()
    assert list(frame.range) == [1.0, 2.0, 3.0] and list(frame.determined) == [True, False, True]
    assert list(frame[f"range {BAND}"]) == [0.1] * 3


def test_rounding_errors_are_zero_and_have_no_band_and_no_prefix():
    load = Series("load", "N", [1e-9, 2e-3, 1e-9], bands=[1e-9] * 3)
    table = Table("", JOINTS, [load], floors={"N": 1e-6})
    assert lines(table)[0] == ["joint", "load,", "mN", "±", "95", "%"]
    assert [row[1:] for row in lines(table)[1:]] == [["0"], ["2", "1e-06"], ["0"]]
    assert table.empty == [True, False, True] and table.to_dataframe()["load"].iloc[0] == 1e-9


def test_rows_and_columns_without_any_value_are_left_out():
    life = Series("life", "h", [None, 3.0, None])
    table = Table("", Series("joint", "", ["a", "b", "c"]), [life, Series("note", "", [""] * 3)])
    assert lines(table) == [["joint", "life,", "h"], ["b", "3"]]
    assert len(table.to_dataframe()) == 3


def test_names_from_files_obey_no_terminal_and_no_browser():
    table = Table("<i>", Series("joint", "", ["\x1b[2Ja<b>"]), [Series("x", "", [1])])
    assert "\x1b" not in str(table) and "\\x1b[2Ja<b>" in str(table)
    page = table._repr_html_()
    assert "<b>&lt;i&gt;</b>" in page and "a&lt;b&gt;" in page


def test_a_long_table_shows_ranges_and_a_notebook_some_rows():
    time, x = Series("time", "s", np.arange(100.0)), np.linspace(-1.0, 1.0, 100)
    table = Table("", time, [Series("x", "rad", x)], long=True)
    assert lines(table)[2] == ["x", "rad", "-1", "1", f"{np.sqrt(np.mean(x**2)):.5g}"]
    many = Table("", Series("k", "", range(MOST + 5)), [Series("x", "", range(MOST + 5))])
    assert "... and 5 more rows" in many._repr_html_()
    assert many._repr_html_().count("<tr>") == MOST + 1


def test_tables_of_the_same_rows_are_one_data_frame():
    class Two(Tabular):
        def tables(self):
            first = Table("first", JOINTS, [Series("x", "", [1, 2, 3])])
            other = Table("other", Series("case", "", ["c"]), [Series("z", "", [1])])
            return first, Table("second", JOINTS, [Series("y", "N", [4.0, 5.0, 6.0])]), other

    frame = Two().to_dataframe()
    assert list(frame) == ["x", "y"] and frame.attrs["units"]["y"] == "N"
    assert list(Two().to_xarray()) == ["x", "y"]
    assert all(f"<b>{name}</b>" in Two()._repr_html_() for name in ("first", "second", "other"))


@pytest.mark.parametrize(("value", "text"), [(True, "yes"), (3, "3"), (2.0, "2"), (np.nan, "")])
def test_a_value_is_read_by_its_kind(value, text):
    table = Table("", Series("k", "", ["a", "b"]), [Series("x", "", [value, value or 1.0])])
    assert cells(table)[1][1:] == [text] * bool(text) or not text
