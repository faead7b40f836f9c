"""Claims about CSV tables: what goes out comes back; what is no table is refused with a place."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables import read_table
from mbd_bridge.files.tables.text import header_text, rows_text
from mbd_bridge.files.whole_file import whole_file


def written(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(tmp_path, content, **options):
    with pytest.raises(FileError) as caught:
        read_table(written(tmp_path, content), **options)
    return caught.value


def test_every_number_reads_back_as_exactly_the_same_one(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(20_000, 3)) * 10.0 ** rng.integers(-300, 300, size=(20_000, 3))
    columns = (Column("time", "s"), Column("a, b"), Column('say "c"', "N m"))
    table = read_table(
        written(tmp_path, header_text(columns, ["one", "two\nlines"]) + rows_text(values))
    )
    assert table.columns == columns
    assert np.array_equal(table.values, values)


def test_a_unit_in_brackets_is_no_part_of_the_name(tmp_path):
    table = read_table(written(tmp_path, "time [s], elbow[deg] ,wrist\n0,1,2\n"))
    assert table.columns == (Column("time", "s"), Column("elbow", "deg"), Column("wrist"))


def test_comments_blank_lines_dos_line_ends_and_a_byte_order_mark_change_nothing(tmp_path):
    plain = read_table(written(tmp_path, "time,a\n0,1\n1,2\n"))
    odd = read_table(
        written(tmp_path, b'\xef\xbb\xbf# hi\r\n\r\ntime,a\r\n# more\r\n0, 1\r\n\r\n1,"2"\r\n\r\n')
    )
    assert odd.columns == plain.columns
    assert np.array_equal(odd.values, plain.values)


def test_rows_know_the_lines_of_the_file_that_they_stand_in(tmp_path):
    table = read_table(written(tmp_path, "# c\ntime,a\n0,1\n\n# d\n1,2\n"))
    assert table.lines.tolist() == [3, 6]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("", None, "empty"),
        ("# only a comment\n", None, "empty"),
        ("time,a\n", None, "no rows"),
        ("time,a\n0,1\n1\n", 3, "expected 2 cells"),
        ("time,a\n0,1\n1,2,3\n", 3, "got 3"),
        ("time,a\n0,1\n1,two\n", 3, "column 'a': expected a number, got 'two'"),
        ("time,a\n0,\n", 2, "an empty cell"),
        ("time,a\n0,1_000\n", 2, "'1_000'"),
        ("time,a\n0,nan\n", 2, "column 'a': expected a finite number, got nan"),
        ("time,a\n# c\n0,1\n1,-inf\n", 4, "got -inf"),
        ("time,a\n0,1e999\n", 2, "got inf"),
        ("time,a,a\n0,1,2\n", 1, "twice or more: a"),
        (b"PK\x03\x04\x00\x00", 1, "binary"),
        ("time,a\n" + "1" * 1_000_001, 2, "longer than"),
        ('time,a\n0,"1\n', 2, "not closed"),
        ("time;a\n0,5;1.5\n", 2, "some numbers have a decimal comma, others a point"),
        ("time;a\n0;1.234,5\n", 2, "without signs between thousands"),
        ("time;a\n0,5;1\n1,5;2.5\n", 3, "some numbers have a decimal comma"),
        (b"\xff\xfet\0i\0m\0e\0\n\0\x00\xdc\n", 1, "UTF-16"),
    ],
)
def test_what_is_no_table_is_refused_with_line_and_reason(tmp_path, content, line, words):
    error = refused(tmp_path, content)
    assert error.line == line
    assert words in str(error)
    assert str(tmp_path) in str(error)


def test_a_bad_cell_is_found_beyond_the_first_block(tmp_path):
    rows = ["time,a"] + [f"{k},0" for k in range(20_000)]
    rows[15_000] = "14999,x"
    assert refused(tmp_path, "\n".join(rows)).line == 15_001


def test_the_size_of_a_table_is_bounded(tmp_path):
    content = "time,a\n" + "0,1\n" * 60
    assert "more than 100 cells" in str(refused(tmp_path, content, max_cells=100))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(FileError, match="directory"):
        read_table(tmp_path)


def test_progress_adds_up_to_the_size_of_the_file(tmp_path):
    path = written(tmp_path, "time,a\n" + "0,1\n" * 1000)
    seen = []
    read_table(path, progress=seen.append)
    assert sum(seen) == path.stat().st_size


class Stop(BaseException):
    pass


def test_an_interrupted_file_leaves_the_old_one_and_no_rubbish(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def interrupted():
        with whole_file(path) as file:
            file.write("new")
            file.flush()
            assert path.read_text() == "old"
            raise Stop

    with pytest.raises(Stop):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path):
    plain, written_here = tmp_path / "plain", tmp_path / "whole"
    plain.write_text("")
    for _ in range(2):
        with whole_file(written_here) as file:
            file.write("x")
        assert stat.S_IMODE(written_here.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
        plain.chmod(0o640)
        written_here.chmod(0o640)


def test_a_symbolic_link_stays_one(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real.csv")
    with whole_file(link) as file:
        file.write("x")
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text() == "x"


@pytest.mark.parametrize(
    ("name", "words"), [("no/out.csv", "is there a folder"), ("", "directory")]
)
def test_a_place_that_cannot_be_written_is_named(tmp_path, name, words):
    with pytest.raises(FileError, match=words), whole_file(tmp_path / name):
        pass
