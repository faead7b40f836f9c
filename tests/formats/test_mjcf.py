"""MJCF: what MuJoCo's compiler makes of a file is what we read, and what is left out is listed."""

import re
import sys
import warnings

import mujoco
import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning, MissingPackageError
from mbd_bridge.files import read
from tests.formats import mjcf_files
from tests.formats.mjcf_models import twin
from tests.formats.mjcf_random import accelerations, check
from tests.formats.texts import ARM, LOCKED
from tests.sample import TIMES

EXACT = 1e-11
"""M, bias, rows and residuals, relative: both round."""

DIFFERENCES = 1e-6
"""Accelerations, relative: the rates of MuJoCo's rows are differences."""


def load(tmp_path, text=ARM, name="arm.xml", **options):
    path = tmp_path / name
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        robot = mbd.load(path, **options)
    return robot, [str(one.message) for one in caught]


@pytest.mark.parametrize("seed", range(6 * TIMES))
def test_random_models_have_the_matrices_rows_and_motion_that_mujoco_computes(seed, tmp_path):
    found = check(np.random.default_rng([13, seed]), tmp_path)
    for name, value in found.items():
        if (
            name != "MuJoCo's solver"
        ):  # its constraints are soft; the command prints how they differ
            assert value < (DIFFERENCES if name in ("a", "constraint force") else EXACT), name


def test_joints_of_one_body_follow_each_other_with_the_files_coordinates(tmp_path):
    robot, _ = load(tmp_path)
    described = {joint.name: joint for joint in robot.model.description.joints}
    assert described["lift"].child == described["turn"].parent == "upper.1"
    assert robot.coordinate_names[:3] == ("lift", "turn", "elbow")
    assert described["turn"].axis == (0.0, 1.0, 0.0)
    assert described["turn"].limits.upper == pytest.approx(np.pi / 2)
    at = robot.neutral()
    at[1] = np.radians(30)  # it stands at its ref where the file draws it
    upper = robot.placement(at, "upper")
    assert upper[:3, :3] == pytest.approx(np.eye(3), abs=1e-15)
    assert upper[:3, 3] == pytest.approx([0, 0, 1])


def test_what_has_a_place_here_is_kept(tmp_path):
    robot, _ = load(tmp_path)
    described = robot.model.description
    joints = {joint.name: joint for joint in described.joints}
    assert described.format == "MJCF"
    assert robot.model.gravity.tolist() == [0, 0, -5]
    assert described.actuated == ("lift", "elbow")
    assert joints["lift"].limits.effort == 30.0
    assert (joints["lift"].damping, joints["turn"].friction) == (2.0, 0.3)
    (rotor,) = described.transmissions
    assert (rotor.joint, rotor.rotor_inertia, rotor.reduction) == ("turn", 0.2, None)
    acting = {element.name: element for element in robot.forces}
    assert [*acting] == ["lift friction", "turn spring", "turn friction"]
    assert acting["turn spring"].rest == pytest.approx(np.radians(10))
    assert (acting["lift friction"].viscous, acting["turn friction"].coulomb) == (2.0, 0.3)
    assert robot.model.rotors.tolist() == [0.0, 0.2, 0.0, *[0.0] * 6]
    assert described.links[2].visuals[0].size == (0.05, 0.4)
    assert described.links[2].visuals[0].colour == (1.0, 0.0, 0.0, 1.0)


def test_couplings_and_brakes_are_constraints_of_the_files_coordinates(tmp_path):
    robot, _ = load(tmp_path)
    q = robot.assemble({"turn": 0.7}, fixed="turn").q
    elbow, turn, ref = q[2], q[1], np.radians(30)
    assert elbow == pytest.approx(0.1 - 2 * (turn - ref), abs=1e-12)
    assert q[0] == pytest.approx(0.25, abs=1e-12)


def test_gravity_and_springs_are_the_files_unless_others_are_given(tmp_path):
    robot, _ = load(tmp_path, gravity=(0, 0, -1), forces=())
    assert robot.model.gravity[2] == -1
    assert not robot.forces


FLAGGED = """
<mujoco><option gravity="1 2 3"><flag {}/></option><worldbody>
  <body><joint name="a" axis="0 1 0" stiffness="2" springref="30" damping="0.5" frictionloss="0.1"/>
    <geom size="0.1" pos="0.3 0 0"/></body>
  <body pos="1 0 0"><joint name="b"/><geom size="0.1" pos="0.3 0 0"/></body>
</worldbody><equality><joint name="gear" joint1="b" joint2="a"/></equality></mujoco>
"""


