"""What cannot be traced is refused at once, with the reason; what can is kept small."""

import math

import numpy as np
import pytest

from mbd_bridge.base.errors import KernelError
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
        (lambda q: (q if q[0] > 0.0 else -q,), "functions.where"),
        (lambda q: (q if q[0] == 0.0 else -q,), "functions.where"),
        (lambda q: (q if q[0] != q[1] else -q,), "functions.where"),
        (lambda q: (q if q[0] else -q,), "truth"),
        (lambda q: (q if 0.0 < q[0] < 1.0 else -q,), "truth"),
        (lambda q: (max(q[0], 0.0),), "maximum"),
        (lambda q: (q > 0.0,), "comparisons"),
        (lambda q: (np.maximum(q, 0.0),), "maximum"),
        (lambda q: (np.clip(q, 0.0, 1.0),), "clip"),
        (lambda q: (np.sign(q),), "sign"),
        (lambda q: (np.sort(q),), "truth"),
        (lambda q: (np.where(q[0] > 0.0, q, -q),), "functions.where"),
        (lambda q: (np.interp(q, [0.0, 1.0], [1.0, 2.0]),), "functions.*interp"),
        (lambda q: (np.interp(q[0], [0.0, 1.0], [1.0, 2.0]),), "functions.*interp"),
        (lambda q: (np.sinh(q),), "sinh.*functions"),
        (lambda q: (np.arctan2(1.0, q),), "functions"),
        (lambda q: (math.exp(q[0]),), "functions"),
        (lambda q: (2.0 if q[0] in [1.0, 2.0] else q,), "truth"),
        (lambda q: (np.linalg.inv(np.diag(q)),), "cannot be traced"),
        (lambda q: (q**0.5,), "only whole powers"),
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
