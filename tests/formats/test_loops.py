"""Loops arrive alike from all three ways of writing them, and their faults are explained."""

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files import read, read_urdf_text
from mbd_bridge.files.loops import LOOP_TYPES, TYPES_WITH_AXIS, rotation_between
from mbd_bridge.files.sidecars import sidecar_path
from mbd_bridge.model.spatial import matrix_from_rpy
from tests.formats.texts import BAR, CONSTRAINT, loops_of

LAST_DIGITS = 1e-15
"""Absolute, for numbers near 1."""


LOOP_JOINT = """<loop_joint name="pin" type="revolute">
<link1 link="coupler" xyz="0 0 1" rpy="0.1 0 0"/>
<link2 link="base" xyz="1 0 1"/>
<axis xyz="0 2 0"/></loop_joint>"""


SIDECAR = """loops:
  - name: pin
    type: revolute
    predecessor: {link: coupler, xyz: [0, 0, 1], rpy: [1e-1, 0, 0]}
    successor: {link: base, xyz: [1, 0, 1]}
    axis: [0, 2, 0]
"""


@pytest.fixture
def beside(tmp_path):
    """Return a function that reads the bar with the given sidecar."""

    def read_with(text):
        (tmp_path / "bar.urdf").write_text(BAR.format(""))
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "bar.loops.yaml").write_bytes(data)
        return read(tmp_path / "bar.urdf").loops

    return read_with


def assert_is_the_pin(loops) -> None:
    (loop,) = loops
    assert (loop.name, loop.type, loop.axis, loop.axis2) == ("pin", "revolute", (0, 1, 0), None)
    assert (loop.predecessor.link, loop.successor.link) == ("coupler", "base")
    assert tuple(loop.predecessor.frame.translation) == (0.0, 0.0, 1.0)
    assert np.array_equal(loop.predecessor.frame.rotation, matrix_from_rpy(0.1, 0, 0))
    assert tuple(loop.successor.frame.translation) == (1.0, 0.0, 1.0)
    assert np.array_equal(loop.successor.frame.rotation, np.eye(3))
    assert loop.line is not None
    assert loop.source is not None


def test_three_ways_to_write_a_loop_say_the_same(beside):
    assert_is_the_pin(loops_of(LOOP_JOINT))
    assert_is_the_pin(loops_of(CONSTRAINT))
    assert_is_the_pin(beside(SIDECAR))


@pytest.mark.parametrize("kind", [kind for kind in LOOP_TYPES if kind not in ("mask", "rolling")])
def test_all_loop_types_are_read_in_all_three_ways(kind, beside):
    found = [
        *loops_of(LOOP_JOINT.replace("revolute", kind)),
        *loops_of(CONSTRAINT.replace("revolute", kind)),
        *beside(SIDECAR.replace("revolute", kind)),
    ]
    assert [loop.type for loop in found] == [kind] * 3
    if kind in TYPES_WITH_AXIS and kind != "universal":
        assert [loop.axis for loop in found] == [(0.0, 1.0, 0.0)] * 3


LOOP_UNIVERSAL = LOOP_JOINT.replace("revolute", "universal").replace(
    "</loop", '<axis2 xyz="0 0 3"/></loop'
)


def test_a_universal_loop_has_two_axes(beside):
    constraint = CONSTRAINT.replace("revolute", "universal").replace(
        "</con", '<child_axis xyz="0 0 3"/></con'
    )
    sidecar = SIDECAR.replace("revolute", "universal") + "    axis2: [0, 0, 3]\n"
    for loop in (*loops_of(LOOP_UNIVERSAL), *loops_of(constraint), *beside(sidecar)):
        assert (loop.axis, loop.axis2) == ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("written", "meant"), [("prismatic", "translational"), ("continuous", "revolute")]
)
def test_urdfs_names_of_loop_types_are_understood(written, meant):
    assert loops_of(LOOP_JOINT.replace("revolute", written))[0].type == meant


def test_a_distance_loop_may_have_a_length(beside):
    sidecar = SIDECAR.replace("revolute", "distance") + "    length: 0.5\n"
    assert beside(sidecar)[0].length == 0.5
    assert loops_of(LOOP_JOINT.replace('"revolute"', '"distance" length="2"'))[0].length == 2.0
    assert loops_of(LOOP_JOINT.replace("revolute", "distance"))[0].length is None


def test_the_childs_axis_of_a_constraint_turns_the_childs_frame():
    """Our loops have one axis with the same coordinates in both frames."""
    text = CONSTRAINT.replace("</con", '<child_axis xyz="1 1 1"/></con')
    (loop,) = loops_of(text)
    axis_on_base = loop.successor.frame.rotation @ np.array(loop.axis)
    np.testing.assert_allclose(axis_on_base, np.ones(3) / np.sqrt(3), atol=LAST_DIGITS)


