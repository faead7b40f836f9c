"""Derivatives of dynamics: joint by joint against forward mode and against steps of the motion."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, ModelError, StateError
from mbd_bridge.forces import PointSpring
from mbd_bridge.kernels import trace
from mbd_bridge.model import Builder, build_model
from mbd_bridge.solve import prepare
from mbd_bridge.solve.closed_kernel import function_of
from mbd_bridge.solve.derivatives import (
    ForwardDerivatives,
    InverseDerivatives,
    inverse_derivatives,
    through_the_recursion,
)
from mbd_bridge.solve.dynamics import traceable
from tests.complex_steps import derivatives, varied
from tests.robots import OWN, robot
from tests.sample import sample
from tests.trees import random_state, random_tree

SEEDS = st.integers(0, 2**32 - 1)

ROUNDING = 1e-11
"""Of the largest entry: some thousand products either way."""


def agree(ours, expected, tolerance=ROUNDING):
    for x, y in zip(ours, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max()))


def a_tree(seed, floating=False):
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, 7, mimics=0.3)
    model = build_model(builder.description(), floating=floating)
    return model, random_state(model, rng), rng


@sample(8)
@given(SEEDS, st.booleans())
def test_joint_by_joint_is_forward_mode_through_the_recursion(seed, floating):
    model, state, rng = a_tree(seed, floating)
    links = (0, len(model.links) - 1)
    pushes = rng.normal(size=12)
    inverse = traceable(model, "inverse_dynamics", links).function
    external = {links[0]: pushes[:6], links[1]: pushes[6:]}
    expected = through_the_recursion(model, inverse, *state, pushes)
    agree(inverse_derivatives(model, *state, external), expected)
    kernel = prepare(model, "inverse_dynamics_derivatives", links)
    agree(kernel(*state, pushes), expected)


@sample(4)
@given(SEEDS, st.booleans())
def test_derivatives_by_q_are_those_along_the_velocities(seed, floating):
    model, (q, v, a), _ = a_tree(seed, floating)
    function = traceable(model, "inverse_dynamics").function
    h, columns = 1e-5, []
    for unit in np.eye(model.nv):
        ahead, behind = (function(model.integrate(q, s * h * unit), v, a)[0] for s in (1, -1))
        columns.append((ahead - behind) / (2 * h))
    agree([inverse_derivatives(model, q, v, a).by_q], [np.array(columns).T], 1e-7)


@sample(4)
@given(SEEDS, st.booleans())
def test_derivatives_of_accelerations_undo_those_of_torques(seed, floating):
    model, (q, v, a), _ = a_tree(seed, floating)
    inverse = inverse_derivatives(model, q, v, a)
    kernel = prepare(model, "forward_dynamics_derivatives")
    forward = ForwardDerivatives(*kernel(q, v, inverse.tau)[:4])
    agree([forward.a], [a], 1e-7)
    agree([inverse.by_a @ forward.by_tau], [np.eye(model.nv)], 1e-7)
    agree(
        [inverse.by_a @ forward.by_q, inverse.by_a @ forward.by_v], [-inverse.by_q, -inverse.by_v]
    )


def test_wrenches_in_the_axes_of_the_world_do_not_turn_with_the_links():
    model = build_model(robot_of(("revolute", "spherical")).description())
    state = random_state(model, np.random.default_rng(0))
    tip, push = len(model.links) - 1, np.arange(1.0, 7.0)
    by_q = {
        axes: prepare(model, "inverse_dynamics_derivatives", (tip,), axes)(*state, push)[1]
        for axes in ("link", "world")
    }
    world = traceable(model, "inverse_dynamics", (tip,), "world").function
    h, unit = 1e-5, np.eye(model.nv)[1]
    ahead, behind = (
        world(model.integrate(state[0], s * h * unit), *state[1:], push)[0] for s in (1, -1)
    )
    agree([by_q["world"][:, 1]], [(ahead - behind) / (2 * h)], 1e-7)
    assert np.abs(by_q["world"] - by_q["link"]).max() > 0.1


def robot_of(kinds):
    builder = Builder("chain", root="link0").link("link0", 1.0)
    for k, kind in enumerate(kinds, 1):
        builder.link(f"link{k}", 2.0, (0.1, 0.2, 0.3), (0.3, 0.4, 0.5))
        builder.joint(
            f"joint{k}", kind, f"link{k - 1}", f"link{k}", (0.3, 0.0, 0.4), axis=(0, 1, 1)
        )
    return builder


def test_flexible_links_go_through_the_recursion():
    arm = mbd.load("urdf/flexible_robot_arm.urdf")
    state = random_state(arm.model, np.random.default_rng(1))
    found = InverseDerivatives(*prepare(arm.model, "inverse_dynamics_derivatives")(*state))
    np.testing.assert_allclose(found.by_a, arm.mass_matrix(state[0]), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "share"), [("pb/kuka_iiwa/model", 0.6), ("erd/talos/talos_reduced", 0.45)]
)
def test_fewer_operations_than_forward_mode_through_the_recursion(name, share):
    model = mbd.load(robot(name)).model
    inputs = {"q": model.nq, "v": model.nv, "a": model.nv}
    inverse = traceable(model, "inverse_dynamics").function
    counts = [
        sum(trace(function, inputs).counts().values())
        for function in (
            lambda *state: inverse_derivatives(model, *state),
            lambda *state: through_the_recursion(model, inverse, *state),
        )
    ]
    assert counts[0] < share * counts[1]


def test_a_machine_with_loops_has_no_kernel_of_derivatives():
    bar = mbd.load("urdf/four_bar.urdf")
    with pytest.raises(ModelError, match="no kernel of inverse_dynamics_derivatives"):
        bar.compile("inverse_dynamics_derivatives")


def with_spring() -> mbd.Mechanism:
    arm = mbd.load("urdf/kuka_iiwa.urdf")
    links, points = ("ground", "lbr_iiwa_link_4"), ((0.3, 0.0, 0.0), (0.0, 0.0, 0.1))
    spring = PointSpring(links, points, stiffness=2000.0, damping=30.0, free_length=0.4)
    return arm.with_forces([spring])


@pytest.mark.parametrize("axes", ["link", "world"])
def test_methods_derive_all_that_acts(axes):
    robot = with_spring()
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, robot.nv))
    acting = {"lbr_iiwa_link_7": np.arange(1.0, 7.0)}, {"external_in": axes}
    for name in ("inverse", "forward"):
        dynamics = getattr(robot, f"{name}_dynamics")
        found = getattr(robot, f"{name}_dynamics_derivatives")(q, v, a, acting[0], **acting[1])
        agree(found[:1], [dynamics(q, v, a, acting[0], **acting[1])])
        h, state = 1e-6, [q, v, a]
        for k, derivative in enumerate(found[1:]):
            columns = []
            for unit in np.eye(robot.nv):
                ends = [
                    dynamics(*state[:k], state[k] + step, *state[k + 1 :], acting[0], **acting[1])
                    for step in (h * unit, -h * unit)
                ]
                columns.append((ends[0] - ends[1]) / (2 * h))
            agree([derivative], [np.array(columns).T], 1e-6)
        many = [np.tile(x, (3, 1)) for x in (q, v, a)]
        rows = getattr(robot, f"{name}_dynamics_derivatives")(*many, acting[0], **acting[1])
        agree([x[1] for x in rows], found)


def test_methods_refuse_what_has_no_answer():
    bar, arm = mbd.load("urdf/four_bar.urdf"), mbd.load("urdf/kuka_iiwa.urdf")
    with pytest.raises(ModelError, match="load_derivatives, whose"):
        bar.inverse_dynamics_derivatives(*np.zeros((3, bar.nv)))
    with pytest.raises(StateError, match="nan"):
        arm.inverse_dynamics_derivatives(np.full(7, np.nan), *np.zeros((2, 7)))


NUMBERS = ["link2.mass", "joint3.xyz", "gravity.z"]


@pytest.mark.parametrize("what", ["mass_matrix", "bias_forces", "forward_dynamics", "centroid"])
def test_every_function_of_the_dynamics_has_derivatives_by_states_and_numbers(what):
    rng = np.random.default_rng(4)
    mechanism = mbd.Mechanism.build(random_tree(rng, 5), gravity=(1.0, -2.0, -9.0))
    inputs = list(mechanism.compile(what).inputs)
    by = [name for name in ("q", "v") if name in inputs] + NUMBERS
    kernel, columns = mechanism.compile_derivatives_of(what, by)
    q, v, _ = random_state(mechanism.model, rng)
    given = [q, v, rng.uniform(-1.0, 1.0, mechanism.nv)][: len(inputs)]
    count = len(kernel.outputs) // 2
    results = kernel(*given)
    h = 1e-6
    for k, column in enumerate(columns):
        both = []
        for step in (h, -h):
            moved, machine = list(given), mechanism
            d = step * np.eye(mechanism.nv)[column.number if column.input in "qv" else 0]
            if column.input == "q":
                moved[0] = mechanism.model.integrate(q, d)
            elif column.input == "v":
                moved[1] = v + d
            else:
                machine = varied(mechanism, column.name, step)
            both.append(machine.compile(what)(*moved))
        for n, (more, less) in enumerate(zip(*both, strict=True)):
            difference = (more - less) / (2.0 * h)
            scale = np.abs(results[n]).max() + np.abs(difference).max()
            np.testing.assert_allclose(results[count + n][..., k], difference, atol=1e-7 * scale)


def test_constraints_of_loops_have_derivatives_and_what_is_no_argument_is_refused():
    bar = mbd.load(OWN / "four_bar.urdf")
    kernel, columns = bar.compile_derivatives_of("constraints", ["q", "elbow.xyz.x"])
    q, v = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0])
    phi, phi_q, _, by, *_ = kernel(q, v)
    np.testing.assert_allclose(by[:, :3], phi_q, atol=1e-12)
    assert columns[3].name == "elbow.xyz.x" and len(phi) == len(by)
    with pytest.raises(ModelError, match="mass_matrix is a function of q and of numbers"):
        bar.compile_derivatives_of("mass_matrix", "v")
    with pytest.raises(MbdError, match="no function named 'mass'"):
        bar.compile_derivatives_of("mass")
    with pytest.raises(ModelError, match="its actuators depend on which joints"):
        bar.compile_derivatives_of("inverse_dynamics")


def test_accelerations_and_constraint_forces_of_loops_have_the_derivatives_of_imaginary_steps():
    bar = mbd.load(OWN / "four_bar.urdf")
    at = bar.assemble({"crank": 0.7}, fixed="crank", velocity={"crank": 2.0})
    state = {"q": at.q, "v": at.v, "tau": np.array([3.0, -1.0, 2.0])}
    kernel, _ = bar.compile_derivatives_of("forward_dynamics", ["q", "v", "coupler.mass"])
    found = dict(zip(kernel.outputs, kernel(*state.values()), strict=True))
    agree([found["a"]], [bar.forward_dynamics(*state.values())])
    closed, rows = function_of(bar.model, "forward_dynamics")
    assert found["lam"].shape == (len(rows),)
    for k, name in enumerate("qv"):
        exact = derivatives(closed(bar.model).function, state, {name: np.eye(3)})
        places = slice(3 * k, 3 * k + 3)
        agree([found["d_a"][:, places], found["d_lam"][:, places]], exact[:2])
    h = 1e-6
    ends = [
        varied(bar, "coupler.mass", step).compile("forward_dynamics")(*state.values())
        for step in (h, -h)
    ]
    for n, name in enumerate(["d_a", "d_lam"]):
        agree([found[name][:, 6]], [(ends[0][n] - ends[1][n]) / (2 * h)], 1e-7)


@pytest.mark.parametrize("reference", ["local", "world"])
def test_jacobians_and_twists_of_frames_have_the_derivatives_of_pinocchio(reference):
    pin = pytest.importorskip("pinocchio")
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    peer = arm.to_pinocchio()
    data, axes = peer.createData(), {"local": pin.LOCAL, "world": pin.WORLD}[reference]
    name, q = peer.names[7], np.random.default_rng(3).uniform(-1.0, 1.0, 7)
    kernel, _ = arm.compile_derivatives_of(
        "frame_kinematics", ["q", "v"], frame=name, reference=reference
    )
    for n, v in enumerate(np.eye(7)):  # ∂(J v)/∂q of unit velocities is all of ∂J/∂q
        found = dict(zip(kernel.outputs, kernel(q, v), strict=True))
        pin.computeForwardKinematicsDerivatives(peer, data, q, v, np.zeros(7))
        by_q, by_v = pin.getJointVelocityDerivatives(peer, data, 7, axes)
        agree([found["d_jacobian"][:, n, :7], found["d_twist"]], [by_q, np.hstack([by_q, by_v])])


def test_momentum_has_the_derivatives_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    peer = arm.to_pinocchio()
    q, v = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 7))
    kernel, _ = arm.compile_derivatives_of("centroid", "q")
    found = dict(zip(kernel.outputs, kernel(q, v), strict=True))
    theirs = pin.computeCentroidalDynamicsDerivatives(peer, peer.createData(), q, v, 0 * v)[0]
    agree([found["d_momentum"][:3]], [theirs[:3]])  # a base on the ground moves the centre alone


def test_a_frame_moves_with_the_numbers_of_a_fixed_joint_and_what_is_not_known_is_refused():
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    tool = {"tool": ("lbr_iiwa_link_ee", (0.1, 0.0, 0.2), (0.3, 0.2, 0.1))}
    q, v = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 7))
    fixed = next(x.name for x in arm.model.description.joints if x.child == "lbr_iiwa_link_ee")
    by = [f"{fixed}.xyz", "lbr_iiwa_joint_4.xyz"]
    kernel, columns = arm.compile_derivatives_of("frame_kinematics", by, frame="tool", frames=tool)
    found = dict(zip(kernel.outputs, kernel(q, v), strict=True))
    h = 1e-6
    for k, column in enumerate(columns):
        ends = [
            varied(arm, column.name, step).frame_kinematics("tool", q, v, frames=tool)
            for step in (h, -h)
        ]
        for name in ("position", "jacobian", "drift"):
            more, less = (getattr(one, name) for one in ends)
            np.testing.assert_allclose(
                found[f"d_{name}"][..., k], (more - less) / (2 * h), atol=1e-8
            )
    with pytest.raises(ModelError, match=r"no frame \(link or joint\) named ''"):
        arm.compile_derivatives_of("frame_kinematics")
    with pytest.raises(StateError, match="frame, frames: of frame_kinematics; centroid has none"):
        arm.compile_derivatives_of("centroid", frame="tool")
