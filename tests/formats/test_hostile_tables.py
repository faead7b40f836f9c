"""Tables that are made to read other files, or to take all time and memory: refused, and soon."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
import zlib

import h5py
import numpy as np
import openpyxl
import pytest
from numpy.lib import format as npy

from mbd_bridge.base.errors import FileError, MbdWarning
from mbd_bridge.files.tables import Column, excel, open_table, read_table
from mbd_bridge.files.yaml_text import MAX_BYTES, read_yaml
from tests.bounds import bounded
from tests.formats.table_files import COLUMNS, numbers, write
from tests.sample import TIMES


def refused(path, told, seconds=3.0, megabytes=400):
    """Read a file that must be refused: soon, in little memory, with its name and no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with bounded(seconds, megabytes), pytest.raises(FileError, match=told) as raised:
            (read_yaml if path.suffix == ".yaml" else read_table)(path)
    assert str(path) in str(raised.value)
    assert len(str(raised.value)) < 1000


def npz(path, entries, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)


def array(values):
    out = io.BytesIO()
    npy.write_array(out, np.asarray(values), allow_pickle=False)
    return out.getvalue()


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def forged(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"
    return header(text) + b"\0" * 800


TIME = ("time.npy", array(np.arange(100.0)))
NPZ = {
    "more rows than it holds": [("a.npy", forged("(10**15,)".replace("10**15", "9" * 15)))],
    "rows beyond all integers": [("a.npy", forged(f"({'9' * 40},)"))],
    "fewer rows than none": [("a.npy", forged("(-5,)"))],
    "nested header": [("a.npy", header("(" * 5000))],
    "negated header": [("a.npy", header("-" * 9000 + "1"))],
    "odd header": [("a.npy", header("'''"))],
    "a type that is none": [("a.npy", forged("(100,)", "'<Q9'"))],
    "a type of types": [("a.npy", forged("(100,)", "[('a', '<f8')]"))],
    "columns without end": [TIME, ("columns.npy", forged("(99999999999,)", "'<U1'"))],
    "long columns": [TIME, ("columns.npy", forged("(1,)", "'<U500000000'"))],
    "three attributes": [TIME, ("attributes.npy", array(["a", "b", "c"]))],
    "columns of numbers": [TIME, ("columns.npy", array([1.0, 2.0]))],
    "pickled columns": [TIME, ("columns.npy", forged("(1,)", "'|O'"))],
    "a name twice": [TIME, TIME],
    "complex": [("a.npy", array(np.zeros(3, dtype=complex)))],
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", NPZ)
def test_a_forged_npz_is_refused(tmp_path, name):
    path = tmp_path / "t.npz"
    npz(path, NPZ[name])
    refused(path, "t.npz")


def test_an_encrypted_npz_and_compressions_that_numpy_does_not_write_are_refused(tmp_path):
    path = tmp_path / "t.npz"
    npz(path, [TIME])
    data = bytearray(path.read_bytes())
    for place in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[place] |= 1
    path.write_bytes(data)
    refused(path, "encrypted")
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        npz(path, [TIME], method)
        refused(path, "compress")


def test_entries_of_an_npz_that_begin_at_the_same_place_are_refused(tmp_path):
    """Python 3.14 warns of them as a possible bomb."""
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        for name in ("hinge", "time", "slide"):
            archive.writestr(f"{name}.npy", array([0.0, 1.0]))
        archive.filelist[2].header_offset = archive.filelist[1].header_offset
    refused(tmp_path / "t.npz", "begins where another does")


def test_an_npz_that_unfolds_a_thousandfold_is_refused_before_it_is_whole(tmp_path):
    path = tmp_path / "t.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w") as file,
    ):
        file.write(forged("(20000000,)")[:-800])
        for _ in range(160):
            file.write(bytes(1_000_000))
    assert path.stat().st_size < 1_000_000
    with bounded(3.0, 50), pytest.raises(FileError, match="more than 1000000 cells"):
        read_table(path, max_cells=10**6)


def links(file, secret):
    file["a"] = np.arange(3.0)
    file["b"] = h5py.ExternalLink(str(secret), "x")