def test_rotation_between_directions_is_a_rotation():
    rng = np.random.default_rng(7)
    for _ in range(100):
        a, b = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        for other in (b, a, -a, a + 1e-9 * b, -a + 1e-9 * b):
            other = other / np.linalg.norm(other)
            turn = rotation_between(a, other)
            np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-8)
            np.testing.assert_allclose(turn @ a, other, atol=1e-8)
            assert np.linalg.det(turn) == pytest.approx(1.0)


def test_loops_of_file_and_sidecar_are_put_together(tmp_path):
    (tmp_path / "bar.urdf").write_text(BAR.format(LOOP_JOINT))
    (tmp_path / "bar.loops.yaml").write_text(SIDECAR.replace("name: pin", "name: second"))
    assert [loop.name for loop in read(tmp_path / "bar.urdf").loops] == ["pin", "second"]


def test_the_sidecar_has_the_robots_name(tmp_path):
    for name in ("a.urdf", "a.xacro", "a.urdf.xacro", "a"):
        assert sidecar_path(tmp_path / name) == tmp_path / "a.loops.yaml"


MASK = LOOP_JOINT.replace('"revolute"', '"mask" rows="1 0 1 0 0 1"')
CONSTRAINT_MASK = CONSTRAINT.replace('"revolute"', '"mask" rows="1 0 1 0 0 1"')
SIDECAR_MASK = SIDECAR.replace("revolute", "mask") + "    rows: [1, 0, 1, 0, 0, 1]\n"
COUPLING = '<coupling name="mesh" joint="b" follows="a" ratio="-0.5" offset="0.1"/>'
DIFFERENTIAL = """<coupling name="mesh" joint="c" offset="0.1">
  <follows joint="a" ratio="0.5"/> <follows joint="b" ratio="-0.25"/></coupling>"""
COUPLINGS = (
    SIDECAR
    + """couplings:
  - name: mesh
    joint: b
    follows: a
    ratio: -0.5
    offset: 0.1
"""
)


def test_masks_say_what_they_forbid_in_all_three_ways(beside):
    for loop in (*loops_of(MASK), *loops_of(CONSTRAINT_MASK), *beside(SIDECAR_MASK)):
        assert (loop.type, loop.rows) == ("mask", (1, 0, 1, 0, 0, 1))


def test_gears_are_read_in_both_ways(tmp_path):
    (inside,) = read_urdf_text(BAR.format(COUPLING)).couplings
    (tmp_path / "bar.urdf").write_text(BAR.format(""))
    (tmp_path / "bar.loops.yaml").write_text(COUPLINGS)
    (outside,) = read(tmp_path / "bar.urdf").couplings
    for found in (inside, outside):
        assert (found.name, found.joint, found.follows) == ("mesh", "b", (("a", -0.5),))
        assert found.offset == 0.1
        assert found.line is not None


def test_a_differential_is_read_in_both_ways(tmp_path):
    third = BAR.format("").replace(
        "</robot>",
        '<link name="cage"/><joint name="c" type="continuous"><parent link="base"/>'
        '<child link="cage"/><axis xyz="0 1 0"/></joint></robot>',
    )
    inside = third.replace("</robot>", DIFFERENTIAL + "</robot>")
    (tmp_path / "bar.urdf").write_text(third)
    (tmp_path / "bar.loops.yaml").write_text(
        "couplings:\n  - {name: mesh, joint: c, follows: {a: 0.5, b: -0.25}, offset: 0.1}\n"
    )
    for found in (*read_urdf_text(inside).couplings, *read(tmp_path / "bar.urdf").couplings):
        assert (found.joint, found.follows) == ("c", (("a", 0.5), ("b", -0.25)))
        assert found.offset == 0.1


@pytest.mark.parametrize("elements", [LOOP_JOINT + CONSTRAINT, MASK + COUPLING])
def test_other_engines_do_not_mind_elements_of_loops_gears_and_masks(elements, tmp_path):
    model = pin.buildModelFromXML(BAR.format(elements))
    assert list(model.names) == ["universe", "a", "b"]
    assert (model.njoints, model.nq, model.nv) == (3, 1 + 2, 2)  # a continuous joint: cos and sin
    pybullet = pytest.importorskip("pybullet")
    path = tmp_path / "bar.urdf"
    path.write_text(BAR.format(elements))
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(path), useFixedBase=True, physicsClientId=client)
        count = pybullet.getNumJoints(body, physicsClientId=client)
        joints = [pybullet.getJointInfo(body, k, physicsClientId=client) for k in range(count)]
    finally:
        pybullet.disconnect(client)
    assert [joint[1] for joint in joints] == [b"a", b"b"]
    assert [joint[2] for joint in joints] == [pybullet.JOINT_REVOLUTE] * 2


