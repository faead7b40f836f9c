"""The project's own robots load everywhere, and are what their comments say."""

import csv
import warnings

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.files import read
from tests.formats.same import assert_same_mechanism, link_frames
from tests.robots import OWN, own_urdfs

POUND = 0.45359237
"""kg."""

INERTIA = 0.1129848290276167
"""kg m² in a lbf in s²: 4.4482216152605 N times 0.0254 m."""

KIMYOU97_TABLE_2 = [
    (229.5, 6.907, 10.0, 10.0),
    (122.0, 3.056, 7.0, 7.0),
    (63.5, 1.773, 4.868, 4.868),
    (45.0, 1.559, 1.7823, 1.7823),
    (24.5, 0.374, 1.197, 1.197),
    (12.5, 0.299, 0.37, 0.37),
    (8.0, 0.2, 0.2, 0.2),
]
"""Mass, Ixx, Iyy, Izz of links 1 to 7."""

MASS = {
    "five_dof_vehicle": (290 + 4500 + 2 * 96.6) * POUND,
    "humanoid": 50.0,
    "kuka_iiwa": 22.7,
    "pendulum": 1.0,
    "rrc_arm": 505 * POUND,
    "six_wheeler": 2575.0 + 6 * (227.38 + 25.0),
    "tracked_vehicle": 44000.0 + 12 * 450.0,
}
"""kg, with the base."""

FREEDOMS = {
    "five_dof_vehicle": 5,
    "humanoid": 28,
    "kuka_iiwa": 7,
    "pendulum": 1,
    "rrc_arm": 7,
    "six_wheeler": 12,
    "tracked_vehicle": 12,
}

ROUNDING = 1e-14


def model(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # our own files have nothing odd
        return read(own_urdfs()[name])


def test_these_are_our_models():
    assert set(own_urdfs()) >= set(FREEDOMS)


@pytest.mark.parametrize("name", FREEDOMS)
def test_masses_and_degrees_of_freedom_are_as_stated(name):
    description = model(name)
    mass = sum(link.inertia.mass for link in description.links if link.inertia)
    assert mass == pytest.approx(MASS[name], rel=ROUNDING)
    moving = [joint for joint in description.joints if joint.type != "fixed"]
    assert len(moving) == FREEDOMS[name]


@pytest.mark.parametrize("name", FREEDOMS)
def test_pinocchio_reads_the_same(name):
    assert_same_mechanism(model(name), pin.buildModelFromUrdf(str(own_urdfs()[name])))


@pytest.mark.parametrize("name", FREEDOMS)
def test_pybullet_reads_the_same(name):
    bullet = pytest.importorskip("pybullet")
    description = model(name)
    client = bullet.connect(bullet.DIRECT)
    try:
        flags = bullet.URDF_USE_INERTIA_FROM_FILE
        body = bullet.loadURDF(str(own_urdfs()[name]), flags=flags, physicsClientId=client)
        joints = range(bullet.getNumJoints(body, physicsClientId=client))
        info = [bullet.getJointInfo(body, j, physicsClientId=client) for j in joints]
        masses = {
            i[12].decode(): bullet.getDynamicsInfo(body, j, physicsClientId=client)[0]
            for j, i in enumerate(info)
        }
    finally:
        bullet.disconnect(client)
    assert sorted(i[1].decode() for i in info) == sorted(j.name for j in description.joints)
    for link in description.links:
        if link.name in masses:
            mass = link.inertia.mass if link.inertia else 0.0
            assert masses[link.name] == pytest.approx(mass, rel=1e-6)


@pytest.mark.parametrize("name", FREEDOMS)
def test_only_primitive_shapes_are_used(name):
    for link in model(name).links:
        assert {s.kind for s in (*link.visuals, *link.collisions)} <= {"box", "cylinder", "capsule"}


def test_rrc_arm_has_the_papers_table():
    links = {link.name: link.inertia for link in model("rrc_arm").links}
    for i, (mass, *moments) in enumerate(KIMYOU97_TABLE_2, 1):
        inertia = links[f"link_{i}"]
        assert inertia.mass == pytest.approx(mass * POUND, rel=ROUNDING)
        expected = np.diag(moments) * INERTIA
        np.testing.assert_allclose(inertia.central, expected, rtol=ROUNDING)


def test_rrc_arm_rolls_and_pitches_as_in_the_paper():
    axes = [joint.axis for joint in model("rrc_arm").joints if joint.type == "revolute"]
    roll, pitch = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    assert axes == [roll, pitch, roll, pitch, roll, pitch, roll]


def test_rrc_arms_links_are_as_long_as_the_rods_of_their_mass_and_moment():
    description = model("rrc_arm")
    inertias = {link.name: link.inertia for link in description.links}
    for joint in description.joints[1:]:
        inertia = inertias[joint.parent]
        rod = np.sqrt(12 * inertia.central[1, 1] / inertia.mass)
        assert joint.origin.translation[0] == pytest.approx(rod, abs=0.0051)
        assert 2 * inertia.centre[0] == pytest.approx(joint.origin.translation[0], rel=ROUNDING)


def test_kuka_like_arm_stands_upright_and_has_exact_right_angles():
    description = model("kuka_iiwa")
    names = [joint.name for joint in description.joints]
    assert names == [*(f"lbr_iiwa_joint_{i}" for i in range(1, 8)), "lbr_iiwa_joint_ee"]
    flange = link_frames(description)["lbr_iiwa_link_ee"]
    assert np.array_equal(flange.rotation, np.eye(3))
    np.testing.assert_allclose(flange.translation, [0, 0, 1.28], atol=1e-15)
    for joint in description.joints:
        assert np.array_equal(np.abs(joint.origin.rotation), np.abs(joint.origin.rotation).round())


def test_humanoid_stands_on_its_soles():
    description = model("humanoid")
    frames = link_frames(description)
    for side in ("left", "right"):
        assert frames[f"{side}_sole"].translation[2] == pytest.approx(-0.88)
    assert frames["left_palm"].translation[1] == -frames["right_palm"].translation[1] > 0


def test_shipped_motion_is_its_formula():
    with (OWN / "kuka_iiwa_motion.csv").open() as stream:
        assert "A_i sin(pi k_i t / 2)^2" in stream.readline()
        names, *rows = csv.reader(stream)
    moving = [joint for joint in model("kuka_iiwa").joints if joint.type != "fixed"]
    assert names == ["time", *(joint.name for joint in moving)]
    table = np.array(rows, dtype=float)
    t = table[:, :1]
    np.testing.assert_allclose(t[:, 0], np.arange(201) / 100, atol=1e-12)
    amplitudes = np.array([0.8, 0.6, -0.5, -1.2, 0.7, 0.9, -1.0])
    waves = np.array([1, 1, 2, 1, 2, 2, 3])
    expected = amplitudes * np.sin(np.pi * waves * t / 2) ** 2
    np.testing.assert_allclose(table[:, 1:], expected, atol=1e-12)
    for joint, q in zip(moving, table.T[1:], strict=True):
        assert joint.limits.lower < q.min()
        assert q.max() < joint.limits.upper
