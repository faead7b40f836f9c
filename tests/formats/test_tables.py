"""Claims about files of tables: other readers find the same numbers, names, units and words."""

from __future__ import annotations

import subprocess
import sys

import h5py
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.tables import Column, TableWriter, open_table, read_table
from tests.formats.table_files import ATTRIBUTES, BINARY, COLUMNS, KINDS, numbers, write


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
            assert file[column.name].attrs["units"].decode() == column.unit
        assert file.attrs["notes"].decode() == ATTRIBUTES["notes"]
        assert file["elbow.fx"].dims[0][0] == file["time"]


def test_numpy_reads_npz_without_pickles(tmp_path):
    values = numbers()
    with np.load(write(tmp_path / "t.npz", values, pieces=3), allow_pickle=False) as found:
        assert np.array_equal(found["elbow.fx"], values[:, 1])
        assert found["units"].tolist() == ["s", "N", "N m"]
        assert dict(found["attributes"].tolist()) == ATTRIBUTES


def test_npz_of_more_than_one_group_of_columns_is_the_same_file(tmp_path, monkeypatch):
    from mbd_bridge.files.tables import npz

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
        "import sys; from mbd_bridge.files.tables import open_table; "
        # ru_maxrss would be the parent's where that had more
        "peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); "
        "source = open_table(sys.argv[1]); blocks = source.chunks(10_000); next(blocks); "
        "before = peak(); rows = sum(len(b) for _, b in blocks); print(rows, peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], check=True, capture_output=True, text=True
    )
    rows, kilobytes = map(int, done.stdout.split())
    assert rows == 990_000
    assert kilobytes < (12_000 if kind == "parquet" else 4_000)  # Arrow's pool keeps some pages


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
