"""Claims: loads as functions of JAX, CasADi and PyTorch have the values and derivatives of ours."""

import pickle

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.autodiff import LoadFunction
from mbd_bridge.base.errors import KernelError, ModelError, StateError
from tests.robots import OWN

JOINT = "lbr_iiwa_joint_4"
NUMBERS = ["lbr_iiwa_link_6.mass", "lbr_iiwa_joint_5.xyz"]


@pytest.fixture(scope="module")
def arm():
    """A solver of the arm, states and numbers, and the derivatives there."""
    solver = mbd.load(OWN / "kuka_iiwa.urdf").compile_derivatives(
        [JOINT], ["q", "v", "a", *NUMBERS]
    )
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 5, 7))
    p = np.array([column.value for column in solver.columns if column.input == "p"])
    p = p + rng.normal(size=4) * 0.1
    return solver, (q, v, a, p), solver(q, v, a, parameters=p)


@pytest.fixture
def jax():
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


def test_jax_derives_under_jit_vmap_and_grad(arm, jax):
    solver, (q, v, a, p), expected = arm
    loads = solver.to_jax()
    np.testing.assert_array_equal(loads(q, v, a, p).force, expected.loads.force)
    bending = jax.grad(lambda q, v, a, p: loads(q, v, a, p).moment[0, 1], (0, 3))
    by_q, by_p = jax.jit(jax.vmap(bending, (0, 0, 0, None)))(q, v, a, p)
    np.testing.assert_allclose(by_q, expected.by("q").moment[:, 0, 1], rtol=1e-14)
    np.testing.assert_allclose(by_p, expected.moment[:, 0, 1, 21:], rtol=1e-14)


def test_functions_of_jax_and_torch_are_made_anew_in_another_process(arm, jax):
    solver, state, expected = arm
    again = pickle.loads(pickle.dumps(solver.to_jax()))
    np.testing.assert_array_equal(again(*state).force, expected.loads.force)


def test_jax_derives_forwards_as_backwards(arm, jax):
    solver, (q, v, a, p), expected = arm
    loads = solver.to_jax()
    for way in (jax.jacfwd, jax.jacrev):
        found = way(lambda a: loads(q[0], v[0], a, p).actuation)(a[0])
        np.testing.assert_allclose(found, expected.by("a").actuation[0], rtol=1e-14)
    once = jax.grad(lambda q: loads(q, v[0], a[0], p).actuation[0])
    with pytest.raises(ValueError, match="do not support JVP"):
        jax.jvp(once, (q[0],), (v[0],))


def test_jax_in_single_precision_gets_rounded_loads(arm, jax):
    solver, state, expected = arm
    jax.config.update("jax_enable_x64", False)
    found = solver.to_jax()(*state)
    assert found.force.dtype == np.float32
    np.testing.assert_allclose(found.force, expected.loads.force, rtol=1e-4, atol=1e-3)


def test_casadi_derives_all_states_of_a_motion_at_once(arm):
    import casadi

    solver, (q, v, a, p), expected = arm
    loads = solver.to_casadi(states=5)
    Q, P = casadi.MX.sym("q", 7, 5), casadi.MX.sym("p", 4)
    moment = loads(q=Q, v=v.T, a=a.T, parameters=P)["moment"][1, :]
    both = casadi.Function("f", [Q, P], [moment, *(casadi.jacobian(moment, x) for x in (Q, P))])
    del loads  # an expression outlives its function
    value, by_q, by_p = both(q.T, p)
    assert by_q.nnz() == 5 * 7  # of 5 x 35: a state's load depends on that state
    np.testing.assert_array_equal(np.array(value)[0], expected.loads.moment[:, 0, 1])
    rows = np.array(by_q).reshape(5, 5, 7)[np.arange(5), np.arange(5)]
    np.testing.assert_allclose(rows, expected.by("q").moment[:, 0, 1], rtol=1e-14)
    np.testing.assert_allclose(by_p, expected.moment[:, 0, 1, 21:], rtol=1e-14)


def test_numbers_of_the_machine_that_casadi_is_not_given_are_not_zero(arm):
    solver, (q, v, a, p), _ = arm
    loads = solver.to_casadi()
    at_rest = loads(q=q[0], parameters=p)["force"]
    own = solver(q[0], 0.0 * v[0], 0.0 * a[0], parameters=p).loads.force
    np.testing.assert_array_equal(np.array(at_rest)[:, 0], own[0])
    with pytest.raises(RuntimeError, match=r"lbr_iiwa_link_6\.mass.*finite"):
        loads(q=q[0], v=v[0], a=a[0])