ELEMENT_FAULTS = {
    "mask without rows": (MASK, ' rows="1 0 1 0 0 1"', "", 6, "'rows' is missing"),
    "five rows": (MASK, "1 0 1 0 0 1", "1 0 1 0 0", 6, "expected 6 numbers"),
    "two": (MASK, "1 0 1 0 0 1", "1 0 2 0 0 1", 6, "rows: a mask has six of 0 or 1"),
    "nothing held": (MASK, "1 0 1 0 0 1", "0 0 0 0 0 0", 6, "with some 1"),
    "rows of no mask": (MASK, '"mask"', '"fixed"', 6, "rows are for masks"),
    "gears of no joint": (COUPLING, '"b"', '"c"', 6, "no joint named 'c'"),
    "gears with itself": (COUPLING, '"b"', '"a"', 6, "follows itself"),
    "gears without ratio": (COUPLING, 'ratio="-0.5"', "", 6, "'ratio' is missing"),
    "gears of ratio 0": (COUPLING, "-0.5", "0", 6, "ratio: expected a number other"),
    "gears of a bad ratio": (COUPLING, "-0.5", "1:2", 6, "write it like"),
    "leaders twice": (DIFFERENTIAL, 'joint="c"', 'joint="c" follows="a"', 6, "leave one out"),
    "the same leader twice": (
        DIFFERENTIAL.replace('"c"', '"b"').replace('joint="b" ratio', 'joint="a" ratio'),
        "mesh",
        "mesh",
        6,
        "add the ratios up",
    ),
    "gears with a taken name": (COUPLING, '"mesh"', '"a"', 6, "rename one"),
    "unknown link": (LOOP_JOINT, '"coupler"', '"couple"', 6, "did you mean 'coupler'"),
    "unknown type": (LOOP_JOINT, "revolute", "hinge", 6, "Available: distance"),
    "no name": (LOOP_JOINT, 'name="pin"', "", 6, "'name' is missing"),
    "name taken": (LOOP_JOINT, '"pin"', '"a"', 6, "rename"),
    "one side": (LOOP_JOINT, "link2", "link3", 6, '<link2 link="..."'),
    "same link": (LOOP_JOINT, '"base"', '"coupler"', 6, "joins two links"),
    "zero axis": (LOOP_JOINT, "0 2 0", "0 0 0", 9, "zero vector"),
    "bad number": (LOOP_JOINT, "0 0 1", "0 0 x", 7, "write it like"),
    "length": (LOOP_JOINT, '"revolute"', '"distance" length="0"', 6, "spherical"),
    "parallel": (LOOP_UNIVERSAL, "0 0 3", "0 -1 0", 6, "parallel"),
    "no child": (CONSTRAINT, '<child link="base"/>', "", 6, '<child link="..."/>'),
    "bad parent axis": (CONSTRAINT, "0 2 0", "0 2", 7, "expected 3 numbers"),
}


@pytest.mark.parametrize("fault", ELEMENT_FAULTS)
def test_faulty_loop_elements_are_explained(fault):
    text, old, new, line, advice = ELEMENT_FAULTS[fault]
    assert old in text
    with pytest.raises(FileError, match=advice) as caught:
        loops_of(text.replace(old, new, 1))
    assert str(caught.value).startswith(f"bar.urdf:{line}: ")


SIDECAR_FAULTS = {
    "rows of no mask": ("    axis", "    rows: [1, 1, 1, 0, 0, 0]\n    axis", 6, "are for masks"),
    "mask without rows": ("revolute", "mask", 2, "'rows' is missing"),
    "odd rows": (
        "type: revolute",
        "type: mask\n    rows: [1, 2]",
        4,
        "yaml:4: rows: a mask has six",
    ),
    "unknown table": ("loops:", "couplngs: []\nloops:", 1, "did you mean 'couplings'"),
    "unknown link": ("coupler", "couple", 2, "did you mean 'coupler'"),
    "unknown type": ("revolute", "hinge", 3, "Available: distance"),
    "unknown key": ("axis:", "axes:", 6, "did you mean 'axis'"),
    "names of a tree": ("predecessor:", "parent:", 2, "write predecessor: {link"),
    "no name": ("name: pin", "type: fixed", 3, "stands twice"),
    "missing key": ("name: pin", "axis2: [1, 0, 0]", 2, "'name' is missing"),
    "no axis": ("    axis: [0, 2, 0]\n", "", 2, "needs an axis"),
    "zero axis": ("[0, 2, 0]", "[0, 0, 0]", 6, "zero vector"),
    "two numbers": ("[0, 2, 0]", "[0, 2]", 6, "expected 3 numbers"),
    "no list": ("[0, 2, 0]", "up", 6, "expected a list"),
    "far away": ("[0, 0, 1]", "[0, 0, 1e99]", 4, "check units"),
    "nan": ("[0, 2, 0]", "[0, .nan, 0]", 6, "expected a number"),
    "name": ("name: pin", "name: [pin]", 2, "expected a name, got a list"),
    "name taken": ("name: pin", "name: b", 2, "rename"),
    "length": ("axis: [0, 2, 0]", "axis: [0, 2, 0]\n    length: 1", 7, "distance loops"),
    "not yaml": ("loops:", "loops: [", 2, "not YAML"),
    "no table": ("loops:", "loops: 3 #", 2, "not YAML"),
    "tab": ("    type", "\ttype", 3, "not YAML"),
    "python object": ("name: pin", "name: !!python/object:os.system x", 2, None),
}


