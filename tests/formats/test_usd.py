"""OpenUSD: written and read again with the same loads; files of other tools; units; refusals."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdError, MbdWarning, ModelError
from mbd_bridge.files.mesh import read_mesh
from tests.formats import cassie
from tests.formats.texts import limited_arm
from tests.machines import rssr
from tests.robots import own_urdfs

SINGLE = 3e-7
"""Relative rounding of files with 32 bits a number, through some products."""
SAME = 1e-9
"""Of loads, relative to the largest: loops take rounding errors up."""


def assembled(robot, **known):
    return robot.assemble(known, fixed=[*known])


LOOPS = {
    "four_bar": lambda: mbd.load(own_urdfs()["four_bar"]),
    "stewart": lambda: mbd.load(own_urdfs()["stewart"]),
    "rssr": rssr,
    "cassie": lambda: cassie.load("v2"),
}


def there_and_back(robot, path):
    robot.convert(path)
    return mbd.load(path)


def all_loads(robot, state, actuated):
    rest = np.zeros(robot.nv)
    return robot.joint_loads(state.q, state.v, rest, actuated=actuated, check=False)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.filterwarnings("ignore::mbd_bridge.base.errors.MbdWarning")
def test_loads_of_loops_are_the_same_after_a_stage_was_written_and_read(name, tmp_path):
    one = LOOPS[name]()
    other = there_and_back(one, tmp_path / "there.usda")
    assert other.coordinate_names == one.coordinate_names
    assert [cut.name for cut in other.model.cuts] == [cut.name for cut in one.model.cuts]
    known = {"crank": 0.4} if "crank" in one.coordinate_names else {}
    state = one.assemble(one.configurations.get("standing", known), fixed=[*known])
    free = one.nv - one.loops.report(state.q).rank
    actuated = [x for x in one.coordinate_names if "." not in x][:free]
    loads, again = (all_loads(robot, state, actuated) for robot in (one, other))
    assert again.joints == loads.joints
    sure = loads.unique & again.unique  # feet of Cassie are parallel but for the file's digits
    assert sure.mean() > 0.4
    size = np.abs(loads.wrench[sure]).max()
    assert size > 1.0
    assert np.abs(again.wrench - loads.wrench)[sure].max() < SAME * size
    sure = loads.actuation_unique & again.actuation_unique
    assert np.abs(again.actuation - loads.actuation)[sure].max() < SAME * size


def test_a_stage_of_another_tool_is_the_robot_that_it_was_made_from():
    """NVIDIA's urdf-usd-converter wrote it from urdf/kuka_iiwa.urdf: nested bodies, 32 bits."""
    one = mbd.load(own_urdfs()["kuka_iiwa"])
    other = mbd.load(Path(__file__).parent / "kuka_iiwa_by_urdf_usd_converter.usdc")
    q, v, a = np.random.default_rng(0).normal(size=(3, 7))
    names = list(one.coordinate_names)
    assert list(other.coordinate_names) == names
    loads, loads2 = (robot.joint_loads(q, v, a, names) for robot in (one, other))
    assert np.abs(loads2.wrench - loads.wrench).max() < SINGLE * np.abs(loads.wrench).max()
    pairs = zip(one.model.description.joints, other.model.description.joints, strict=False)
    moving = [(a.limits, b.limits) for a, b in pairs if a.type == b.type == "revolute"]
    assert moving and all(a.upper == pytest.approx(b.upper, rel=SINGLE) for a, b in moving)


# As simulators' own assets are written: bodies at their centres, nothing of ours, single precision,
# y up, cm and g, a loop that nobody excludes from the articulation.

BAR = """
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        double3 xformOp:translate = ({x}, {y}, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1000
        float3 physics:diagonalInertia = ({inertia})
        point3f physics:centerOfMass = (0, 0, 0)
        quatf physics:principalAxes = (1, 0, 0, 0)
    }}"""
