"""KimYou97 Table 1, counted by machine: what a selected reaction costs beyond the equations."""

import numpy as np
import pytest

from mbd_bridge.equations.composite import Composite, composites
from mbd_bridge.equations.reactions import carried_inertia, reaction
from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors
from mbd_bridge.kernels import trace
from mbd_bridge.model import Builder, build_model

N = 7


def chain():
    builder = Builder("chain")
    for k in range(1, N + 1):
        builder.link(f"link{k}", 1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.25]) + 0.01)
        before = "base" if k == 1 else f"link{k - 1}"
        axis = np.array([1.0, 2.0, 3.0])[[k % 3, (k + 1) % 3, (k + 2) % 3]]
        builder.joint(f"joint{k}", "revolute", before, f"link{k}", (0.3, 0.2, 0.5), axis=axis)
    return build_model(builder.description())


def counted(model, joint):
    """Multiplications and additions of (30), with every term of the equations of motion given."""
    body = model.joints[joint].body
    beyond = range(body + 1, N + 1)

    def function(K, L, Y_dot, KB, a):
        carried = {b: KB[6 * k : 6 * k + 6].reshape(6, 1) for k, b in enumerate(beyond)}
        own = Composite(K.reshape(6, 6), L)
        return (reaction(model, joint, own, carried, Y_dot, a),)

    sizes = {"K": 36, "L": 6, "Y_dot": 6, "KB": 6 * len(beyond), "a": N}
    counts = trace(function, sizes).counts()
    return counts["mul"], counts.get("add", 0) + counts.get("sub", 0) + counts.get("neg", 0)


@pytest.mark.parametrize("i", range(1, N + 1))
def test_a_selected_reaction_costs_no_more_than_table_1(i):
    multiplications, additions = counted(chain(), i)
    assert multiplications <= 6 * (N - i) + 36
    assert additions <= 6 * (N - i) + 36


def test_the_count_is_of_a_formula_that_is_right():
    model = chain()
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, N))
    from mbd_bridge.equations.newton_euler import recursive_loads
    from mbd_bridge.equations.reactions import at_body_origin

    state = state_vectors(model, q, v)
    found = composites(model, state)
    Y_dot = state_accelerations(model, state, a)
    R = reaction(model, 3, found[3], carried_inertia(model, state, found), Y_dot[3], a)
    rival = recursive_loads(model, q, v, a, [3]).wrench[0]
    assert np.allclose(at_body_origin(state.bodies[3], R), rival, rtol=1e-12)
