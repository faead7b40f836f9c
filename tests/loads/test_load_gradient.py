"""Gradients of numbers made of loads: backwards is what forwards gives, in trees and loops."""

import pickle

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import KernelError, ModelError, StateError
from mbd_bridge.kernels import c_source
from tests.kernels.c_library import COMPILER, build, pointers
from tests.robots import OWN
from tests.trees import random_state, random_tree

BARS = {
    "four_bar": ("crank", "coupler_pin", ["coupler.mass", "elbow.xyz.x"]),
    "rssr": ("crank", "cut_ball", ["coupler.inertia", "rocker.xyz.x", "coupler.centre"]),
    "geared_five_bar": ("left_crank", "pin", ["left_coupler.mass", "left_elbow.xyz.x"]),
    "spatial_slider_crank": ("crank", "slide", ["slide.rpy.yaw", "crank.xyz.y", "rod.mass"]),
}


def same(gradient, expected):
    scale = np.nanmax(np.abs(expected)) + 1e-6
    np.testing.assert_allclose(gradient, expected, atol=1e-11 * scale)


@pytest.mark.parametrize("seed", range(4))
def test_a_gradient_is_the_row_of_the_derivatives(seed):
    rng = np.random.default_rng(seed)
    robot = mbd.Mechanism.build(random_tree(rng, 5, mimics=0.3), gravity=(1.0, -2.0, -9.0))
    states = [random_state(robot.model, rng) for _ in range(9)]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    joint = robot.joint_names[seed]
    by = ["q", "v", "a", "link1.mass", "link2.inertia", "joint3.xyz", "gravity"]
    solver = robot.compile_derivatives(joint, by)
    whole = solver(q, v, a)
    found = solver.gradient(f"{joint}.my")(q, v, a)
    np.testing.assert_allclose(found.value, whole.loads.moment[:, 0, 1], rtol=1e-12, atol=1e-12)
    same(found.gradient, whole[joint].wrench[:, 4])
    length = solver.gradient(f"{joint}.force")(q, v, a)
    force = whole.loads.force[:, 0]
    same(
        length.gradient * length.value[:, None], np.einsum("ni,nik->nk", force, whole[joint].force)
    )


@pytest.mark.parametrize("along", [None, "fixed"])
@pytest.mark.parametrize("name", BARS)
def test_in_loops_too_the_loops_carry_the_rest(name, along):
    crank, joint, numbers = BARS[name]
    robot = mbd.load(OWN / f"{name}.urdf")
    state = robot.assemble(
        {crank: 0.4}, fixed=crank, velocity={crank: 1.3}, acceleration={crank: -0.7}
    )
    by = ["q", "v", "a", *numbers]
    solver = robot.compile_derivatives([joint, crank], by, actuated=crank, along=along)
    whole = solver(state.q, state.v, state.a)
    torque = solver.gradient(f"{crank}.actuation")(state.q, state.v, state.a)
    same(torque.gradient, whole[crank].actuation[0])

    def number(loads):
        fx, _, fz = loads[joint].force
        return fx * fx + np.sin(fz) * loads[crank].actuation[0]

    found = solver.gradient(number)(state.q, state.v, state.a)
    (fx, _, fz), tau = whole.loads[joint].force, whole.loads[crank].actuation[0]
    dfx, _, dfz = whole[joint].force
    expected = 2 * fx * dfx + np.cos(fz) * tau * dfz + np.sin(fz) * whole[crank].actuation[0]
    same(found.gradient, expected)
    assert found.trusted


def test_what_is_not_determined_has_no_gradient():
    robot = mbd.load(OWN / "four_bar.urdf")
    state = robot.assemble({"crank": 0.4}, fixed="crank")
    solver = robot.compile_derivatives(["crank"], "q", actuated="crank")
    found = solver.gradient("crank.fy")(state.q, state.v, state.a)
    assert not found.trusted
    assert np.isnan(found.gradient).all()
    assert solver.gradient("crank.fx")(state.q, state.v, state.a).trusted


