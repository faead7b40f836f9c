"""Derivatives of graphs against mpmath, complex steps, differences, pinocchio and each other."""

import mpmath
import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels import compile_kernel, trace
from mbd_bridge.kernels.derive import colouring, gradient, jacobian, pulled_back
from mbd_bridge.kernels.march import compile_march
from mbd_bridge.kernels.ops import OPERATIONS
from mbd_bridge.kernels.tracing import Conditional, shared
from mbd_bridge.solve.dynamics import traceable
from tests.kernels.functions import FUNCTIONS
from tests.robots import OWN
from tests.tolerances import DIFFERENCE, KERNEL, REFEREE

IIWA = OWN / "kuka_iiwa.urdf"
PLACES = [-0.9, -0.31, 0.02, 0.47, 0.83]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_functions_of_one_argument_equal_mpmath(name):
    function, exact, _, _ = FUNCTIONS[name]
    x = np.array([p for p in PLACES if p > 0 or name not in ("log", "sqrt")])[:, None]
    kernel = compile_kernel(jacobian(lambda q: (function(q),), {"q": 1}), {"q": 1}, cache=None)
    _, got = kernel(x)
    with mpmath.workdps(40):
        expected = [float(mpmath.diff(exact, mpmath.mpf(float(p)))) for p in x[:, 0]]
    np.testing.assert_allclose(got[:, 0, 0], expected, rtol=1e-14, atol=1e-15)


def test_every_operation_of_a_graph_has_a_derivative():
    machine_only = {"fma", "fms", "fnma", "from_bits", "bit_eq", "look_up", "load"}
    machine_only |= {"call", "call_if", "part"}  # of routines, which a graph to be derived has not
    for name, row in OPERATIONS.items():
        if row.kind == "double" and row.arity and name not in machine_only:
            assert (row.partials is None) != (row.choice is None), name


def test_the_angle_of_a_point_turns_as_mpmath_says():
    p = np.random.default_rng(0).normal(size=(20, 2))
    kernel = compile_kernel(
        jacobian(lambda q: (fn.arctan2(q[0], q[1]),), {"q": 2}), {"q": 2}, cache=None
    )
    _, got = kernel(p)
    with mpmath.workdps(40):
        expected = [
            [float(mpmath.diff(mpmath.atan2, (float(y), float(x)), n)) for n in ((1, 0), (0, 1))]
            for y, x in p
        ]
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def smooth(x, y):
    """Every smooth operation, through shared values; works on complex numbers too."""
    s = np.sin(x[0] * y[1]) + np.exp(-x[1] * x[1]) / (2.0 + np.cos(y[0]))
    r = np.sqrt(1.0 + s * s) - np.tanh(s - x[2]) * np.log(2.0 + s * s)
    return (
        np.array([[r * s, r / (3.0 + y[1]), x[2] ** 3], [s - r, -s, 4.0 * y[0]]]),
        np.array([np.arctan(r) + np.arcsin(0.1 * s) * np.arccos(0.2 * s)]),
    )


SIZES = {"x": 3, "y": 2}


def complex_steps(function, x, y):
    """Return the Jacobians by imaginary steps of 1e-30, exact to rounding."""
    columns = []
    for k in range(5):
        z = np.concatenate([x, y]).astype(complex)
        z[k] += 1e-30j
        columns.append([np.imag(part) / 1e-30 for part in function(z[:3], z[3:])])
    return [np.stack([c[n] for c in columns], axis=-1) for n in range(len(columns[0]))]


@pytest.mark.parametrize("seed", range(4))
def test_jacobians_are_those_of_complex_steps_in_floats_and_in_machine_code(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=3), rng.normal(size=2)
    derived = jacobian(smooth, SIZES)
    in_floats, compiled = derived(x, y), compile_kernel(derived, SIZES, cache=None)(x, y)
    expected = [*smooth(x, y), *complex_steps(smooth, x, y)]
    for a, b, c in zip(in_floats, compiled, expected, strict=True):
        assert a.shape == b.shape == c.shape
        np.testing.assert_allclose(a, c, rtol=KERNEL, atol=1e-14)
        np.testing.assert_allclose(b, c, rtol=KERNEL, atol=1e-14)


