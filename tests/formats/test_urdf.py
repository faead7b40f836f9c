"""What a URDF says arrives unchanged, and defaults are URDF's."""

import warnings

import numpy as np
import pytest

from mbd_bridge.base.errors import MbdWarning
from mbd_bridge.files import read, read_urdf_text
from mbd_bridge.model.description import Limits, Mimic

LAST_DIGITS = 1e-15
"""Absolute, for numbers near 1."""


def robot(joint: str, link: str = "") -> str:
    return (
        f'<robot name="r"><link name="a"/><link name="b">{link}</link>'
        f'<joint name="j" type="revolute"><parent link="a"/><child link="b"/>{joint}</joint>'
        "</robot>"
    )


def only_joint(inside: str, kind: str = "revolute"):
    return read_urdf_text(robot(inside).replace("revolute", kind)).joints[0]


def test_defaults_are_urdfs():
    joint = only_joint("")
    assert joint.axis == (1.0, 0.0, 0.0)
    assert joint.axis2 is None
    assert joint.limits == Limits()
    assert joint.mimic is None
    assert np.array_equal(joint.origin.rotation, np.eye(3))
    assert joint.line == 1


def test_a_link_without_inertial_is_massless_and_says_so():
    assert read_urdf_text(robot("")).links[1].inertia is None


@pytest.mark.parametrize("axis", [(0, 3, 4), (0, 3e-200, 4e-200), (0, 3e200, 4e200)])
def test_axes_become_unit_vectors(axis):
    joint = only_joint('<axis xyz="{} {} {}"/>'.format(*axis))
    np.testing.assert_allclose(joint.axis, (0.0, 0.6, 0.8), atol=LAST_DIGITS)


def test_a_unit_axis_keeps_its_digits():
    assert only_joint('<axis xyz="-0 0.6 -0.8"/>').axis == (-0.0, 0.6, -0.8)


@pytest.mark.parametrize("kind", ["fixed", "floating", "spherical"])
def test_types_without_axis_do_not_look_at_it(kind):
    assert only_joint('<axis xyz="0 0 0"/>', kind).axis == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "kind", ["continuous", "prismatic", "planar", "cylindrical", "universal", "revolute"]
)
def test_types_with_axis_keep_it(kind):
    assert only_joint('<axis xyz="0 0 2"/>', kind).axis == (0.0, 0.0, 1.0)


def test_a_universal_joint_may_have_a_second_axis():
    assert only_joint("", "universal").axis2 is None
    joint = only_joint('<axis xyz="0 0 1"/><axis2 xyz="2 0 0"/>', "universal")
    assert (joint.axis, joint.axis2) == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def test_limits_dynamics_and_mimic_arrive():
    text = robot(
        '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
        '<dynamics damping="0.5" friction="0.25"/><mimic joint="k" multiplier="-2" offset="0.1"/>'
    )
    second = (
        '<link name="c"/><joint name="k" type="prismatic"><parent link="b"/><child link="c"/>'
        '<limit effort="3" velocity="4"/></joint></robot>'
    )
    joint, other = read_urdf_text(text.replace("</robot>", second)).joints
    assert joint.limits == Limits(-1.0, 2.0, 3.0, 4.0)
    assert other.limits == Limits(None, None, 3.0, 4.0)
    assert (joint.damping, joint.friction) == (0.5, 0.25)
    assert joint.mimic == Mimic("k", -2.0, 0.1)


