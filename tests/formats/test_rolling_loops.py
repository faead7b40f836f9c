"""A rolling wheel arrives alike from both ways of writing it, and its faults are explained."""

import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files import read
from tests.formats.texts import BAR, CONSTRAINT, loops_of


@pytest.fixture
def beside(tmp_path):
    """Return a function that reads the bar with the given sidecar."""

    def read_with(text):
        (tmp_path / "bar.urdf").write_text(BAR.format(""))
        (tmp_path / "bar.loops.yaml").write_text(text)
        return read(tmp_path / "bar.urdf").loops

    return read_with


WHEEL = """<loop_joint name="contact" type="rolling" radius="0.3">
<link1 link="base" xyz="0 0 1"/><link2 link="coupler" xyz="0 0 0.5"/>
<axis xyz="0 0 1"/><axis2 xyz="0 2 0"/></loop_joint>"""

WHEEL_BESIDE = """loops:
  - name: contact
    type: rolling
    predecessor: {link: base, xyz: [0, 0, 1]}
    successor: {link: coupler, xyz: [0, 0, 0.5]}
    axis: [0, 0, 1]
    axis2: [0, 2, 0]
    radius: 0.3
"""


def test_a_rolling_wheel_is_read_from_the_file_and_beside_it(beside):
    (inside,), (outside,) = loops_of(WHEEL), beside(WHEEL_BESIDE)
    for loop in (inside, outside):
        assert (loop.type, loop.radius) == ("rolling", 0.3)
        assert (loop.axis, loop.axis2) == ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
        assert loop.predecessor.frame.translation.tolist() == [0.0, 0.0, 1.0]
        assert loop.successor.frame.translation.tolist() == [0.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('radius="0.3"', 'radius="-0.3"', "radius.*above 0 m; got -0.3"),
        (' radius="0.3"', "", "radius"),
        ('<axis2 xyz="0 2 0"/>', "", "axis2"),
        ('"rolling"', '"spherical"', "radius is for rolling loops"),
    ],
)
def test_a_wheel_that_is_none_is_refused(old, new, said):
    with pytest.raises(FileError, match=said):
        loops_of(WHEEL.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("radius: 0.3", "radius: 0", "above 0 m; got 0"),
        ("    radius: 0.3\n", "", "'radius' is missing"),
        ("    axis2: [0, 2, 0]\n", "", "'axis2' is missing"),
        ("type: rolling", "type: spherical", "radius is for rolling loops"),
    ],
)
def test_a_wheel_that_is_none_is_refused_beside_the_file(old, new, said, beside):
    with pytest.raises(FileError, match=said):
        beside(WHEEL_BESIDE.replace(old, new))


def test_a_wheel_is_no_constraint_of_urdfdom():
    with pytest.raises(FileError, match="written as a <loop_joint>"):
        loops_of(CONSTRAINT.replace("revolute", "rolling"))
