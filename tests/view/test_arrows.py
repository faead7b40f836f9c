"""Arrows point where forces point, are as long as they are large, and say what nobody knows."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.model import build_model
from mbd_bridge.view import arrows as look, solids
from mbd_bridge.view.arrows import Arrows, telescope
from mbd_bridge.view.camera import direction, framing
from mbd_bridge.view.draw_loads import LONGEST, Overlays, Take
from mbd_bridge.view.picture import LIGHT, RayCanvas
from mbd_bridge.view.pieces import CanvasStage
from mbd_bridge.view.record import Shot, camera_of
from mbd_bridge.view.scales import Scale, joint_axes, load_frames, round_number, shown_loads
from mbd_bridge.view.source import Rest, of_simulation
from tests.robots import own_urdfs
from tests.trees import random_state, random_tree

SIZE = (480, 360)


def test_a_telescope_covers_its_length_and_nothing_else():
    for length in np.random.default_rng(0).uniform(0.11, 40.0, 300):
        pieces = list(telescope(length, 0.1))
        assert min(place for _, place in pieces) == 0.0
        assert max(size + place for size, place in pieces) == pytest.approx(length)
        assert sum(size for size, _ in pieces) >= length - 1e-12
        assert all(np.log2(size / 0.1) % 1 == 0 for size, _ in pieces)
    assert not list(telescope(0.09, 0.1))


def principal(mask):
    """Direction (right, down) of the pixels of a mask, and where they are."""
    rows, columns = np.nonzero(mask)
    points = np.column_stack([columns, rows]) + 0.5
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return axes[0], points


@pytest.mark.parametrize("seed", range(8))
def test_the_pixels_of_an_arrow_lie_along_the_projected_force(seed):
    """The picture with the arrow less that without it: its long side, and its head's end."""
    rng = np.random.default_rng(seed)
    corners, towards = solids.box(2.6, 2.6, 2.6).vertices, direction(*rng.uniform(-50, 50, 2))
    camera = framing(corners, towards, SIZE)
    start, vector = rng.uniform(-0.3, 0.3, 3), rng.normal(size=3)
    vector -= 0.7 * (vector @ towards) * towards  # not at the camera, where nothing is seen of it
    vector *= rng.uniform(0.6, 1.0) / np.linalg.norm(vector)
    canvas = RayCanvas()
    seen_by = camera.view(), camera.projection(SIZE), SIZE, LIGHT
    empty = canvas.image(*seen_by).colours
    CanvasStage(canvas).show(Arrows(1.0).arrow(start, vector, look.FORCE))
    full = canvas.image(*seen_by).colours
    changed = np.abs(full.astype(int) - empty).max(axis=-1) > 10
    tail, tip = camera.pixels([start, start + vector], SIZE)
    way = tip - tail
    assert np.linalg.norm(way) > 40
    axis, points = principal(changed)
    assert abs(axis @ way) / np.linalg.norm(way) > np.cos(np.deg2rad(2.5))
    along = (points - tail) @ way / np.linalg.norm(way)
    assert along.max() == pytest.approx(np.linalg.norm(way), abs=4)
    assert along.min() == pytest.approx(0.0, abs=7)
    across = np.abs((points - tail) @ [-axis[1], axis[0]])
    assert along[across.argmax()] > 0.6 * np.linalg.norm(way)  # the head is the wide end
    red = full[changed].mean(axis=0)
    assert red[0] > 2 * red[1:].max()


@pytest.mark.parametrize(("share", "turn"), [(0.7, 1.0), (-0.7, -1.0), (0.2, 1.0)])
def test_an_arc_turns_to_the_right_round_its_axis_for_a_positive_actuator(share, turn):
    axis = np.array([0.6, 0.0, 0.8])
    pieces = Arrows(1.0).actuation(np.array([1.0, 2.0, 3.0]), axis, share)
    head = pieces[-1].pose
    arm = head[:3, 3] - [1.0, 2.0, 3.0]
    assert np.cross(arm, head[:3, 2]) @ axis * turn > 0.1  # the cone's tip looks along +z
    sizes = [p.pose[:3, 2] @ axis for p in pieces[:-1]]
    assert sizes == pytest.approx([turn] * len(sizes))


def test_nothing_is_drawn_of_nothing():
    draw, at = Arrows(1.0), np.zeros(3)
    for vector in (np.zeros(3), np.full(3, np.nan), np.full(3, 1e-3), np.array([np.inf, 0, 0])):
        assert draw.arrow(at, vector, look.FORCE) == []
        assert draw.dashed(at, vector) == []
    for share in (0.0, 1e-3, np.nan):
        assert draw.actuation(at, np.array([0.0, 0.0, 1.0]), share) == []