COUPLING_FAULTS = {
    "no joint": ("joint: b", "joint: c", 8, "no joint named 'c'"),
    "a fixed joint": ("joint: b", "joint: weld", 8, "is fixed"),
    "itself": ("joint: b", "joint: a", 8, "follows itself"),
    "ratio 0": ("-0.5", "0", 11, "make it fixed"),
    "no ratio": ("    ratio: -0.5\n", "", 8, "'ratio' is missing"),
    "unknown key": ("ratio", "ration", 11, "did you mean 'ratio'"),
    "a taken name": ("mesh", "pin", 8, "rename one"),
}


@pytest.mark.parametrize("fault", COUPLING_FAULTS)
def test_faulty_gears_beside_the_file_are_explained(fault, tmp_path):
    old, new, line, advice = COUPLING_FAULTS[fault]
    weld = (
        '<link name="plate"/><joint name="weld" type="fixed"><parent link="base"/>'
        '<child link="plate"/></joint>'
    )
    (tmp_path / "bar.urdf").write_text(BAR.format(weld))
    (tmp_path / "bar.loops.yaml").write_text(COUPLINGS.replace(old, new, 1))
    with pytest.raises(FileError, match=advice) as caught:
        read(tmp_path / "bar.urdf")
    assert f"bar.loops.yaml:{line}: " in str(caught.value)


@pytest.mark.parametrize("fault", SIDECAR_FAULTS)
def test_faulty_sidecars_are_explained(fault, beside):
    old, new, line, advice = SIDECAR_FAULTS[fault]
    text = SIDECAR.replace(old, new, 1)
    assert text != SIDECAR
    if advice is None:  # a tag makes nothing: it is only a word
        assert beside(text)[0].name == "x"
        return
    with pytest.raises(FileError, match=advice) as caught:
        beside(text)
    assert f"bar.loops.yaml:{line}: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("", "is empty"),
        ("[]", "expected a table"),
        ("- 1", "expected a table"),
        ("loops: {a: 1}", "expected a list"),
        ("a: &x [1]\nloops: [*x, *x]", "aliases"),
        ("loops: " + "[" * 5000, "nested deeper"),
        ("loops: " + "{a: " * 100, "nested deeper"),
        (b"\xff\xff", "UTF-8"),
        ("loops:\n" + "# " * 2**20, "max_bytes"),
        ("? [a]\n: 1", "plain word"),
    ],
)
def test_hostile_sidecars_are_refused(text, advice, beside):
    with pytest.raises(FileError, match=advice):
        beside(text)


@pytest.mark.parametrize("text", ["loops:", "loops: []"])
def test_a_sidecar_may_have_no_loops(text, beside):
    assert beside(text) == ()


TRANSMISSION = """<transmission name="t"><type>SimpleTransmission</type>
<joint name="a"><hardwareInterface>E</hardwareInterface></joint><joint name="gone"/>
<actuator name="m"/></transmission>"""


def test_who_is_actuated_is_read_from_the_sidecar_before_the_transmissions(tmp_path):
    def actuated(elements, sidecar):
        (tmp_path / "bar.urdf").write_text(BAR.format(elements))
        (tmp_path / "bar.loops.yaml").write_text(sidecar)
        return read(tmp_path / "bar.urdf").actuated

    assert actuated("", SIDECAR) is None
    assert actuated(TRANSMISSION, SIDECAR) == ("a",)  # what is not there is for others
    assert actuated(TRANSMISSION, SIDECAR + "actuated: [b, pin]\n") == ("b", "pin")
    assert actuated(TRANSMISSION, SIDECAR + "actuated: []\n") == ()
    assert actuated("", "actuated: [a]\n") == ("a",)
    with pytest.raises(FileError, match="joint that can be actuated") as problem:
        actuated("", SIDECAR + "actuated: [c]\n")
    assert "bar.loops.yaml:7" in str(problem.value)
    with pytest.raises(FileError, match="expected a list"):
        actuated("", SIDECAR + "actuated: a\n")
