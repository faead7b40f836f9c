"""What stands in a file tells its format, in time that grows with its length only."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError
from mbd_bridge.files.xml_reader import format_of
from tests.bounds import soon

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
def test_the_outermost_element_tells(before: str, text: str, form: str) -> None:
    assert format_of("a.xml", (before + text).encode()) == form


def test_a_part_of_a_model_is_no_model() -> None:
    with pytest.raises(FileError, match="load that one"):
        format_of("a.xml", b"<mujocoinclude/>")


@pytest.mark.parametrize("end", ["<!--", "<?", "x", "<!--" * 2000])
def test_comments_without_end_take_no_time(end: str) -> None:
    text = "<!-- a --> <?b ?>" * 5000 + end
    with soon(0.5):
        assert format_of("a.urdf", text.encode()) == "URDF"


def test_a_robot_file_is_opened_once(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    path.write_text('<robot name="a"><link name="l"/></robot>')
    with mock.patch("builtins.open", wraps=open) as opened:
        mbd.load(path)
    assert [str(one.args[0]) for one in opened.call_args_list].count(str(path)) == 1