PIN = """
    def PhysicsRevoluteJoint "{name}" {{
        uniform token physics:axis = "Z"
        {body0}
        rel physics:body1 = </world/{body1}>
        point3f physics:localPos0 = {at0}
        point3f physics:localPos1 = {at1}
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
    }}"""


def by_hand(tmp_path):
    """A parallelogram of 1 m bars, cranks upright: coupler on top, ground below."""
    up, across = "833333.33, 0, 833333.33", "0, 833333.33, 833333.33"
    bars = (("crank", -50, 50, up), ("coupler", 0, 100, across), ("rocker", 50, 50, up))
    pins = (
        ("one", "", "crank", "(-50, 0, 0)", "(0, -50, 0)"),
        ("two", "crank", "coupler", "(0, 50, 0)", "(-50, 0, 0)"),
        ("three", "coupler", "rocker", "(50, 0, 0)", "(0, 50, 0)"),
        ("four", "", "rocker", "(50, 0, 0)", "(0, -50, 0)"),
    )
    text = '#usda 1.0\n(defaultPrim = "world"\nmetersPerUnit = 0.01\nkilogramsPerUnit = 0.001\n'
    text += 'upAxis = "Y")\ndef Xform "world" {'
    for name, x, y, inertia in bars:
        text += BAR.format(name=name, x=x, y=y, inertia=inertia)
    for name, first, second, at0, at1 in pins:
        body0 = f"rel physics:body0 = </world/{first}>" if first else ""
        text += PIN.format(name=name, body0=body0, body1=second, at0=at0, at1=at1)
    (tmp_path / "bars.usda").write_text(text + "\n}\n")
    return tmp_path / "bars.usda"


def test_a_stage_in_cm_and_g_with_y_up_has_the_loads_of_the_closed_form(tmp_path):
    """At rest, 60 degrees from level: 5.886 rad/s², (5.09743, 11.772) N at both ground pins."""
    robot = mbd.load(by_hand(tmp_path))
    assert robot.nv == 3 and len(robot.model.cuts) == 1
    names = robot.coordinate_names
    state = robot.assemble({names[0]: -np.pi / 6}, fixed=names[0])
    rest = np.zeros(3)
    a = robot.forward_dynamics(state.q, rest, rest)
    assert np.abs(a) == pytest.approx(5.886, rel=1e-6)
    pins = robot.joint_loads(state.q, rest, a, ["one", "four"], actuated=[names[0]], in_="world")
    assert np.abs(pins.force[:, :2]) == pytest.approx(np.tile([5.09743, 11.772], (2, 1)), rel=1e-6)


def test_what_another_program_changes_counts_not_our_64_bits(tmp_path):
    one = mbd.load(own_urdfs()["four_bar"])
    one.convert(tmp_path / "bar.usda")
    stage = Usd.Stage.Open(str(tmp_path / "bar.usda"))
    UsdPhysics.MassAPI(stage.GetPrimAtPath("/four_bar/coupler")).GetMassAttr().Set(3.7)
    stage.Save()
    masses = {x.name: x.inertia.mass for x in mbd.load(tmp_path / "bar.usda").model.links}
    assert masses["coupler"] == pytest.approx(3.7, rel=SINGLE)
    assert masses["crank"] == one.model.links[one.model.link_number("crank")].inertia.mass


def stage_of(tmp_path, joint, locked=(), limits=(1.0, -1.0)):
    """A free body of two shapes, and one on a joint with it; perhaps locked axes."""
    path = str(tmp_path / "made.usda")
    stage = Usd.Stage.CreateNew(path)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    for k, name in enumerate(("a", "b")):
        body = UsdGeom.Xform.Define(stage, f"/{name}")
        body.AddTranslateOp().Set(Gf.Vec3d(k, 0, 0))
        UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
        shape = UsdGeom.Cylinder.Define(stage, f"/{name}/rod")
        shape.CreateRadiusAttr(0.1), shape.CreateHeightAttr(2.0), shape.CreateAxisAttr("X")
        UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    if joint:
        made = getattr(UsdPhysics, joint).Define(stage, "/held")
        made.CreateBody0Rel().SetTargets(["/a"]), made.CreateBody1Rel().SetTargets(["/b"])
        made.CreateLocalPos0Attr(Gf.Vec3f(1, 0, 0))
        for axis in locked:
            limit = UsdPhysics.LimitAPI.Apply(made.GetPrim(), axis)
            limit.CreateLowAttr(limits[0]), limit.CreateHighAttr(limits[1])
    stage.Save()
    return path