@pytest.mark.parametrize(
    "flag", ["gravity", "spring", "damper", "frictionloss", "equality", "constraint", "contact"]
)
def test_what_a_flag_disables_does_not_act(tmp_path, flag):
    """dm_control's fish and finger have no gravity by a flag; they fell, and nothing said so."""
    text = FLAGGED.format(f'{flag}="disable"')
    robot, _ = load(tmp_path, text)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[0] = 1.5
    mujoco.mj_forward(model, data)
    one, two = (robot.model.description.joints[k] for k in (0, 1))
    v = data.qvel.copy()
    bias = mbd.load(robot.model.description.source, forces=()).bias_forces(np.zeros(2), v)
    assert bias == pytest.approx(data.qfrc_bias, abs=1e-12)
    spring = sum(one.along(0.0, 0.0, 0.0)[0] for one in robot.forces)
    assert spring == pytest.approx(data.qfrc_spring[0], abs=1e-12)
    assert -one.damping * v[0] == pytest.approx(data.qfrc_damper[0], abs=1e-12)
    kinds = list(data.efc_type)
    rubs = mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF in kinds
    assert (one.friction == 0.1, two.friction) == (rubs, 0.0)
    gears = mujoco.mjtConstraint.mjCNSTR_EQUALITY in kinds
    assert len(robot.model.description.couplings) == gears


def test_what_has_no_counterpart_is_listed_in_one_warning(tmp_path):
    _, said = load(tmp_path)
    (message,) = said
    for what in (
        "tendons (cord)",
        "contacts of 4 geoms",
        "actuators that act on no joint (puller)",
        "control laws of actuators (servo)",
        "by a polynomial (curve)",
        "not active (off)",
        "softness",
    ):
        assert what in message


@pytest.mark.parametrize("start", [0.0, 2.0, 3.0, -2.9, 5.0])
def test_a_locked_joint_is_where_it_is_locked_however_far_away_it_starts(start, tmp_path):
    robot, _ = load(tmp_path, LOCKED)
    at = robot.assemble({"shoulder": 0.7, "elbow": start}, fixed="shoulder")
    theirs = twin(tmp_path / "arm.xml", robot.model).at(at.q, at.v)[0]
    assert np.abs(theirs.open).max() < EXACT
    assert at.q == pytest.approx([0.7, 0.5, 0.1], abs=EXACT)
    assert not at.reversed


def test_a_lock_holds_with_the_force_along_mujocos_row(tmp_path):
    robot, _ = load(tmp_path, LOCKED)
    at = robot.assemble({"shoulder": 0.7}, velocity={"shoulder": 2.0}, fixed="shoulder")
    a = robot.forward_dynamics(at.q, at.v, np.zeros(3))
    pair = twin(tmp_path / "arm.xml", robot.model)
    theirs, _ = pair.at(at.q, at.v)
    own, force = accelerations(theirs.M, theirs.bias, theirs.rows, np.zeros(2))
    assert a == pytest.approx(own, abs=1e-10)
    loads = robot.joint_loads(at.q, at.v, a, ["brake", "clamp"], actuated="shoulder")
    assert loads.actuation == pytest.approx(force[1:], rel=1e-10)


TENDONS = """<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody>
<tendon><fixed name="sum"><joint joint="j0" coef="2"/><joint joint="j1" coef="-4"/></fixed>
<fixed name="one"><joint joint="j2" coef="3"/></fixed>
<fixed name="lock" {more}><joint joint="j3" coef="0.5"/></fixed>
<spatial name="rope"><site site="s0"/><site site="s1"/></spatial></tendon>
<equality><tendon name="e" tendon1="sum" tendon2="one" polycoef="0.3 2 0 0 0"/>
<tendon name="l" tendon1="lock" polycoef="0.1 0 0 0 0"/><tendon name="r" tendon1="rope"/>
<tendon name="p" tendon1="sum" tendon2="one" polycoef="0 1 1 0 0"/></equality></mujoco>"""


def test_sums_of_coordinates_that_tendons_hold_are_couplings(tmp_path):
    bodies = "".join(
        f'<body name="b{k}"><joint name="j{k}" axis="0 0 1" ref="{k}"/><geom size="0.1"/>'
        f'<site name="s{k}"/></body>'
        for k in range(4)
    )
    path = tmp_path / "tendons.xml"
    path.write_text(TENDONS.replace("{bodies}", bodies).replace("{more}", ""))
    robot, said = load_file(path)
    coupling, lock = robot.model.description.couplings
    # 2 q0 - 4 q1 - (2 0 - 4 1) = 0.3 + 2 (3 q2 - 3 2), for q2, which has the largest coefficient
    assert (coupling.name, coupling.joint) == ("e", "j2")
    assert dict(coupling.follows) == pytest.approx({"j0": 1 / 3, "j1": -2 / 3})
    assert coupling.offset == pytest.approx((4 - 0.3 + 12) / 6)
    assert (lock.name, lock.joint, lock.follows) == ("l", "j3", ())
    assert robot.assemble({"j3": 3.0}).q[3] == pytest.approx(3 + 0.1 / 0.5)
    assert "spatial tendons, polynomials, flexes and distances (r, p)" in said
    assert "tendons (rope)" in said
    path.write_text(TENDONS.replace("{bodies}", bodies).replace("{more}", 'stiffness="3"'))
    assert "springs of tendons (lock); tendons (rope)" in load_file(path)[1]