def test_few_surfaces_make_all_arrows():
    """A window draws arrows for hours: no arrow may need a surface of its own."""
    draw, rng = Arrows(1.0), np.random.default_rng(1)
    used = set()
    for _ in range(500):
        vector = rng.normal(size=3)
        for piece in (
            *draw.arrow(np.zeros(3), vector, look.FORCE),
            *draw.dashed(np.zeros(3), vector, 2),
            *draw.actuation(np.zeros(3), np.eye(3)[0], rng.uniform(-1, 1)),
        ):
            used.add(id(piece.surface))
    assert len(used) < 60


# -- loads in the world --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_loads_drawn_are_those_in_world_axes_at_the_joints(seed):
    rng = np.random.default_rng(seed)
    robot = mbd.Mechanism.build(random_tree(rng, 8, mimics=0.2))
    states = [random_state(robot.model, rng) for _ in range(3)]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    world = robot.joint_loads(q, v, a, in_="world")
    take = Take(Rest(robot.model).start())
    bodies = take.bodies(q)
    for k, load in enumerate(shown_loads(robot.model, robot.joint_loads(q, v, a), bodies)):
        scale = np.abs(world.force).max()
        assert load.force == pytest.approx(world.force[:, k], abs=1e-11 * scale)
        assert load.moment == pytest.approx(world.moment[:, k], abs=1e-10 * scale)
        assert not load.open_force.any()
        child = robot.model.links[robot.model.joints[robot.model.joint_index[load.joint]].child]
        there = robot.placement(q, child.name)[:, :3, 3]
        assert load.point == pytest.approx(there, abs=1e-12)
        if (
            load.actuation is not None
        ):  # the actuation is the load's part along the axis that is drawn
            kind = robot.model.joint(load.joint).type
            own = load.moment if load.turns else load.force
            if kind.name == "helical":  # a screw: the moment, and the force on its way
                own = own + kind.pitch * load.force
            along = np.einsum("ni,ni->n", own, load.axis)
            assert load.actuation == pytest.approx(along, abs=1e-10 * scale)


def test_arrows_reach_from_the_joint_along_the_load_at_the_legends_scale():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    q = np.array([0.3, 0.6, -0.4, -1.2, 0.5, 0.9, 0.0])
    joint, still = "lbr_iiwa_joint_2", np.zeros(7)
    world = arm.joint_loads(q, still, still, [joint], in_="world")
    source = Rest(arm.model, (joint,)).start(q)
    take = Take(source)
    moment, scale = take.of(source), take.scale
    at = arm.placement(q, "lbr_iiwa_link_2")[:3, 3]
    for colour, drawn in (
        (look.FORCE, scale.force * world.force[0]),
        (look.MOMENT, scale.moment * world.moment[0]),
    ):
        pieces = [piece for piece in moment.over if piece.colour == colour]
        way = drawn / np.linalg.norm(drawn)
        points = np.concatenate(
            [p.surface.vertices @ p.pose[:3, :3].T + p.pose[:3, 3] for p in pieces]
        )
        along = (points - at) @ way
        across = np.linalg.norm(points - at - np.outer(along, way), axis=1)
        assert along.min() == pytest.approx(0.0, abs=1e-6)
        assert along.max() == pytest.approx(np.linalg.norm(drawn), rel=1e-6)
        assert across.max() < 0.2 * np.linalg.norm(drawn)
        assert across[along.argmax()] == pytest.approx(0.0, abs=1e-6)  # a tip, not a tail
        (label,) = [label for label in moment.labels if label.colour == colour]
        assert label.point == pytest.approx(at + drawn)
    head = [piece.pose for piece in moment.over if piece.colour == look.ACTUATION][-1]
    axis = arm.placement(q, "lbr_iiwa_link_2")[:3, 2]
    assert np.cross(head[:3, 3] - at, head[:3, 2]) @ axis * world.actuation[0] > 0.0