SLIDES, TURNS = ("transX", "transY", "transZ"), ("rotX", "rotY", "rotZ")


@pytest.mark.parametrize(
    ("locked", "type"),
    [
        ((*SLIDES, *TURNS), "fixed"),
        ((*SLIDES, "rotX", "rotY"), "continuous"),
        ((*SLIDES[1:], *TURNS), "prismatic"),
        ((*SLIDES[1:], *TURNS[1:]), "cylindrical"),
        ((*SLIDES, "rotY"), "universal"),
        (SLIDES, "spherical"),
        (("transZ", "rotX", "rotY"), "planar"),
    ],
)
@pytest.mark.parametrize("limits", [(1.0, -1.0), (0.0, 0.0)])
def test_a_generic_joint_is_what_its_locked_axes_leave(tmp_path, locked, type, limits):
    robot = mbd.load(stage_of(tmp_path, "Joint", locked, limits))
    joints = {joint.name: joint.type for joint in robot.model.description.joints}
    assert joints == {"a.free": "floating", "held": type}


def test_a_generic_joint_that_is_none_of_ours_holds_a_free_body_by_a_mask(tmp_path):
    robot = mbd.load(stage_of(tmp_path, "Joint", ("transX", "rotX")))
    (loop,) = robot.model.loops
    assert (loop.type, loop.rows) == ("mask", (1, 0, 0, 1, 0, 0))
    assert robot.nv == 12


def test_a_body_without_a_mass_weighs_what_its_colliders_do(tmp_path):
    robot = mbd.load(stage_of(tmp_path, "FixedJoint"))
    inertia = robot.model.links[robot.model.link_number("a")].inertia
    mass = 1000 * np.pi * 0.1**2 * 2  # a rod along x, of water
    assert inertia.mass == pytest.approx(mass)
    across = mass * (3 * 0.1**2 + 2**2) / 12
    assert np.diag(inertia.central) == pytest.approx([mass * 0.1**2 / 2, across, across])


def test_limits_efforts_and_who_is_actuated_come_back(tmp_path):
    one = limited_arm(tmp_path, acceleration=3.5, jerk=9.0)
    other = there_and_back(one, tmp_path / "there.usda")
    limits, limits2 = (robot.model.description.joints[0].limits for robot in (one, other))
    assert limits2.upper == pytest.approx(limits.upper, rel=1e-15)  # degrees there
    assert (limits2.effort, limits2.velocity, limits2.jerk) == (100.0, 9.0, 9.0)
    stage = Usd.Stage.Open(str(tmp_path / "there.usda"))
    drive = UsdPhysics.DriveAPI(stage.GetPrimAtPath("/arm/hinge"), "angular")
    assert drive.GetMaxForceAttr().Get() == 100.0
    assert other.model.description.actuated is one.model.description.actuated is None


def test_gravity_is_turned_into_the_axes_of_a_base_that_stands_askew(tmp_path):
    path = stage_of(tmp_path, "FixedJoint")
    stage = Usd.Stage.Open(path)
    held = UsdPhysics.FixedJoint.Define(stage, "/ground")
    held.CreateBody1Rel().SetTargets(["/a"])
    UsdGeom.Xformable(stage.GetPrimAtPath("/a")).AddRotateXOp().Set(90.0)
    stage.Save()
    robot = mbd.load(path)
    assert robot.nv == 0
    assert robot.model.gravity == pytest.approx([0, -9.81, 0], abs=1e-12)