def load_file(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        robot = mbd.load(path)
    return robot, " ".join(str(one.message) for one in caught)


def test_the_content_tells_the_format_not_the_name(tmp_path):
    robot, _ = load(tmp_path, name="arm.urdf")
    assert robot.model.description.format == "MJCF"
    with pytest.raises(FileError, match="MJCF, which mbd_bridge"):
        read(tmp_path / "arm.urdf")


def test_a_part_of_a_model_is_refused_with_advice(tmp_path):
    with pytest.raises(FileError, match="to be included"):
        load(tmp_path, "<mujocoinclude/>")


MESH = """<mujoco><asset><mesh name="part" file="part.stl" scale="2 2 2"/></asset><worldbody>
<body name="a"><joint name="j"/>{}<geom type="mesh" mesh="part" pos="1 0 0"/></body></worldbody>
</mujoco>"""
INERTIAL = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'


def test_missing_meshes_lack_in_pictures_only(tmp_path):
    robot, said = load(tmp_path, MESH.format(INERTIAL))
    assert robot.model.masses == (0.0, 1.0)
    assert any("meshes not found" in text and "part.stl" in text for text in said)


def test_a_mass_from_a_missing_mesh_is_an_error(tmp_path):
    with pytest.raises(FileError, match="comes from the mesh 'part'"):
        load(tmp_path, MESH.format(""))


def test_a_mesh_is_where_the_file_puts_it(tmp_path):
    corners = np.array([[3, 0, 0], [4, 0, 0], [3, 1, 0], [3, 0, 1]], dtype=np.float32)
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    data = b"\0" * 80 + np.uint32(4).tobytes()
    for face in faces:
        data += np.zeros(3, np.float32).tobytes() + corners[list(face)].tobytes() + b"\0\0"
    (tmp_path / "part.stl").write_bytes(data)
    robot, _ = load(tmp_path, MESH.format(INERTIAL))
    (shape,) = robot.model.description.links[-1].visuals
    assert shape.path == str(tmp_path / "part.stl")
    assert shape.scale == (2.0, 2.0, 2.0)
    assert shape.origin.translation == pytest.approx([1, 0, 0], abs=1e-6)
    assert shape.origin.rotation == pytest.approx(np.eye(3), abs=1e-6)


@pytest.mark.parametrize("group", range(5))
def test_shapes_are_seen_as_mujocos_viewers_show_them(tmp_path, group):
    """Groups 0, 1 and 2; what the others touch with is still there."""
    text = ARM.replace("<geom ", f'<geom group="{group}" ')
    assert text != ARM
    links = load(tmp_path, text)[0].model.description.links
    assert any(link.visuals for link in links) == (group < 3)
    assert any(link.collisions for link in links)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<mujoco><worldbody><body/></worldbody>", "not well-formed"),
        ("<mujoco><worldbody><bodi/></worldbody></mujoco>", "unrecognized element"),
        ('<mujoco><worldbody><body><joint axis="0 0 0"/></body></worldbody></mujoco>', "axis|mass"),
        ('<mujoco><include file="none.xml"/></mujoco>', "none.xml"),
        (ARM.replace('pos="0.3 0 0"', 'pos="nan 0 0"'), "expected a finite number, got nan"),
        (ARM.replace('pos="0.3 0 0"', 'pos="1e300 0 0"'), "check units"),
    ],
)
def test_faulty_files_are_explained(tmp_path, text, said):
    with pytest.raises(FileError) as caught:
        load(tmp_path, text)
    assert caught.value.file.endswith("arm.xml")
    assert re.search(said, caught.value.message)


def test_without_mujoco_there_is_advice(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingPackageError, match=r"mbd_bridge\[mjcf\]"):
        load(tmp_path)


def test_a_sidecar_adds_loops(tmp_path):
    (tmp_path / "arm.xml.loops.yaml").write_text(
        "loops: [{name: tie, type: distance, predecessor: {link: world}, successor: {link: fore}, "
        "length: 1.2}]"
    )
    robot, _ = load(tmp_path)
    assert [loop.name for loop in robot.model.loops] == ["tie"]


def test_the_files_of_a_folder_are_compared(tmp_path, capsys):
    (tmp_path / "arm.xml").write_text(ARM.replace('"0 1 1 0 0"', '"0.1 -2 0 0 0"'))
    (tmp_path / "part.xml").write_text("<mujocoinclude/>")
    (tmp_path / "still.xml").write_text("<mujoco><worldbody/></mujoco>")
    (tmp_path / "flagged.xml").write_text(FLAGGED.format('gravity="disable"'))
    assert mjcf_files.main([str(tmp_path)]) == 0
    assert "'compared': 2" in capsys.readouterr().out
    (tmp_path / "curve.xml").write_text(ARM)  # a polynomial, which is not read
    assert mjcf_files.main([str(tmp_path)]) == 1
    assert "'differ': 1" in capsys.readouterr().out
