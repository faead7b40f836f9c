"""Claims about files of tables: independent readers find the same numbers, names, units and words;
what cannot be read or written is refused with a reason, and no half-written file takes the name."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from mbd_bridge.errors import FileError, MissingPackageError, StateError
from mbd_bridge.formats.tables import Column, TableWriter, open_table, read_table
from mbd_bridge.formats.tables.disk import DiskFile

KINDS = ("csv", "parquet", "npz", "h5")
BINARY = KINDS[1:]
COLUMNS = (Column("time", "s"), Column("elbow.fx", "N"), Column("wrist (undetermined)", "N m"))
ATTRIBUTES = {"content": "loads: of an arm", "notes": "one\ntwo: ü"}
NOBODY = 65534


def numbers(rows=5000):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(rows, 3)) * 10.0 ** rng.integers(-300, 300, size=(rows, 3))
    values[:, 0] = np.arange(rows) / 3.0
    return values


def write(path, values, columns=COLUMNS, attributes=ATTRIBUTES, pieces=1):
    with TableWriter(path, columns, attributes) as out:
        for block in np.array_split(values, pieces):
            out.append(block)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_reads_back_exactly(tmp_path, kind):
    values = numbers()
    table = read_table(write(tmp_path / f"t.{kind}", values, pieces=7))
    assert table.columns == COLUMNS
    assert table.attributes == ATTRIBUTES
    assert np.array_equal(table.values, values)


@pytest.mark.filterwarnings("ignore:The 'float_precision'")  # what pandas 2 needs, 3 does anyhow
def test_pandas_reads_csv(tmp_path):
    values = numbers()
    found = pandas.read_csv(
        write(tmp_path / "t.csv", values), comment="#", float_precision="round_trip"
    )
    assert list(found.columns) == ["time [s]", "elbow.fx [N]", "wrist (undetermined) [N m]"]
    assert np.array_equal(found.to_numpy(), values)


def test_pandas_and_pyarrow_read_parquet_with_units_and_attributes(tmp_path):
    values = numbers()
    path = write(tmp_path / "t.parquet", values, pieces=3)
    found = pandas.read_parquet(path)
    assert list(found.columns) == [column.name for column in COLUMNS]
    assert np.array_equal(found.to_numpy(), values)
    assert found.attrs["units"]["elbow.fx"] == "N"
    assert found.attrs["notes"] == ATTRIBUTES["notes"]
    schema = pyarrow.parquet.read_schema(path)
    assert schema.metadata[b"content"].decode() == ATTRIBUTES["content"]
    assert schema.field("wrist (undetermined)").metadata[b"unit"] == b"N m"


def test_h5py_reads_hdf5_with_units_attributes_and_time_as_the_scale(tmp_path):
    values = numbers()
    with h5py.File(write(tmp_path / "t.hdf5", values, pieces=3)) as file:
        for k, column in enumerate(COLUMNS):
            assert np.array_equal(file[column.name][:], values[:, k])
            assert file[column.name].attrs["units"] == column.unit
        assert file.attrs["notes"] == ATTRIBUTES["notes"]
        assert file["elbow.fx"].dims[0][0] == file["time"]


def test_numpy_reads_npz_without_pickles(tmp_path):
    values = numbers()
    with np.load(write(tmp_path / "t.npz", values, pieces=3), allow_pickle=False) as found:
        assert np.array_equal(found["elbow.fx"], values[:, 1])
        assert found["units"].tolist() == ["s", "N", "N m"]
        assert dict(found["attributes"].tolist()) == ATTRIBUTES


def test_npz_of_more_than_one_group_of_columns_is_the_same_file(tmp_path, monkeypatch):
    from mbd_bridge.formats.tables import npz

    values = numbers(300)
    whole = write(tmp_path / "a.npz", values)
    monkeypatch.setattr(npz, "AT_ONCE", 1)
    monkeypatch.setattr(npz, "COPIED", 7)
    assert np.array_equal(read_table(write(tmp_path / "b.npz", values)).values, values)
    assert whole.stat().st_size == (tmp_path / "b.npz").stat().st_size


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_the_table_in_pieces_and_columns_can_be_chosen(tmp_path, kind):
    values = numbers()
    source = open_table(write(tmp_path / f"t.{kind}", values, pieces=4))
    assert source.rows in (None, len(values))
    for _ in range(2):  # a source is read as often as one likes
        found = list(source.chunks(900, ["elbow.fx", "time"]))
        assert max(len(block) for _, block in found) <= 900
        assert [start for start, _ in found] == [
            sum(len(b) for _, b in found[:k]) for k in range(len(found))
        ]
        assert all(block.flags.c_contiguous for _, block in found)
        assert np.array_equal(np.vstack([block for _, block in found]), values[:, [1, 0]])
    with pytest.raises(FileError, match=r"did you mean 'elbow.fx'"):
        next(source.chunks(columns=["elbow.f"]))


@pytest.mark.parametrize("kind", BINARY)
def test_chunks_take_the_memory_of_a_chunk(tmp_path, kind):
    """24 MB of numbers are read with less than 4 MB more."""
    path = tmp_path / f"t.{kind}"
    with TableWriter(path, COLUMNS) as out:
        for k in range(10):
            out.append(np.full((100_000, 3), float(k)))
    script = (
        "import resource, sys; from mbd_bridge.formats.tables import open_table; "
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "source = open_table(sys.argv[1]); blocks = source.chunks(10_000); next(blocks); "
        "before = peak(); rows = sum(len(b) for _, b in blocks); print(rows, peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], check=True, capture_output=True, text=True
    )
    rows, kilobytes = map(int, done.stdout.split())
    assert rows == 990_000
    assert kilobytes < (12_000 if kind == "parquet" else 4_000)  # Arrow's pool keeps some pages


@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_is_named_with_row_and_column(tmp_path, kind):
    values = numbers(9000)
    values[8500:8504, 1] = np.nan
    path = write(tmp_path / f"t.{kind}", values)
    place = r": row 8500 \(the first is 0\), column"
    if kind == "csv":
        place = f":{3 + 1 + 8500 + 1}: column"  # three comments and the header before the rows
    with pytest.raises(FileError, match=f"{place} 'elbow.fx': .* got nan and 3 rows more"):
        read_table(path)


def test_nulls_of_parquet_are_gaps_and_whole_numbers_are_numbers(tmp_path):
    path = tmp_path / "t.parquet"
    pandas.DataFrame({"time [ms]": np.arange(3), "a": np.float32([1, 2, 3])}).to_parquet(path)
    table = read_table(path)
    assert table.columns == (Column("time", "ms"), Column("a"))
    assert table.values.tolist() == [[0, 1], [1, 2], [2, 3]]
    pandas.DataFrame({"time": [0.0, 1.0], "a": pandas.array([1, None], "Int64")}).to_parquet(path)
    with pytest.raises(FileError, match=r"row 1 \(the first is 0\), column 'a'"):
        read_table(path)


def test_files_of_others_are_read(tmp_path):
    values = numbers(50)
    np.savez_compressed(tmp_path / "t.npz", time=values[:, 0], elbow=values[:, 0].astype(">f4"))
    table = read_table(tmp_path / "t.npz")
    assert table.names == ("time", "elbow")
    assert np.array_equal(table.column("elbow"), values[:, 0].astype("f4"))
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["time"], file["arm/elbow"] = values[:, 0], np.arange(50)
        file["arm/elbow"].attrs["unit"] = np.bytes_("deg")
    assert set(read_table(tmp_path / "t.h5").columns) == {
        Column("time"),
        Column("arm/elbow", "deg"),
    }


def save_h5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name] = values


def save_parquet(path, **arrays):
    pandas.DataFrame(arrays).to_parquet(path)


SAVERS = {"npz": np.savez, "h5": save_h5, "parquet": save_parquet}


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"time": np.arange(3.0), "a": np.arange(4.0)}, "one length.*time.* 3 .*'a' 4|length"),
        ({"time": np.arange(3.0), "q": np.zeros((3, 2))}, r"'q'.*\(N,\), got .* \(3, 2\)|1-dim"),
        ({"time": np.arange(3.0), "name": ["a", "b", "c"]}, "'name': expected numbers, got"),
        ({}, "no columns"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(tmp_path, kind, arrays, words):
    path = tmp_path / f"t.{kind}"
    try:
        SAVERS[kind](path, **arrays)
    except (ValueError, TypeError):  # pandas and h5py refuse some themselves
        return
    with pytest.raises(FileError, match=words):
        read_table(path)


def test_dates_are_refused_with_what_to_do(tmp_path):
    path = tmp_path / "t.parquet"
    save_parquet(path, time=pandas.date_range("2026-01-01", periods=3), a=[1.0, 2.0, 3.0])
    with pytest.raises(FileError, match=r"'time': expected numbers, got timestamp.* give seconds"):
        read_table(path)


@pytest.mark.parametrize("kind", BINARY)
def test_damage_is_an_error_or_changes_nothing(tmp_path, kind):
    """Check sums find what no structure shows. Cells of other names or units are not numbers."""
    path = write(tmp_path / f"t.{kind}", numbers(300))
    data = path.read_bytes()
    seen = {"read": 0, "refused": 0}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        broken = bytearray(data)
        if seed % 3:
            broken[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        else:
            del broken[rng.integers(len(data)) :]
        path.write_bytes(broken)
        try:
            table = read_table(path)
        except FileError as error:
            seen["refused"] += error.file == str(path)
        else:
            seen["read"] += np.array_equal(np.sort(table.values, axis=1), np.sort(numbers(300), 1))
    assert sum(seen.values()) == 300
    assert seen["refused"] > 100


@pytest.mark.parametrize("kind", BINARY)
def test_a_missing_file_a_folder_and_something_else_are_refused(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    with pytest.raises(FileError, match="No such file"):
        read_table(path)
    path.write_text("time,a\n0,1\n")
    with pytest.raises(FileError, match=r"cannot be read: .*; give a"):
        read_table(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="directory"):
        read_table(path)
    with pytest.raises(FileError, match="directory"), TableWriter(path, COLUMNS):
        pass


@pytest.mark.parametrize(("kind", "package"), [("parquet", "pyarrow"), ("h5", "h5py")])
def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch, kind, package):
    path = write(tmp_path / f"t.{kind}", numbers(3))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"{package}: pip install 'mbd_bridge\[files\]'"):
        read_table(path)
    with pytest.raises(MissingPackageError), TableWriter(tmp_path / f"u.{kind}", COLUMNS):
        pass
    assert os.listdir(tmp_path) == [path.name]


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"suffix '.xlsx'; available: .csv, .parquet, .npz"):
        TableWriter(tmp_path / "t.xlsx", COLUMNS)
    with pytest.raises(FileError, match="twice or more: time"):
        TableWriter(tmp_path / "t.csv", [*COLUMNS, Column("time")])
    with pytest.raises(FileError, match=r"'units'.*another name"):
        write(tmp_path / "t.npz", numbers(3), [*COLUMNS[:2], Column("units")])
    with pytest.raises(FileError, match="'arm//x' is no name in HDF5"):
        write(tmp_path / "t.h5", numbers(3), [*COLUMNS[:2], Column("arm//x")])
    with pytest.raises(StateError, match=r"rows of 3 numbers.* \(4, 2\)"):
        write(tmp_path / "t.parquet", np.zeros((4, 2)))
    with pytest.raises(FileError, match="is there a folder"):
        write(tmp_path / "none" / "t.h5", numbers(3))
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_is_not_writable_is_an_error(kind):
    with tempfile.TemporaryDirectory() as name:  # where nobody may go; not so in pytest's own
        folder = Path(name)
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:  # who may write anywhere
            os.seteuid(NOBODY)
        try:
            with pytest.raises(FileError, match="cannot be written: Permission denied"):
                write(folder / f"t.{kind}", numbers(3))
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)
        assert not os.listdir(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_an_error_and_the_old_file_stays(tmp_path, kind):
    """A process that may write 200 kB only meets EFBIG where a full disk gives ENOSPC."""
    path = tmp_path / f"t.{kind}"
    path.write_text("old")
    script = (
        "import resource, sys; import numpy as np; "
        "from mbd_bridge.errors import FileError; "
        "from mbd_bridge.formats.tables import Column, TableWriter\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        "    with TableWriter(sys.argv[1], [Column('time'), Column('a.b')]) as out:\n"
        "        for k in range(100):\n"
        "            out.append(np.random.default_rng(k).normal(size=(20_000, 2)))\n"
        "except FileError as error: print(error, out.rows)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert "cannot be written: File too large" in done.stdout
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_that_hides_a_full_disk_reads_back_all_and_tells_of_it_when_asked(
    tmp_path, monkeypatch
):
    path, room, real = tmp_path / "f", 1000, os.pwrite

    def until_full(handle, data, place):
        if place >= room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[: room - place], place)

    path.touch()
    monkeypatch.setattr(os, "pwrite", until_full)
    rng, wanted = np.random.default_rng(0), bytearray(3000)
    with DiskFile(path) as file:
        wanted[:900] = rng.bytes(900)
        file.write(wanted[:900])
        file.check()
        for _ in range(60):
            place, length = int(rng.integers(2500)), int(rng.integers(1, 500))
            data = rng.bytes(length)
            wanted[place : place + length] = data
            file.seek(place)
            assert file.write(data) == length
        end = file.seek(0, os.SEEK_END)
        for place in range(0, end, 700):
            file.seek(place)
            assert file.read(700) == bytes(wanted[place : min(place + 700, end)])
        with pytest.raises(OSError, match="No space left"):
            file.check()
    assert 900 <= path.stat().st_size <= room


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_writing_leaves_the_old_file(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    path.write_text("old")

    def rows():
        yield numbers(400_000)  # more than is kept back
        raise KeyboardInterrupt

    def write_all():
        with TableWriter(path, COLUMNS) as out:
            for block in rows():
                out.append(block)

    with pytest.raises(KeyboardInterrupt):
        write_all()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_a_pipe_is_read_once_and_written_as_text(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    values = numbers(20_000)
    script = (
        "import sys; from mbd_bridge.formats.tables import read_table; "
        "table = read_table(sys.argv[1]); "
        "print(len(table.values), table.values[:, 0].sum(), table.attributes['content'])"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", script, pipe], stdout=subprocess.PIPE, text=True
    )
    write(pipe, values)
    said, _ = reader.communicate(timeout=60)
    assert said == f"20000 {values[:, 0].sum()} loads: of an arm\n"
