"""A xacro file is expanded where xacro is installed, and advice is given where it is not."""

import sys

import pytest

from mbd_bridge.errors import FileError, MissingPackageError
from mbd_bridge.formats import read

TEXT = """<?xml version="1.0"?>
<robot name="x" xmlns:xacro="http://ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:property name="m" value="$(arg mass)"/>
  <link name="a"><inertial><mass value="${2 * m}"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  %s
</robot>
"""


@pytest.fixture
def write(tmp_path):
    def write_file(more=""):
        path = tmp_path / "a.urdf.xacro"
        path.write_text(TEXT % more)
        return path

    return write_file


def test_a_xacro_file_is_expanded(write):
    pytest.importorskip("xacro")
    assert read(write()).links[0].inertia.mass == 4.0
    assert read(write(), xacro_arguments={"mass": "3"}).links[0].inertia.mass == 6.0


@pytest.mark.parametrize(
    "more", ["<xacro:nothing/>", '<link name="${1/0}"/>', '<link name="$(find nowhere)"/>', "<"]
)
def test_a_faulty_xacro_file_is_explained(write, more):
    pytest.importorskip("xacro")
    with pytest.raises(FileError, match="xacro cannot expand") as caught:
        read(write(more))
    assert "Give its arguments" in caught.value.message
    assert caught.value.file.endswith("a.urdf.xacro")


def test_without_xacro_there_is_advice(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(MissingPackageError, match="pip install xacro"):
        read(write())
