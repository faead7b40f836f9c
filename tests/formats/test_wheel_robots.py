"""Everything that pinocchio reads in the two wheels we read, and it means the same."""

import warnings
from functools import cache
from importlib.util import find_spec

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.base.errors import FileError, MbdWarning
from mbd_bridge.files import read
from mbd_bridge.model.description import Description
from tests.formats.same import ROUNDING, assert_same_mechanism, link_frames
from tests.robots import installed, random_objects, robots, wheel_urdfs

REFUSED_BY_BOTH = {
    "erd/ur/ur3": "at least one <link",
    "pb/bicycle/bike": "not by commas",
    "pb/biped/biped2d_pybullet": "'-1.57.'",
    "pb/husky/husky": "xacro expression",
    "pb/quadruped/microtaur/microtaur": "expected 3 numbers",
    "pb/torus_deform": "at least one <link",
}
"""Files that say nothing or that no reader can know the meaning of, and what we say of them."""

READ_BY_US_ONLY = {"pb/humanoid/humanoid", "pb/spherical_joint_limit"}
"""Valid files with spherical joints, which urdfdom does not know."""


@cache
def ours(name: str) -> Description | FileError:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        try:
            return read(wheel_urdfs()[name])
        except FileError as error:
            return error


def theirs(name: str) -> pin.Model | None:
    try:
        return pin.buildModelFromUrdf(str(wheel_urdfs()[name]))
    except ValueError:
        return None


def test_the_wheels_are_there():
    pybullet = find_spec("pybullet") is not None
    assert len([n for n in robots() if n.startswith("erd/")]) == 69
    assert len([n for n in robots() if n.startswith("pb/")]) == 95 * pybullet
    assert len(wheel_urdfs()) == 69 + 1095 * pybullet
    assert len(random_objects()) == 1000 * pybullet


@pytest.mark.parametrize("name", robots())
def test_same_mechanism_as_in_pinocchio(name):
    description, model = ours(name), theirs(name)
    if name in REFUSED_BY_BOTH:
        assert isinstance(description, FileError)
        assert REFUSED_BY_BOTH[name] in str(description)
        assert model is None
        return
    assert isinstance(description, Description), str(description)
    if name in READ_BY_US_ONLY:
        assert model is None
        assert any(joint.type == "spherical" for joint in description.joints)
        if name == "pb/humanoid/humanoid":
            kinds = [joint.type for joint in description.joints]
            assert (kinds.count("spherical"), kinds.count("revolute")) == (8, 4)
            assert len(description.links) == 16
        return
    assert model is not None
    assert_same_mechanism(description, model)


def test_random_objects_are_the_same_bodies_as_in_pinocchio():
    for name in random_objects():
        description = ours(name)
        assert isinstance(description, Description), str(description)
        model = theirs(name)
        assert model is not None, name
        assert_same_mechanism(description, model)


@pytest.mark.parametrize(
    "name", [n for n in robots() if n not in {*REFUSED_BY_BOTH, *READ_BY_US_ONLY}]
)
def test_same_axes_and_limits_as_in_pinocchio(name):
    """At zero coordinates: the column of the Jacobian is the axis, seen from the root."""
    description, model = ours(name), theirs(name)
    frames = link_frames(description)
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    for joint in description.joints:
        if joint.type not in {"revolute", "continuous", "prismatic"}:
            continue
        index = model.getJointId(joint.name)
        axis = frames[joint.child].rotation @ np.array(joint.axis)
        column = data.J.reshape(6, -1)[:, model.idx_vs[index]]
        part = column[:3] if joint.type == "prismatic" else column[3:]
        np.testing.assert_allclose(axis, part, atol=ROUNDING)
        if joint.type != "continuous" and joint.limits.lower is not None:
            lower = model.lowerPositionLimit[model.idx_qs[index]]
            upper = model.upperPositionLimit[model.idx_qs[index]]
            assert (joint.limits.lower, joint.limits.upper) == (lower, upper)


def test_published_warnings_are_said_aloud():
    """Facts about the wheels that a user should hear of, and that must not stop the reading."""
    notes = {name: " ".join(ours(name).notes) for name in robots() if name not in REFUSED_BY_BOTH}
    assert "the largest exceeds" in notes["erd/allegro_hand/allegro_left_hand"]
    assert "stay free" in notes["erd/alex/alex_psyonic_hands"]
    assert "cannot mimic" in notes["erd/talos/talos_reduced"]
    for name in installed("pb/cube_no_rotation"):
        assert "reversed" in notes[name]
    for name in installed("pb/quadruped/spirit40newer"):
        assert "more than one <axis>" in notes[name]


def test_a_warning_is_one_line_however_many_meshes_are_missing(tmp_path):
    path = wheel_urdfs()["erd/a1/a1"]
    copy = tmp_path / "a1.urdf"
    copy.write_bytes(path.read_bytes())
    with pytest.warns(MbdWarning, match="meshes not found.*and \\d+ more") as caught:
        description = read(copy)
    assert len([w for w in caught if "meshes" in str(w.message)]) == 1
    assert all(shape.path is None for link in description.links for shape in link.visuals)
