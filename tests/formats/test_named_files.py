"""What a file names, or what lies beside it, leads nowhere else: no link, no device, no pipe.

Each road by which one file leads to another is taken in a process of its own, with the other file
a link to a secret outside of the folder, a link to a device, a pipe, or a link inside the folder.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning
from mbd_bridge.files.input_files import LinkError, MeshFinder, file_beside
from mbd_bridge.files.mesh import read_mesh
from tests.bounds import WAIT

SECRET = "SECRET:x:0:0:root:/root:/bin/bash"
ROBOT = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>%s</link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit effort="1" velocity="1" lower="-1" upper="1"/></joint></robot>"""
VISUAL = '<visual><geometry><mesh filename="%s"/></geometry></visual>'
OBJ = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n"
SPRING = """units: SI
forces:
  - {name: s, type: JointSpring, joint: j, stiffness: {file: law.%s, x: a, y: b}}
"""
FLEX = "units: SI\nlinks:\n  - link: arm\n    %s\n"
BEAM = (
    "beam: {start: [0, 0, 0], end: [1, 0, 0], E: 1e9, G: 1e9, density: 1, section: {file: s.csv}}"
)
TYRE = """units: SI
forces:
  - {name: t, type: PacejkaTyre, wheel: arm, file: t.tir, road: {type: Flat}}
"""
DECK = "SOL 103\nCEND\nBEGIN BULK\nINCLUDE 'grids.bdf'\nENDDATA\n"
SDF = '<sdf version="1.9"><model name="m">%s</model></sdf>'
CONFIG = '<model><sdf version="1.9">new.sdf</sdf></model>'
MJCF = "<mujoco>%s<worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>"
MESH = "<asset><mesh name='m' file='m.stl'/></asset>"
IMAGE = "<asset><texture name='m' type='2d' file='m.png'/></asset>"


def load_robot(folder):
    return mbd.load(folder / "r.urdf")


def load_sdf(folder):
    return mbd.load(folder / "r.sdf")


def load_mjcf(folder):
    return mbd.load(folder / "r.xml")


def load_modes(folder):
    from mbd_bridge.files.modal_nastran import read_model

    return read_model(str(folder / "deck.bdf"))


def textures(folder):
    return [one.texture.pixels for one in read_mesh(str(folder / "m.obj"))]


def load_bag(folder):
    return mbd.load(folder / "r.urdf").read_motion(folder / "bag")


ROADS = {
    **{
        one: ({"r.urdf": ROBOT % ""}, one, load_robot)
        for one in (
            *("r.loops.yaml", "r.forces.yaml", "r.flex.yaml", "r.actuators.yaml"),
            *("r.bearings.yaml", "r.yaml", "loop_closures.yaml", "r.srdf"),
        )
    },
    **{
        f"law.{kind}": (
            {"r.urdf": ROBOT % "", "r.forces.yaml": SPRING % kind}, f"law.{kind}", load_robot,
        )
        for kind in ("csv", "npz", "parquet", "h5", "mat", "xlsx")
    },
    "law.xlsx#one": (
        {"r.urdf": ROBOT % "", "r.forces.yaml": SPRING % "xlsx#one"}, "law.xlsx", load_robot,
    ),
    "sections": ({"r.urdf": ROBOT % "", "r.flex.yaml": FLEX % BEAM}, "s.csv", load_robot),
    **{
        f"modes.{kind}": (
            {"r.urdf": ROBOT % "", "r.flex.yaml": FLEX % f"modal_basis: {{file: m.{kind}}}"},
            f"m.{kind}",
            load_robot,
        )
        for kind in ("op2", "npz", "csv", "uff")
    },
    "tyre": ({"r.urdf": ROBOT % "", "r.forces.yaml": TYRE}, "t.tir", load_robot),
    "deck": ({"deck.bdf": DECK}, "grids.bdf", load_modes),
    "sdf": ({"r.sdf": SDF % "<include><uri>p.sdf</uri></include>"}, "p.sdf", load_sdf),
    "sdf folder": (
        {"r.sdf": SDF % "<include><uri>p</uri></include>", "p/model.config": CONFIG},
        "p/new.sdf",
        load_sdf,
    ),
    "sdf config": (
        {"r.sdf": SDF % "<include><uri>p</uri></include>"}, "p/model.config", load_sdf,
    ),
    "mjcf": ({"r.xml": MJCF % "<include file='i.xml'/>"}, "i.xml", load_mjcf),
    "mjcf mesh": ({"r.xml": MJCF % MESH}, "m.stl", load_mjcf),
    "mjcf image": ({"r.xml": MJCF % IMAGE}, "m.png", load_mjcf),
    "mjcf model": (
        {"r.xml": MJCF % "<asset><model name='o' file='o.xml'/></asset>"}, "o.xml", load_mjcf,
    ),
    "mesh": ({"r.urdf": ROBOT % VISUAL % "m/a.obj"}, "m/a.obj", load_robot),
    "package": ({"r.urdf": ROBOT % VISUAL % "package://p/a.obj"}, "p/a.obj", load_robot),
    "materials": ({"m.obj": OBJ}, "a.mtl", textures),
    "texture": ({"m.obj": OBJ, "a.mtl": "newmtl m\nmap_Kd t.png\n"}, "t.png", textures),
    "bag": (
        {"r.urdf": ROBOT % "", "bag/metadata.yaml": "rosbag2_bagfile_information:\n"},
        "bag/one.mcap",
        load_bag,
    ),
}  # fmt: skip
"""Files that there are, the one that they lead to, and what reads them."""