def test_a_body_in_a_mirror_keeps_a_right_handed_frame_and_a_sheared_one_is_refused(tmp_path):
    path = stage_of(tmp_path, "FixedJoint")
    stage = Usd.Stage.Open(path)
    form = UsdGeom.Xformable(stage.GetPrimAtPath("/b"))
    form.AddScaleOp().Set(Gf.Vec3f(-2, 2, 2))
    stage.Save()
    link = mbd.load(path).model.links[2]
    assert link.name == "b"
    assert link.inertia.mass == pytest.approx(8 * 1000 * np.pi * 0.1**2 * 2)
    frame = mbd.load(path).model.description.joints[-1].origin
    assert np.linalg.det(frame.rotation) == pytest.approx(1.0)
    form.AddRotateZOp().Set(30.0)
    form.AddScaleOp(opSuffix="more").Set(Gf.Vec3f(1, 3, 1))
    UsdGeom.Xform.Define(stage, "/b/inner").AddRotateZOp().Set(30.0)
    UsdGeom.Cube.Define(stage, "/b/inner/cube")
    stage.Save()
    with pytest.raises(FileError, match="its transform is sheared"):
        mbd.load(path)


def test_joints_without_a_place_in_usd_are_refused_or_listed(tmp_path):
    b = mbd.Builder("screw").link("nut", 1.0)
    screw = mbd.Mechanism.build(b.joint("screw", "helical", "base", "nut", pitch=0.01))
    with pytest.raises(ModelError, match="USD has no helical joint"):
        screw.convert(tmp_path / "screw.usda")
    bike = mbd.load(own_urdfs()["whipple_bicycle"])
    with pytest.warns(MbdWarning, match=r"rolling loops \(rear_contact, front_contact\)"):
        bike.convert(tmp_path / "bike.usda")


ODD = ("nan", "inf", "-1", "1e38", '"x"', "(0, 0)", "None", "</four_bar/crank>", "[]", "true")


def test_a_stage_with_odd_values_is_a_machine_or_refused(tmp_path):
    rng = random.Random(7)
    mbd.load(own_urdfs()["four_bar"]).convert(tmp_path / "bar.usda")
    text = (tmp_path / "bar.usda").read_text()
    places = list(re.finditer(r"(?<== )[^\n{]+", text))
    refused = 0
    for _ in range(60):
        place = rng.choice(places)
        odd = text[: place.start()] + rng.choice(ODD) + text[place.end() :]
        (tmp_path / "odd.usda").write_text(odd)
        try:
            robot = mbd.load(tmp_path / "odd.usda")
        except MbdError:
            refused += 1
        else:
            assert np.isfinite(robot.mass_matrix(robot.neutral())).all()
    assert 20 < refused < 60


def test_damaged_and_foreign_stages_are_refused_with_a_reason(tmp_path):
    (tmp_path / "no.usda").write_text("#usda 1.0\ndef Xform {")
    with pytest.raises(FileError, match="cannot be read"):
        mbd.load(tmp_path / "no.usda")
    (tmp_path / "empty.usda").write_text('#usda 1.0\ndef Xform "world" {}\n')
    with pytest.raises(FileError, match="nothing can move"):
        mbd.load(tmp_path / "empty.usda")
    text = Path(by_hand(tmp_path)).read_text()
    (tmp_path / "gone.usda").write_text(text.replace("</world/crank>", "</world/cranck>"))
    with pytest.raises(FileError, match="there is no /world/cranck"):
        mbd.load(tmp_path / "gone.usda")
    (tmp_path / "light.usda").write_text(text.replace("float physics:mass = 1000", ""))
    with pytest.raises(FileError, match="without a mass, and without a collider"):
        mbd.load(tmp_path / "light.usda")


HEADED = '#usda 1.0\n( metersPerUnit = 1\n upAxis = "Z" )\n'
PINNED = """
def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
    float physics:mass = 2
    point3f physics:centerOfMass = (0, 0, -0.5)
    float3 physics:diagonalInertia = (0.1, 0.1, 0.1)
}
def PhysicsRevoluteJoint "pin" { rel physics:body1 = </rod> }
"""


