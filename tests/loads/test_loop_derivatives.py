"""Derivatives of loads in loops: imaginary motions of the whole machine, and differences."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import trace
from mbd_bridge.solve.loop_terms import loop_terms
from mbd_bridge.solve.spins import spun
from tests.complex_steps import evaluated, varied
from tests.machines import four_bar
from tests.robots import OWN

H = 1e-20

BARS = {
    "four_bar": ("crank", ["coupler.mass", "elbow.xyz.x", "coupler.centre.z"]),
    "rssr": ("crank", ["coupler.inertia.xx", "rocker.xyz.x", "coupler.centre"]),
    "geared_five_bar": ("left_crank", ["left_coupler.mass", "left_elbow.xyz.x"]),
    "spatial_slider_crank": ("crank", ["slide.rpy.yaw", "crank.xyz.y", "rod.mass"]),
    "bricard": ("joint_1", ["rod_2.mass", "rod_2.centre.x", "gravity.z"]),
    "slider_crank": ("crank", ["big_end.xyz.z", "rod.inertia.yy"]),
}


def state_of(robot, crank, motion=(0.4, 1.3, -0.7)):
    x, rate, acceleration = motion
    found = robot.assemble(
        {crank: x}, fixed=crank, velocity={crank: rate}, acceleration={crank: acceleration}
    )
    return found.q, found.v, found.a


def imaginary_loads(robot, crank, state, column):
    """Return the derivative of all loads and of the actuators by one number.

    The whole machine is solved in complex numbers: its loops, its multipliers, its loads.
    """
    solver = robot.compile_derivatives(None, column, actuated=crank)
    model, active = robot.model, solver.loads.inverse.active
    moved = [n for n in range(model.nv) if not active[n]]
    place = solver.columns[[c.name for c in solver.columns].index(column)]
    p = solver.parameters.astype(complex)
    q, v, a = (np.array(x, dtype=complex) for x in state)
    targets = {"p": p, "q": q, "v": v, "a": a}
    targets[place.input][place.number] += 1j * H

    def loops(q, v, a, p):
        own, _ = solver.variant(p)
        found = constraints(own, state_vectors(own, q, v))
        return found.phi, found.phi_q, found.phi_q @ v, found.phi_q @ a - found.gamma

    def balance(q, v, a, p):
        own = solver.variant(p)[0]
        terms = loop_terms(own, q, v, a, {})
        state = state_vectors(own, q, v)
        return terms.A, terms.b, spun(solver.loads.inverse.spins_in(own), own, state, a, terms.b)[0]

    sizes = {"q": model.nq, "v": model.nv, "a": model.nv, "p": len(p)}
    equations, terms = trace(loops, sizes), trace(balance, sizes)
    for _ in range(3):
        for x, which in ((q, 0), (v, 2), (a, 3)):
            found = evaluated(equations, {"q": q, "v": v, "a": a, "p": p})
            phi_q = found[1].reshape(-1, model.nv)
            x[moved] -= np.linalg.lstsq(phi_q[:, moved], found[which], rcond=1e-5)[0]
    a[:] = evaluated(terms, {"q": q, "v": v, "a": a, "p": p})[2]
    A, b, _ = evaluated(terms, {"q": q, "v": v, "a": a, "p": p})
    lam = np.linalg.lstsq(A.reshape(model.nv, -1)[~active], b[~active], rcond=1e-5)[0]
    inputs = {"q": q, "v": v, "a": a, "lam": lam / model.row_scale, "p": p}
    graph = trace(solver.function, {name: len(x) for name, x in inputs.items()})
    force, moment, actuation = evaluated(graph, inputs)
    wrench = np.hstack([force.reshape(-1, 3), moment.reshape(-1, 3)])
    return np.imag(wrench) / H, np.imag(actuation) / H


@pytest.mark.parametrize("name", BARS)
def test_derivatives_in_loops_are_those_of_imaginary_motions(name):
    crank, numbers = BARS[name]
    robot = mbd.load(OWN / f"{name}.urdf")
    state = state_of(robot, crank)
    found = robot.load_derivatives(*state, by=["q", "v", "a", *numbers], actuated=crank)
    assert found.held == (crank,)
    assert found.trusted.all()
    # files round their axes: where redundant rows are off by 1e-6, so is what they are taken for
    tolerance = 1e-5 if name == "bricard" else 1e-9 if name == "slider_crank" else 1e-10
    for k, column in enumerate(found.columns):
        wrench, actuation = imaginary_loads(robot, crank, state, column.name)
        known = found.loads.unique
        size = np.abs(wrench[known]).max() + 1.0
        np.testing.assert_allclose(
            found.wrench[..., k][known], wrench[known], atol=tolerance * size
        )
        assert np.isnan(found.wrench[..., k][~known]).all()
        sure = found.loads.actuation_unique
        np.testing.assert_allclose(
            found.actuation[..., k][sure], actuation[sure], atol=tolerance * size
        )


def test_other_coordinates_can_be_the_ones_that_move():
    robot = mbd.load(OWN / "four_bar.urdf")
    state = state_of(robot, "crank")
    joints = ["coupler_pin", "crank"]
    by_crank = robot.load_derivatives(*state, joints, actuated="crank")
    by_rocker = robot.load_derivatives(*state, joints, along="rocker", actuated="crank")
    assert by_rocker.column_names == ("q.rocker", "v.rocker", "a.rocker")
    ratio = state[1][robot.model.velocity_names.index("crank")]
    ratio = ratio / state[1][robot.model.velocity_names.index("rocker")]
    known = by_crank.loads.unique
    for which in "va":  # the lowest derivative of each is in proportion: dv_crank = ratio dv_rocker
        ours, theirs = by_rocker.by(which).wrench[known], by_crank.by(which).wrench[known]
        if which == "a":
            np.testing.assert_allclose(ours, ratio * theirs, rtol=1e-9, atol=1e-10)
    chosen = robot.load_derivatives(*state, joints, along="independent", actuated="crank")
    assert len(chosen.held) == 1


def test_fixed_motions_leave_loops_to_open_and_masses_do_not_care():
    robot = mbd.load(OWN / "four_bar.urdf")
    state = state_of(robot, "crank")
    by = ["coupler.mass", "coupler.centre.x", "gravity.z"]
    fixed = robot.load_derivatives(*state, by=by, along="fixed", actuated="crank")
    closed = robot.load_derivatives(*state, by=by, actuated="crank")
    assert fixed.held is None
    np.testing.assert_allclose(fixed.wrench, closed.wrench, rtol=1e-9, atol=1e-10)
    longer = robot.load_derivatives(*state, by="elbow.xyz.x", along="fixed", actuated="crank")
    again = robot.load_derivatives(*state, by="elbow.xyz.x", actuated="crank")
    assert np.nanmax(np.abs(longer.wrench - again.wrench)) > 1.0


def test_loads_of_many_closed_states_have_the_derivatives_of_each():
    robot = mbd.load(OWN / "rssr.urdf")
    states = [state_of(robot, "crank", (x, 1.0, 0.5)) for x in np.linspace(0.1, 1.0, 11)]
    by = ["q", "coupler.mass", "rocker.xyz.x"]
    arrays = [np.array(x) for x in zip(*states, strict=True)]
    batch = robot.load_derivatives(*arrays, by=by, actuated="crank", reaction=True)
    one = robot.load_derivatives(*states[4], by=by, actuated="crank", reaction=True)
    assert batch.trusted.shape == (11, 3)
    for part in ("force", "moment", "actuation", "reaction_force", "reaction_moment"):
        np.testing.assert_array_equal(getattr(batch, part)[4], getattr(one, part))


def test_a_change_that_opens_a_redundant_loop_has_no_derivative():
    robot = mbd.load(OWN / "four_bar.urdf")
    state = state_of(robot, "crank")
    found = robot.load_derivatives(*state, by=["elbow.xyz"], actuated="crank")
    assert found.trusted.tolist() == [True, False, True]
    assert np.isnan(found.wrench[..., 1]).all()


def test_near_a_singular_position_there_is_a_status_and_no_number():
    robot = four_bar()
    state = [np.array([x, -x, x]) for x in (np.pi / 2, 0.0, 0.0)]
    found = robot.load_derivatives(*state, by="q", actuated="crank", check=False)
    assert not found.trusted.any()
    assert np.isnan(found.wrench).all()


@pytest.mark.parametrize("parameters", [None, {"coupler.mass": 2.0}])
def test_where_loops_are_open_no_derivative_is_trusted(parameters):
    robot = mbd.load(OWN / "four_bar.urdf")
    solver = robot.compile_derivatives(["crank"], ["q", "coupler.mass"], actuated="crank")
    q, v, a = (np.tile(x, (2, 1)) for x in state_of(robot, "crank"))
    q[0, -1] += 0.1
    given = {"check": False, "parameters": parameters}
    assert solver(q, v, a, **given).trusted.tolist() == [[False, False], [True, True]]
    assert not solver(q[0], v[0], a[0], **given).trusted.any()
    gradient = solver.gradient("crank.actuation")(q, v, a, **given)
    assert gradient.trusted.tolist() == [False, True]
    assert np.isnan(gradient.gradient[0]).all() and np.isfinite(gradient.gradient[1]).all()


def test_what_is_declared_planar_stays_in_its_plane():
    robot = mbd.load(OWN / "four_bar.urdf").as_planar()
    state = state_of(robot, "crank")
    found = robot.load_derivatives(*state, by=["q", "coupler.mass"], actuated="crank")
    assert np.isfinite(found.wrench).all()
    assert not found.force[:, 1].any()
    assert not found.moment[:, [0, 2]].any()
    h = 1e-6
    ahead, behind = (
        varied(robot, "coupler.mass", s).joint_loads(*state, actuated="crank").wrench
        for s in (h, -h)
    )
    plane = [0, 2, 4]
    difference = ((ahead - behind) / (2 * h))[:, plane]
    np.testing.assert_allclose(found.wrench[..., 1][:, plane], difference, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"along": ["crank", "rocker"]}, "as many coordinates as the mechanism has degrees of"),
        ({"along": "nothing"}, "along: no coordinate named 'nothing'"),
        ({"along": "crank", "open_tree": True}, "no loops are closed here"),
        ({"by": "q.rocker"}, "no number named 'q.rocker'.*along= chooses others"),
    ],
)
def test_what_cannot_move_the_loops_is_refused(options, message):
    robot = mbd.load(OWN / "four_bar.urdf")
    with pytest.raises(ModelError, match=message):
        robot.compile_derivatives(None, **{"by": "q", "actuated": "crank"} | options)


def test_a_crank_at_a_dead_centre_everywhere_is_refused():
    robot = mbd.load(OWN / "rssr.urdf")
    spin = [n for n in robot.model.velocity_names if n.startswith("ball")]
    with pytest.raises(ModelError, match="as many coordinates"):
        robot.compile_derivatives(None, "q", along=spin, actuated="crank")


def test_springs_between_links_of_loops_are_differentiated_too():
    robot = mbd.load(OWN / "rssr.urdf")
    spring = mbd.forces.JointSpring("rocker", stiffness=5.0, rest=0.3, name="spring")
    state = state_of(robot, "crank")
    found = robot.load_derivatives(*state, by="spring.stiffness", actuated="crank", forces=[spring])

    def loads(k):
        return robot.joint_loads(*state, actuated="crank", forces=[replace(spring, stiffness=k)])

    difference = (loads(5.001).wrench - loads(4.999).wrench) / 0.002
    np.testing.assert_allclose(found.wrench[..., 0], difference, atol=1e-9)


def three_turns():
    """Return a four-bar, and three of its states."""
    robot = mbd.load(OWN / "four_bar.urdf")
    states = [state_of(robot, "crank", (x, 1.0, 0.5)) for x in (0.3, 0.5, 0.7)]
    return robot, [np.array(x) for x in zip(*states, strict=True)]


def test_tables_of_many_states_name_numbers_without_a_derivative():
    robot, states = three_turns()
    by = ["q", "elbow.xyz"]
    found = robot.load_derivatives(*states, ["coupler_pin"], by, actuated="crank")
    for tables in (found.tables(), found.sensitivities().tables()):
        assert "no derivative is determined here by elbow.xyz.y" in str(tables[0])
    largest = np.nanmax(np.abs(found["coupler_pin"].force[:, 0, 0]))
    assert np.abs(found.tables()[0].columns[0].values[0]) == largest


def test_no_states_have_an_empty_table_and_no_sensitivities():
    robot, states = three_turns()
    none = robot.load_derivatives(*(x[:0] for x in states), ["crank"], "q", actuated="crank")
    assert "0 states" in none.tables()[0].title
    with pytest.raises(StateError, match="derivatives at N states, got none"):
        none.sensitivities()


@pytest.mark.parametrize("name", ["geared_five_bar", "four_bar", "spatial_slider_crank"])
def test_the_state_follows_as_assembled_anew(name):
    crank, numbers = BARS[name]
    robot = mbd.load(OWN / f"{name}.urdf")
    solver = robot.compile_derivatives([crank], ["q", "v", "a", *numbers], actuated=crank)
    motion, h = np.array([0.4, 1.3, -0.7]), 1e-6
    state = state_of(robot, crank, motion)
    found = solver.state_rates(*state)
    for k, column in enumerate(found.columns):
        if column.input == "p":
            machines, motions = (varied(robot, column.name, s) for s in (h, -h)), [motion] * 2
        else:
            step = h * np.eye(3)["qva".index(column.input)]
            machines, motions = [robot] * 2, [motion + step, motion - step]
        ahead, behind = (
            state_of(*each) for each in zip(machines, [crank] * 2, motions, strict=True)
        )
        for part, rates in enumerate(found[:3]):
            difference = (ahead[part] - behind[part]) / (2.0 * h)
            np.testing.assert_allclose(rates[:, k], difference, atol=3e-7)
    tree = mbd.load(OWN / "kuka_iiwa.urdf").compile_derivatives(["lbr_iiwa_joint_2"])
    with pytest.raises(ModelError, match="no loops are closed here"):
        tree.state_rates(*np.zeros((3, 7)))
