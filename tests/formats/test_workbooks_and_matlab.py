"""Excel workbooks and MATLAB files are read as tables; what is none is refused."""

import datetime
import zipfile

import h5py
import numpy as np
import openpyxl
import pytest
import scipy.io

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables import TableWriter, open_table, read_table
from tests.external.tables import arm
from tests.formats.mutation import mutate_bytes

TIME = np.linspace(0.0, 1.0, 12)
Q = np.sin(np.outer(TIME, [1.0, 2.0, 0.5]))


def workbook(path, *sheets):
    """Write sheets: (name, rows)."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS = [["time", "a [deg]"], [0.0, 0.5], [0.25, -1.5e-3]]


def test_a_sheet_is_a_table(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ("one", ROWS))
    table = read_table(path)
    assert table.columns == (Column("time"), Column("a", "deg"))
    assert table.values.tolist() == ROWS[1:]
    assert table.lines.tolist() == [2, 3]
    assert table.notes == ()


def test_the_first_sheet_with_numbers_is_read_or_the_one_that_is_named(tmp_path):
    other = [["time", "b"], [0, 7]]
    cover = [["Report of tests"], ["by", "somebody"]]
    path = workbook(tmp_path / "t.xlsx", ("cover", cover), ("run 1", ROWS), ("run 2", other))
    table = read_table(path)
    assert table.names == ("time", "a")
    assert "sheet 'run 1' is read; others are run 2" in table.notes[0]
    assert read_table(f"{path}#run 2").names == ("time", "b")
    with pytest.raises(FileError, match="no sheet named 'run 3'; did you mean"):
        read_table(f"{path}#run 3")
    with pytest.raises(FileError, match="no sheet has rows of numbers"):
        read_table(workbook(tmp_path / "c.xlsx", ("cover", cover)))


def test_lines_before_the_names_units_and_dates_are_read_as_in_a_text(tmp_path):
    start = datetime.datetime(2024, 5, 17, 10, 11, 12)
    rows = [["Messung", "Nr. 7"], [], ["Zeit", "a", None], ["s", "deg"]]
    rows += [[start + datetime.timedelta(seconds=k / 4), k * 1.5] for k in range(3)]
    table = read_table(workbook(tmp_path / "t.xlsx", ("x", rows)))
    assert table.columns == (Column("Zeit", "s"), Column("a", "deg"))
    assert np.allclose(table.values, [[0, 0], [0.25, 1.5], [0.5, 3]], atol=1e-5)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no workbook", b"\xd0\xcf\x11\xe0" * 99])
@pytest.mark.parametrize("suffix", ["xlsx", "mat"])
def test_what_is_no_workbook_or_matlab_file_is_refused(suffix, content, tmp_path):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(content)
    with pytest.raises(FileError, match="cannot be read"):
        read_table(path)


def test_a_workbook_that_unpacks_to_more_than_a_gigabyte_is_refused(tmp_path):
    path = tmp_path / "bomb.xlsx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as file,
    ):
        for _ in range(1025):
            file.write(bytes(2**20))
    with pytest.raises(FileError, match="larger than"):
        read_table(path)


def test_they_are_not_written(tmp_path):
    for suffix in ("xlsx", "mat"):
        with pytest.raises(FileError, match="no kind of table has the suffix"):
            TableWriter(tmp_path / f"t.{suffix}", [Column("a")])


def save_73(path, arrays):
    """Write as MATLAB does: matrices lie the other way, structures are groups, 512 bytes before."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name.replace(".", "/")] = np.atleast_2d(array) if array.ndim < 2 else array.T
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512, b" "))


@pytest.mark.parametrize("kind", ["v5", "v7", "v7.3"])
@pytest.mark.parametrize("layout", ["vectors", "rows", "matrix", "structure"])
def test_a_motion_in_a_matlab_file_is_read(kind, layout, tmp_path):
    names = ("shoulder", "elbow", "slide")
    vectors = {"time": TIME[:, None], **{n: Q[:, k : k + 1] for k, n in enumerate(names)}}
    arrays = {
        "vectors": vectors,
        "rows": {name: x.T for name, x in vectors.items()},
        "matrix": {"t": TIME[:, None], "q": Q},
        "structure": {f"data.{name}": x for name, x in vectors.items()},
    }[layout]
    arrays["parameter"] = np.array([[3.0, 4.0]])
    path = tmp_path / "m.mat"
    if kind == "v7.3":
        save_73(path, arrays)
    else:
        if layout == "structure":
            fields = {n.partition(".")[2]: x for n, x in arrays.items() if "." in n}
            arrays = {"data": fields, "parameter": arrays["parameter"]}
        scipy.io.savemat(path, arrays, do_compression=kind == "v7")
    motion = arm().read_motion(path)
    assert np.array_equal(motion.time, TIME)
    assert np.array_equal(motion.q, Q)
    assert "variables left out, of another length: parameter" in motion.notes


def test_a_motion_in_a_workbook_gives_the_loads_of_the_same_numbers_in_pieces(tmp_path):
    robot = arm()
    rows = [["Time", "shoulder", "elbow", "slide"], *np.column_stack([TIME, Q]).tolist()]
    path = workbook(tmp_path / "m.xlsx", ("a", rows))
    motion = robot.read_motion(path)
    assert np.allclose(motion.q, Q, rtol=0, atol=1e-15)  # openpyxl writes 16 digits
    history = robot.load_history(path, ["elbow"])
    loads = robot.joint_loads(motion, joints=["elbow"])
    assert np.isclose(history["elbow.fx"].largest.value, loads.force[:, 0, 0].max(), rtol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files_are_read_or_refused(seed, tmp_path):
    rng = np.random.default_rng(seed)
    book, mat = tmp_path / "t.xlsx", tmp_path / "t.mat"
    workbook(book, ("a", ROWS))
    scipy.io.savemat(mat, {"time": TIME, "a": Q}, do_compression=bool(seed % 2))
    for path in (book, mat):
        path.write_bytes(mutate_bytes(path.read_bytes(), rng))
        try:
            for _ in open_table(path).chunks():
                pass
        except FileError:
            continue