def test_mimics_may_be_chained():
    text = '<robot name="r"><link name="l0"/>'
    for i in range(1, 4):
        mimic = f'<mimic joint="j{i + 1}"/>' if i < 3 else ""
        text += (
            f'<link name="l{i}"/><joint name="j{i}" type="continuous">{mimic}'
            f'<parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        )
    joints = read_urdf_text(text + "</robot>").joints
    assert [j.mimic.joint if j.mimic else None for j in joints] == ["j2", "j3", None]


def test_inertia_is_turned_into_the_links_frame():
    """A quarter turn about z swaps ixx and iyy and turns the sign of ixy."""
    inside = (
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="4"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>'
    )
    inertia = read_urdf_text(robot("", inside)).links[1].inertia
    expected = [[2.0, -0.1, -0.3], [-0.1, 1.0, 0.2], [-0.3, 0.2, 2.5]]
    np.testing.assert_allclose(inertia.central, expected, atol=LAST_DIGITS)
    assert np.array_equal(inertia.central, inertia.central.T)
    assert inertia.mass == 4.0
    assert tuple(inertia.centre) == (1.0, 2.0, 3.0)


def test_unturned_inertia_keeps_its_digits():
    inside = (
        '<inertial><mass value="0.1"/>'
        '<inertia ixx="0.3" iyy="0.3" izz="0.30000000000000004" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )
    central = read_urdf_text(robot("", inside)).links[1].inertia.central
    assert np.array_equal(central, np.diag([0.3, 0.3, 0.30000000000000004]))


@pytest.mark.parametrize("mass", ["0", "1"])
def test_massless_links_and_point_masses_are_nothing_to_warn_of(mass):
    inside = (
        f'<inertial><mass value="{mass}"/>'
        '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_urdf_text(robot("", inside)).links[1].inertia.mass == float(mass)


def test_unknown_elements_are_ignored():
    text = robot('<safety_controller k_velocity="x"/><new><axis xyz="0 0 0"/></new>')
    text = text.replace("</robot>", '<transmission name="j"/><gazebo><link/></gazebo></robot>')
    assert len(read_urdf_text(text).links) == 2


def test_a_joint_with_two_motors_is_actuated_once():
    motor = (
        '<transmission name="{}"><type>SimpleTransmission</type><joint name="{}"/></transmission>'
    )
    motors = "".join(motor.format(name, "j") for name in "ab")
    assert read_urdf_text(robot("").replace("</robot>", f"{motors}</robot>")).actuated == ("j",)


def test_faulty_shapes_are_left_out_because_dynamics_do_not_need_them():
    shapes = (
        '<visual><geometry><box size="1 2"/></geometry></visual>'
        '<visual><origin xyz="1 2"/><geometry><sphere radius="1"/></geometry></visual>'
        "<visual/><visual><geometry/></visual>"
        '<visual><geometry><sphere radius="3"/></geometry></visual>'
    )
    with pytest.warns(MbdWarning, match="a shape is left out.*; line 1 "):
        link = read_urdf_text(robot("", shapes)).links[1]
    assert [(v.kind, v.size) for v in link.visuals] == [("sphere", (3.0,))]


def test_shapes_arrive_with_their_numbers():
    shapes = "".join(
        f'<collision><origin xyz="0 0 1"/><geometry>{shape}</geometry></collision>'
        for shape in (
            '<box size="1 2 3"/>',
            '<cylinder radius="1" length="2"/>',
            '<capsule radius="3" length="4"/>',
            '<plane normal="0 0 1"/>',
        )
    )
    found = read_urdf_text(robot("", shapes)).links[1].collisions
    assert [(c.kind, c.size) for c in found] == [
        ("box", (1.0, 2.0, 3.0)),
        ("cylinder", (1.0, 2.0)),
        ("capsule", (3.0, 4.0)),
        ("plane", ()),
    ]
    assert all(c.origin.translation[2] == 1.0 for c in found)


@pytest.mark.parametrize(
    "start",
    [
        '<?xml version="0.0" ?>\n',
        '\n\n<?xml version="1.0"?>\n',
        "\ufeff",
        "<!-- head -->",
        '<?xml version="1.0" encoding="utf-16"?>',
    ],
)
def test_odd_beginnings_that_other_readers_forgive_are_forgiven(start):
    assert len(read_urdf_text((start + robot("")).lstrip("\ufeff")).joints) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_encodings_are_read(tmp_path, encoding):
    path = tmp_path / "r.urdf"
    declared = "iso-8859-1" if encoding == "latin-1" else encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>' + robot("").replace('"r"', '"Kräfte"')
    path.write_bytes(text.encode(encoding))
    assert read(path).name == "Kräfte"


def test_what_follows_the_robot_is_ignored_with_a_warning():
    with pytest.warns(MbdWarning, match="line 2: only the first <robot>"):
        assert len(read_urdf_text(robot("") + "\n<robot/>").links) == 2


def test_undeclared_prefixes_are_ignored_with_a_warning():
    text = robot("").replace("</robot>", "<xacro:arg/></robot>")
    with pytest.warns(MbdWarning, match="xacro"):
        assert len(read_urdf_text(text).links) == 2


def test_a_robot_without_name_is_called_after_its_file(tmp_path):
    path = tmp_path / "nameless.urdf"
    path.write_text('<robot><link name="a"/></robot>')
    with pytest.warns(MbdWarning, match="has no name"):
        assert read(path).name == "nameless"


def test_a_chain_of_ten_thousand_links_is_read():
    links = "".join(f'<link name="l{i}"/>' for i in range(10_000))
    joints = "".join(
        f'<joint name="j{i}" type="continuous">'
        f'<parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(9_999)
    )
    assert len(read_urdf_text(f'<robot name="x">{joints}{links}</robot>').joints) == 9_999