def closed(text):
    """Return a text in which a brace that closes begins a line, as USD wants it."""
    return text.replace("}", "\n}")


def read_of(text, tmp_path):
    path = tmp_path / "told.usda"
    path.write_text(closed(HEADED + text))
    return mbd.load(path)


def test_colliders_in_instances_weigh_what_they_weigh_outside(tmp_path):
    text = """
class "shared" { def Cube "block" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
    double size = 1
} }
def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
    def Xform "shape" (
        instanceable = true
        prepend references = </shared>
    ) {
    }
    def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
        double radius = 0.1
    }
}
def PhysicsRevoluteJoint "pin" { rel physics:body1 = </rod> }
"""
    robot = read_of(text, tmp_path)
    ball = 1000 * 4 / 3 * np.pi * 0.1**3 * 0.4 * 0.1**2
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(1000 / 6 + ball)


LOST = {
    "files that were not found": 'def "more" (prepend references = @none.usda@</x>) {}',
    "values over time": 'over "rod" { float physics:mass.timeSamples = { 0: 2, 1: 3 }}',
    "colliders of other kinds": """
over "rod" { def Cone "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}}""",
    "densities of materials": """
def Material "iron" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:density = 7800}
""",
    "joints of other programs": 'def PhysxPhysicsGearJoint "gear" { rel physics:body0 = </rod>}',
    "numbers of other programs": 'over "pin" { float physxJoint:armature = 3}',
    "mimics of other programs": 'over "pin" (prepend apiSchemas = ["PhysxMimicJointAPI:rotX"]) {}',
    "limits of ball joints": 'over "pin" { float physics:coneAngle0Limit = 20}',
    "limits that are reversed": """
over "pin" {
    float physics:lowerLimit = 9
    float physics:upperLimit = -9}""",
}


@pytest.mark.parametrize("said", LOST)
def test_what_changes_loads_and_is_not_read_is_told(said, tmp_path):
    kind = "Spherical" if "ball" in said else "Revolute"
    text = closed(HEADED + PINNED.replace("Revolute", kind))
    (tmp_path / "rest.usda").write_text(text)
    path = tmp_path / "told.usda"
    path.write_text(closed(f"#usda 1.0\n( subLayers = [@rest.usda@] )\n{LOST[said]}\n"))
    with pytest.warns(MbdWarning, match=said):
        mbd.load(path)


def test_a_value_over_time_counts_as_it_begins(tmp_path):
    over = PINNED.replace("mass = 2", "mass.timeSamples = { 0: 2, 1: 3 }")
    with pytest.warns(MbdWarning, match="over time"):
        robot = read_of(over, tmp_path)
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(0.6)


def test_faulty_stages_are_refused_with_their_place(tmp_path):
    with pytest.raises(FileError, match=r"told.usda:5.*Expected"):
        read_of('def Xform "a" {\n{\n', tmp_path)
    with pytest.raises(FileError, match="a mass and a density of 0 or more, got -2 kg"):
        read_of(PINNED.replace("mass = 2", "mass = -2"), tmp_path)


def test_a_file_counts_as_it_is_now_whoever_has_it_open(tmp_path):
    one = read_of(PINNED, tmp_path)
    kept = Usd.Stage.Open(str(tmp_path / "told.usda"))
    other = read_of(PINNED.replace("mass = 2", "mass = 3"), tmp_path)
    found = [robot.mass_matrix([0.0])[0, 0] for robot in (one, other)]
    assert found == pytest.approx([0.6, 0.85])
    UsdPhysics.MassAPI(kept.GetPrimAtPath("/rod")).GetMassAttr().Set(5.0)
    with pytest.raises(FileError, match="changes that are not saved"):
        mbd.load(tmp_path / "told.usda")