def external(file, secret):
    file.create_dataset("a", (4,), np.float64, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def virtual(file, secret):
    layout = h5py.VirtualLayout(shape=(4,), dtype=np.float64)
    layout[:] = h5py.VirtualSource(str(secret), "x", shape=(4,))
    file.create_virtual_dataset("a", layout)


def deep(file, _):
    group = file
    for _ in range(5000):
        group = group.create_group("g")
    group["a"] = np.arange(3.0)


def endless(file, _):
    file.create_dataset("a", (10**15,), np.float64, chunks=(1000,))


def large_chunk(file, _):
    file.create_dataset("a", (4 * 10**8,), np.float64, chunks=(4 * 10**8,), compression="gzip")
    file["a"].id.write_direct_chunk((0,), b"\0" * 100)


def twice_the_same_group(file, _):
    file["g/a"] = np.arange(3.0)
    file["g/g"] = file["g"]
    file["h"] = file["g"]


HDF5 = {
    "an external link": (links, "'b'.*another file"),
    "an external dataset": (external, "'a'.*other files"),
    "a virtual dataset": (virtual, "'a'.*other files"),
    "groups 5000 deep": (deep, "groups inside groups"),
    "rows without end": (endless, "holds 0 bytes"),
    "a chunk of 3 GB": (large_chunk, "chunk"),
    "a column by text": (lambda f, _: odd(f, "column", "first"), "whole number.*'column'"),
    "a column by an array": (lambda f, _: odd(f, "column", np.arange(3)), "whole number.*'column'"),
    "a column by nan": (lambda f, _: odd(f, "column", np.nan), "whole number.*'column'"),
    "an empty column": (lambda f, _: odd(f, "column", h5py.Empty("f8")), "whole number.*'column'"),
    "an empty unit": (lambda f, _: odd(f, "units", h5py.Empty("S1")), "one text as its unit"),
    "a reference as unit": (lambda f, _: odd(f, "units", f.ref), "one text as its unit"),
    "an empty dataset": (lambda f, _: f.create_dataset("a", dtype="f8", shape=None), "column"),
}


def odd(file, name, value):
    file["a"] = np.arange(3.0)
    kind = h5py.ref_dtype if isinstance(value, h5py.Reference) else None
    file["a"].attrs.create(name, value, dtype=kind)


@pytest.mark.parametrize("name", HDF5)
def test_an_hdf5_file_that_is_none_of_ours_is_refused(tmp_path, name):
    make, told = HDF5[name]
    secret = tmp_path / "secret"
    with h5py.File(secret, "w") as file:
        file["x"] = np.arange(4.0)
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", libver="latest") as file:
        make(file, secret)
    refused(path, told, seconds=5.0)


def test_a_bit_of_an_hdf5_file_of_ours_changes_nothing_that_is_read(tmp_path):
    """Nor does it keep HDF5 turning: all that is read has a check sum."""
    path = write(tmp_path / "t.h5", numbers(3))
    good, data = read_table(path), path.read_bytes()
    seen = {"same": 0, "refused": 0}
    for number, place in enumerate(range(0, len(data), max(1, 12 // TIMES))):
        damaged = bytearray(data)
        damaged[place] ^= 1 << number % 8
        path.write_bytes(damaged)
        try:
            table = read_table(path)
        except FileError:
            seen["refused"] += 1
            continue
        assert (table.columns, table.attributes) == (good.columns, good.attributes), place
        assert np.array_equal(table.values, good.values), place
        seen["same"] += 1
    assert seen["refused"] > 25, seen


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_heap_of_texts_that_keeps_hdf5_turning_is_refused_before(tmp_path, libver):
    """h5py's texts are in a heap without check sums: HDF5 2.0 does not come back from some."""
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", libver=libver) as file:
        for name in ("time", "a"):
            file[name] = np.arange(3.0)
            file[name].attrs["units"] = "s"
    assert read_table(path).columns == (Column("a", "s"), Column("time", "s"))
    data = path.read_bytes()
    place = heap = data.index(b"GCOL") + 16
    while data[place]:
        for size in (2**63, 2**32, len(data)):
            path.write_bytes(resized(data, place + 8, size))
            refused(path, "texts of its attributes are damaged")
        place += 16 + -(-data[place + 8] // 8) * 8
    assert place > heap
    path.write_bytes(resized(data, place + 8, 0))
    refused(path, "one says that it has 0 bytes")


def resized(data, place, number):
    return data[:place] + number.to_bytes(8, "little") + data[place + 8 :]


IEEE = bytes.fromhex("11203f000800000000004000340b0034ff030000")
"""The header of a float of 64 bits; the last four bytes are the bias of its exponent."""


@pytest.mark.parametrize("kind", ["h5", "mat"])
def test_an_exponent_with_another_bias_scales_no_column(tmp_path, kind):
    out = io.BytesIO()
    with h5py.File(out, "w", userblock_size=512 if kind == "mat" else 0) as file:
        file["time"], file["a"] = np.arange(3.0), np.array([1.0, 2.0, 3.0])
    data = bytearray(out.getvalue())
    if kind == "mat":
        data[:10] = b"MATLAB 7.3"
    path = tmp_path / f"t.{kind}"
    path.write_bytes(data)
    assert read_table(path).column("a").tolist() == [1.0, 2.0, 3.0]
    place = data.index(IEEE, data.index(IEEE) + 1) + len(IEEE) - 4
    for bit in range(5, 16):
        damaged = bytearray(data)
        damaged[place + bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        refused(path, "numbers are of an odd form")


def mat5(*arrays, kind=9, claimed=None):
    """Return a MATLAB file of compressed column vectors (bytes of their numbers)."""
    parts = [b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"]
    for k, raw in enumerate(arrays):
        rows = len(raw) // (8 if kind == 9 else 1)
        flags = struct.pack("<4I", 6, 8, 6, 0)
        shape = struct.pack("<2I2i", 5, 8, rows, 1)
        name = struct.pack("<2I8s", 1, 2, b"v%d" % k)
        content = flags + shape + name + struct.pack("<2I", kind, len(raw)) + raw
        size = len(content) if claimed is None else claimed
        packed = zlib.compress(struct.pack("<2I", 14, size) + content, 1)
        parts.append(struct.pack("<2I", 15, len(packed)) + packed)
    return b"".join(parts)


def test_a_matlab_file_that_unpacks_to_ten_gigabytes_is_refused(tmp_path):
    path = tmp_path / "t.mat"
    path.write_bytes(mat5(np.arange(4.0).tobytes(), np.arange(4.0).tobytes()))
    assert read_table(path).values.shape == (4, 2)
    large = mat5(bytes(100 * MILLION))[128:]
    path.write_bytes(mat5() + 100 * large)
    assert path.stat().st_size < 60_000_000
    refused(path, "unpacks to .* more than 1073741824", megabytes=200)
    path.write_bytes(mat5() + 2 * mat5(bytes(60 * MILLION), kind=2)[128:])
    refused(path, "arrays have more than 100000000 numbers", megabytes=900)
    path.write_bytes(mat5(bytes(100 * MILLION), claimed=1000))
    refused(path, "cannot be read|no vectors", megabytes=200)


def test_a_matlab_file_of_version_7_3_that_unpacks_to_gigabytes_is_refused(tmp_path):
    path = tmp_path / "t.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        for k in range(20):
            options = {"chunks": (2**20,), "compression": "gzip"}
            file.create_dataset(f"v{k}", (2**26,), np.float64, **options)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3")
    refused(path, "more than 1073741824 bytes", megabytes=1400)


def book(path, sheet, texts=b""):
    """Write a workbook with the XML of a sheet and of its texts."""
    made = openpyxl.Workbook()
    made.active.append(["time", "a"])
    made.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    begin = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    )
    parts["xl/worksheets/sheet1.xml"] = begin + sheet + b"</sheetData></worksheet>"
    if texts:
        parts["xl/sharedStrings.xml"] = b"<sst>" + texts + b"</sst>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


MILLION = 2**20
CELL = b'<row><c t="inlineStr"><is><t>%s</t></is></c></row>'
ROWS = b"<row><c><v>1</v></c><c><v>2</v></c></row><row><c><v>2</v></c><c><v>2</v></c></row>"
BOOKS = {
    "a text of 40 MB": (lambda: CELL % (b"x" * 40 * MILLION), bytes, "a row of .* has more than"),
    "a text in pieces": (
        lambda: CELL % ((b"x" * MILLION + b"<!-- <row> -->") * 40), bytes, "has comments",
    ),
    "a text of instructions": (
        lambda: CELL % ((b"x" * MILLION + b"<?a <row> ?>") * 40), bytes, "has comments",
    ),
    "a row of 5 million cells": (
        lambda: b"<row>" + b"<c/>" * 5 * MILLION + b"</row>", bytes, "a row of",
    ),
    "texts of 70 MB": (
        lambda: b"", lambda: b"<si><t>" + b"x" * 70 * MILLION + b"</t></si>", "its texts have more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOOKS)
def test_a_workbook_with_what_no_cell_holds_is_refused_soon(tmp_path, name):
    sheet, texts, told = BOOKS[name]
    book(tmp_path / "t.xlsx", ROWS + sheet(), texts())
    assert (tmp_path / "t.xlsx").stat().st_size < 500_000
    refused(tmp_path / "t.xlsx", told, megabytes=60)


def test_a_large_workbook_of_plain_rows_is_read(tmp_path):
    for prefix in (b"", b"x:"):
        rows = [b"<%srow><c><v>%d</v></c><c><v>2</v></c></%srow>" % (prefix, k, prefix)
                for k in range(200_000)]  # fmt: skip
        book(tmp_path / "t.xlsx", ROWS + b"".join(rows))
        path = str(tmp_path / "t.xlsx")
        excel._check_sizes(path)


def test_a_group_that_holds_itself_is_read_once(tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        twice_the_same_group(file, None)
    assert read_table(path).names == ("g/a",)


@pytest.mark.parametrize(("kind", "count"), [("csv", 60_000), ("npz", 12_000)])
def test_more_columns_than_any_machine_has_are_refused_soon(tmp_path, kind, count):
    names = [f"c{k}" for k in range(count)]
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text(",".join(names) + "\n" + ",".join(["0"] * len(names)) + "\n")
    else:
        npz(path, [(f"{name}.npy", "") for name in names])
    refused(path, f"{count} columns", seconds=3.0)


def test_columns_of_a_wide_table_are_read_in_blocks_of_bounded_size(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{k}" for k in range(9000)) + "\n" + ("0," * 8999 + "1\n") * 500)
    with bounded(10.0, 100):
        total = sum(values[:, -1].sum() for _, values in open_table(path).chunks())
    assert total == 500


CSV = {
    "a heading of blanks": "a" + " " * 500_000 + "b\n0\n",
    "headings of brackets": "a" + "[" * 500_000 + "\n0\n",
}


@pytest.mark.parametrize("name", CSV)
def test_a_csv_with_a_long_heading_is_read_soon(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text(CSV[name])
    with bounded(3.0, 200):
        table = read_table(path)
    assert table.names == (CSV[name].splitlines()[0],)
    assert np.array_equal(table.values, [[0.0]])


def test_comments_without_end_are_refused_soon(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(("# a: " + "x" * 900_000 + "\n") * 60)
    refused(path, "no header line in the first 16777216 bytes", megabytes=200)


MANY, DEEP, NO_YAML = "more than 30000 values", "nested deeper than 20", "not YAML"
YAML = {
    "a flow list": ("loops: [" + "1," * 500_000 + "1]", MANY),
    "a list": ("loops:\n" + "- 1\n" * 250_000, MANY),
    "a table": ("{" + ", ".join(f"a{k}: 1" for k in range(80_000)) + "}", MANY),
    "brackets": ("[" * 10**6, DEEP),
    "braces": ("{" * 10**6, DEEP),
    "questions": ("? " * 500_000, DEEP),
    "dashes": ("- " * 500_000, DEEP),
    "quotes": ('"' + "\\n" * 500_000, NO_YAML),
    "tags": ("!a " * 300_000, NO_YAML),
    "anchors": ("&a " * 300_000, NO_YAML),
    "directives": ("%YAML 1.1\n" * 100_000, NO_YAML),
    "documents": ("---\n" * 250_000, MANY),
    "a folded text": ("loops: >\n" + "  a\n\n" * 200_000, None),
    "a plain text": ("loops: " + "a\n " * 300_000, None),
}
"""Texts, and what is said of the longest part of each that is not too long: None, it is read."""


@pytest.mark.parametrize("name", YAML)
def test_yaml_made_to_hurt_is_read_or_refused_soon(tmp_path, name):
    text, told = YAML[name]
    path = tmp_path / "t.loops.yaml"
    path.write_text(text)
    refused(path, "t.loops.yaml", seconds=0.5)
    path.write_text(text[:MAX_BYTES])
    if told:
        refused(path, told, 4.0, 300)
    else:
        with bounded(4.0, 300):
            read = read_yaml(path).value["loops"].value
        assert set(read) <= set("a \n") and len(read) > MAX_BYTES / 4


@pytest.mark.parametrize("kind", ["csv", "h5"])
@pytest.mark.parametrize("bit", [57, 58, 60])
@pytest.mark.parametrize("row", [0, 5, 9_000, 19_999])
def test_a_number_that_a_bit_of_its_exponent_scaled_is_doubted(tmp_path, kind, bit, row):
    """Files of other programs have no check sums."""
    values = np.column_stack([np.arange(20_000.0), 50.0 * np.cos(np.arange(20_000.0))])
    flipped = values[row, 1:].view(np.uint64)
    flipped ^= np.uint64(1 << bit)
    path = write(tmp_path / f"t.{kind}", values, [Column("time", "s"), Column("fx", "N")], {})
    place = f"t.csv:{row + 2}:" if kind == "csv" else rf"t.h5: row {row} "
    with pytest.warns(MbdWarning, match=f"{place}.*'fx'.* within 50: the file may be damaged"):
        read_table(path)


def test_impacts_steps_and_short_tables_are_not_doubted(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        time = np.arange(2000.0)
        for values in (
            np.where(time == 1500, 1e4, 1e-12),  # an impact beside rounding: as large as real ones
            np.where(time == 1500, 1e9, 0.0),
            np.where(time > 1500, 1e9, 1e-3),
            np.where(time == 1500, 1e-20, 3e-30),
        ):
            read_table(write(tmp_path / "t.h5", np.column_stack([time, values]), COLUMNS[:2]))
        short = [[0.0, 1e-3], [1.0, 1e9], [2.0, 0.0]]
        read_table(write(tmp_path / "t.csv", np.array(short), COLUMNS[:2]))
