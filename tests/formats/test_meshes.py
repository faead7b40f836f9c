"""Meshes are found by package, by path variables, by given directories and around the file."""

import pytest

from mbd_bridge.base.errors import MbdWarning
from mbd_bridge.files import read
from mbd_bridge.files.input_files import MeshFinder


@pytest.fixture
def package(tmp_path):
    mesh = tmp_path / "space" / "my_arm" / "meshes" / "a b.stl"
    mesh.parent.mkdir(parents=True)
    mesh.write_bytes(b"solid")
    (tmp_path / "space" / "my_arm" / "urdf").mkdir()
    (tmp_path / "far").mkdir()
    return tmp_path / "space" / "my_arm"


URI = "package://my_arm/meshes/a b.stl"


def test_a_package_is_found_above_the_file(package):
    assert MeshFinder(str(package / "urdf"), environment={}).find(URI) == str(
        package / "meshes" / "a b.stl"
    )


@pytest.mark.parametrize("directory", [".", ".."])
def test_a_package_is_found_in_given_directories(package, directory):
    finder = MeshFinder(None, [package / directory], environment={})
    assert finder.find(URI) is not None


@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH"])
def test_a_package_is_found_by_path_variables(package, variable):
    far = str(package.parents[1] / "far")
    paths = {variable: f"/nowhere::{package.parent}"}
    assert MeshFinder(far, environment={}).find(URI) is None
    assert MeshFinder(far, environment=paths).find(URI) is not None
    assert MeshFinder(far, environment=paths).find(URI.replace("package", "model")) is not None


def test_a_package_is_found_in_the_share_of_an_ament_prefix(package):
    share = package.parents[1] / "install" / "share"
    share.mkdir(parents=True)
    package.rename(share / "my_arm")
    finder = MeshFinder(None, environment={"AMENT_PREFIX_PATH": str(share.parent)})
    assert finder.find(URI) is not None


def test_relative_and_file_names_are_found(package):
    finder = MeshFinder(str(package / "urdf"), environment={})
    mesh = str(package / "meshes" / "a b.stl")
    assert finder.find("../meshes/a b.stl") == mesh
    assert finder.find(mesh) == mesh
    assert finder.find("file://" + mesh.replace(" ", "%20")) == mesh


@pytest.mark.parametrize(
    "uri",
    ["", "package://", "package:///x", "package://../x", "http://a/b.stl", "a\0b", "x" * 9999],
)
def test_odd_names_are_nowhere_and_harmless(package, uri):
    assert MeshFinder(str(package), environment={}).find(uri) is None


def test_a_missing_mesh_is_a_warning_and_its_name_stays(package):
    path = package / "urdf" / "arm.urdf"
    shapes = "".join(
        f'<visual><geometry><mesh filename="package://my_arm/meshes/{name}"/></geometry></visual>'
        for name in ("a b.stl", "missing.stl")
    )
    path.write_text(f'<robot name="x"><link name="a">{shapes}</link></robot>')
    with pytest.warns(MbdWarning, match=r"meshes not found \(pass package_path.*missing.stl"):
        found, missing = read(path).links[0].visuals
    assert found.path == str(package / "meshes" / "a b.stl")
    assert missing.path is None
    assert missing.uri == "package://my_arm/meshes/missing.stl"


def test_one_scale_of_a_mesh_is_for_all_directions(package):
    path = package / "urdf" / "arm.urdf"
    shapes = "".join(
        f'<visual><geometry><mesh filename="{URI}"{scale}/></geometry></visual>'
        for scale in ("", ' scale="2"', ' scale="2 3 4"')
    )
    path.write_text(f'<robot name="x"><link name="a">{shapes}</link></robot>')
    scales = [shape.scale for shape in read(path).links[0].visuals]
    assert scales == [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (2.0, 3.0, 4.0)]
