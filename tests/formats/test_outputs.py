"""Claims about files that are written: what cannot work is said first, nothing is left behind."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MissingPackageError
from mbd_bridge.cli import main
from mbd_bridge.files.tables import TableWriter, check_output
from mbd_bridge.files.whole_file import check_place
from tests.robots import own_urdfs

ARM = str(own_urdfs()["kuka_iiwa"])
MOTION = Path(ARM).with_name("kuka_iiwa_motion.csv")
LINK, JOINT = "lbr_iiwa_link_3", "lbr_iiwa_joint_3"


def test_a_place_that_takes_a_file_is_left_as_it_was(tmp_path):
    check_place(tmp_path / "new.csv")
    old = tmp_path / "old.csv"
    old.write_text("old")
    check_place(old)
    assert os.listdir(tmp_path) == ["old.csv"] and old.read_text() == "old"
    check_place("/dev/null")
    with pytest.raises(FileError, match=r"is there a folder .*none"):
        check_place(tmp_path / "none" / "x.csv")
    with pytest.raises(FileError, match="give the name of a file"):
        check_place(tmp_path)


@pytest.mark.parametrize(
    ("package", "name", "told"),
    [("pyarrow", "x.parquet", "Parquet files need pyarrow"), ("h5py", "x.h5", "need h5py")],
)
def test_a_missing_package_is_told_with_the_name_that_was_given(
    package, name, told, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / name
    for attempt in (check_output, lambda p: TableWriter(p, [])):
        with pytest.raises(MissingPackageError) as raised:
            attempt(path)
        assert str(raised.value).startswith(f"{path}: ") and told in str(raised.value)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("loads", "--joints", JOINT, "-o", "none/x.csv"),
        ("spectrum", "--joints", JOINT, "-o", "none/x.csv"),
        ("spectrum", "--joints", JOINT, "--plot", "none/x.png"),
        ("free-body", "--link", LINK, "-o", "none/x.bdf"),
        ("report", "-o", "none/x.html"),
        ("plot", "-o", "none/x.pdf"),
        ("view", "--record", "none/x.png"),
    ],
)
def test_a_folder_that_is_not_there_is_said_before_anything_is_computed(
    words, tmp_path, monkeypatch, capsys
):
    def computed(*_, **__):
        raise AssertionError("it was computed first")

    for name in ("joint_loads", "free_body"):
        monkeypatch.setattr(mbd.Mechanism, name, computed)
    monkeypatch.setattr("mbd_bridge.view.record.still", computed)
    monkeypatch.chdir(tmp_path)
    command, *more = words
    assert main([command, ARM, str(MOTION), *more]) == 2
    assert "is there a folder" in capsys.readouterr().err


def test_a_picture_on_a_full_disk_is_an_error_and_no_fault(tmp_path):
    """A process that may write 2 kB only; matplotlib's PDF then ends in an error of zlib.

    It writes no bytecode: Python keeps what it could write of a module for the whole of it.
    """
    words = ["plot", ARM, str(MOTION), "--joints", JOINT, "-o", str(tmp_path / "x.pdf")]
    script = (
        "import resource, sys; from mbd_bridge.cli import main\n"
        "import matplotlib.backends.backend_pdf\n"  # caches are written before
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)); sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-Bc", script, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 2
    assert "x.pdf: cannot be written: File too large; choose another place" in done.stderr
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'trailer: No space left on device' >&2; exit 228", "No space left on device"),
        ("echo 'Unknown encoder' >&2; exit 1", "ffmpeg: Unknown encoder"),
    ],
)
def test_a_film_that_ffmpeg_could_not_finish_does_not_take_its_name(
    script, told, tmp_path, monkeypatch
):
    """It may have written half of it, and read all pictures or none."""
    pytest.importorskip("imageio_ffmpeg")
    for k, reads in enumerate(("cat > /dev/null", "true")):
        other = tmp_path / f"ffmpeg{k}"
        other.write_text(
            f'#!/bin/sh\n{reads}\nfor last; do :; done\necho half > "$last"\n{script}\n'
        )
        other.chmod(0o755)
        monkeypatch.setattr("imageio_ffmpeg.get_ffmpeg_exe", lambda other=other: str(other))
        films = tmp_path / "films"
        films.mkdir(exist_ok=True)
        arm = mbd.load(ARM)
        motion = arm.read_motion(MOTION)
        with pytest.raises(FileError, match=f"x.mp4: cannot be written: {told}"):
            arm.render(films / "x.mp4", motion, size=(64, 64), fps=2)
        assert not os.listdir(films)


def test_angles_in_degrees_that_nobody_calls_so_are_asked_about(tmp_path):
    lines = [line for line in MOTION.read_text().splitlines() if not line.startswith("#")]
    table = np.loadtxt(io.StringIO("\n".join(lines[1:])), delimiter=",")
    table[:, 1:] = np.rad2deg(table[:, 1:])
    path = tmp_path / "degrees.csv"
    np.savetxt(path, table, delimiter=",", header=lines[0], comments="")
    arm = mbd.load(ARM)
    (note,) = [n for n in arm.read_motion(path).notes if "are these degrees" in n]
    assert "are these degrees? Then the header says 'lbr_iiwa_joint_1 [deg]'" in note