FOR_PICTURES = ("mesh", "package", "materials")
"""Left out and said, or only left out; the machine is read."""

KINDS = ("outside", "device", "pipe", "inside")


def take(road: str, kind: str, folder: Path) -> dict[str, str]:
    """Return what comes of a road in a folder of its own."""
    files, victim, read = ROADS[road]
    home = folder / f"{kind} {road.replace('#', ' ')}"
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / victim).parent.mkdir(exist_ok=True)
    if kind == "pipe":
        os.mkfifo(home / victim)
    else:
        inside = (home / victim).parent / "inside"
        target = {"outside": folder / "secret", "device": "/dev/zero", "inside": inside}
        inside.write_text(SECRET + "\n" + SECRET + "\n")
        (home / victim).symlink_to(target[kind])
    said = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read(home)
            outcome = "read"
    except Exception as error:
        outcome = type(error).__name__
        said.append(str(error))
    said += [str(one.message) for one in caught]
    return {"road": road, "outcome": outcome, "said": " ".join(said)}


@pytest.mark.parametrize("kind", KINDS)
def test_no_road_leads_out_of_the_folder_or_hangs(tmp_path, kind):
    (tmp_path / "secret").write_text(SECRET + "\n" + SECRET + "\n")
    command = [sys.executable, "-m", "tests.formats.test_named_files", kind, tmp_path]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
        out, end = ended.stdout, ended.stderr[-500:]
    except subprocess.TimeoutExpired as error:
        out, end = (error.stdout or b"").decode(), "it hangs"
    taken = {one["road"]: one for one in map(json.loads, out.splitlines())}
    assert list(taken) == list(ROADS), f"{end} at {list(ROADS)[len(taken)]}"
    for road, one in taken.items():
        if kind == "inside":
            assert "regular file" not in one["said"] and one["outcome"] != "LinkError", one
            continue
        assert "SECRET" not in one["said"], one
        if road in FOR_PICTURES:
            if road != "materials":
                assert one["outcome"] == "read", one
                assert "not read, being devices or behind links" in one["said"], one
        else:
            told = "a link leads out of" if kind == "outside" else "expected a regular file"
            assert one["outcome"] in ("FileError", "LinkError") and told in one["said"], one


def linked(link: Path, to: Path) -> Path:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(to)
    return link


