"""Claims about where files are written to, and about names in them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, ModelError, StateError
from mbd_bridge.files.tables import Column, TableWriter, read_table
from mbd_bridge.files.whole_file import check_place, whole_file
from mbd_bridge.model import build_model
from tests.robots import own_urdfs

ROD = str(own_urdfs()["pendulum"])
SIMULATE = f"{sys.executable} -m mbd_bridge simulate {ROD} --seconds 0.002"


def shell(command, folder):
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )


def test_a_table_goes_into_stdout_and_into_another_program(tmp_path):
    for out in ("/dev/stdout", "/dev/fd/1", ">(gzip | gunzip >&2; sleep 0.1) | cat"):
        done = shell(f"{SIMULATE} -o {out}; wait", tmp_path)
        assert done.returncode == 0
        assert "\n0.002," in done.stdout + done.stderr, out
        assert not os.listdir(tmp_path)
    done = shell(f"echo old > o; {SIMULATE} -o /dev/stdout >> o; head -1 o", tmp_path)
    assert done.stdout == "old\n"


def test_a_stdout_that_is_closed_is_said_and_nothing_is_written(tmp_path):
    done = shell(f"{SIMULATE} >&-", tmp_path)
    assert done.returncode == 2
    assert "stdout is closed" in done.stderr
    assert "Traceback" not in done.stderr
    assert not os.listdir(tmp_path)
    assert shell(f"{SIMULATE} -o x.csv >&- 2>&-", tmp_path).returncode == 0


@pytest.mark.parametrize("nothing", [None, 3, ["a.csv"]])
def test_what_is_no_file_is_not_called_the_stream(tmp_path, monkeypatch, nothing):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StateError, match="expected a path or an open text file"):
        TableWriter(nothing, [Column("time")])
    assert not os.listdir(tmp_path)


def test_a_write_protected_file_is_not_replaced(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(FileError, match="write-protected"):
        check_place(path)
    with pytest.raises(FileError, match="write-protected"), whole_file(path) as file:
        file.write("new")
    assert path.read_text() == "old"


def test_files_have_the_mode_of_the_umask_or_of_the_old_file_and_no_thread_sees_another(tmp_path):
    seen, done = set(), threading.Event()

    def watch():
        while not done.is_set():
            (tmp_path / "w").unlink(missing_ok=True)
            os.close(os.open(tmp_path / "w", os.O_CREAT | os.O_WRONLY, 0o666))
            seen.add(stat.S_IMODE((tmp_path / "w").stat().st_mode))

    old = os.umask(0o077)
    try:
        watcher = threading.Thread(target=watch)
        watcher.start()
        for k in range(300):
            with whole_file(tmp_path / f"t{k % 3}") as file:
                file.write("x")
    finally:
        done.set()
        watcher.join()
        os.umask(old)
    assert seen == {0o600}
    assert stat.S_IMODE((tmp_path / "t0").stat().st_mode) == 0o600
    (tmp_path / "t0").chmod(0o640)
    with whole_file(tmp_path / "t0") as file:
        file.write("y")
    assert stat.S_IMODE((tmp_path / "t0").stat().st_mode) == 0o640


NAMES = ("=1+1", "+x", "-x", "@sum", "'=x", "''=x", "'x", 'a"b', "a,b", "a [b] c", "ü", "1", "=a,b")


def test_names_that_spreadsheets_would_compute_are_escaped_and_read_back_as_they_were(tmp_path):
    columns = [Column(name, "N") for name in NAMES]
    values = np.array([[-1.0, *range(1, len(NAMES))]])
    with TableWriter(tmp_path / "t.csv", columns) as out:
        out.append(values)
    header, row = (tmp_path / "t.csv").read_text().splitlines()
    assert header.startswith("'=1+1 [N],'+x [N],'-x [N],'@sum [N],''=x [N]")
    assert row.startswith("-1.0,")
    table = read_table(tmp_path / "t.csv")
    assert table.columns == tuple(columns)
    assert np.array_equal(table.values, values)


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "\x1b[31m", "#a", " a", "a ", "a [m]", "\u2028x"])
def test_names_that_a_csv_file_cannot_hold_are_refused(tmp_path, name):
    with (
        pytest.raises(FileError, match="CSV file cannot hold the name"),
        TableWriter(tmp_path / "t.csv", [Column(name)]) as out,
    ):
        out.append([[1.0]])
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "a\u202eb", "nul\0"])
def test_names_with_control_characters_are_no_names(name):
    builder = mbd.Builder("m")
    builder.link("rod", 1.0, (0, 0, 1), np.eye(3))
    builder.joint(name, "revolute", "base", "rod", axis=(0, 1, 0))
    with pytest.raises(ModelError, match="control character") as raised:
        build_model(builder.description())
    assert name not in str(raised.value)


def test_escape_codes_of_a_file_do_not_reach_the_terminal(tmp_path):
    (tmp_path / "r.urdf").write_text(Path(own_urdfs()["four_bar"]).read_text())
    (tmp_path / "r.loops.yaml").write_text('loops:\n  - {"n\\e[31mame": 1}\n')
    done = shell(f"{sys.executable} -m mbd_bridge info r.urdf", tmp_path)
    assert done.returncode == 2
    assert "[31m" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_more_records_than_memory_holds_are_refused_before_the_first_step():
    with pytest.raises(StateError, match=r"records of .* steps need .* GiB.*every="):
        mbd.load(ROD).simulate(2e5, step=1e-3)
