"""Texts as spreadsheets, loggers and other programs write them are read as what they mean."""

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables import open_table, read_table

VALUES = [[0.0, 0.5], [0.25, -1.5e-3]]

LVM = (
    "LabVIEW Measurement\t\nWriter_Version\t2\nReader_Version\t2\nSeparator\tTab\n"
    "Decimal_Separator\t,\nX_Columns\tOne\nDate\t2024/05/17\nTime\t10:11:12,5\n"
    "***End_of_Header***\t\n\t\nChannels\t1\t\nSamples\t2\t\n***End_of_Header***\t\t\n"
)
READ = {
    "semicolons": "time;a\n0.0;0.5\n0.25;-1.5e-3\n",
    "a German spreadsheet": "time;a\r\n0,0;0,5\r\n0,25;-1,5E-03\r\n",
    "semicolons at the ends of lines": "time;a;\n0,0;0,5;\n0,25;-1,5e-3;\n",
    "tabs": "time\ta\n0.0\t0.5\n0.25\t-1.5e-3\n",
    "tabs and decimal commas": "time\ta\n0,0\t0,5\n0,25\t-1,5e-3\n",
    "blanks": "time a\n0.0   0.5\n 0.25  -1.5e-3\n",
    "blanks and decimal commas": "time a\n0,0 0,5\n0,25 -1,5e-3\n",
    "blanks behind commas": "time, a\n0.0, 0.5\n0.25, -1.5e-3\n",
    "decimal commas in quotes": 'time,a\n"0,0","0,5"\n"0,25","-1,5e-3"\n',
    "a comma at the ends of lines": "time,a,\n0.0,0.5,\n0.25,-1.5e-3,\n",
    "a separator line": "sep=;\ntime;a\n0,0;0,5\n0,25;-1,5e-3\n",
    "numpy.savetxt": "# time a\n0.000e+00 5.000e-01\n2.500e-01 -1.500e-03\n",
    "rostopic echo -p": "%time,a\n0.0,0.5\n0.25,-1.5e-3\n",
    "LabVIEW": LVM + "time\ta\tComment\n0,0\t0,5\n0,25\t-1,5e-3\n",
    "a mark at the beginning": "\ufefftime,a\n0.0,0.5\n0.25,-1.5e-3\n",
    "lines of a logger before": "Logger 4;V 2\nSerial;00123\n\ntime;a\n0,0;0,5\n0,25;-1,5e-3\n",
    "comments": "# a: b\ntime;a\n# so\n0,0;0,5\n0,25;-1,5e-3\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", READ)
def test_texts_of_other_programs_are_read(name, encoding, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(READ[name].encode(encoding))
    table = read_table(path)
    assert table.columns == (Column("time"), Column("a"))
    assert np.array_equal(table.values, VALUES)
    for columns in (["a"], ["a", "time"]):
        ((_, rows),) = open_table(path).chunks(columns=columns)
        expected = np.array(VALUES)[:, [("time", "a").index(c) for c in columns]]
        assert np.array_equal(rows, expected)
    if encoding != "utf-8" and not READ[name].startswith("\ufeff"):
        assert any("utf-16" in note for note in table.notes)


def test_what_is_unusual_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(READ["LabVIEW"])
    notes = read_table(path).notes
    assert "the names of columns stand in line 14; lines 1 to 13 left out" in notes
    assert "read with tabs between cells, decimal commas" in notes
    path.write_text("time,a\n0,1\n1,2\n")
    assert read_table(path).notes == ()


def test_units_may_stand_in_a_second_line(tmp_path):
    path = tmp_path / "t.csv"
    for units in ("s;deg", "[s];[deg]", "(s);(deg)"):
        path.write_text(f"Zeit;Winkel\n{units}\n0,0;0,5\n0,25;1,5\n")
        assert read_table(path).columns == (Column("Zeit", "s"), Column("Winkel", "deg"))


def test_text_of_windows_is_read_and_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("time;größe [°]\n0;1\n".encode("cp1252"))
    table = read_table(path)
    assert table.columns[1] == Column("größe", "°")
    assert table.notes == ("read with semicolons between cells", "read as cp1252 text")


def test_numbers_without_names_are_columns_by_number(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("0,1\n2,3\n")
    table = read_table(path)
    assert table.names == ("column 1", "column 2")
    assert table.values.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert "no names of columns" in table.notes[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-05-17T10:11:12.5Z", "2024-05-17T10:11:12.75Z"),
        ("2024-05-17 10:11:12.500", "2024-05-17 10:11:12.750"),
        ("17.05.2024 10:11:12,5", "17.05.2024 10:11:12,75"),
        ("23:59:59.9", "24:00:00.15"),
        ("10:11:12,5", "10:11:12,75"),
    ],
)
def test_dates_and_times_of_day_are_seconds_from_the_first(first, second, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"stamp;a\n{first};1\n{second};2\n")
    table = read_table(path)
    assert np.allclose(table.column("stamp"), [0.0, 0.25], rtol=0, atol=1e-5)
    assert f"stamp: seconds from {first} on" in table.notes


def test_texts_in_columns_that_are_not_read_do_no_harm(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('time,mode,a\n0,"on, ready",1\n1,off,2\n2,,3\n')
    ((_, rows),) = open_table(path).chunks(columns=["time", "a"])
    assert rows[:, 1].tolist() == [1, 2, 3]
    with pytest.raises(FileError, match="column 'mode': expected a number, got 'on, ready'"):
        read_table(path)


def test_a_bad_first_row_is_no_header(tmp_path):
    """A text among numbers is a mistake in a row, not a second line of names."""
    path = tmp_path / "t.csv"
    path.write_text("time,a\nzero,1\n1,2\n")
    with pytest.raises(FileError, match=r":2: column 'time': expected a number, got 'zero'"):
        read_table(path)