def test_links_that_workspaces_make_are_read(tmp_path):
    """As colcon build --symlink-install: each file of a package is a link to its source."""
    source, share = tmp_path / "src/arm", tmp_path / "install/share/arm"
    for name, text in {
        "urdf/r.urdf": ROBOT % (VISUAL % "package://arm/meshes/a.obj" + VISUAL % "../meshes/b.obj"),
        "urdf/r.forces.yaml": SPRING % "csv",
        "urdf/law.csv": "a,b\n-1,-1\n1,1\n",
        "meshes/a.obj": OBJ, "meshes/b.obj": OBJ, "meshes/a.mtl": "newmtl m\n",
    }.items():  # fmt: skip
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
        linked(share / name, source / name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MbdWarning)
        robot = mbd.load(share / "urdf/r.urdf")
    assert len(robot.forces) == 1
    link = robot.model.description.links[1]
    assert [Path(one.path).name for one in link.visuals] == ["a.obj", "b.obj"]


def test_links_lead_anywhere_in_folders_that_the_user_gives(tmp_path):
    mesh = tmp_path / "elsewhere/a.obj"
    linked(tmp_path / "packages/arm/a.obj", mesh)
    mesh.parent.mkdir()
    mesh.write_text(OBJ)
    base, given = str(tmp_path / "robot"), [tmp_path / "packages"]
    for uri in ("package://arm/a.obj", "arm/a.obj"):
        assert MeshFinder(base, given, {}).find(uri) is not None
        assert MeshFinder(base, (), {"ROS_PACKAGE_PATH": str(given[0])}).find("package://arm/a.obj")
    finder = MeshFinder(str(given[0] / "robot"), (), {})
    assert finder.find("package://arm/a.obj") is None
    assert isinstance(finder.refusal("package://arm/a.obj"), LinkError)


def test_a_folder_behind_a_link_and_a_name_that_leads_up(tmp_path):
    naming = tmp_path / "robot/r.sdf"
    (tmp_path / "robot").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/p.sdf").write_text("")
    linked(tmp_path / "robot/parts", tmp_path / "other")
    with pytest.raises(LinkError, match=r"leads out of .*robot, .*copy the file"):
        file_beside(tmp_path / "robot/parts/p.sdf", naming)
    assert file_beside(tmp_path / "robot/../other/p.sdf", naming) is not None
    assert file_beside(tmp_path / "robot/none.sdf", naming) is None
    linked(tmp_path / "robot/dangling", tmp_path / "nothing")
    linked(tmp_path / "robot/circle", tmp_path / "robot/circle")
    for name in ("dangling", "circle", "n" * 300, "a\0b"):
        assert file_beside(f"{tmp_path}/robot/{name}", naming) is None


