"""SDF: frames relative to each other, a graph of joints made a tree with loops."""

import math
import warnings

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning
from mbd_bridge.model.spatial import Frame
from tests.formats.texts import HINGE, INERTIAL, LOOP, joint, link, sdf

ROUND = 1e-12
"""Relative, of quantities that both compute by the same operations in another order."""


@pytest.fixture
def load(tmp_path):
    def load_text(text, **options):
        path = tmp_path / "m.sdf"
        path.write_text(text)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MbdWarning)
            robot = mbd.load(path, **options)
        robot.said = [str(one.message) for one in caught]
        return robot

    return load_text


def test_poses_are_relative_to_what_they_name(load):
    robot = load(
        sdf(
            link("a", "<pose>0 0 1 0 0 0</pose>")
            + link("b", '<pose relative_to="f" degrees="true">1 0 0 0 0 90</pose>')
            + '<frame name="f" attached_to="a"><pose>0 2 0 0 0 0</pose></frame>'
            + '<joint name="j" type="revolute"><pose relative_to="__model__">0 0 3 0 0 0</pose>'
            + "<parent>f</parent><child>b</child>"
            + '<axis><xyz expressed_in="a">0 1 0</xyz></axis></joint>'
        )
    )
    assert robot.model.description.format == "SDF"
    q = robot.neutral()
    placed = robot.placement(q, "b")
    expected = Frame.from_rpy((1, 2, 1), (0, 0, math.pi / 2))
    assert placed[:3, :3] == pytest.approx(expected.rotation, abs=1e-15)
    assert placed[:3, 3] == pytest.approx(expected.translation)
    turned = robot.placement(np.array([math.pi / 2]), "b")  # about y, through (0, 0, 3)
    assert turned[:3, 3] == pytest.approx([1 - 3, 2, 3 - 1])


def test_models_in_models_stand_on_their_placement_frames(load):
    inner = (
        '<model name="arm" placement_frame="grip"><pose relative_to="a">0 0 5 0 0 0</pose>'
        + link("l", "<pose>1 0 0 0 0 0</pose>")
        + '<frame name="grip" attached_to="l"><pose>0 1 0 0 0 0</pose></frame></model>'
    )
    robot = load(sdf(link("a") + inner + joint("j", "fixed", "a", "arm::l")))
    assert robot.placement(robot.neutral(), "arm::l")[:3, 3] == pytest.approx([0, -1, 5])


def test_a_model_stands_where_its_pose_says(load):
    robot = load(sdf(f"<pose>0 0 2 {math.pi / 2} 0 0</pose>" + link("a")))
    assert robot.placement([], "a")[:3, 3] == pytest.approx([0, 0, 2])
    assert robot.placement([], "a")[:3, 1] == pytest.approx([0, 0, 1])


@pytest.mark.parametrize(
    ("version", "flag", "axis"),
    [("1.4", "", "model"), ("1.6", "", "joint"), ("1.6", "1", "model"), ("1.4", "0", "joint")],
)
def test_older_files_have_axes_along_the_model(load, version, flag, axis):
    inside = f"<use_parent_model_frame>{flag}</use_parent_model_frame>" if flag else ""
    turned = f"<pose>0 0 0 {math.pi / 2} 0 0</pose>"
    text = sdf(
        link("a")
        + link("b", turned)
        + joint("j", "revolute", "a", "b", f"<axis><xyz>0 1 0</xyz>{inside}</axis>"),
        version,
    )
    (described,) = load(text).model.description.joints
    expected = (0, 0, -1) if axis == "model" else (0, 1, 0)
    assert described.axis == pytest.approx(expected, abs=1e-15)


def test_every_joint_type_has_its_place(load):
    kinds = {
        "continuous": ("continuous", HINGE),
        "prismatic": ("prismatic", HINGE),
        "fixed": ("fixed", ""),
        "ball": ("spherical", ""),
        "universal": ("universal", HINGE + "<axis2><xyz>1 0 0</xyz></axis2>"),
        "revolute2": ("universal", HINGE + "<axis2><xyz>1 1 0</xyz></axis2>"),
        "screw": ("helical", HINGE + "<screw_thread_pitch>0.5</screw_thread_pitch>"),
    }
    for kind, (ours, inside) in kinds.items():
        (found,) = load(
            sdf(link("a") + link("b") + joint("j", kind, "a", "b", inside))
        ).model.description.joints
        assert found.type == ours
    old = HINGE + f"<thread_pitch>{-2 * math.pi / 0.5}</thread_pitch>"
    (older,) = load(
        sdf(link("a") + link("b") + joint("j", "screw", "a", "b", old))
    ).model.description.joints
    assert older.pitch == pytest.approx(0.5 / (2 * math.pi))


def test_springs_limits_and_mimics_are_kept(load):
    spring = (
        "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>inf</upper><effort>-1</effort>"
        "</limit><dynamics><damping>.5</damping><friction>.1</friction>"
        "<spring_stiffness>7</spring_stiffness><spring_reference>.2</spring_reference></dynamics></axis>"
    )
    mimic = (
        '<axis><xyz>0 0 1</xyz><mimic joint="j"><multiplier>2</multiplier><offset>.3</offset>'
        "<reference>.1</reference></mimic></axis>"
    )
    robot = load(
        sdf(
            link("a") + link("b") + link("c")
            + joint("j", "revolute", "a", "b", spring)
            + joint("k", "revolute", "b", "c", mimic)
        )
    )  # fmt: skip
    j, k = robot.model.description.joints
    assert (j.limits.lower, j.limits.upper, j.limits.effort) == (-1.0, None, None)
    assert (j.damping, j.friction) == (0.5, 0.1)
    assert (robot.forces[0].joint, robot.forces[0].rest) == ("j", 0.2)
    assert k.mimic.offset == pytest.approx(0.3 - 0.2)
    assert robot.nq == 1


