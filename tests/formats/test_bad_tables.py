"""Claims about files that are no table of numbers: each is refused with a reason and a place."""

from __future__ import annotations

import os
import sys

import h5py
import numpy as np
import pandas
import pytest

from mbd_bridge.base.errors import FileError, MissingPackageError
from mbd_bridge.files.tables import TableWriter, read_table
from tests.formats.table_files import BINARY, COLUMNS, KINDS, numbers, write


@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_is_named_with_row_and_column(tmp_path, kind):
    values = numbers(9000)
    values[8500:8504, 1] = np.nan
    path = write(tmp_path / f"t.{kind}", values, gaps=True)
    place = r": row 8500 \(the first is 0\), column"
    if kind == "csv":
        place = f":{3 + 1 + 8500 + 1}: column"  # three comments and the header before the rows
    with pytest.raises(FileError, match=f"{place} 'elbow.fx': .* got nan and 3 rows more"):
        read_table(path)


def test_npz_with_other_units_or_names_than_columns_is_refused(tmp_path):
    path = write(tmp_path / "t.npz", numbers(3))
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | {"units": arrays["units"][:2]})
    with pytest.raises(FileError, match=r"array 'units': .* each of its 3 columns .*\(2,\)"):
        read_table(path)
    np.savez(path, **arrays | {"columns": np.array(["time", "elbow.fx", "wrost"])})
    with pytest.raises(FileError, match=r"array 'columns': .* wrost, those .* wrist \(undeterm"):
        read_table(path)
    np.savez(path, **{name: x for name, x in arrays.items() if name not in ("columns", "units")})
    assert read_table(path).names == tuple(column.name for column in COLUMNS)


@pytest.mark.parametrize(
    "unit", [np.array(["N", "m"]), np.array([], dtype="S1"), 3.0, np.bytes_(b"N\xff"), "N\x07"]
)
def test_a_unit_in_hdf5_that_is_not_one_text_is_refused(tmp_path, unit):
    path = write(tmp_path / "t.h5", numbers(3))
    with h5py.File(path, "r+") as file:
        kind = h5py.string_dtype() if isinstance(unit, np.ndarray) else None
        file["elbow.fx"].attrs.create("units", unit, dtype=kind)
    with pytest.raises(FileError, match=r"dataset 'elbow.fx': expected one text as its unit"):
        read_table(path)


def test_datasets_of_hdf5_that_are_the_same_column_are_refused_and_others_come_last(tmp_path):
    path = write(tmp_path / "t.h5", numbers(3))
    with h5py.File(path, "r+") as file:
        file["elbow.fx"].attrs["units"] = np.array(["kN"], dtype=h5py.string_dtype())
        file["added"] = np.arange(3.0)
    table = read_table(path)
    assert table.names == (*(column.name for column in COLUMNS), "added")
    assert table.columns[1].unit == "kN"
    with h5py.File(path, "r+") as file:
        file["elbow.fx"].attrs["column"] = 0
    with pytest.raises(FileError, match=r"'elbow.fx' and 'time' both say: column 0 .*delete"):
        read_table(path)


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
    with pytest.raises(FileError, match="there is no such file"):
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