def test_torch_derives_backwards_forwards_and_in_batches(arm):
    torch = pytest.importorskip("torch")  # 3 GB with CUDA: CI does not install it

    solver, state, expected = arm
    loads = solver.to_torch()
    q, v, a, p = (torch.tensor(x, requires_grad=True) for x in state)
    loads(q, v, a, p).moment[:, 0, 1].sum().backward()
    np.testing.assert_allclose(q.grad, expected.by("q").moment[:, 0, 1], rtol=1e-14)
    np.testing.assert_allclose(p.grad, expected.moment[:, 0, 1, 21:].sum(axis=0), rtol=1e-12)
    q, v, a, p = (x.detach() for x in (q, v, a, p))

    def bending(q, v, a):
        return loads(q, v, a, p).moment[0, 1]

    found = torch.func.vmap(torch.func.grad(bending))(q, v, a)
    np.testing.assert_allclose(found, expected.by("q").moment[:, 0, 1], rtol=1e-14)
    for way in (torch.func.jacfwd, torch.func.jacrev):
        found = way(lambda a: loads(q[0], v[0], a, p).actuation)(a[0])
        np.testing.assert_allclose(found, expected.by("a").actuation[0], rtol=1e-14)
        with pytest.raises(KernelError, match="no second derivatives"):
            way(torch.func.grad(bending))(q[0], v[0], a[0])


def test_in_loops_the_held_coordinates_carry_the_derivative():
    bar = mbd.load(OWN / "four_bar.urdf")
    by = ["q", "v", "a", "coupler.mass"]
    solver = bar.compile_derivatives(["rocker", "coupler_pin"], by, actuated="crank")
    state = bar.assemble({"crank": 0.7}, fixed="crank", velocity={"crank": 2.0})
    expected = solver(state.q, state.v, state.a)
    function = LoadFunction(solver)
    x = np.concatenate([state.q, state.v, state.a, [expected.columns[-1].value]])
    y, J = function.slopes(x)
    known = ~np.isnan(y)
    crank = bar.model.velocity_names.index("crank")
    assert 0 < known.sum() < len(y)  # a plane linkage's loads across its plane are nobody's
    np.testing.assert_array_equal(np.isnan(function.parts(y).force), ~expected.loads.unique[:, :3])
    assert not J[~known].any() and not np.delete(J, [crank, 3 + crank, 6 + crank, 9], axis=1).any()
    by_crank = function.parts(J[:, crank]).force
    np.testing.assert_allclose(
        by_crank[expected.loads.unique[:, :3]],
        expected.force[..., 0][~np.isnan(expected.force[..., 0])],
    )


def test_by_the_numbers_of_a_quaternion_it_is_the_slope_of_the_quaternion_made_unit():
    b = mbd.Builder("body", root="world").link("box", 2.0, (0.1, 0.2, 0), (0.1, 0.2, 0.3))
    robot = mbd.Mechanism.build(b.joint("ball", "spherical", "world", "box"))
    function = LoadFunction(robot.compile_derivatives(["ball"]))
    rng = np.random.default_rng(1)
    q = rng.normal(size=4)
    x = np.concatenate([q / np.linalg.norm(q), rng.normal(size=6)])
    _, J = function.slopes(x)
    h = 1e-6
    for k in range(len(x)):
        step = h * np.eye(len(x))[k]
        slope = (function.values(x + step) - function.values(x - step)) / (2.0 * h)
        np.testing.assert_allclose(J[:, k], slope, rtol=1e-7, atol=1e-7)


def test_wrenches_and_time_are_arguments_where_they_act():
    robot = mbd.load(OWN / "pendulum.urdf")
    tip = robot.model.links[-1].name
    solver = robot.compile_derivatives(["hinge"], ["q", "v", "a", "external"], links=[tip])
    function = LoadFunction(solver)
    assert [*function.inputs] == ["q", "v", "a", "external"]
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 9))
    y, J = function.slopes(x)
    wrenches = x[:, 3:].reshape(3, 1, 6)
    expected = solver(x[:, :1], x[:, 1:2], x[:, 2:3], wrenches)
    np.testing.assert_array_equal(function.values(x), y)
    np.testing.assert_array_equal(J[:, :3, 3:], expected.by("external").force[:, 0])


def test_arguments_without_derivatives_and_of_wrong_sizes_are_refused(arm, jax):
    solver, (q, v, a, _), _ = arm
    robot = mbd.load(OWN / "kuka_iiwa.urdf")
    with pytest.raises(
        ModelError, match=r"by v, a there are no derivatives; .*'v', 'a', 'gravity'"
    ):
        robot.compile_derivatives([JOINT], ["q", "gravity"]).to_jax()
    with pytest.raises(
        StateError, match=r"expected q \(\.\.\., 7\), .* parameters \(\.\.\., 4\); got"
    ):
        solver.to_jax()(q, v, a)
    with pytest.raises(StateError, match="states: expected a whole number"):
        solver.to_casadi(states=0)