def test_jacobians_of_jacobians_are_second_derivatives():
    x, y = np.array([0.3, -0.2, 0.9]), np.array([0.4, 1.1])
    first = jacobian(lambda x, y: (smooth(x, y)[1],), SIZES, values=False)
    (hessian,) = compile_kernel(jacobian(first, SIZES, values=False), SIZES, cache=None)(x, y)
    expected = np.zeros((1, 5, 5))
    for k in range(5):
        step = np.zeros(5)
        step[k] = 1e-6
        ahead, behind = (first(*np.split(np.r_[x, y] + s, [3]))[0] for s in (step, -step))
        expected[..., k] = (ahead - behind) / 2e-6
    np.testing.assert_allclose(hessian, expected, atol=DIFFERENCE)
    np.testing.assert_allclose(hessian, hessian.swapaxes(1, 2), rtol=KERNEL, atol=1e-14)


def test_the_reverse_way_gives_what_the_forward_way_gives():
    def energy(x, y):
        big = fn.maximum(x[0] * y[0], fn.minimum(x[1], abs(y[1])))
        table = fn.interp(x[2] * y[0], np.arange(5.0), np.arange(5.0) ** 2, "cubic", "extend")
        total = np.sum(smooth(x, y)[0]) * big + table
        return (np.array([fn.where(x[0] > y[0], total, total * total)]),)

    forward = compile_kernel(jacobian(energy, SIZES, ["y", "x"]), SIZES, cache=None)
    reverse = compile_kernel(gradient(energy, SIZES, ["y", "x"]), SIZES, cache=None)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    value, by_both = forward(x, y)
    same, by_y, by_x = reverse(x, y)
    np.testing.assert_allclose(same, value, rtol=KERNEL)
    scale = np.abs(by_both).max()
    np.testing.assert_allclose(np.hstack([by_y, by_x]), by_both[:, 0], atol=KERNEL * scale)
    step, columns = 1e-6, []
    for k in range(3):
        d = step * np.eye(3)[k]
        columns.append((forward(x + d, y)[0] - forward(x - d, y)[0]) / (2.0 * step))
    near = np.abs(np.hstack(columns) - by_x) <= DIFFERENCE * scale
    assert np.mean(near) > 0.98  # the rest is at kinks


def test_a_slope_that_is_not_taken_does_no_harm():
    def root(x):
        return (fn.where(x[0] > 0.0, np.sqrt(3.0 * x[0] * x[0] * x[0]), 2.0 * x),)

    for derived in (jacobian(root, {"x": 1}), gradient(root, {"x": 1})):
        kernel = compile_kernel(derived, {"x": 1}, cache=None)
        _, slope = kernel(np.array([[-1.0], [0.0], [3.0]]))
        np.testing.assert_allclose(np.ravel(slope), [2.0, 2.0, 4.5], rtol=1e-15)


def test_columns_that_do_not_meet_share_a_colour():
    def chain(x):
        return (np.array([x[k] * x[k + 1] for k in range(19)]),)

    graph = trace(chain, {"x": 20})
    colours = colouring(graph, ("x",))
    assert colours.number == 2
    assert [sorted(row) for row in colours.pattern] == [[k, k + 1] for k in range(19)]
    counts = trace(jacobian(chain, {"x": 20}, values=False), {"x": 20}).counts()
    assert sum(counts.values()) == 0  # entries of x, put in place
    (got,) = jacobian(chain, {"x": 20}, values=False)(np.arange(20.0))
    expected = np.zeros((19, 20))
    for k in range(19):
        expected[k, k : k + 2] = k + 1, k
    np.testing.assert_array_equal(got, expected)


def test_what_cannot_be_derived_by_is_named():
    with pytest.raises(KernelError, match="no input named 'z'"):
        jacobian(smooth, SIZES, ["z"])
    with pytest.raises(KernelError, match="one output"):
        gradient(smooth, SIZES)


def states():
    rng = np.random.default_rng(11)
    return rng.uniform(-1.5, 1.5, (3, 6, 7))


@pytest.fixture(scope="module")
def dynamics():
    """Return kernels with the Jacobians of forward and of inverse dynamics of an iiwa."""
    model = mbd.load(IIWA).model

    def forward(q, v, tau):
        return traceable(model, "forward_dynamics").function(q, v, tau)[:1]

    sizes = {"q": 7, "v": 7, "tau": 7}
    inverse = traceable(model, "inverse_dynamics").function
    return {
        "forward": compile_kernel(jacobian(forward, sizes), sizes, cache=None),
        "inverse": compile_kernel(jacobian(inverse, sizes), sizes, cache=None),
    }


