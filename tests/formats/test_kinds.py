"""What stands in a file tells its format, in time that grows with its length only."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.kinds import format_of

BEFORE = (
    "",
    "\ufeff",
    "\n \t",
    '<?xml version="1.0"?>\n',
    "<!-- <robot> -->",
    "<!-- a --><?pi <sdf ?>\n<!-- b -->",
)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('<robot name="a"/>', "URDF"),
        ("<mujoco/>", "MJCF"),
        ('<sdf version="1.7">', "SDF"),
        ("<gazebo>", "SDF"),
        ("<other/>", "URDF"),
        ("nothing", "URDF"),
        ("", "URDF"),
    ],
)
def test_the_outermost_element_tells(before: str, text: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(before + text, encoding="utf-8")
    assert format_of(str(path)) == form


def test_a_part_of_a_model_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<mujocoinclude/>")
    with pytest.raises(FileError, match="load that one"):
        format_of(str(tmp_path / "a.xml"))


@pytest.mark.parametrize("end", ["<!--", "<?", "x", "<!--" * 2000])
def test_comments_without_end_take_no_time(end: str, tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    path.write_text("<!-- a --> <?b ?>" * 5000 + end)
    start = time.process_time()
    assert format_of(str(path)) == "URDF"
    assert time.process_time() - start < 1.0
