"""External forces are drawn where they act, as long as they are large, in a colour of their own."""

import base64

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.view import arrows as look
from mbd_bridge.view.draw_loads import EXTERNAL, Overlays, Take
from mbd_bridge.view.record import Shot, camera_of
from mbd_bridge.view.source import of_motion, of_simulation
from mbd_bridge.view.web import describe
from tests.robots import own_urdfs

SIZE = (480, 360)
POINT = np.array([0.0, 0.0, 0.2])


@pytest.fixture(scope="module")
def arm():
    return mbd.load(own_urdfs()["pendulum"])


@pytest.fixture(scope="module")
def motion(arm):
    time = np.linspace(0.0, 1.0, 21)
    q = 0.5 + 0.4 * np.sin(3.0 * time)[:, None]
    v, a = 1.2 * np.cos(3.0 * time)[:, None], -3.6 * np.sin(3.0 * time)[:, None]
    names = arm.model.coordinate_names, arm.model.velocity_names
    return mbd.Motion(time, q, v, a, *names, model=arm)


@pytest.fixture(scope="module")
def pushed(arm, tmp_path_factory):
    path = tmp_path_factory.mktemp("external") / "push.csv"
    link = arm.model.links[-1].name
    path.write_text(f"time [s],{link}.fx [N],{link}.fz [N]\n0,0,6\n1,30,6\n")
    return arm.read_external(path, axes="world", point=POINT)


def violet(picture):
    """Pixels in the hue of external forces, at any brightness."""
    red, green, blue = picture.astype(float).transpose(2, 0, 1)
    hue = np.abs(red / np.maximum(blue, 1.0) - look.EXTERNAL[0] / look.EXTERNAL[2]) < 0.2
    return hue & (blue > 60) & (green < 0.6 * blue)


def place_of(arm, q):
    return arm.placement(q, arm.model.links[-1].name)


def test_the_arrow_is_seen_from_the_point_of_action_along_the_force(arm, motion, pushed):
    take = Take(of_motion(arm.model, motion, external=pushed).at(np.array([1.0])))
    camera = camera_of(take, Shot(SIZE, view=(10.0, 15.0)))
    picture = arm.render(
        None, motion, time=1.0, external=pushed, size=SIZE, view=(10.0, 15.0), labels=False
    )
    tail = (place_of(arm, motion.q[-1]) @ [*POINT, 1.0])[:3]
    tip = tail + take.scale.force * np.array([30.0, 0.0, 6.0])
    start, end = camera.pixels([tail, tip], SIZE)
    way = end - start
    rows, columns = np.nonzero(violet(picture))
    places = np.column_stack([columns + 0.5, rows + 0.5]) - start
    across = np.abs(places @ np.array([-way[1], way[0]])) / np.linalg.norm(way)
    along = (places @ way / (way @ way))[across < 12]  # the legend has the colour, too
    assert np.linalg.norm(way) > 40
    assert along.min() == pytest.approx(0.0, abs=0.1)
    assert along.max() == pytest.approx(1.0, abs=0.1)


def test_its_name_and_size_stand_at_its_tip(arm, motion, pushed):
    source = of_motion(arm.model, motion, external=pushed)
    take = Take(source)
    (label,) = take.moment(0.5).labels
    assert label.text == f"{arm.model.links[-1].name}: {np.hypot(15.0, 6.0):.2f} N"
    assert label.colour == look.EXTERNAL
    tail = place_of(arm, source.at(np.array([0.5])).q[0]) @ [*POINT, 1.0]
    force = np.array([15.0, 0.0, 6.0])
    assert label.point == pytest.approx(tail[:3] + take.scale.force * force, abs=1e-9)
    assert (EXTERNAL, look.EXTERNAL) in take.legend()
    assert not take.with_overlays(Overlays(labels=False)).moment(0.5).labels


def test_joint_loads_and_external_forces_have_one_scale(arm, motion, pushed):
    alone = Take(of_motion(arm.model, motion, ["hinge"]))
    strong = mbd.ExternalForces(arm.model, pushed.forces * 4)
    take = Take(of_motion(arm.model, motion, ["hinge"], external=strong))
    assert take.scale.force < 0.5 * alone.scale.force
    assert {look.FORCE, look.EXTERNAL} <= {piece.colour for piece in take.moment(1.0).over}


def test_the_page_holds_external_forces_in_the_world(arm, motion, pushed):
    source = of_motion(arm.model, motion, external=pushed)
    (found,) = describe(source)["external"]
    point, force, moment = (
        np.frombuffer(base64.b64decode(found[name]), "<f4").reshape(-1, 3)
        for name in ("point", "force", "moment")
    )
    assert found["link"] == arm.model.links[-1].name
    assert force == pytest.approx(
        np.column_stack([30.0 * motion.time, 0 * motion.time, 6 + 0 * motion.time]), abs=1e-5
    )
    assert moment == pytest.approx(0.0, abs=1e-5)
    expected = [(place_of(arm, q) @ [*POINT, 1.0])[:3] for q in motion.q]
    assert point == pytest.approx(np.array(expected), abs=1e-6)


@pytest.mark.parametrize("world", [False, True])
def test_points_of_action_may_be_columns(arm, motion, world, tmp_path):
    link = arm.model.links[-1].name
    prefix = f"{link}.world" if world else link
    path = tmp_path / "plate.csv"
    path.write_text(
        f"time [s],{prefix}.fz [N],{prefix}.px [m],{prefix}.pz [m]\n1,20,0.1,-1\n0,20,0.3,-1\n"
    )
    source = of_motion(arm.model, motion, external=arm.read_external(path))
    (one,) = source.applied
    point, force, moment = one.in_world(arm.model, Take(source).bodies(motion.q))
    given = np.column_stack([0.3 - 0.2 * motion.time, 0 * motion.time, -1 + 0 * motion.time])
    if not world:
        given = np.array(
            [(place_of(arm, q) @ [*p, 1.0])[:3] for q, p in zip(motion.q, given, strict=True)]
        )
    assert point == pytest.approx(given, abs=1e-9)
    assert np.linalg.norm(force, axis=1) == pytest.approx(20.0)
    assert moment == pytest.approx(0.0, abs=1e-9)


def test_a_simulation_shows_what_pushed_it(arm, pushed):
    link = arm.model.links[-1].name
    run = arm.simulate(0.1, q=[0.3], every=20, external=pushed)
    (one,) = of_simulation(run).applied
    assert one.point == pytest.approx(np.tile(POINT, (len(run.time), 1)))
    _, force, moment = one.in_world(arm.model, Take(of_simulation(run)).bodies(run.q))
    assert force[:, 0] == pytest.approx(30.0 * run.time, abs=1e-9)
    assert moment == pytest.approx(0.0, abs=1e-9)
    several = arm.simulate(0.02, q=[0.3], external=[pushed, {link: (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)}])
    (one,) = of_simulation(several).applied
    assert one.point == pytest.approx(0.0)
    assert one.wrench == pytest.approx(several.external[link])
    assert of_simulation(arm.simulate(0.02, q=[0.3])).applied == ()
