"""Constraints of cut joints against differences, and against the joints that they replace."""

import numpy as np
import pytest

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import trace
from mbd_bridge.model import CUT_ROWS, JOINT_TYPES, build_model
from mbd_bridge.model.spatial import Frame
from tests.tolerances import DIFFERENCE
from tests.trees import random_tree

HOLDING = tuple(kind for kind, rows in CUT_ROWS.items() if rows)
TYPES = (*HOLDING, "distance")
SINGLE = {"translational": "prismatic"}
"""Names of the tree joints that have another one as a cut."""


def looped(kind, seed=0, floating=False):
    """A random tree with a loop joint between two of its links, closed or not."""
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, 6, ("revolute", "prismatic", "spherical", "universal"), mimics=0.3)
    ends = [(f"link{k}", Frame.from_rpy(rng.normal(size=3), rng.normal(size=3))) for k in (3, 6)]
    builder.loop("cut", kind, *ends, axis=rng.normal(size=3))
    return build_model(builder.description(), floating=floating), rng


def at(model, q, v):
    return constraints(model, state_vectors(model, q, v))


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_phi_q_is_the_derivative_of_phi(kind, floating):
    model, rng = looped(kind, floating=floating)
    q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv))
    still, step = np.zeros(model.nv), 1e-6
    phi_q = at(model, q, still).phi_q
    for k in range(model.nv):
        e = np.eye(model.nv)[k] * step
        ahead = at(model, model.integrate(q, e), still).phi
        behind = at(model, model.integrate(q, -e), still).phi
        assert np.allclose((ahead - behind) / (2 * step), phi_q[:, k], atol=DIFFERENCE)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_gamma_is_what_the_velocity_leaves_of_the_second_derivative(kind, floating):
    model, rng = looped(kind, seed=1, floating=floating)
    q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv))
    v, a = rng.normal(size=(2, model.nv))
    step = 1e-5

    def rate(t):  # Φ̇ along a motion with velocity v and acceleration a at t = 0
        there = model.integrate(q, t * v + 0.5 * t * t * a)
        return at(model, there, v).phi_q @ (v + t * a)

    now = at(model, q, v)
    second = (rate(step) - rate(-step)) / (2 * step)
    scale = 1 + np.abs(second).max()
    assert np.allclose(now.phi_q @ a - now.gamma, second, atol=1e3 * DIFFERENCE * scale)


@pytest.mark.parametrize("kind", CUT_ROWS)
def test_rows_are_as_many_as_the_joint_table_says(kind):
    assert len(CUT_ROWS[kind]) == JOINT_TYPES[SINGLE.get(kind, kind)].cut_rows


@pytest.mark.parametrize(
    ("kind", "axis2"),
    [(kind, (2, 1, -2)) for kind in HOLDING] + [("universal", (2, 1, 2)), ("universal", (0, 1, 1))],
)
def test_a_joint_never_leaves_its_own_constraints(kind, axis2):
    """A tree joint and a cut of the same type at the same place: Φ stays zero as it moves."""
    from mbd_bridge.model import Builder

    rng = np.random.default_rng(2)
    name = SINGLE.get(kind, kind)
    axis = np.array([1.0, 2.0, 2.0]) / 3
    second = axis2 if kind == "universal" else None
    builder = (
        Builder("b").link("base", 1, (0, 0, 0), (1, 1, 1)).link("arm", 1, (1, 0, 0), (1, 1, 1))
    )
    place, turn = rng.normal(size=3), rng.normal(size=3)
    builder.joint("joint", name, "base", "arm", place, turn, axis, second)
    here = Frame.from_rpy(place, turn)
    builder.loop("cut", kind, ("base", here), ("arm", Frame.identity()), axis, second)
    description = builder.description()
    if kind == "fixed":
        from mbd_bridge.base.errors import ModelError

        with pytest.raises(ModelError, match="move together"):
            build_model(description)
        return
    model = build_model(description)
    q = model.integrate(model.neutral(), rng.normal(size=model.nv))
    found = at(model, q, rng.normal(size=model.nv))
    assert np.abs(found.phi).max() < 1e-14
    assert np.abs(found.phi_q).max() < 1e-14
    assert np.abs(found.gamma).max() < 1e-13


def test_common_carriers_have_no_part_in_a_cut():
    model, _ = looped("fixed", floating=True)
    graph = trace(
        lambda q: (constraints(model, state_vectors(model, q, np.zeros(model.nv))).phi_q,),
        {"q": model.nq},
    )
    columns = np.array(graph.outputs[0]).reshape(graph.shapes[0])[:, :6]
    assert all(graph.nodes[k] == ("const", 0.0) for k in columns.ravel())