def test_a_loop_is_cut_where_the_fewest_coordinates_are_left(load):
    described = load(sdf(LOOP)).model.description
    assert [(loop.name, loop.type) for loop in described.loops] == [("ball", "spherical")]
    turned = {one.name: one.turned for one in described.joints}
    assert turned == {"ab": False, "ac": False, "dc": True}


def test_a_turned_joint_keeps_its_coordinate_and_its_load(load):
    """The chain a-c-d walks dc backwards; written forwards it is the same machine."""
    tree = (
        link("a")
        + link("c")
        + link("d", "<pose>1 0 1 0 0.2 0</pose>")
        + joint("ac", "revolute", "a", "c", HINGE)
    )
    back = load(sdf(tree + joint("dc", "revolute", "d", "c", f"<pose>0 0 .5 0 0 0</pose>{HINGE}")))
    ahead = load(
        sdf(
            tree
            + joint("dc", "revolute", "c", "d", '<pose relative_to="c">0 0 .5 0 0 0</pose>'
            "<axis><xyz>0 -1 0</xyz></axis>")
        )
    )  # fmt: skip
    q, v, a = np.array([[0.3, -0.4], [1.0, 2.0], [3.0, 4.0]])
    assert back.model.description.joints[1].turned
    assert back.mass_matrix(q) == pytest.approx(ahead.mass_matrix(q), rel=ROUND)
    one, other = (robot.joint_loads(q, v, a, in_="world", at=(0, 0, 0)) for robot in (back, ahead))
    assert one["dc"].force == pytest.approx(-other["dc"].force, rel=1e-9)


def test_gearboxes_couple_the_hinges_at_their_reference(load):
    gear = (
        "<gearbox_reference_body>a</gearbox_reference_body><gearbox_ratio>3</gearbox_ratio>"
        "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    )
    robot = load(
        sdf(
            link("a") + link("b") + link("c")
            + joint("ab", "revolute", "a", "b", HINGE)
            + joint("ac", "revolute", "a", "c", "<axis><xyz>0 -1 0</xyz></axis>")
            + joint("g", "gearbox", "b", "c", gear)
        )
    )  # fmt: skip
    (coupling,) = robot.model.description.couplings
    assert (coupling.joint, coupling.follows) == ("ac", (("ab", 3.0),))  # ac's axis is opposite


CIRCLE = '<frame name="f"><pose relative_to="a"/></frame>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (sdf(link("a") + joint("j", "hinge", "a", "a")), "no joint type"),
        (sdf(link("a") + joint("j", "fixed", "a", "b")), "no link or frame"),
        (sdf(link("a") + link("a")), "named 'a' too"),
        (sdf(link("a", '<pose relative_to="f"/>') + CIRCLE), "relative to itself"),
        (sdf('<link name="a"><inertial auto="true"/></link>'), "auto"),
        (sdf(""), "no <link>|no link"),
        (sdf(link("a"), "x"), "version"),
        ('<sdf version="1.9"><model name="a"/><model name="b"/></sdf>', "one model that moves"),
        (sdf(link("a") + link("b") + joint("j", "screw", "a", "b", HINGE)), "screw_thread_pitch"),
        (sdf(link("a") + link("b") + joint("j", "universal", "a", "b", HINGE)), "write <axis2>"),
        (sdf(link("a") + link("b") + joint("j", "revolute2", "a", "b", HINGE)), "write <axis2>"),
    ],
)  # fmt: skip
def test_faulty_files_are_explained(load, text, said):
    with pytest.raises(FileError, match=said):
        load(text)


def test_what_has_no_counterpart_is_listed(load):
    robot = load(sdf(link("a") + '<plugin name="p" filename="p.so"/>'))
    assert "left out: plugins (p)" in robot.said[-1]


def test_links_that_gravity_or_forces_leave_alone_and_second_axes_are_listed(load):
    asked = "<gravity>0</gravity><kinematic>1</kinematic>"
    asked += "<velocity_decay><angular>1</angular></velocity_decay>"
    second = "<axis2><xyz>1 0 0</xyz><limit><lower>-1</lower></limit>"
    second += "<dynamics><damping>2</damping></dynamics></axis2>"
    ball = joint("u", "universal", "a", "b", HINGE, second)
    said = load(sdf(link("a") + link("b", more=INERTIAL + asked) + ball)).said[-1]
    for what in (
        "without gravity, which have it here (b)", "<kinematic>) (b)", "<velocity_decay>) (b)",
        "limits of joints with several degrees of freedom (u)", "of second axes (u)",
    ):  # fmt: skip
        assert what in said
    plain = INERTIAL + "<gravity>true</gravity><kinematic>false</kinematic>"
    assert not load(sdf(link("a", more=plain))).said


def test_links_without_inertial_have_sdfs_default(load):
    robot = load(sdf(link("a", more="")))
    assert robot.model.masses == (1.0,)
    assert "1 kg" in robot.said[0]