@pytest.mark.parametrize("way", ["forward", "inverse"])
def test_jacobians_of_an_arm_are_those_of_differences(dynamics, way):
    given, h = states(), 1e-6
    _, got = dynamics[way](*given)
    columns = []
    for n in range(3):
        for k in range(7):
            ahead, behind = given.copy(), given.copy()
            ahead[n, :, k] += h
            behind[n, :, k] -= h
            columns.append((dynamics[way](*ahead)[0] - dynamics[way](*behind)[0]) / (2.0 * h))
    expected = np.stack(columns, axis=-1)
    np.testing.assert_allclose(got, expected, atol=DIFFERENCE * np.abs(expected).max())


@pytest.mark.parametrize("way", ["forward", "inverse"])
def test_jacobians_of_an_arm_are_those_of_pinocchio(dynamics, way):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(IIWA))
    data, given = model.createData(), states()
    for k in range(given.shape[1]):
        state = [np.ascontiguousarray(x[k]) for x in given]
        _, got = dynamics[way](*state)
        if way == "forward":
            pin.computeABADerivatives(model, data, *state)
            parts = [data.ddq_dq, data.ddq_dv, data.Minv]
        else:
            pin.computeRNEADerivatives(model, data, *state)
            parts = [data.dtau_dq, data.dtau_dv, data.M]
        parts[2] = np.triu(parts[2]) + np.triu(parts[2], 1).T  # pinocchio fills the upper half
        expected = np.hstack(parts)
        np.testing.assert_allclose(got, expected, atol=REFEREE * np.abs(expected).max())


def many_sines(x, y):
    for _ in range(40):
        x, y = fn.sin(1.1 * x + 0.3 * y), fn.cos(y - 0.2 * x)
    return x, x * y


def rooted(y):
    return (np.array([fn.sqrt(y)]),)


def gradient_step(function):
    """Return a step from x (2,) to the gradient of a number there."""

    def step(x):
        _, slopes = pulled_back(function, {"x": x}, [np.ones(1)], ["x"])
        return slopes["x"], np.zeros(1)

    return step


def stepped(function, x):
    march = compile_march(gradient_step(function), {"x": 2}, 1, cache=None)
    stage = march.start()
    march.put(stage, np.array(x))
    march.advance(stage, 1, 1)
    return march.state_of(stage)[0]


def test_a_routine_is_derived_backward_as_a_routine():
    def chain(call):
        def function(x):
            a, b = call(x[0], x[1])
            c, d = call(a, x[1] + b)
            e, f = call(c, 2.0 * d)
            return (np.array([e * f + a]),)

        return function

    called, written = chain(shared(many_sines, 0.0)), chain(many_sines)
    expected = stepped(written, [0.3, -0.7])
    np.testing.assert_allclose(stepped(called, [0.3, -0.7]), expected, rtol=1e-12)
    nodes = []
    for function in (called, written):
        graph = trace(gradient_step(function), {"x": 2}, calls=True)
        routines = {id(node[-1]): node[-1].graph for node in graph.nodes if node[0] == "call"}
        nodes.append(sum(len(one.nodes) for one in (graph, *routines.values())))
    assert nodes[0] < 0.6 * nodes[1]


@pytest.mark.parametrize("x", [-1.0, 0.0, 4.0])
@pytest.mark.parametrize("always", [True, False])
def test_a_routine_that_is_not_chosen_has_no_weight(x, always):
    def function(given):
        if always:
            ((root,),) = shared(rooted, 0.0)(given[0])
            root = fn.where(given[0] > 0.0, root, 2.0)
        else:
            ((root,),) = Conditional(rooted, given[0]).where(given[0] > 0.0, (np.array([2.0]),))
        return (np.array([root * given[1]]),)

    expected = [0.5 * 3.0 / np.sqrt(x) if x > 0.0 else 0.0, np.sqrt(x) if x > 0.0 else 2.0]
    np.testing.assert_allclose(stepped(function, [x, 3.0]), expected, rtol=1e-15)
