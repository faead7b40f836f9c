"""Random functions: machine code, single state and C agree with plain floats."""

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

from mbd_bridge.kernels import compile_kernel
from tests.tolerances import KERNEL

INPUTS = {"q": 3, "v": 2}

UNARY = ["sin", "cos", "root", "neg", "square"]
BINARY = ["add", "sub", "mul", "div"]

leaves = st.one_of(
    st.tuples(st.just("q"), st.integers(0, 2)),
    st.tuples(st.just("v"), st.integers(0, 1)),
    st.tuples(st.just("const"), st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.75, 3.0, 1e-3])),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(UNARY), inner),
        st.tuples(st.sampled_from(BINARY), inner, inner),
    ),
    max_leaves=40,
)


def evaluate(tree, q, v, memo):
    """Return the value of a tree; what divides or is rooted stays away from zero."""
    if tree in memo:
        return memo[tree]
    op = tree[0]
    if op == "q":
        value = q[tree[1]]
    elif op == "v":
        value = v[tree[1]]
    elif op == "const":
        value = tree[1]
    else:
        x = evaluate(tree[1], q, v, memo)
        if op == "sin":
            value = np.sin(x)
        elif op == "cos":
            value = np.cos(x)
        elif op == "root":
            value = np.sqrt(x * x + 1.5)
        elif op == "neg":
            value = -x
        elif op == "square":
            value = np.sin(x) ** 2
        else:
            y = evaluate(tree[2], q, v, memo)
            if op == "add":
                value = 0.5 * (x + y)
            elif op == "sub":
                value = 0.5 * (x - y)
            elif op == "mul":
                value = np.sin(x) * y
            else:
                value = x / (np.cos(y) + 2.0)
    memo[tree] = value
    return value


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(trees, min_size=1, max_size=5), st.sampled_from([2, 4, 8]))
def test_kernel_and_single_state_equal_floats(forest, lanes):
    def function(q, v):
        memo = {}
        out = np.empty(len(forest), dtype=np.asarray(q).dtype)
        for k, tree in enumerate(forest):
            out[k] = evaluate(tree, q, v, memo)
        return (out,)

    kernel = compile_kernel(function, INPUTS, cache=None, lanes=lanes)
    rng = np.random.default_rng(len(forest))
    q, v = 2.0 * rng.normal(size=(11, 3)), 2.0 * rng.normal(size=(11, 2))
    (got,) = kernel(q, v)
    expected = np.array([function(a, b)[0] for a, b in zip(q, v, strict=True)])
    scale = 1.0 + np.abs(expected)
    assert np.max(np.abs(got - expected) / scale) < KERNEL
    run = kernel.single().run
    for k in range(11):
        np.testing.assert_array_equal(run(q[k], v[k])[0], got[k])