def test_loads_and_axes_of_joints_walked_the_other_way_are_the_same():
    description = build_model(mbd.load(own_urdfs()["four_bar"]).model.description).description
    drawn = {}
    for cuts in ("authored", ["crank"]):
        bar = mbd.Mechanism.build(description, cuts=cuts)
        place = bar.assemble(near={"elbow": -0.5, "rocker": 0.4}).q
        still = np.zeros(bar.nv)
        names = ["crank", "elbow", "rocker", "coupler_pin"]
        actuators = ["rocker"]
        loads = bar.joint_loads(place[None], still[None], still[None], names, actuated=actuators)
        take = Take(Rest(bar.model).start(place))
        bodies = take.bodies(place[None])
        drawn[str(cuts)] = bodies, {x.joint: x for x in shown_loads(bar.model, loads, bodies)}, bar
    (_, first, _), (bodies, second, bar) = drawn.values()
    assert any(joint.turned for joint in bar.model.joints)
    assert joint_axes(bar.model, "elbow", bodies)[0] == pytest.approx([0.0, 1.0, 0.0])
    assert second["rocker"].actuation == pytest.approx(
        np.einsum("ni,ni->n", second["rocker"].moment, second["rocker"].axis), abs=1e-9
    )
    frames = {name: load_frames(bar.model, name, bodies) for name in second}
    assert all(np.isfinite(f).all() for f in frames.values())
    assert set(first) == set(second)


def test_what_is_not_determined_is_grey_and_dashed_and_the_rest_is_not():
    bar = mbd.load(own_urdfs()["four_bar"])
    tilted = mbd.Mechanism.build(bar.model.description, gravity=(0.0, -3.0, -9.0))
    start = tilted.assemble(near={"crank": 0.5}, fixed="crank").q
    source = Rest(tilted.model, ("elbow",), ("crank",)).start(start)
    take = Take(source)
    moment = take.of(source)
    colours = {piece.colour for piece in moment.over}
    assert look.UNDETERMINED in colours
    assert look.FORCE in colours
    assert any(label.text.endswith("?") for label in moment.labels)
    assert any("not determined" in words for words, _ in take.legend())
    (load,) = shown_loads(tilted.model, source.loads, take.bodies(source.q))
    assert load.force[0, 1] == 0.0  # sideways nobody knows
    assert load.open_force[0, [0, 2]] == pytest.approx([0.0, 0.0])
    assert abs(load.open_force[0, 1]) > 0.1
    upright = Rest(bar.model, ("elbow",), ("crank",)).start(start)
    assert look.UNDETERMINED not in {piece.colour for piece in Take(upright).of(upright).over}


def test_the_largest_load_has_a_long_arrow_and_none_is_too_long():
    bar = mbd.load(own_urdfs()["crank_rocker"])
    start = bar.assemble(near={"crank": 0.5}, fixed="crank")
    run = bar.simulate(0.5, step=1e-3, q=start.q, v=start.v, every=10)
    source = of_simulation(run, "all")
    scale = Scale.of(bar.model, source.loads, 0.2)
    force = scale.force * np.linalg.norm(source.loads.force, axis=-1).max()
    assert 0.2 / 2.5 - 1e-9 < force < 0.2 * (1 + 1e-6)
    assert round_number(0.999) == pytest.approx(0.5)
    assert round_number(1.0) == 1.0
    assert round_number(777.0) == 500.0
    take = Take(source)
    camera = camera_of(take, Shot(SIZE))
    for time in run.time[::10]:
        moment = take.moment(float(time))
        for piece in moment.over:  # all arrows are in the picture
            there = camera.pixels(piece.pose[:3, 3], SIZE)
            assert (there > 0).all()
            assert (there < SIZE).all()


def test_rounding_errors_are_no_loads():
    rod = mbd.load(own_urdfs()["pendulum"])
    source = Rest(rod.model, ("hinge",)).start([0.0])  # hangs: no moment at all
    loads = source.loads
    assert Scale.of(rod.model, loads, 1.0).moment == 0.0
    assert Scale.of(rod.model, loads, 1.0).force > 0.0
    assert {p.colour for p in Take(source).of(source).over} == {look.FORCE}


def test_an_actuation_has_its_torque_with_unit_at_its_head():
    bar = mbd.load(own_urdfs()["crank_rocker"])
    source = Rest(bar.model, ("crank",), ("crank",)).start()
    take = Take(source)
    moment = take.of(source)
    (label,) = (label for label in moment.labels if label.colour == look.ACTUATION)
    value = float(source.loads.actuation[0, 0])
    assert float(label.text.removesuffix(" N m")) == pytest.approx(value, rel=2e-3)
    head = [piece.pose[:3, 3] for piece in moment.over if piece.colour == look.ACTUATION][-1]
    assert np.linalg.norm(label.point - head) < 0.7 * Arrows(LONGEST * take.span).head
    unlabelled = take.with_overlays(Overlays(labels=False)).of(source)
    assert not unlabelled.labels