@pytest.mark.parametrize(
    ("of", "error", "message"),
    [
        ("elbow.fx", ModelError, "of: no joint named 'elbow'"),
        ("lbr_iiwa_joint_2.fw", ModelError, "of: no part of a load named 'fw'"),
        (lambda loads: loads["lbr_iiwa_joint_2"].force, ModelError, "returns one number"),
        (lambda loads: max(loads["lbr_iiwa_joint_2"].force), KernelError, "truth"),
    ],
)
def test_a_number_that_cannot_be_derived_is_refused(of, error, message):
    solver = mbd.load(OWN / "kuka_iiwa.urdf").compile_derivatives(["lbr_iiwa_joint_2"], "q")
    with pytest.raises(error, match=message):
        solver.gradient(of)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_derivatives_in_c_have_the_digits_of_the_kernel(tmp_path):
    robot = mbd.load(OWN / "rssr.urdf")
    state = robot.assemble({"crank": 0.4}, fixed="crank", velocity={"crank": 1.3})
    solver = robot.compile_derivatives(["cut_ball"], ["q", "coupler.mass"], actuated="crank")
    _, inputs = solver.loads.with_inputs((state.q, state.v, state.a), None, {})
    kernels = {"jacobian": solver.kernel, "row": solver.gradient("cut_ball.fx").kernel}
    for name, kernel in kernels.items():
        folder = tmp_path / name
        folder.mkdir()
        library = build(c_source(kernel, name), folder, "-march=native")
        given = [np.array(x, dtype=float) for x in inputs]
        out = [np.empty(shape) for shape in kernel.shapes]
        getattr(library, name)(*pointers(given), *pointers(out))
        for ours, theirs in zip(kernel(*inputs), out, strict=True):
            np.testing.assert_array_equal(theirs, ours)


def test_solvers_travel_to_other_processes():
    solver = mbd.load(OWN / "kuka_iiwa.urdf").compile_derivatives(["lbr_iiwa_joint_2"], "q")
    gradient = pickle.loads(pickle.dumps(solver.gradient("lbr_iiwa_joint_2.force")))
    state = np.full((3, 7), 0.3)
    expected = pickle.loads(pickle.dumps(solver))(*state)
    force = expected.loads.force[0]
    found = gradient(*state)
    same(found.value * found.gradient, force @ expected["lbr_iiwa_joint_2"].force)


def test_a_function_of_a_joint_that_was_not_asked_for_is_told_which_there_are():
    arm = mbd.load(mbd.models()["kuka_iiwa"])
    solver = arm.compile_derivatives(["lbr_iiwa_joint_4"], by=["q"])
    with pytest.raises(
        ModelError, match=r"of: .*lbr_iiwa_joint_5.*did you mean 'lbr_iiwa_joint_4'"
    ):
        solver.gradient(lambda loads: loads["lbr_iiwa_joint_5"].force[0])


def test_a_length_at_zero_has_no_gradient():
    robot = mbd.load(OWN / "kuka_iiwa.urdf", gravity=(0, 0, 0))
    force = robot.compile_derivatives(["lbr_iiwa_joint_3"], "q").gradient("lbr_iiwa_joint_3.force")
    still = np.zeros((2, 7))
    found = force(np.full((2, 7), 0.3), [np.zeros(7), np.ones(7)], still)
    assert found.trusted.tolist() == [False, True]
    assert np.isnan(found.gradient[0]).all()
    assert np.isfinite(found.gradient[1]).all()