def test_moments_of_colliders_are_about_a_stated_centre_as_pxr_has_them(tmp_path):
    text = """
def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
    float physics:mass = 7
    point3f physics:centerOfMass = (1, 2, 3)
    def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
        double radius = 0.5
    }
}
def PhysicsRevoluteJoint "pin" { rel physics:body1 = </rod>}
"""
    inertia = read_of(text, tmp_path).model.joints[-1].inertia
    stage = Usd.Stage.Open(str(tmp_path / "told.usda"))
    body = UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/rod"))

    def ball(*_):
        found = UsdPhysics.RigidBodyAPI.MassInformation()
        found.volume = 4 / 3 * np.pi * 0.5**3
        found.inertia = Gf.Matrix3f(0.4 * found.volume * 0.5**2)
        found.localRot = Gf.Quatf(1)
        return found

    _, moments, _, _ = body.ComputeMassProperties(ball)
    found = np.linalg.eigvalsh(inertia.central)
    np.testing.assert_allclose(found, np.sort(np.array(moments)), rtol=1e-5)


def test_a_stage_brings_in_files_of_its_folder_but_no_pipes_and_no_links_out_of_it(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "rod.usda").write_text(closed(HEADED + PINNED))
    stage = tmp_path / "more" / "told.usda"
    stage.write_text("#usda 1.0\n( subLayers = [@../rod.usda@] )\n")
    assert mbd.load(stage).name == "stage"
    stage.write_text("#usda 1.0\n( subLayers = [@part.usda@] )\n")
    part = tmp_path / "more" / "part.usda"
    os.mkfifo(part)
    with pytest.raises(FileError, match="not a device or a pipe"):
        mbd.load(stage)
    part.unlink()
    part.symlink_to(tmp_path / "rod.usda")
    with pytest.raises(FileError, match="a link leads out of"):
        mbd.load(stage)


@pytest.mark.filterwarnings("ignore::mbd_bridge.base.errors.MbdWarning")
def test_couplings_come_back_from_a_stage(tmp_path):
    five = mbd.load(own_urdfs()["geared_five_bar"])
    again = there_and_back(five, tmp_path / "five.usda").model.description.couplings
    couplings = five.model.description.couplings
    assert [(x.name, x.joint, x.follows, x.offset) for x in again] == [
        (x.name, x.joint, x.follows, x.offset) for x in couplings
    ]
    assert couplings
    text = (tmp_path / "five.usda").read_text()
    (tmp_path / "five.usda").write_text(re.sub(r"(coupling:ratios = )\[.*\]", r"\1[]", text))
    with pytest.raises(FileError, match=r"1 joints that lead, 0 ratios"):
        mbd.load(tmp_path / "five.usda")


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def with_mesh(folder):
    """An arm with a mesh, scaled and placed in its link."""
    (folder / "t.obj").write_text(TETRAHEDRON)
    (folder / "a.urdf").write_text(
        "<robot name='a'><link name='base'/><link name='rod'><inertial><mass value='1'/>"
        "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial><visual>"
        "<origin xyz='0.1 0.2 0.3' rpy='0.4 0 1'/><geometry><mesh filename='t.obj' "
        "scale='0.1 0.2 -0.3'/></geometry><material name='m'><color rgba='1 0.5 0 1'/></material>"
        "</visual></link><joint name='pin' type='continuous'><parent link='base'/>"
        "<child link='rod'/><axis xyz='0 1 0'/></joint></robot>"
    )
    return mbd.load(folder / "a.urdf")


def corners(robot):
    """Corners (T, 3, 3) of the only mesh of a link, in its axes, and the mesh's colour."""
    (shape,) = robot.model.description.links[-1].visuals
    (surface,) = read_mesh(shape.path)
    scaled = surface.scaled(shape.scale).moved(shape.origin.matrix())
    return scaled.vertices[scaled.triangles], surface.colour or shape.colour


