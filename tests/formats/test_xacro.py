"""A xacro file is expanded where xacro is installed, and advice is given where it is not."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.cli import main
from mbd_bridge.files import read

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
    assert read(write(), arguments={"mass": 3}).links[0].inertia.mass == 6.0


def test_packages_are_found_without_ros(write, tmp_path, monkeypatch):
    """In a folder that is named, and around the file, as a workspace has them."""
    before = {name: module for name, module in sys.modules.items() if "ament" in name}
    include = '<xacro:include filename="$(find arm_description)/urdf/hand.xacro"/>'
    hand = '<robot xmlns:xacro="http://ros.org/wiki/xacro"><link name="hand"/>%s</robot>'
    joint = (
        '<joint name="grip" type="fixed"><parent link="a"/><child link="hand"/></joint>'
        '<xacro:property name="where" value="$(find arm_description)"/>'
    )
    for place, found in ((tmp_path / "elsewhere", {"package_path": [tmp_path / "elsewhere"]}),
                         (tmp_path, {})):  # fmt: skip
        with pytest.raises(FileError, match=r"none of the folders.*package_path="):
            read(write(include))
        folder = place / "arm_description" / "urdf"
        folder.mkdir(parents=True)
        (folder / "hand.xacro").write_text(hand % joint)
        assert [link.name for link in read(write(include), **found).links] == ["a", "hand"]
    assert {name: module for name, module in sys.modules.items() if "ament" in name} == before


def test_a_ros_workspace_is_asked_last(write, tmp_path, monkeypatch):
    ros = ModuleType("ament_index_python.packages")
    ros.get_package_share_directory = lambda package: f"/ros/{package}"
    monkeypatch.setitem(sys.modules, "ament_index_python", ModuleType("ament_index_python"))
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", ros)
    (tmp_path / "near").mkdir()
    joint = '<joint name="%s" type="fixed"><parent link="a"/><child link="%s"/></joint>'
    names = ["$(find far)", "$(find near)"]
    text = "".join(f'<link name="{name}"/>{joint % (name, name)}' for name in names)
    found = [link.name for link in read(write(text)).links]
    assert found == ["a", "/ros/far", str(tmp_path / "near")]


def test_arguments_are_given_on_the_command_line(write, capsys):
    assert main(["info", str(write()), "mass:=3.5"]) == 0
    assert "7 kg" in capsys.readouterr().out
    assert main(["models", "mass:=3.5"]) == 2
    assert "unknown arguments: mass:=3.5" in capsys.readouterr().err
    plain = write().with_suffix(".urdf")
    plain.write_text('<robot name="x"><link name="a"/></robot>')
    assert main(["info", str(plain), "mass:=3.5"]) == 2
    assert "are for xacro files" in capsys.readouterr().err


def test_threads_expand_with_their_own_arguments(write):
    path = write()

    def mass(number):
        return read(path, arguments={"mass": number}).links[0].inertia.mass

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(mass, range(1, 21))) == [2.0 * number for number in range(1, 21)]


@pytest.mark.parametrize(
    "more", ["<xacro:nothing/>", '<link name="${1/0}"/>', '<link name="$(find nowhere)"/>', "<"]
)
def test_a_faulty_xacro_file_is_explained(write, more):
    pytest.importorskip("xacro")
    with pytest.raises(FileError, match="xacro cannot expand") as caught:
        read(write(more))
    assert "Give its arguments" in caught.value.message
    assert caught.value.file.endswith("a.urdf.xacro")


@pytest.mark.parametrize(
    "named",
    [
        '<xacro:include filename="NAMED"/>',
        '<xacro:include filename="NAMED" optional="true"/>',
        '<xacro:property name="y" value="${xacro.load_yaml(\'NAMED\')}"/><link name="l${y}"/>',
    ],
)
def test_a_pipe_and_a_device_that_xacro_is_to_read_are_refused(write, tmp_path, named):
    pytest.importorskip("xacro")
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "zero")
    for name in ("pipe", "zero"):
        with pytest.raises(FileError, match="regular file, not a device or a pipe"):
            read(write(named.replace("NAMED", name)))
    assert read(write('<xacro:include filename="none.xacro" optional="true"/>')).links
