"""What is written and read again is the same machine; what a format cannot say is listed."""

import warnings

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning, ModelError
from mbd_bridge.cli import main
from mbd_bridge.equations.composite import composites
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.motion import generalised_forces, mass_matrix
from mbd_bridge.equations.state_vectors import state_vectors
from tests.formats import cassie
from tests.formats.mjcf_models import random_mjcf
from tests.robots import OWN, robot
from tests.sample import TIMES

ROUND = 1e-11
"""Relative: frames are multiplied in another order."""

SUFFIX = {"URDF": ".urdf", "URDF+": ".urdf", "MJCF": ".xml", "SDF": ".sdf", "USD": ".usda"}

MACHINES = ("kuka_iiwa", "humanoid", "four_bar", "slider_crank", "geared_five_bar", "stewart")

SAYABLE = {
    "MJCF": ("kuka_iiwa", "humanoid", "six_wheeler", "rrc_arm_gripping"),
    "SDF": ("kuka_iiwa", "humanoid", "four_bar", "bricard", "ralf", "slider_crank"),
    "USD": ("humanoid", "four_bar", "bricard", "slider_crank", "macpherson_car", "stewart"),
}
"""Machines of which the other formats can say all mechanics."""


def quietly(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        return call(*arguments, **options)


def terms(machine, q, v):
    model = machine.model
    state = state_vectors(model, q, v)
    found, held = composites(model, state), constraints(model, state)
    rows = held.phi_q
    if len(rows):  # what they hold, not how they are written
        _, s, Vt = np.linalg.svd(rows)
        Vt = Vt[: int(np.count_nonzero(s > 1e-9 * s[0]))]
        rows = Vt.T @ Vt
    return mass_matrix(model, state, found), generalised_forces(model, state, found), rows


def assert_same(one, other, seed=0):
    """Both have the same M, bias and space of constraints at a random state."""
    rng = np.random.default_rng(seed)
    q, v = one.neutral(), rng.normal(0, 1, one.nv)
    for body in one.model.bodies:
        if not body.coupled:
            step = rng.normal(0, 0.5, body.v.stop - body.v.start)
            q[body.q] = body.type.integrate(q[body.q], step)
    at = [one.coordinate_names.index(name) for name in other.coordinate_names]
    to = [one.model.velocity_names.index(name) for name in other.model.velocity_names]
    assert len(to) == one.nv
    M, bias, rows = terms(one, q, v)
    M2, bias2, rows2 = terms(other, q[at], v[to])
    assert pytest.approx(M[np.ix_(to, to)], rel=ROUND, abs=ROUND * np.abs(M).max()) == M2
    assert bias2 == pytest.approx(bias[to], rel=ROUND, abs=ROUND * max(1, np.abs(bias).max()))
    if len(rows):
        assert rows2 == pytest.approx(rows[np.ix_(to, to)], abs=1e-9)


def round_trip(machine, tmp_path, form):
    folder = tmp_path / form  # sidecars of one would be read with another
    folder.mkdir(exist_ok=True)
    path = folder / f"there{SUFFIX[form]}"
    found = quietly(machine.convert, path, form=form)
    assert str(path) in found.files
    gravity = acts = None
    if form in ("URDF", "URDF+"):  # they have no place for it, the notes say so
        gravity, acts = machine.model.gravity, machine.model.rotors is not None or None
    return quietly(mbd.load, path, gravity=gravity, joint_dynamics=acts), found


@pytest.mark.parametrize("form", ["URDF", "URDF+"])
@pytest.mark.parametrize("name", MACHINES)
def test_urdf_with_its_sidecar_says_every_machine(name, form, tmp_path):
    one = mbd.load(OWN / f"{name}.urdf")
    other, found = round_trip(one, tmp_path, form)
    assert not found.notes
    assert other.coordinate_names == one.coordinate_names
    assert [loop.name for loop in other.model.loops] == [loop.name for loop in one.model.loops]
    assert_same(one, other)


@pytest.mark.parametrize(("form", "name"), [(f, n) for f, names in SAYABLE.items() for n in names])
def test_what_the_other_formats_can_say_they_say(form, name, tmp_path):
    one = mbd.load(OWN / f"{name}.urdf", flexible=())
    other, _ = round_trip(one, tmp_path, form)
    assert_same(one, other)


@pytest.mark.parametrize("seed", range(5 * TIMES))
def test_random_machines_go_through_every_format(seed, tmp_path):
    (tmp_path / "random.xml").write_text(random_mjcf(np.random.default_rng([31, seed])))
    one = quietly(mbd.load, tmp_path / "random.xml")
    for form in ("URDF", "URDF+", "MJCF"):
        other, _ = round_trip(one, tmp_path, form)
        assert_same(one, other, seed)
        assert {e.name for e in other.forces} == {e.name for e in one.forces}


def test_cassie_goes_from_sdf_to_mjcf_and_urdf(tmp_path):
    one = cassie.load("v2")
    for form in ("URDF", "MJCF", "SDF", "USD"):
        other, _ = round_trip(one, tmp_path, form)
        assert_same(one, other)
        assert [(e.name, e.numbers) for e in other.forces] == [
            (e.name, e.numbers) for e in one.forces
        ]


@pytest.mark.parametrize("axis", np.eye(3))
@pytest.mark.parametrize("form", SUFFIX)
def test_universal_joints_without_a_second_axis_stay_what_they_are(form, axis, tmp_path):
    parts = mbd.Builder("cross", root="base").link("arm", 2.0, (0.1, 0, 0.2), (0.1, 0.2, 0.3))
    parts.link("hand", 1.0, (0.3, 0.1, 0), (0.1, 0.1, 0.1))
    parts.joint("hinge", "revolute", "base", "arm", axis=(1, 1, 1))
    parts.joint("cross", "universal", "arm", "hand", xyz=(0, 0, 1), axis=axis)
    if form != "MJCF":
        parts.loop("tie", "universal", "base", "hand", axis=axis, xyz=(0, 0, 1))
    one = mbd.Mechanism.build(parts)
    other, found = round_trip(one, tmp_path, form)
    assert "universal loops" not in "".join(found.notes)
    assert_same(one, other)


def test_a_locked_joint_stays_one(tmp_path):
    from tests.formats.texts import LOCKED

    (tmp_path / "locked.xml").write_text(LOCKED)
    one = quietly(mbd.load, tmp_path / "locked.xml")
    for form in ("URDF", "URDF+", "MJCF"):
        other, found = round_trip(one, tmp_path, form)
        assert_same(one, other)
        assert other.assemble({"elbow": 3.0}).q == pytest.approx([0.0, 0.5, 0.1], abs=1e-12)
        assert not any("locks of" in note for note in found.notes)
    assert "locks of coordinates (brake, clamp)" in round_trip(one, tmp_path, "SDF")[1].notes[0]


INERTIAL = """<inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
<inertia ixx=".1" iyy=".2" izz=".15" ixy="0.01" ixz="0" iyz="0"/></inertial>"""

GEARED = (
    '<robot name="geared">'
    + "".join(f'<link name="{name}">{INERTIAL}</link>' for name in "abcde")
    + "".join(
        f'<joint name="{parent}{child}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 .1 .5" rpy=".3 0 .2"/><axis xyz="{axis}"/>'
        '<limit effort="1" velocity="1" lower="-1" upper="1"/></joint>'
        for parent, child, kind, axis in (
            ("a", "b", "revolute", "0 0 1"),
            ("b", "c", "revolute", "0 1 0"),
            ("b", "d", "continuous", "1 1 0"),
            ("c", "e", "prismatic", "0 0 1"),
        )
    )
    + "{}</robot>"
)
"""b is the link against which all hinges turn: the child of the first, the parent of the others."""


DIFFERENTIAL = """<coupling name="x" joint="bd" offset="0.4"><follows joint="ab" ratio="2"/>
<follows joint="bc" ratio="-3"/></coupling>"""


def geared(couplings, tmp_path):
    (tmp_path / "geared.urdf").write_text(GEARED.replace("{}", couplings))
    return mbd.load(tmp_path / "geared.urdf")


@pytest.mark.parametrize("pair", [("ab", "bc"), ("bc", "ab"), ("bd", "bc")])
def test_gears_of_hinges_at_one_link_are_a_gearbox_of_sdf(pair, tmp_path):
    text = '<coupling name="gears" joint="{}" follows="{}" ratio="-2.5"/>'
    one = geared(text.format(*pair), tmp_path)
    other, found = round_trip(one, tmp_path, "SDF")
    assert not any("couplings" in note for note in found.notes)
    (gears,) = other.model.description.couplings
    assert (gears.joint, gears.follows) == (pair[0], ((pair[1], pytest.approx(-2.5)),))
    assert_same(one, other)


def test_other_couplings_of_two_joints_are_mimics_in_sdf(tmp_path):
    """The follower has no coordinate of its own there: the rest is what the coupling leaves."""
    text = '<coupling name="rack" joint="ce" follows="ab" ratio="0.3" offset="0.2"/>'
    one = geared(text, tmp_path)
    other, found = round_trip(one, tmp_path, "SDF")
    assert (
        "written as mimics: their followers have no coordinate of their own there (rack)"
        in (found.notes[0])
    )
    assert other.coordinate_names == ("ab", "bc", "bd")
    G = np.array([[1, 0, 0], [0, 1, 0], [0.3, 0, 0], [0, 0, 1.0]])  # ab, bc, ce, bd
    assert one.coordinate_names == ("ab", "bc", "ce", "bd")
    q, v = np.random.default_rng(3).normal(0, 1, (2, 3))
    whole = G @ q + np.array([0, 0, 0.2, 0])
    assert other.placement(q, "e") == pytest.approx(one.placement(whole, "e"), abs=1e-14)
    M = G.T @ one.mass_matrix(whole) @ G
    assert other.mass_matrix(q) == pytest.approx(M, rel=ROUND, abs=ROUND)
    bias = G.T @ one.bias_forces(whole, G @ v)
    assert other.bias_forces(q, v) == pytest.approx(bias, rel=ROUND, abs=ROUND)


@pytest.mark.parametrize(
    "couplings",
    [
        '<coupling name="x" joint="ce" follows="ab" ratio="2"/>'
        '<coupling name="y" joint="bd" follows="ce" ratio="2"/>',
        DIFFERENTIAL,
    ],
)
def test_couplings_that_sdf_cannot_say_are_listed(couplings, tmp_path):
    """One that another coupling asks for keeps its coordinate; a chain is written from its end."""
    one = geared(couplings, tmp_path)
    other, found = round_trip(one, tmp_path, "SDF")
    assert "gears (couplings)" in found.notes[0]
    assert len(other.model.description.couplings) == 0


def test_differentials_are_fixed_tendons_in_mjcf(tmp_path):
    one = geared(DIFFERENTIAL, tmp_path)
    other, _ = round_trip(one, tmp_path, "MJCF")
    assert_same(one, other)
    q = other.assemble({"ab": 0.1, "bc": 0.2}, fixed=["ab", "bc"]).q
    assert q[other.coordinate_names.index("bd")] == pytest.approx(0.2 - 0.6 + 0.4)


def test_the_whole_cassie_keeps_its_gearboxes(tmp_path):
    one = cassie.load("")
    other, _ = round_trip(one, tmp_path, "SDF")
    assert len(other.model.description.couplings) == 10
    assert_same(one, other)


def test_loads_stay_what_they_were(tmp_path):
    one = mbd.load(OWN / "kuka_iiwa.urdf")
    q, v, a = np.random.default_rng(5).normal(0, 1, (3, one.nq))
    names = ["lbr_iiwa_joint_2", "lbr_iiwa_joint_5"]
    known = one.joint_loads(q, v, a, joints=names)
    for form in ("URDF", "MJCF", "SDF"):
        other, _ = round_trip(one, tmp_path, form)
        found = other.joint_loads(q, v, a, joints=names)
        for part in ("force", "moment", "actuation"):
            expected = getattr(known, part)
            largest = np.abs(expected).max()
            assert getattr(found, part) == pytest.approx(expected, abs=1e-10 * largest)


def test_frames_away_from_their_joints_stay(tmp_path):
    (tmp_path / "arm.xml").write_text(
        '<mujoco><worldbody><body name="b" pos="1 0 0"><joint name="j" pos="0 0 .3" axis="0 1 0"/>'
        '<inertial mass="1" pos="0 0 1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    one = mbd.load(tmp_path / "arm.xml")
    for form in ("URDF", "MJCF", "SDF"):
        other, _ = round_trip(one, tmp_path, form)
        assert other.placement([0.4], "b") == pytest.approx(one.placement([0.4], "b"), abs=1e-14)


def test_limits_actuators_rotors_and_shapes_go_along(tmp_path):
    from tests.formats.texts import ARM

    (tmp_path / "arm.xml").write_text(ARM)
    one = quietly(mbd.load, tmp_path / "arm.xml").model.description
    for form in ("URDF", "MJCF"):
        other = round_trip(quietly(mbd.load, tmp_path / "arm.xml"), tmp_path, form)[0]
        there = other.model.description
        assert there.actuated == one.actuated
        assert [t.rotor_inertia for t in there.transmissions] == [0.2]
        limits = {joint.name: joint.limits for joint in there.joints}
        assert limits["lift"].effort == 30.0
        assert limits["turn"].upper == pytest.approx(np.pi / 2)
        shapes = {link.name: link.visuals for link in there.links}
        assert shapes["fore"][0].size == pytest.approx((0.2, 0.4, 0.6))


@pytest.mark.parametrize(
    ("form", "name", "said"),
    [
        ("MJCF", "four_bar", "hinges of loops, written as two points"),
        ("MJCF", "pendulum", "moments of inertia below"),
        ("MJCF", "whipple_bicycle", "rolling loops"),
        ("SDF", "crank_rocker", "loops that are open with all joints at zero"),
        ("SDF", "geared_five_bar", "mask loops"),
        ("SDF", "six_wheeler", "force elements"),
        ("SDF", "whipple_bicycle", "free joints"),
    ],
)
def test_what_a_format_cannot_say_is_listed_in_one_warning(form, name, said, tmp_path):
    one = mbd.load(OWN / f"{name}.urdf")
    with pytest.warns(MbdWarning, match="cannot say all of it") as caught:
        found = one.convert(tmp_path / "a.x", form=form)
    assert len(caught) == len(found.notes) == 1
    assert said in found.notes[0]


def test_a_sidecar_that_would_be_read_with_the_new_file_is_not_left_there(tmp_path):
    one = mbd.load(OWN / "pendulum.urdf")
    for suffix in ("loops", "forces", "flex"):
        beside = tmp_path / f"new.{suffix}.yaml"
        beside.write_text("loops: []")
        with pytest.raises(FileError, match="does not belong"):
            one.convert(tmp_path / "new.urdf")
        assert [path.name for path in tmp_path.iterdir()] == [beside.name]
        beside.unlink()


def test_a_joint_that_a_format_lacks_is_refused(tmp_path):
    parts = mbd.Builder("table", root="ground").link("top", 1.0, inertia=(1, 1, 1))
    parts.joint("slide", "planar", "ground", "top")
    table = mbd.Mechanism.build(parts)
    with pytest.raises(ModelError, match="no planar joint"):
        table.convert(tmp_path / "table.sdf")
    with pytest.raises(ModelError, match="tells no format"):
        table.convert(tmp_path / "table.txt")
    assert not list(tmp_path.iterdir())


def test_a_floating_base_is_a_free_joint_where_there_is_one(tmp_path):
    one = mbd.load(OWN / "humanoid.urdf", floating=True)
    other, _ = round_trip(one, tmp_path, "MJCF")
    assert other.nv == one.nv
    assert "that the base floats" in round_trip(one, tmp_path, "URDF")[1].notes[0]


def test_the_command_writes_and_tells(tmp_path, capsys):
    out = tmp_path / "panda.xml"
    assert main(["convert", str(robot("erd/panda/panda")), str(out)]) == 0
    said = capsys.readouterr().err
    assert "mimics" in said
    assert str(out) in said
    assert main(["convert", str(out), str(tmp_path / "panda.urdf")]) == 0
    assert main(["convert", str(out), str(tmp_path / "panda.txt")]) == 2
