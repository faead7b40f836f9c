"""What cannot be traced is refused at once, with the reason; what can is kept small."""

import math

import numpy as np
import pytest

from mbd_bridge.errors import KernelError
from mbd_bridge.kernels import trace


def into_floats(q):
    out = np.zeros(3)
    out[0] = q[0]
    return (out,)


kept = []


def keeps(q):
    kept.append(q[0])
    return (kept[0] + q,)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (into_floats, "turned into a float"),
        (lambda q: (np.asarray(q, dtype=float),), "turned into a float"),
        (lambda q: (math.sin(q[0]),), "turned into a float"),
        (lambda q: (q if q[0] > 0.0 else -q,), "compared"),
        (lambda q: (q if q[0] else -q,), "truth"),
        (lambda q: (np.maximum(q, 0.0),), "compared"),
        (lambda q: (np.abs(q),), "compared"),
        (lambda q: (np.sort(q),), "compared"),
        (lambda q: (np.exp(q),), "exp"),
        (lambda q: (np.arctan2(q, q),), "arctan2"),
        (lambda q: (np.linalg.inv(np.diag(q)),), "cannot be traced"),
        (lambda q: (q**3,), "only squares"),
        (lambda q: (q / 0.0,), "divided by the constant 0"),
        (lambda q: q, "returns a tuple"),
        (lambda q: (q, "text"), "result contains text"),
        (lambda q: (q, None), "result contains None"),
        (lambda q: (q, 1j), "result contains 1j"),
        (lambda q, v: (q,), "cannot be traced"),
    ],
)
def test_misuse_is_told(function, reason):
    with pytest.raises(KernelError, match=reason):
        trace(function, {"q": 3})


def test_symbols_of_two_traces_do_not_mix():
    trace(keeps, {"q": 3})
    with pytest.raises(KernelError, match="two traces"):
        trace(keeps, {"q": 3})
    with pytest.raises(KernelError, match="another trace"):
        trace(lambda q: (np.array([kept[0]]),), {"q": 3})


def test_zeros_constants_and_repetitions_cost_nothing():
    def function(q):
        zero, one = np.zeros((3, 3)), np.eye(3)
        a = one @ (q + zero @ q) - zero @ q
        return (a, q[0] * q[1] + q[1] * q[0], -(-1.0 * q) - q, 2.0 * (3.0 * q[0]), unused(q)[:0])

    def unused(q):
        return np.sin(q) / q[0]

    assert trace(function, {"q": 3}).counts() == {"mul": 2, "add": 1}


def test_a_graph_lists_operands_first_and_nothing_else():
    graph = trace(lambda q: (np.sin(q) * q[0] - q / q[1],), {"q": 3})
    for index, node in enumerate(graph.nodes):
        if node[0] not in ("input", "const"):
            assert all(operand < index for operand in node[1:])
    assert graph.shapes == ((3,),)
