"""Claims about the graph, the tree and the model."""

import numpy as np
import pytest

from mbd_bridge.errors import ModelError
from mbd_bridge.mechanism import (
    Builder,
    Edge,
    build_model,
    digest,
    distance_matrix,
    path_matrix,
    spanning_tree,
)


def test_the_shallow_way_round_a_loop_is_the_tree():
    # base - a - b - c - base: the long way round is cut in its middle, by the weights
    edges = [
        Edge("base_a", 0, 1, 1.5),
        Edge("a_b", 1, 2, 1.5),
        Edge("b_c", 2, 3, 3.0),
        Edge("c_base", 3, 0, 1.5),
    ]
    tree, cut = spanning_tree(4, edges)
    assert [edges[k].name for k in cut] == ["b_c"]
    assert {(e.parent, e.child) for e in tree} == {(0, 1), (1, 2), (0, 3)}
    D = distance_matrix(4, edges)
    assert np.array_equal(D, D.T) and D[2, 3] == 3.0 and D[0, 2] == 0.0


def test_dijkstras_distances_are_scipys():
    from scipy.sparse.csgraph import dijkstra

    rng = np.random.default_rng(0)
    edges = [
        Edge(f"e{k}", int(a), int(b), float(rng.choice([1.0, 1.5, 2.1, 3.0])))
        for k, (a, b) in enumerate(rng.integers(0, 12, (30, 2)))
        if a != b
    ]
    tree, _ = spanning_tree(12, edges)
    expected = dijkstra(distance_matrix(12, edges), directed=False, indices=0)
    ours = {0: 0.0}
    for edge in tree:
        ours[edge.child] = ours[edge.parent] + edges[edge.edge].weight
    assert set(ours) == set(np.flatnonzero(np.isfinite(expected)).tolist())
    assert all(np.isclose(expected[node], d) for node, d in ours.items())


def test_path_matrix_lists_who_carries_whom():
    assert np.array_equal(
        path_matrix([-1, 0, 1, 0]),
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]],
    )


def arm() -> Builder:
    return (
        Builder("arm", root="base")
        .link("upper", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
        .link("plate", 0.5, (0, 0, 0.1), (0.01, 0.01, 0.01))
        .link("fore", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
        .joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0))
        .joint("bolt", "fixed", "upper", "plate", (0, 0, 1))
        .joint("elbow", "continuous", "plate", "fore", (0, 0, 0.2), axis=(0, 0, 1))
    )


def test_links_held_by_fixed_joints_are_one_body_and_keep_their_joints():
    model = build_model(arm().description())
    assert [joint.name for joint in model.joints] == ["root_joint", "shoulder", "bolt", "elbow"]
    assert len(model.bodies) == 3 and model.nv == 2
    assert model.links[1].body == model.links[2].body == 1
    bolt = model.joint("bolt")
    assert bolt.inertia.mass == 0.5 and bolt.children == (2,)
    assert model.bodies[1].inertia.mass == 1.5


def test_a_mimic_has_no_coordinate_of_its_own_and_chains_multiply():
    builder = arm()
    builder.joint("hand", "revolute", "fore", "hand", mimic="elbow", multiplier=2.0, offset=0.5)
    builder.joint("tip", "prismatic", "hand", "tip", mimic="hand", multiplier=-1.0, offset=0.1)
    model = build_model(builder.description())
    assert model.coordinate_names == ("shoulder", "elbow")
    tip = model.bodies[-1]
    assert (tip.ratio, tip.offset) == (-2.0, -0.4)
    assert tip.q == slice(1, 2)


def test_a_digest_forgets_names_but_no_number():
    one, other = arm().description(), arm().description()
    assert digest(build_model(one)) == digest(build_model(other))
    heavier = arm().link("extra", 1e-9).joint("weld", "fixed", "fore", "extra")
    assert digest(build_model(heavier.description())) != digest(build_model(one))
    assert digest(build_model(one, floating=True)) != digest(build_model(one))
    assert digest(build_model(one, gravity=(0, 0, 0))) != digest(build_model(one))


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda b: b.joint("x", "revolute", "base", "upper"), "child of two joints"),
        (lambda b: b.joint("x", "revolte", "base", "new"), "did you mean 'revolute'"),
        (lambda b: b.joint("bolt", "fixed", "base", "new"), "a joint 'bolt' already"),
        (lambda b: b.joint("x", "revolute", "base", "new", axis=(0, 0, 0)), "no direction"),
        (lambda b: b.link("alone", 1.0), "one root link"),
        (lambda b: b.link("upper", 1.0), "a link 'upper' already"),
        (lambda b: b.link("odd", -1.0), "not negative"),
        (lambda b: b.link("odd", float("nan")), "finite"),
        (lambda b: b.joint("x", "revolute", "a", "b").joint("y", "fixed", "b", "a"), "cycle"),
        (lambda b: b.joint("root_joint", "fixed", "base", "new"), "rename it"),
        (lambda b: b.joint("x", "revolute", "base", "new", mimic="elbw"), "did you mean 'elbow'"),
        (
            lambda b: b.joint("x", "universal", "base", "new", axis=(0, 0, 1), axis2=(0, 1, 1)),
            "perpendicular",
        ),
    ],
)
def test_what_cannot_be_built_is_named(break_it, message):
    with pytest.raises(ModelError, match=message):
        build_model(break_it(arm()).description())


def test_unknown_joints_are_answered_with_near_names():
    with pytest.raises(ModelError, match="did you mean 'elbow'"):
        build_model(arm().description()).joint("elbw")
