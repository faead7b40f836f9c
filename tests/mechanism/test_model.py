"""Claims about the graph, the tree and the model."""

from dataclasses import replace

import numpy as np
import pytest

from mbd_bridge.base.errors import ModelError
from mbd_bridge.model import (
    Builder,
    Edge,
    build_model,
    digest,
    distance_matrix,
    path_matrix,
)
from mbd_bridge.model.spanning_tree import spanning_tree
from mbd_bridge.model.spatial import Frame, rotation_that_takes_z_to


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


def test_a_digest_forgets_neither_names_nor_numbers():
    one, other = arm().description(), arm().description()
    assert digest(build_model(one)) == digest(build_model(other))
    heavier = arm().link("extra", 1e-9).joint("weld", "fixed", "fore", "extra")
    assert digest(build_model(heavier.description())) != digest(build_model(one))
    joints = tuple(replace(x, name={"elbow": "bend"}.get(x.name, x.name)) for x in one.joints)
    assert digest(build_model(replace(one, joints=joints))) != digest(build_model(one))
    assert digest(build_model(one, floating=True)) != digest(build_model(one))
    assert digest(build_model(one, gravity=(0, 0, 0))) != digest(build_model(one))


NUMBERS = {
    "mass": (1.0, 2.0),
    "centre": ((0.1, 0.2, 0.3), (0.1, 0.2, 0.31)),
    "inertia": (np.diag([0.1, 0.2, 0.2]), np.diag([0.1, 0.2, 0.25])),
    "product of inertia": (np.zeros((3, 3)), np.diag([0.1, 0.2, 0.25]) + 0.01),
    "xyz": ((0.5, 0.1, 0.0), (0.5, 0.1, 0.2)),
    "rpy": ((0.1, 0.2, 0.0), (0.1, 0.2, 0.3)),
    "axis": ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
    "axis2": ((1.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
    "pitch": (0.2, 0.1),
    "multiplier": (1.5, 2.0),
    "offset": (0.1, 0.5),
    "pad": ((0.0, 0.0, 0.0), (0.2, 0.3, 0.4)),
    "share": (0.25, 0.5),
    "carrier": ("body", "pad"),
    "loop": ((0.0, 0.0, 0.0), (0.1, 0.2, 0.3)),
    "loop axis": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
}
"""What stands in the machine below, and what it may be changed to."""


def machine(change=None) -> Builder:
    """A machine with every kind of number in it, of which one may be changed."""
    n = {name: usual for name, (usual, _) in NUMBERS.items()}
    if change is not None:
        n[change] = NUMBERS[change][1]
    turn, way = Frame.from_rpy(rpy=n["loop"]), rotation_that_takes_z_to(np.array(n["loop axis"]))
    # Both loop frames are turned back by their axis: a, b and the rows stay, the axes change.
    end = Frame(turn.rotation @ way.T, np.zeros(3))
    return (
        Builder("machine", root="base")
        .link("body", n["mass"], n["centre"], n["inertia"] + n["product of inertia"])
        # two parts at one place share 2 kg: their body has the same inertia however they do
        .link("plate", 2.0 * n["share"])
        .link("cover", 2.0 - 2.0 * n["share"])
        .link("arm", 1.0, (0.1, 0, 0), (1, 1, 1))
        .link("nut", 1.0, (0.1, 0, 0), (1, 1, 1))
        .link("cross", 1.0, (0.1, 0, 0), (1, 1, 1))
        .link("other", 1.0, (0.1, 0, 0), (1, 1, 1))
        .joint("pin", "revolute", "base", "body", n["xyz"], n["rpy"], n["axis"])
        .joint("table", "revolute", "base", "table")
        .joint("weld", "fixed", "table", "plate")
        .joint("bolt", "fixed", "table", "cover")
        .joint("mark", "fixed", "body", "pad", n["pad"])  # massless: a frame and nothing else
        .joint("arm", "revolute", n["carrier"], "arm", (1, 0, 0))
        .joint("screw", "helical", "base", "nut", pitch=n["pitch"])
        .joint("cross", "universal", "base", "cross", axis2=n["axis2"])
        .joint(
            "gear",
            "revolute",
            "base",
            "other",
            mimic="pin",
            multiplier=n["multiplier"],
            offset=n["offset"],
        )
        .loop("rod", "revolute", ("arm", end), ("nut", end), n["loop axis"])
    )


@pytest.mark.parametrize("change", NUMBERS)
def test_a_digest_forgets_no_number(change):
    """Kernels are found by it: what it forgot would give one machine the loads of another."""
    one = build_model(machine().description())
    other = build_model(machine(change).description())
    assert digest(build_model(machine().description())) == digest(one)
    assert digest(other) != digest(one)


def test_a_digest_knows_how_a_joint_type_from_outside_moves(monkeypatch):
    from mbd_bridge.model.joint_table import Revolute

    class Cam(Revolute):
        pass

    model = build_model(arm().description())
    bodies = [replace(body, type=Cam()) if body.type.nv else body for body in model.bodies]
    other = replace(model, bodies=tuple(bodies))
    before = digest(other)
    monkeypatch.setattr("inspect.getsource", lambda _: "another motion")
    assert digest(replace(other)) != before
    assert digest(model) == digest(build_model(arm().description()))  # ours need no source


END = ("upper", Frame.identity()), ("fore", Frame.identity())


def twice(call, *arguments):
    call(*arguments)
    return call(*arguments)


def test_an_inertia_turned_by_a_rotation_is_symmetric_enough():
    from mbd_bridge.model.spatial import matrix_from_rpy

    R = matrix_from_rpy(0.3, 0.4, 0.5)
    turned = R @ np.diag([1.0, 2.0, 2.5]) @ R.T
    assert not np.array_equal(turned, turned.T)
    link = Builder("b").link("rod", 1.0, (0, 0, 0), turned).description().links[1]
    assert np.array_equal(link.inertia.central, link.inertia.central.T)
    assert np.allclose(link.inertia.central, turned, rtol=1e-15)


@pytest.mark.parametrize("gravity", [9.81, (0, 0, 0, 1), (0, 0, np.nan), "down", [[1], [2], [3]]])
def test_gravity_is_three_finite_numbers(gravity):
    with pytest.raises(ModelError, match="gravity: expected"):
        build_model(arm().description(), gravity=gravity)


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
        (lambda b: b.link("odd", "heavy"), "link 'odd': mass: expected one number"),
        (lambda b: b.link("odd", 1.0, (0, 0)), r"centre: expected \(3,\), got the shape \(2,\)"),
        (lambda b: b.link("odd", 1.0, (0, 0, 0), (1, 2)), "inertia: expected"),
        (lambda b: b.link("odd", 1.0, (0, 0, 0), np.eye(3) + np.eye(3, k=1)), "symmetric"),
        (lambda b: b.joint("x", "fixed", "base", "new", (0, 0, np.nan)), "'x': xyz: .*finite"),
        (lambda b: b.joint("x", "fixed", "base", "new", (0, 0)), "'x': xyz: expected"),
        (lambda b: b.joint("x", "fixed", "base", "new", rpy=(0, np.inf, 0)), "'x': rpy: .*finite"),
        (lambda b: b.joint("x", "fixed", "base", "new", rpy=None), "'x': rpy: expected"),
        (lambda b: b.joint("x", "revolute", "base", "new", axis="z"), "'x': axis: expected"),
        (lambda b: b.joint("x", "helical", "base", "new", pitch="0.1 m"), "pitch: expected one"),
        (
            lambda b: b.joint("x", "revolute", "base", "new", mimic="elbow", multiplier=np.nan),
            "multiplier: .*finite",
        ),
        (lambda b: twice(b.loop, "x", "fixed", *END), "a loop 'x' already"),
        (
            lambda b: b.loop("x", "fixed", "base", 3),
            r"successor: expected a link's name \(its frame",
        ),
        (lambda b: b.loop("x", "fixed", "base", ("upper",)), "xyz2 and rpy2"),
        (lambda b: b.loop("x", "fixed", "base", "uper"), "did you mean 'upper'"),
        (lambda b: b.loop("x", "fixed", "base", "upper", xyz=(0, 0)), "'x': xyz: expected"),
        (lambda b: b.loop("x", "fixed", "base", "upper", rpy2="up"), "'x': rpy2: expected"),
        (lambda b: b.loop("x", "fixed", *END, xyz=(0, 0, 0)), "predecessor's frame is given twice"),
        (lambda b: b.joint("x", "revolute", "a", "b").joint("y", "fixed", "b", "a"), "cycle"),
        (lambda b: b.joint("root_joint", "fixed", "base", "new"), "rename it"),
        (lambda b: b.joint("x", "revolute", "base", "new", mimic="elbw"), "did you mean 'elbow'"),
        (
            lambda b: b.joint("x", "universal", "base", "new", axis=(0, 0, 1), axis2=(0, 0, -2)),
            "must differ",
        ),
    ],
)
def test_what_cannot_be_built_is_named(break_it, message):
    with pytest.raises(ModelError, match=message):
        build_model(break_it(arm()).description())


def test_a_loop_may_be_placed_by_numbers_or_by_frames():
    """Both links alike, zeros where nothing is given."""
    ends = Frame.from_rpy((1, 2, 3), (0.1, 0.2, 0.3)), Frame.from_rpy(rpy=(0.4, 0.5, 0.6))
    one = arm().loop(
        "x", "fixed", "base", "upper", xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3), rpy2=(0.4, 0.5, 0.6)
    )
    two = arm().loop("x", "fixed", ("base", ends[0]), ("upper", ends[1]))
    for a, b in zip(one.description().loops, two.description().loops, strict=True):
        for end in ("predecessor", "successor"):
            here, there = getattr(a, end), getattr(b, end)
            assert here.link == there.link
            assert np.array_equal(here.frame.rotation, there.frame.rotation)
            assert np.array_equal(here.frame.translation, there.frame.translation)


def test_unknown_joints_are_answered_with_near_names():
    with pytest.raises(ModelError, match="did you mean 'elbow'"):
        build_model(arm().description()).joint("elbw")