@pytest.mark.filterwarnings("error::mbd_bridge.base.errors.MbdWarning")
def test_meshes_are_in_a_stage_where_they_were_in_a_file(tmp_path):
    one = with_mesh(tmp_path)
    points, colour = corners(one)
    again, its_colour = corners(there_and_back(one, tmp_path / "a.usda"))
    assert np.abs(again - points).max() < SINGLE
    assert its_colour == colour == (1.0, 0.5, 0.0, 1.0)
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/a/rod/shape_0_0"))
    assert len(mesh.GetFaceVertexCountsAttr().Get()) == 4
    (tmp_path / "a.usda").rename(tmp_path / "b.usda")
    text = (tmp_path / "b.usda").read_text().replace("metersPerUnit = 1", "metersPerUnit = 0.01")
    (tmp_path / "b.usda").write_text(text)
    assert np.abs(100.0 * corners(mbd.load(tmp_path / "b.usda"))[0] - points).max() < SINGLE


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("faceVertexCounts = [3, 3, 3, 3]", "faceVertexCounts = [3, 3, 3, 2000000000]", "corners"),
        ("faceVertexCounts = [3, 3, 3, 3]", "faceVertexCounts = [3, 3, 9, -3]", "corners"),
        ("faceVertexCounts = [3, 3, 3, 3]", "faceVertexCounts = []", "no triangle"),
        ("faceVertexIndices = [0", "faceVertexIndices = [7", "names vertex 7"),
        ("points = [(0, 0, 0)", "points = [(inf, 0, 0)", "finite"),
    ],
)
def test_forged_meshes_of_a_stage_are_refused(tmp_path, old, new, told):
    with_mesh(tmp_path).convert(tmp_path / "a.usda")
    text = (tmp_path / "a.usda").read_text()
    assert old in text
    (tmp_path / "a.usda").write_text(text.replace(old, new))
    with pytest.raises(FileError, match=told):
        corners(mbd.load(tmp_path / "a.usda"))


def test_the_shapes_of_a_base_without_a_mass_come_back(tmp_path):
    one = mbd.load(own_urdfs()["stewart"])
    other = there_and_back(one, tmp_path / "there.usda")
    (before,), (after,) = (x.model.description.root.visuals for x in (one, other))
    assert (after.kind, after.size) == (before.kind, before.size)
    assert np.abs(after.origin.matrix() - before.origin.matrix()).max() < SAME


@pytest.mark.parametrize("suffix", [".urdf", ".sdf"])
def test_meshes_in_a_stage_have_no_file_for_others_to_name(tmp_path, suffix):
    """A URDF named ``a.usda[/a/rod/shape_0_0]``, which nobody finds."""
    stage = there_and_back(with_mesh(tmp_path), tmp_path / "a.usda")
    with pytest.warns(MbdWarning, match=r"meshes in a USD stage.* \(/a/rod/shape_0_0\)"):
        stage.convert(tmp_path / f"b{suffix}")
    assert ".usda" not in (tmp_path / f"b{suffix}").read_text()


NESTED = """
def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
    def Cube "block" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1 }
    def Xform "hand" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
        def Cube "palm" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1 }
    }
}
def PhysicsRevoluteJoint "pin" { rel physics:body1 = </rod> }
def PhysicsRevoluteJoint "wrist" { rel physics:body0 = </rod>
 rel physics:body1 = </rod/hand> }
"""


def test_what_a_body_below_another_one_weighs_counts_once(tmp_path):
    robot = read_of(NESTED, tmp_path)
    assert [link.inertia.mass for link in robot.model.description.links[1:]] == [1000.0, 1000.0]


GUIDED = """
def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
    def Cube "block" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1 }
    def Mesh "hull" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
        uniform token purpose = "guide"
    }
}
def PhysicsRevoluteJoint "pin" { rel physics:body1 = </rod> }
"""


def test_what_a_hidden_mesh_would_weigh_is_told(tmp_path):
    with pytest.warns(MbdWarning, match=r"masses of meshes that collide \(rod\)"):
        robot = read_of(GUIDED, tmp_path)
    assert [shape.kind for shape in robot.model.description.links[-1].visuals] == ["box"]
