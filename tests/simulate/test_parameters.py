"""A variant of a mechanism moves as the mechanism that is built with its numbers."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model import build_model
from mbd_bridge.model.description import LoopEnd
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Frame
from mbd_bridge.solve.closed_forward import ClosedForward
from tests.machines import four_bar, rssr
from tests.roads import by_one_and_two_threads
from tests.robots import own_urdfs
from tests.tolerances import ROUNDING


def edited(mechanism, *, links=None, joints=None, loops=None, gravity=None):
    """The mechanism rebuilt from its description with other entries, by hand."""
    model = mechanism.model
    changes = {}
    for kind, edits in (("links", links), ("joints", joints), ("loops", loops)):
        entries = getattr(model.description, kind)
        changes[kind] = tuple((edits or {}).get(e.name, lambda e: e)(e) for e in entries)
    description = replace(model.description, **changes)
    gravity = model.gravity if gravity is None else gravity
    return mbd.Mechanism(build_model(description, floating=model.floating, gravity=gravity))


def with_inertia(**numbers):
    return lambda link: replace(link, inertia=replace(link.inertia, **numbers))


def at_origin(xyz=None, rpy=None):
    def change(joint):
        frame = joint.origin
        if rpy is not None:
            frame = Frame.from_rpy(frame.translation, rpy)
        return replace(
            joint, origin=Frame(frame.rotation, frame.translation if xyz is None else xyz)
        )

    return change


def assert_alike(batch, k, run):
    scale = max(np.abs(run.q).max(), np.abs(run.v).max())
    assert np.array_equal(batch.time, run.time)
    assert np.abs(batch.q[k] - run.q).max() <= ROUNDING * scale
    assert np.abs(batch.v[k] - run.v).max() <= ROUNDING * scale


N = 5
RNG = np.random.default_rng(3)
MASS = RNG.uniform(0.5, 3.0, N)
CENTRE = RNG.uniform(-0.2, 0.2, (N, 3))
MOMENTS = RNG.uniform(0.05, 0.2, (N, 3))
GRAVITY = RNG.uniform(-9, 9, (N, 3))
XYZ = RNG.uniform(-0.3, 0.3, (N, 3))
RPY = RNG.uniform(-0.4, 0.4, (N, 3))
_root = RNG.normal(size=(N, 3, 3))
MATRIX = 0.05 * (_root @ _root.transpose(0, 2, 1) + np.eye(3))


ON_A_TREE = {
    "mass": (
        {"lbr_iiwa_link_3.mass": MASS},
        lambda k: {"links": {"lbr_iiwa_link_3": with_inertia(mass=MASS[k])}},
    ),
    "centre": (
        {"lbr_iiwa_link_5.centre": CENTRE},
        lambda k: {"links": {"lbr_iiwa_link_5": with_inertia(centre=CENTRE[k])}},
    ),
    "principal moments": (
        {"lbr_iiwa_link_2.inertia": MOMENTS},
        lambda k: {"links": {"lbr_iiwa_link_2": with_inertia(central=np.diag(MOMENTS[k]))}},
    ),
    "inertia": (
        {"lbr_iiwa_link_4.inertia": MATRIX},
        lambda k: {"links": {"lbr_iiwa_link_4": with_inertia(central=MATRIX[k])}},
    ),
    "place": (
        {"lbr_iiwa_joint_4.xyz": XYZ},
        lambda k: {"joints": {"lbr_iiwa_joint_4": at_origin(XYZ[k])}},
    ),
    "direction": (
        {"lbr_iiwa_joint_5.rpy": RPY},
        lambda k: {"joints": {"lbr_iiwa_joint_5": at_origin(rpy=RPY[k])}},
    ),
    "gravity": ({"gravity": GRAVITY}, lambda k: {"gravity": GRAVITY[k]}),
    "all": (
        {
            "lbr_iiwa_link_3.mass": MASS,
            "lbr_iiwa_joint_5.rpy": RPY,
            "lbr_iiwa_joint_5.xyz": XYZ,
            "gravity": GRAVITY,
            "lbr_iiwa_link_0.mass": 7.0,
        },
        lambda k: {
            "links": {"lbr_iiwa_link_3": with_inertia(mass=MASS[k])},
            "joints": {"lbr_iiwa_joint_5": at_origin(XYZ[k], RPY[k])},
            "gravity": GRAVITY[k],
        },
    ),
}


def five_joints():
    """The arm without its wrist: it takes half as long to compile."""
    whole = mbd.load(own_urdfs()["kuka_iiwa"]).model.description
    joints = [f"lbr_iiwa_joint_{k}" for k in range(1, 6)]
    links = [f"lbr_iiwa_link_{k}" for k in range(6)]
    kept = {
        "joints": tuple(joint for joint in whole.joints if joint.name in joints),
        "links": tuple(link for link in whole.links if link.name in links),
    }
    return mbd.Mechanism(build_model(replace(whole, **kept)))


@pytest.mark.parametrize("case", ON_A_TREE)
def test_a_variant_of_a_tree_is_the_tree_rebuilt(case):
    arm = five_joints()
    parameters, edits = ON_A_TREE[case]
    q, v = np.linspace(-1, 1, 5), np.linspace(1, -1, 5)
    batches = by_one_and_two_threads(arm, 0.05, q=q, v=v, parameters=parameters, every=10)
    assert all(found.finished.all() and not found.alone for found in batches)
    plain = arm.simulate(0.05, q=q, v=v, every=10)
    for k in (0, N - 1):
        run = edited(arm, **edits(k)).simulate(0.05, q=q, v=v, every=10)
        for found in batches:
            assert_alike(found, k, run)
            assert np.abs(found.v[k] - plain.v).max() > 1e-6  # it makes a difference


@pytest.mark.parametrize("many", [False, True], ids=["one state", "states of their own"])
def test_loads_of_variants_are_those_of_the_mechanisms_rebuilt(many):
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    parameters, edits = ON_A_TREE["all"]
    joints = ["lbr_iiwa_joint_2", "lbr_iiwa_joint_ee"]
    solver = arm.compile("joint_loads", joints, parameters=parameters)
    q, v, a = RNG.uniform(-1, 1, (3, N, 7) if many else (3, 7))
    found = solver(q, v, a)
    assert found.force.shape == (N, 2, 3)
    for k in range(N):
        state = (q[k], v[k], a[k]) if many else (q, v, a)
        alone = edited(arm, **edits(k)).joint_loads(*state, joints)
        assert np.allclose(found.force[k], alone.force, rtol=1e-12, atol=1e-11)
        assert np.allclose(found.moment[k], alone.moment, rtol=1e-12, atol=1e-11)
        assert np.allclose(found.actuation[k], alone.actuation, rtol=1e-12, atol=1e-11)


def started(mechanism, rate=2.0):
    at = mechanism.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": rate})
    return at.q, at.v


PIN = np.column_stack([RNG.uniform(2.3, 2.7, N), np.zeros(N), RNG.uniform(-0.1, 0.1, N)])
ROD = np.column_stack([np.zeros(N), np.zeros(N), RNG.uniform(0.9, 1.1, N)])
BALL = RNG.uniform(-0.05, 0.05, (N, 3)) + np.array([0, 1.0, 0])


def moved_end(side, xyz):
    def change(loop):
        end = getattr(loop, side)
        return replace(loop, **{side: LoopEnd(end.link, Frame(end.frame.rotation, xyz))})

    return change


ON_LOOPS = {
    "mass": (
        four_bar,
        {"coupler.mass": MASS},
        lambda k: {"links": {"coupler": with_inertia(mass=MASS[k])}},
    ),
    "crank's length": (
        four_bar,
        {"elbow.xyz": ROD},
        lambda k: {"joints": {"elbow": at_origin(ROD[k])}},
    ),
    "place of the cut on its successor": (
        four_bar,
        {"pin.successor.xyz": PIN},
        lambda k: {"loops": {"pin": moved_end("successor", PIN[k])}},
    ),
    "length of a spatial coupler": (
        rssr,
        {"cut ball.predecessor.xyz": BALL, "coupler.mass": MASS, "coupler.centre": 0.5 * BALL},
        lambda k: {
            "loops": {"cut ball": moved_end("predecessor", BALL[k])},
            "links": {"coupler": with_inertia(mass=MASS[k], centre=0.5 * BALL[k])},
        },
    ),
}


@pytest.mark.parametrize("case", ON_LOOPS)
def test_a_variant_of_a_linkage_is_the_linkage_rebuilt(case):
    make, parameters, edits = ON_LOOPS[case]
    bar = make() if make is rssr else make(1, 2, 1.5, 2.5)
    rebuilt = [edited(bar, **edits(k)) for k in range(N)]
    states = [started(one) for one in rebuilt]
    q, v = (np.array(column) for column in zip(*states, strict=True))
    batches = by_one_and_two_threads(bar, 0.1, q=q, v=v, parameters=parameters, every=10)
    assert all(found.finished.all() and not found.alone for found in batches)
    for k in range(N):
        run = mbd.simulation.simulate(rebuilt[k], 0.1, q=q[k], v=v[k], every=10)
        for found in batches:
            assert_alike(found, k, run)
            one = found[k]
            assert np.allclose(one.energy, run.energy, rtol=1e-12)
            assert one.closure.max() < 1e-13


@pytest.mark.parametrize("prescribed", [(), (0,)])
def test_accelerations_of_a_variant_are_those_of_the_linkage_rebuilt(prescribed):
    # through machine code that the variants share, with the mechanism's own scales
    bar = four_bar(1, 2, 1.5, 2.5)
    numbers = Parameters.of(bar.model, {"elbow.xyz": 3.0 * ROD, "pin.successor.xyz": 3.0 * PIN})
    for k in range(N):
        variant = numbers.variant(k)
        rebuilt = build_model(variant.description, gravity=variant.gravity)
        assert rebuilt.size != bar.model.size
        q, v = RNG.uniform(0.3, 0.9, (2, 4, variant.nq))  # open loops: not checked here
        tau = RNG.normal(size=(4, variant.nv))
        given = (q, v, tau, *([tau[:, :1]] if prescribed else []))
        for method in (None, "svd"):
            ours, theirs = (
                ClosedForward(model, prescribed_velocities=prescribed)(
                    *given, method=method, check=False
                )
                for model in (variant, rebuilt)
            )
            for one, other in zip(ours, theirs, strict=True):
                assert np.allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("side", ["predecessor", "successor"])
def test_loads_of_a_cut_joint_whose_place_varies_are_those_of_the_linkage_rebuilt(side):
    bar = four_bar(1, 2, 1.5, 2.5)
    moved = np.zeros((N, 3)) + getattr(bar.model.description.loops[0], side).frame.translation
    moved[:, 0] += RNG.uniform(-0.1, 0.1, N)
    rebuilt = [edited(bar, loops={"pin": moved_end(side, xyz)}) for xyz in moved]
    q, v = (np.array(column) for column in zip(*map(started, rebuilt), strict=True))
    numbers = {f"pin.{side}.xyz": moved}
    batch = bar.simulate(0.02, q=q, v=v, parameters=numbers, every=10)
    found = batch.joint_loads("pin")
    for k in range(N):
        alone = mbd.simulation.simulate(rebuilt[k], 0.02, q=q[k], v=v[k], every=10).joint_loads(
            "pin"
        )
        assert np.allclose(found.force[k], alone.force, rtol=1e-10, atol=1e-9)
        assert np.allclose(found.moment[k], alone.moment, rtol=1e-10, atol=1e-9)


def test_a_variant_that_does_not_close_concerns_no_other():
    bar = four_bar(1, 2, 1.5, 2.5)
    q, v = started(bar)
    rods = np.array([[0, 0, 1.0], [0, 0, 1.1], [0, 0, 1.0]])
    found = bar.simulate(0.05, q=q, v=v, parameters={"elbow.xyz": rods})
    assert found.finished.tolist() == [True, False, True]
    assert "close the loops" in found.status[1]
    assert_alike(found, 2, bar.simulate(0.05, q=q, v=v))


def test_parameters_of_a_joint_mean_the_same_whichever_joint_is_cut():
    bar = four_bar(1, 2, 1.5, 2.5)
    given = {"elbow.xyz": ROD, "pin.successor.xyz": PIN, "wrist.xyz": (2.1, 0, 0)}
    for cuts in (["crank"], ["elbow"], ["wrist"], "weighted"):
        other = mbd.Mechanism.build(bar.model.description, cuts=cuts)
        for k in (0, N - 1):
            one, two = (Parameters.of(m.model, given).variant(k) for m in (bar, other))
            at = mbd.Mechanism(one).assemble({"crank": 0.5}, fixed="crank").q
            known = dict(zip(one.coordinate_names, at, strict=True))
            known = {name: known[name] for name in two.coordinate_names if name in known}
            there = mbd.Mechanism(two).assemble(known, fixed=known).q
            links = [mbd.Mechanism(m).placement(x, "coupler") for m, x in ((one, at), (two, there))]
            assert np.allclose(*links, atol=1e-9)


def test_zeros_in_every_variant_cost_nothing():
    bar = four_bar(1, 2, 1.5, 2.5)
    straight = Parameters.of(bar.model, {"elbow.xyz": ROD})
    assert straight.size == 1 and straight.values.shape == (N, 3)
    skew = Parameters.of(bar.model, {"elbow.xyz": ROD + np.array([0, 1e-3, 0])})
    assert skew.size == 2 and skew.identity != straight.identity


@pytest.mark.parametrize(
    ("single", "whole"),
    [
        ({"elbow.xyz.z": [0.9, 1.1]}, {"elbow.xyz": [[0, 0, 0.9], [0, 0, 1.1]]}),
        (
            {"elbow.xyz.z": 0.9, "elbow.xyz.x": [0.1, 0.2]},
            {"elbow.xyz": [[0.1, 0, 0.9], [0.2, 0, 0.9]]},
        ),
        (
            {"pin.predecessor.rpy.pitch": [0.1, 0.2]},
            {"pin.predecessor.rpy": [[0, 0.1, 0], [0, 0.2, 0]]},
        ),
        ({"gravity.x": [1.0, 2.0]}, {"gravity": [[1.0, 0, -9.81], [2.0, 0, -9.81]]}),
    ],
)
def test_single_numbers_of_vectors_vary_alone(single, whole):
    model = four_bar(1, 2, 1.5, 2.5).model
    found, expected = Parameters.of(model, single), Parameters.of(model, whole)
    assert found.names == expected.names
    np.testing.assert_allclose(found.values, expected.values, atol=1e-15)


def test_single_numbers_of_an_inertia_leave_the_others():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    link = "lbr_iiwa_link_4"
    (own,) = (x.inertia.central.copy() for x in arm.model.description.links if x.name == link)
    own[0, 1] = own[1, 0] = 1e-3
    own[2, 2] *= 1.5
    single = {f"{link}.inertia.xy": 1e-3, f"{link}.inertia.zz": own[2, 2]}
    expected = Parameters.of(arm.model, {f"{link}.inertia": own[None]})
    assert np.array_equal(Parameters.of(arm.model, single).values, expected.values)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"elbow.xyz.w": 1.0}, "such as JOINT.xyz.x"),
        ({"elbo.xyz.x": 1.0}, "did you mean 'elbow'"),
        ({"elbow.xyz.x": 1.0, "elbow.xyz": (0, 0, 1)}, "the whole or its numbers"),
        ({"elbow.xyz.x": [1.0, 2.0], "elbow.xyz.z": [1.0, 2.0, 3.0]}, "same number of variants"),
        ({"coupler.weight": 1.0}, "no parameter 'coupler.weight'"),
        ({"copler.mass": 1.0}, "did you mean 'coupler'"),
        ({"elbo.xyz": (0, 0, 1)}, "did you mean 'elbow'"),
        ({"coupler.mass": -1.0}, "not negative"),
        ({"coupler.mass": [1.0, np.nan]}, "finite"),
        ({"coupler.mass": "heavy"}, "expected real numbers"),
        ({"coupler.mass": [1.0, 2.0], "rocker.mass": [1.0, 2.0, 3.0]}, "same number of variants"),
        ({"elbow.xyz": (0, 0)}, "(3,)"),
        ({"coupler.inertia": np.arange(9.0).reshape(1, 3, 3)}, "symmetric"),
        ({"pin.length": 1.0}, "distance joint"),
    ],
)
def test_parameters_that_there_are_not_are_explained(parameters, message):
    with pytest.raises(ModelError) as error:
        four_bar().simulate(0.1, parameters=parameters)
    assert message in str(error.value)


def test_a_rod_of_another_length():
    b = mbd.Builder("swing", root="ground")
    b.link("bob", 1, (0, 0, -1), (0.1, 0.1, 0.1))
    b.joint("ball", "floating", "ground", "bob")
    b.loop("rod", "distance", ("ground", Frame.identity()), ("bob", Frame.identity()), length=2.0)
    swing = mbd.Mechanism.build(b)
    lengths = np.array([1.0, 2.0, 3.0])
    q = np.tile(swing.neutral(), (3, 1))
    q[:, 0] = lengths
    found = swing.simulate(0.1, q=q, parameters={"rod.length": lengths})
    assert found.finished.all()
    away = np.linalg.norm(found.q[:, :, :3], axis=-1)
    assert np.abs(away - lengths[:, None]).max() < 1e-12


def test_a_parameter_is_that_of_its_link_wherever_the_file_has_it():
    """Machine code is addressed by the numbers of a machine, which know no order of links."""

    def two(*order):
        b = mbd.Builder("two")
        for name in order:
            b.link(name, 1.0 if name == "left" else 2.0, (0, 0, -0.5), (0.1, 0.1, 0.1))
        for x, name in enumerate(("left", "right")):
            b.joint(f"to_{name}", "revolute", "base", name, (x, 0, 0), axis=(0, 1, 0))
        return mbd.Mechanism.build(b)

    def moved(robot, link):
        given = {"q": np.array([[0.1, 0.2]] * 2), "parameters": {f"{link}.mass": [3.0, 5.0]}}
        return robot.simulate(0.05, **given).q[:, -1]

    plain = {link: moved(two("left", "right"), link) for link in ("left", "right")}
    for k, (link, ends) in enumerate(plain.items()):
        assert np.flatnonzero(ends[0] != ends[1]).tolist() == [k]
        assert np.array_equal(moved(two("right", "left"), link), ends)