@pytest.mark.parametrize("word", ["loops", "forces", "flex", "actuators", "bearings"])
def test_a_sidecar_that_is_there_but_is_no_file_is_not_left_out(tmp_path, word):
    (tmp_path / "r.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    sidecar = tmp_path / f"r.{word}.yaml"
    linked(sidecar, tmp_path / "nothing")
    for after in (lambda: (sidecar.unlink(), sidecar.mkdir()), sidecar.rmdir):
        with pytest.raises(FileError, match=rf"r\.{word}\.yaml: expected a file beside r\.urdf"):
            mbd.load(tmp_path / "r.urdf")
        after()
    mbd.load(tmp_path / "r.urdf")


@pytest.mark.parametrize("include", ["/dev/zero", "PIPE", "TEN"])
def test_a_deck_that_includes_without_end_is_refused_soon(tmp_path, include):
    pytest.importorskip("pyNastran")
    if include == "PIPE":
        os.mkfifo(tmp_path / "PIPE")
    for k in range(18):
        name = f"d{k + 1}.bdf" if include == "TEN" else include
        (tmp_path / f"d{k}.bdf").write_text(f"INCLUDE '{name}'\n" * 10)
    (tmp_path / "d18.bdf").write_text("GRID,1\n" * 100)
    code = (
        "import resource, sys; from mbd_bridge.files.modal_nastran import read_model\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30,) * 2)\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20,) * 2)\n"
        "read_model(sys.argv[1])"
    )
    command = [sys.executable, "-c", code, tmp_path / "d0.bdf"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    told = "more than 1000 files" if include == "TEN" else "expected a regular file"
    assert "FileError" in ended.stderr and told in ended.stderr, ended.stderr[-300:]


def test_what_a_deck_includes_from_elsewhere_is_not_quoted(tmp_path):
    pytest.importorskip("pyNastran")
    (tmp_path / "secret").write_text("GRID,SECRET,,1.,x\n")
    (tmp_path / "deck").mkdir()
    (tmp_path / "deck/d.bdf").write_text("INCLUDE '../secret'\n")
    with pytest.raises(FileError) as raised:
        mbd_model(tmp_path / "deck/d.bdf")
    assert "SECRET" not in str(raised.value) and "in files that it includes" in str(raised.value)
    for name, text in {
        "r.xml": MJCF % f"<include file='{tmp_path}/secret'/>",
        "r.sdf": SDF % f"<include><uri>{tmp_path}/secret</uri></include>",
    }.items():
        (tmp_path / "deck" / name).write_text(text)
        with pytest.raises(FileError) as raised:
            mbd.load(tmp_path / "deck" / name)
        assert "SECRET" not in str(raised.value)


def mbd_model(path):
    from mbd_bridge.files.modal_nastran import read_model

    return read_model(str(path))


REPLICATE = '<replicate count="%d"><body><geom size="1"/>%s</body></replicate>'
GROWING = {
    "replicate": MJCF.replace("<worldbody>", "<worldbody>" + REPLICATE % (10**7, "")) % "",
    "replicates inside": MJCF.replace(
        "<worldbody>", "<worldbody>" + REPLICATE % (1000, REPLICATE % (1000, REPLICATE % (9, "")))
    )
    % "",
    "composite": MJCF.replace(
        "<worldbody>", '<worldbody><body><composite type="cable" count="9999 9999 1"/></body>'
    )
    % "",
    "hfield": MJCF % '<asset><hfield name="h" nrow="99999" ncol="99999" size="1 1 1 1"/></asset>',
    "texture": MJCF
    % '<asset><texture name="h" type="2d" builtin="flat" width="99999" height="99999"/></asset>',
    "numeric": MJCF % '<custom><numeric name="n" size="1999999999" data="1"/></custom>',
    "keys": MJCF % '<size nkey="1999999999"/>',
    "users": MJCF % '<size nuser_body="1999999999"/>',
}


@pytest.mark.parametrize("name", GROWING)
def test_an_mjcf_that_grows_without_bound_is_refused_soon(tmp_path, name):
    (tmp_path / "r.xml").write_text(GROWING[name])
    assert "FileError" in loaded(tmp_path / "r.xml")


def test_mjcf_models_that_attach_the_next_ten_times_are_refused_soon(tmp_path):
    attach = '<attach model="o" body="b" prefix="p%d"/>'
    for k in range(18):
        text = MJCF % f'<asset><model name="o" file="m{k + 1}.xml"/></asset>'
        ten = "".join(attach % one for one in range(10))
        named = text.replace("<body>", '<body name="b">').replace("</body>", f"{ten}</body>")
        (tmp_path / f"m{k}.xml").write_text(named)
    (tmp_path / "m18.xml").write_text((MJCF % "").replace("<body>", '<body name="b">'))
    assert "the file becomes larger than" in loaded(tmp_path / "m0.xml")
    again = (tmp_path / "m0.xml").read_text().replace("m1.xml", "m0.xml")
    (tmp_path / "m0.xml").write_text(again)
    assert "FileError" in loaded(tmp_path / "m0.xml")


def loaded(path):
    """Return what a process says that loads a file in 20 s and 2 GB."""
    code = (
        "import resource, sys; import mbd_bridge, mujoco\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30,) * 2)\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20,) * 2)\n"
        "mbd_bridge.load(sys.argv[1])"
    )
    command = [sys.executable, "-c", code, path]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT).stderr[-600:]


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (60,) * 2)
    for each in ROADS:
        print(json.dumps(take(each, sys.argv[1], Path(sys.argv[2]))), flush=True)
