"""Derivatives with other values of the machine's numbers: those of a machine that has these."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.forces import PointSpring
from mbd_bridge.model.parameters import Parameters
from tests.robots import OWN
from tests.trees import random_state, random_tree

VALUES = {
    "link1.mass": 3.25,
    "link2.centre": [0.1, -0.2, 0.05],
    "link3.inertia": [0.02, 0.03, 0.04],
    "joint3.xyz.z": 0.37,
    "joint4.rpy": [0.3, -0.8, 1.1],
    "gravity": [0.5, 0.0, -3.0],
}


def same(found, expected):
    scale = np.abs(expected).max() + 1e-9
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * scale)


def pair(seed):
    """Return a machine, states of it, and the machine built with other numbers."""
    rng = np.random.default_rng(seed)
    robot = mbd.Mechanism.build(random_tree(rng, 5), gravity=(1.0, -2.0, -9.0))
    states = zip(*(random_state(robot.model, rng) for _ in range(5)), strict=True)
    other = mbd.Mechanism(Parameters.of(robot.model, VALUES).variant(0))
    return robot, [np.array(x) for x in states], other


@pytest.mark.parametrize("seed", range(3))
def test_values_at_a_call_give_the_derivatives_of_the_machine_built_with_them(seed):
    robot, states, other = pair(seed)
    by = ["q", "v", *(name for name in VALUES if name != "joint3.xyz.z"), "joint3.xyz"]
    solver = robot.compile_derivatives(None, by, reaction=True)
    found = solver(*states, parameters=VALUES)
    expected = other.load_derivatives(*states, by=by, reaction=True)
    for part in ("force", "moment", "actuation", "reaction_force"):
        same(getattr(found, part), getattr(expected, part))
        same(getattr(found.loads, part), getattr(expected.loads, part))
    joint = robot.joint_names[1]
    ours = solver.gradient(f"{joint}.force")(*states, parameters=VALUES)
    theirs = other.compile_derivatives(None, by, reaction=True).gradient(f"{joint}.force")(*states)
    same(ours.value, theirs.value)
    same(ours.gradient, theirs.gradient)
    same(ours.loads.force, expected.loads.force)


def test_own_values_change_nothing_and_variants_stand_side_by_side():
    robot, (q, v, a), _ = pair(0)
    by = ["q", "link1.mass", "joint3.xyz", "link2.inertia"]
    solver = robot.compile_derivatives(None, by)
    whole = solver(q, v, a)
    same(solver(q, v, a, parameters={}).force, whole.force)
    own = [column.value for column in solver.columns if column.input == "p"]
    same(solver(q, v, a, parameters=own).force, whole.force)
    rows = np.tile(own, (3, 1)) * [[1.0], [1.5], [2.0]]
    for k, one in enumerate(rows):
        single = solver(q[0], v[0], a[0], parameters=one)
        same(solver(q[0], v[0], a[0], parameters=rows).force[k], single.force)
        same(solver(q[:3], v[:3], a[:3], parameters=rows).loads.force[0], whole.loads.force[0])
    masses = solver(q[0], v[0], a[0], parameters={"link1.mass": [1.0, 2.0, 3.0]})
    assert masses.force.shape == (3, len(solver.loads.joints), 3, len(solver.columns))


def test_inertial_numbers_and_those_of_force_elements_take_other_values():
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 7))
    links, points = ("lbr_iiwa_link_1", "lbr_iiwa_link_3"), ((0.3, 0.0, 0.2), (0.0, 0.1, 0.0))
    spring, stiff = (
        [PointSpring(links, points, size, free_length=0.3, name="spring")] for size in (40.0, 55.0)
    )
    by = ["q", "spring.stiffness", "lbr_iiwa_link_5.inertial"]
    solver = arm.compile_derivatives(None, by, forces=spring)
    found = solver(q, v, a, parameters={"spring.stiffness": 55.0})
    expected = arm.load_derivatives(q, v, a, by=by, forces=stiff)
    same(found.moment, expected.moment)
    same(found.loads.actuation, expected.loads.actuation)
    assert np.abs(found.by("spring")["lbr_iiwa_joint_2"].actuation).min() > 1e-4
    heavy = arm.with_payload("lbr_iiwa_link_5", 2.0, (0.0, 0.0, 0.3))
    own = {column.name: column.value for column in solver.columns}
    name = "lbr_iiwa_link_5.inertial"
    moved = {"m": 2.0, "mz": 0.6, "ixx": 0.18, "iyy": 0.18}
    given = {f"{name}.{word}": own[f"{name}.{word}"] + x for word, x in moved.items()}
    found = solver(q, v, a, parameters=given)
    expected = heavy.load_derivatives(q, v, a, by=by, forces=spring)
    same(found.loads.moment, expected.loads.moment)
    same(found.by("q").moment, expected.by("q").moment)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"lbr_iiwa_link_5.mass": -1.0}, ModelError, "a mass is not negative"),
        ({"lbr_iiwa_link_4.mass": 1.0}, ModelError, "no number named.*name it in by="),
        ([1.0, 2.0], ModelError, "expected values by name, or an array"),
        ({"lbr_iiwa_link_5.mass": [1, 2], "gravity.z": [1, 2, 3]}, ModelError, "same number"),
        (
            {"lbr_iiwa_link_5.mass": 1.0, "lbr_iiwa_link_5.inertial.m": 1.0},
            ModelError,
            "both say how mass is spread",
        ),
        ({"spring.damping": -1.0}, StateError, "damping"),
    ],
)
def test_values_that_the_machine_cannot_have_are_refused(parameters, error, message):
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    by = ["lbr_iiwa_link_5.mass", "lbr_iiwa_link_5.inertial", "gravity.z", "spring.damping"]
    links, points = ("lbr_iiwa_link_1", "lbr_iiwa_link_3"), ((0.3, 0.0, 0.2), (0.0, 0.1, 0.0))
    spring = [PointSpring(links, points, 40.0, 1.0, free_length=0.3, name="spring")]
    solver = arm.compile_derivatives("lbr_iiwa_joint_3", by, forces=spring)
    with pytest.raises(error, match=message):
        solver(*np.zeros((3, 7)), parameters=parameters)
