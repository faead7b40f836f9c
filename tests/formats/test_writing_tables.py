"""Claims about writing tables: what cannot be written is refused with a reason, and no half-written
file takes the name."""

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
import pytest

from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.files.tables import Column, TableWriter, read_table, text
from mbd_bridge.files.tables.hdf5 import DiskFile
from tests.bounds import WAIT
from tests.formats.table_files import COLUMNS, KINDS, numbers, write

NOBODY = 65534


def all_of(file):
    """The columns of a file that is a mapping of arrays."""
    with file:
        return np.column_stack([file[column.name][:] for column in COLUMNS])


OTHERS = {
    "csv": lambda path: np.loadtxt(path, delimiter=",", skiprows=4),  # three comments, the header
    "parquet": lambda path: pandas.read_parquet(path).to_numpy(),
    "npz": lambda path: all_of(np.load(path)),
    "h5": lambda path: all_of(h5py.File(path)),
}
"""Independent readers, by the kind of file."""


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


@pytest.mark.parametrize("gap", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_is_written_only_if_that_is_said(tmp_path, kind, gap):
    values = numbers(9000)
    values[8500, 1] = gap
    path = tmp_path / f"t.{kind}"
    told = rf"row 8500 \(the first is 0\), column 'elbow.fx': .* got {gap}; .* gaps=True"
    with pytest.raises(FileError, match=told):
        write(path, values, pieces=3, gaps=False)
    with pytest.raises(FileError, match=f"got {gap}; leave the row out$"):
        write(path, values, pieces=3)  # whose caller has no such option
    assert not os.listdir(tmp_path)
    write(path, values, pieces=3, gaps=True)
    assert np.array_equal(OTHERS[kind](path), values, equal_nan=True)


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
    """A process that may write 200 kB only meets EFBIG where a full disk gives ENOSPC.

    It writes no bytecode: Python keeps what it could write of a module for the whole of it.
    """
    path = tmp_path / f"t.{kind}"
    path.write_text("old")
    script = (
        "import resource, sys; import numpy as np; "
        "from mbd_bridge.base.errors import FileError; "
        "from mbd_bridge.files.tables import Column, TableWriter\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        "    with TableWriter(sys.argv[1], [Column('time'), Column('a.b')]) as out:\n"
        "        for k in range(100):\n"
        "            out.append(np.random.default_rng(k).normal(size=(20_000, 2)))\n"
        "except FileError as error: print(error, out.rows)\n"
    )
    done = subprocess.run(
        [sys.executable, "-Bc", script, path],
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
        "import sys; from mbd_bridge.files.tables import read_table; "
        "table = read_table(sys.argv[1]); "
        "print(len(table.values), table.values[:, 0].sum(), table.attributes['content'])"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", script, pipe], stdout=subprocess.PIPE, text=True
    )
    write(pipe, values)
    said, _ = reader.communicate(timeout=WAIT)
    assert said == f"20000 {values[:, 0].sum()} loads: of an arm\n"


def test_a_pipe_that_nobody_writes_to_is_given_up_and_leaves_no_thread(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    script = (
        "import sys, threading\n"
        "from mbd_bridge.files.tables import open_table, text\n"
        "text.WRITER_SECONDS = 0.2\n"
        "try:\n    open_table(sys.argv[1])\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
        "for thread in threading.enumerate()[1:]:\n    thread.join(5.0)\n"
        "print(threading.active_count())\n"
    )
    command = [sys.executable, "-c", script, str(pipe)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=WAIT).stdout
    assert said.startswith(f"FileError {pipe}: expected a process that writes to this named pipe")
    assert "got none in 0.2 s; start it first" in said
    assert said.endswith("\n1\n")


def test_a_writer_that_has_opened_the_pipe_may_take_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "WRITER_SECONDS", 2.0)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    script = f"exec 3>'{pipe}'; sleep 2.5; echo time,hinge >&3; echo 0,1 >&3"
    with subprocess.Popen(["sh", "-c", script]):
        assert read_table(pipe).column("hinge").tolist() == [1.0]
