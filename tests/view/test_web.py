"""Claims: the page of a scene holds the machine and loads that Python has, in one small file."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.files.surface import Surface
from mbd_bridge.view import solids
from mbd_bridge.view.draw_loads import Take
from mbd_bridge.view.scales import shown_loads
from mbd_bridge.view.source import of_simulation
from mbd_bridge.view.web import describe, viewer_page
from mbd_bridge.view.web.description import MOST, clustered, instants, simplified, within
from tests.robots import own_urdfs


@pytest.fixture(scope="module")
def source():
    bar = mbd.load(own_urdfs()["crank_rocker"])
    start = bar.assemble(near={"crank": 0.5}, fixed="crank")
    run = bar.simulate(0.5, q=start.q, v=start.v)
    return of_simulation(run, "all")


@pytest.fixture(scope="module")
def scene(source):
    return describe(source, keep=float(source.time[123]), title="</script><b>bar</b>")


def floats(text, width):
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(-1, width)


def test_bodies_and_loads_are_those_of_the_take(source, scene):
    kept = source.records(instants(source, float(source.time[123])))
    bodies = Take(kept).bodies(kept.q)
    times = floats(scene["time"], 1)[:, 0]
    assert times == pytest.approx(kept.time, abs=1e-6)
    assert times[scene["first"]] == pytest.approx(source.time[123], abs=1e-6)
    poses = floats(scene["bodies"]["poses"], 7).reshape(len(times), -1, 7)
    assert poses[..., :3] == pytest.approx(bodies[..., :3, 3], abs=1e-5)
    x, y, z, w = np.moveaxis(poses[..., 3:], -1, 0)
    third = np.stack([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)], axis=-1)
    assert third == pytest.approx(bodies[..., :3, 2], abs=1e-5)
    steps = np.einsum("nbi,nbi->nb", poses[1:, :, 3:], poses[:-1, :, 3:])
    assert steps.min() > 0.0  # no quaternion jumps to its other sign
    for shown, load in zip(
        scene["loads"], shown_loads(kept.model, kept.loads, bodies), strict=True
    ):
        assert shown["joint"] == load.joint
        for name in ("point", "force", "open_force", "moment", "axis"):
            if name in shown:
                values = getattr(load, name)
                size = np.abs(values).max()
                assert floats(shown[name], 3) == pytest.approx(values, abs=1e-6 * max(size, 1.0))
            elif name == "force":
                assert np.abs(load.force).max() <= kept.loads.round_off.force


def test_the_page_is_small_and_ends_no_script_early(scene):
    page = viewer_page(scene)
    assert len(page) < 300_000
    assert page.count("</script>") == 2 and "<b>" not in page
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    assert json.loads(data)["title"] == "</script><b>bar</b>"
    assert not re.search(r"https?://|url\(|@import|fetch\(|WebSocket", page)


def test_of_a_long_motion_no_more_is_kept_than_can_be_seen(source):
    rows = instants(source, float(source.time[123]))
    assert len(rows) <= MOST + 1 and {0, 123, len(source.time) - 1} <= set(rows.tolist())
    assert np.diff(source.time[rows]).max() < 3 * (source.time[-1] / len(rows))


def test_a_simpler_surface_is_the_same_body():
    ball = solids.sphere(0.5)
    angle = np.linspace(-np.pi / 2, np.pi / 2, 121)
    solids_round = solids.turned(np.column_stack([0.5 * np.cos(angle), 0.5 * np.sin(angle)]))
    few = simplified(solids_round, 1000)
    assert 100 < len(few.triangles) <= 1000 < len(solids_round.triangles)
    radius = np.linalg.norm(few.vertices, axis=1)
    assert radius.min() > 0.42 and radius.max() <= 0.5 + 1e-12
    assert volume(few) == pytest.approx(volume(solids_round), rel=0.08)
    small, other = within([ball, solids_round], len(ball.triangles) + 800)
    assert small is ball and len(other.triangles) <= 800
    flat = Surface(np.zeros((3, 3)), np.array([[0, 1, 2]]))
    assert len(clustered(flat, 8).triangles) == 0


def volume(surface):
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6.0