MACHINES = {
    "kuka_iiwa": (["lbr_iiwa_joint_2", "lbr_iiwa_joint_5"], ["lbr_iiwa_link_4.mass", "gravity"]),
    "four_bar": (["coupler_pin", "crank"], ["coupler.mass", "elbow.xyz.x"]),
    "rssr": (["rocker", "crank"], ["coupler.inertia.xx", "rocker.xyz.x"]),
}


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_products_with_vectors_are_those_with_the_whole_jacobian(name, values):
    robot, rng = mbd.load(OWN / f"{name}.urdf"), np.random.default_rng(5)
    joints, numbers = MACHINES[name]
    options = {}
    state = rng.uniform(-1.0, 1.0, (3, 2, robot.nv))
    if robot.model.has_loops:
        options = {"actuated": "crank"}
        closed = [
            robot.assemble({"crank": x}, fixed="crank", velocity={"crank": 1.0}) for x in (0.3, 0.5)
        ]
        state = [np.array([getattr(one, part) for one in closed]) for part in "qva"]
    solver = robot.compile_derivatives(joints, ["q", "v", "a", *numbers], **options)
    given = {"parameters": {} if values else None}
    whole = solver(*state, **given)
    direction = rng.uniform(-1.0, 1.0, len(solver.columns))
    named = dict(zip(whole.column_names, direction, strict=True))
    found = solver.jvp(*state, named, **given)
    assert found.column_names == (" + ".join(named),)
    size = np.nanmax(np.abs(whole.wrench))
    for part in ("force", "moment", "actuation"):
        ours, theirs = getattr(found, part)[..., 0], getattr(whole, part) @ direction
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * size)
    weights = {joints[0]: rng.uniform(-1.0, 1.0, 6), f"{joints[1]}.actuation": [2.0]}
    if robot.model.has_loops:  # other components are not determined in a redundant plane
        known = whole.loads.unique[0, 0]
        weights[joints[0]] *= known
    found = solver.vjp(*state, weights, **given)
    first, second = whole[joints[0]], whole[joints[1]]
    load = np.nan_to_num(whole.loads[joints[0]].wrench) @ weights[joints[0]]
    np.testing.assert_allclose(
        found.value, load + 2.0 * whole.loads[joints[1]].actuation[..., 0], atol=1e-11 * size
    )
    right = np.einsum("...ik,i->...k", np.nan_to_num(first.wrench), weights[joints[0]])
    right = right + 2.0 * second.actuation[..., 0, :]
    np.testing.assert_allclose(found.gradient, right, rtol=0.0, atol=1e-10 * size)
    assert found.trusted.all()


def test_weights_of_what_no_joint_has_are_refused():
    solver = mbd.load(OWN / "kuka_iiwa.urdf").compile_derivatives(["lbr_iiwa_joint_2"])
    state = np.zeros((3, 7))
    for weights, error, message in (
        ({"lbr_iiwa_joint_2.f": 1.0}, ModelError, "no part of a load named 'f'"),
        ({"lbr_iiwa_joint_3": 1.0}, ModelError, "no joint named"),
        ({"lbr_iiwa_joint_2.force": [1.0, 2.0]}, StateError, "expected 3 numbers for each state"),
    ):
        with pytest.raises(error, match=message):
            solver.vjp(*state, weights)


@pytest.mark.parametrize("values", [None, (0.0, 0.0, 1.0)])
def test_a_gradient_has_no_number_by_what_opens_a_redundant_loop(values):
    bar = mbd.load(OWN / "four_bar.urdf")
    found = bar.assemble({"crank": 0.7}, fixed="crank", velocity={"crank": 2.0})
    state = found.q, found.v, found.a
    solver = bar.compile_derivatives(["coupler_pin"], ["elbow.xyz", "q"], actuated="crank")
    expected = solver(*state, parameters=values)["coupler_pin"].force[0]
    assert np.isnan(expected).tolist() == [False, True, False, False]
    for backward in (
        solver.gradient("coupler_pin.fx")(*state, parameters=values),
        solver.vjp(*state, {"coupler_pin.fx": [1.0]}, parameters=values),
    ):
        assert backward.trusted
        same(backward.gradient, expected)


def test_a_direction_of_as_many_states_as_joints_is_the_same_at_all():
    robot = mbd.load(OWN / "kuka_iiwa.urdf")
    q, v, a = np.random.default_rng(0).normal(size=(3, 7, 7))
    solver = robot.compile_derivatives("lbr_iiwa_joint_4", ["q", "lbr_iiwa_link_5.mass"])
    dq, dm = np.arange(7.0), np.linspace(-1.0, 1.0, 7)
    whole = solver(q, v, a).wrench[:, 0]
    along = solver.jvp(q, v, a, {"q": dq, "lbr_iiwa_link_5.mass": dm}).wrench[:, 0, :, 0]
    same(along, whole[..., :7] @ dq + whole[..., 7] * dm[:, None])
    back = solver.vjp(q, v, a, {"lbr_iiwa_joint_4.fx": dm})
    same(back.gradient, dm[:, None] * whole[:, 0])


def test_no_states_have_no_gradients():
    robot = mbd.load(OWN / "four_bar.urdf")
    solver = robot.compile_derivatives(["coupler_pin"], ["q", "coupler.mass"], actuated="crank")
    none = np.zeros((3, 0, 3))
    assert solver.gradient("coupler_pin.fx")(*none).gradient.shape == (0, 2)
    assert solver.vjp(*none, {"coupler_pin": np.ones(6)}).gradient.shape == (0, 2)
