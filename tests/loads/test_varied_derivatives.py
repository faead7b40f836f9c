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


BARS = {
    "four_bar": (
        "crank",
        {"coupler.mass": 3.1, "rocker.centre.x": 0.05, "coupler.inertia.yy": 0.2},
    ),
    "slider_crank": ("crank", {"rod.mass": 0.7, "big_end.xyz.z": 0.11}),
    "geared_five_bar": ("left_crank", {"left_coupler.mass": 2.0, "left_elbow.xyz.z": 0.11}),
    "spatial_slider_crank": ("crank", {"crank.xyz.y": 0.01, "rod.mass": 2.0, "gravity.x": 1.0}),
    "bricard": ("joint_1", {"rod_2.mass": 3.0, "rod_3.centre.x": 0.3}),
    "rssr": ("crank", {"coupler.mass": 2.0, "coupler.inertia.xx": 0.03, "rocker.xyz.x": 0.51}),
}


@pytest.mark.parametrize(
    ("name", "planar"), [*((name, False) for name in BARS), ("four_bar", True)]
)
def test_machines_with_loops_take_other_values_too(name, planar):
    crank, values = BARS[name]
    robot = mbd.load(OWN / f"{name}.urdf").as_planar(planar)
    other = mbd.Mechanism(Parameters.of(robot.model, values).variant(0))
    states = [
        other.assemble({crank: x}, fixed=crank, velocity={crank: 1.3}, acceleration={crank: -0.7})
        for x in (0.3, 0.4)
    ]
    state = [np.array([getattr(one, part) for one in states]) for part in "qva"]
    by = ["q", "v", *values]
    solver = robot.compile_derivatives(None, by, actuated=crank)
    found = solver(*state, parameters=values)
    expected = other.load_derivatives(*state, by=by, actuated=crank)
    np.testing.assert_array_equal(found.loads.unique, expected.loads.unique)
    assert found.loads.spins == expected.loads.spins
    np.testing.assert_array_equal(found.trusted, expected.trusted)
    for part in ("force", "moment", "actuation"):
        same(getattr(found.loads, part), getattr(expected.loads, part))
        ours, theirs = getattr(found, part), getattr(expected, part)
        known = np.isfinite(theirs)
        np.testing.assert_array_equal(np.isfinite(ours), known)
        same(ours[known], theirs[known])
    torque = f"{crank}.actuation"
    ours = solver.gradient(torque)(*state, parameters=values)
    theirs = other.compile_derivatives(None, by, actuated=crank).gradient(torque)(*state)
    same(ours.value, theirs.value)
    same(ours.gradient, theirs.gradient)


def test_a_state_that_does_not_close_the_varied_loops_is_refused():
    robot = mbd.load(OWN / "four_bar.urdf")
    state = robot.assemble({"crank": 0.4}, fixed="crank")
    solver = robot.compile_derivatives(["crank"], ["elbow.xyz.z"], actuated="crank")
    solver(state.q, state.v, state.a, parameters={})
    with pytest.raises(StateError, match=r"state 0 does not close the loops.*these values"):
        solver(state.q, state.v, state.a, parameters={"elbow.xyz.z": 0.3})


def test_counterweights_found_by_gradient_are_those_that_one_linear_step_finds():
    robot = mbd.load(OWN / "crank_rocker.urdf", gravity=(0, 0, 0))
    states = [
        robot.assemble({"crank": x}, fixed="crank", velocity={"crank": 30.0}) for x in (1.0, 3.0)
    ]
    turning = [np.array([getattr(state, part) for state in states]) for part in "qva"]
    names = ["crank.inertial.mz", "rocker.inertial.mz"]
    solver = robot.compile_derivatives(["root_joint"], names, actuated="crank")
    own = np.array([column.value for column in solver.columns])
    change = np.array([-0.08635, -0.35325])
    before, after = (solver(*turning, parameters=x).loads.force for x in (own, own + change))
    assert np.abs(after[:, 0, [0, 2]]).max() < 1e-7 * np.abs(before[:, 0, [0, 2]]).max()
    expected = robot.joint_loads(*turning, ["root_joint"], actuated="crank").force
    same(before, expected)
