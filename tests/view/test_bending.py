"""Claims: what is drawn of links that bend is where they are; exaggerated loops stay closed."""

from __future__ import annotations

import base64
import pickle

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main
from mbd_bridge.files.surface import Surface
from mbd_bridge.model.flexible.basis import analytic_modes
from mbd_bridge.view import solids
from mbd_bridge.view.bending import SLICES, _split, beam_surface, sliced
from mbd_bridge.view.draw_loads import Overlays, Take
from mbd_bridge.view.posing import knobs
from mbd_bridge.view.scales import CLOSED, exaggerated, visible_factor
from mbd_bridge.view.source import Rest, Source
from mbd_bridge.view.web import describe
from tests.flexible.beams import MIDDLE, as_nodes, pendulum as nodal_pendulum, rod
from tests.flexible.models import bar
from tests.robots import OWN

X = np.linspace(0.0, 1.0, 5)
ANGLES = {"theta1": -0.3, "theta2": -0.2, "theta3": -0.2, "theta4": 0.2}


def bent(ralf, deflection=0.02):
    modes = {name: 0.0 for name in ralf.coordinate_names if "mode" in name}
    modes |= {"lower.mode1": deflection, "actuating.mode1": 0.5 * deflection}
    return ralf.assemble(ANGLES | modes, fixed=("theta1", "theta3", *modes)).q


@pytest.mark.parametrize("stiffening", [False, True])
def test_a_slice_is_where_a_station_in_it_would_be(stiffening):
    machine = rod(stiffening=stiffening)
    q = np.array([[0.4, 0.1, -0.05, 0.2, 0.3], [0.0, 0.3, 0.1, 0.0, -0.1]])
    model, take = machine.model, Take(Rest(machine.model).start(q[0]))
    bodies = take.bodies(q)
    assert bodies.shape == (2, len(model.bodies) + SLICES, 4, 4)
    link = model.links[model.link_number("rod.gauge")]
    station = bodies[:, link.body]
    one = take.scene.bent[0]
    slices = bodies[:, len(model.bodies) + MIDDLE]
    assert np.allclose(slices[:, :3, :3], station[:, :3, :3], atol=1e-12)
    there = slices @ np.append(one.points[MIDDLE], 1.0)
    assert np.allclose(there[:, :3], station[:, :3, 3], atol=1e-12)


def test_cuts_keep_area_and_volume_of_a_surface():
    ball = solids.sphere(0.5)
    side = np.asarray(ball.vertices) @ np.array([0.6, 0.8, 0.0]) - 0.1
    halves = Surface(*_split(np.asarray(ball.vertices), ball.triangles, side))
    assert len(halves.triangles) > len(ball.triangles)
    sizes = []
    for surface in (ball, halves):
        a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        sizes.append((np.linalg.norm(normal, axis=1).sum(), np.einsum("ij,ij", a, normal)))
    assert sizes[1] == pytest.approx(sizes[0], rel=1e-12)


def test_slices_hold_their_part_and_what_is_beyond_the_ends():
    stick, z = solids.cylinder(0.1, 3.0), np.array([0.0, 0.0, 1.0])
    places = np.linspace(-1.0, 1.0, 5)
    found = dict(sliced(stick, z, places))
    assert sorted(found) == [0, 1, 2, 3]
    heights = {k: surface.vertices @ z for k, surface in found.items()}
    assert (heights[0].min(), heights[3].max()) == pytest.approx((-1.5, 1.5), abs=0.02)
    for k in (1, 2):  # longer by the overlap on both sides
        assert heights[k].min() == pytest.approx(places[k], abs=0.02)
        assert heights[k].min() < places[k] < places[k + 1] < heights[k].max()


def test_a_link_without_shapes_is_drawn_as_its_beam():
    machine = rod()
    take = Take(Rest(machine.model).start())
    own = [part for part in take.scene.parts if part.body >= len(machine.model.bodies)]
    assert len(own) == SLICES
    tube = mbd.flexible.Beam(
        (0, 0, 0), (0, 0, 1), 7e10, 2.6e10, 2700, mbd.flexible.Section.tube(0.1, 0.08)
    )
    radius = np.linalg.norm(beam_surface(tube, X).vertices[:, :2], axis=1)
    assert radius.max() == pytest.approx(0.05)
    plate = beam_surface(bar(1.0, width_y=0.02, width_z=0.06), X).vertices
    assert np.abs(plate).max(axis=0) == pytest.approx([1.0, 0.01, 0.03])
    table = mbd.flexible.SectionTable(
        (0.0, 1.0), (mbd.flexible.Section.circle(0.2), mbd.flexible.Section.circle(0.1))
    )
    taper = beam_surface(
        mbd.flexible.Beam((0, 0, 0), (1, 0, 0), 7e10, 2.6e10, 2700, table), X
    ).vertices
    thick = np.linalg.norm(taper[:, 1:], axis=1)
    assert thick[taper[:, 0] == 0.5].max() == pytest.approx(0.075)
    surface = beam_surface(tube, X)
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    assert np.einsum("ij,ij", a, np.cross(b, c)) > 0.0  # seen from outside


def test_a_modal_basis_is_drawn_as_its_nodes():
    machine = mbd.Mechanism(
        nodal_pendulum(as_nodes(bar(1.0), analytic_modes("clamped-free", "bending_y", 1, 1.0)))
    )
    take = Take(Rest(machine.model).start())
    (one,) = take.scene.bent
    q = np.zeros((1, machine.nq))
    q[0, one.q] = 0.01
    moved = (
        take.bodies(q)[0, len(machine.model.bodies) :]
        - take.bodies(0 * q)[0, len(machine.model.bodies) :]
    )
    assert len(moved) == len(one.points)
    assert 1e-3 < np.abs(moved).max() < 0.1


def test_exaggerated_deflections_keep_loops_closed_and_move_what_hangs_on_them(ralf):
    q = np.array([bent(ralf), bent(ralf, -0.01)])
    larger, stay = exaggerated(ralf.model, q, 20.0)
    assert not stay.any()
    for part in ralf.model.flexible:
        assert np.allclose(larger[:, part.q], 20.0 * q[:, part.q], rtol=1e-12)
    phi = ralf.compile("constraints")(larger, np.zeros((2, ralf.nv)))[0]
    assert np.abs(phi).max() < CLOSED * ralf.model.size * 2
    straight, _ = exaggerated(ralf.model, q, 0.0)
    assert not straight[:, ralf.model.flexible[0].q].any()
    assert np.array_equal(exaggerated(ralf.model, q, 1.0)[0], q)


def test_loops_that_cannot_be_closed_are_told_and_drawn_open(ralf):
    q = bent(ralf)[None]
    larger, stay = exaggerated(ralf.model, q, 1e4)
    assert stay.all()
    rigid = [ralf.coordinate_names.index(name) for name in ANGLES]
    assert np.array_equal(larger[0, rigid], q[0, rigid])
    take = Take(Source(ralf.model, np.zeros(1), q), Overlays(exaggerate=1e4))
    with pytest.warns(mbd.MbdWarning, match=r"10000 times.*1 of 1 .*smaller factor"):
        take.tell()


def test_pictures_say_the_factor_and_show_it(ralf):
    q = bent(ralf)
    plain, large = (ralf.render(q=q, size=(160, 120), exaggerate=k) for k in (1.0, 30.0))
    assert np.abs(plain.astype(int) - large).mean() > 1.0
    take = Take(Rest(ralf.model).start(q), Overlays(exaggerate=30.0))
    assert [text for text, _ in take.legend()] == ["deflections 30 times as large"]


@pytest.mark.parametrize("factor", [-1.0, np.nan, 1e7, "2"])
def test_factors_that_are_none_are_refused(ralf, factor):
    with pytest.raises(mbd.MbdError, match="exaggerate"):
        ralf.render(q=bent(ralf), exaggerate=factor)


def test_a_rigid_machine_has_nothing_to_exaggerate():
    rigid = mbd.load(OWN / "ralf.urdf", flexible=())
    with pytest.raises(mbd.MbdError, match="no link of this machine bends"):
        rigid.render(exaggerate=2.0)


def test_the_web_view_has_all_that_its_slices_need(ralf):
    q = np.array([bent(ralf), bent(ralf, -0.01)])
    source = Source(ralf.model, np.array([0.0, 1.0]), q)
    scene = describe(source, Overlays(exaggerate=10.0))
    assert scene["exaggerate"] == 10.0
    count, first = len(ralf.model.bodies), scene["bodies"]["count"]
    assert first == count
    expected = Take(source, Overlays(exaggerate=10.0)).bodies(q)
    for one, amplitudes in zip(scene["bent"], scene["amplitudes"], strict=True):  # as viewer.js
        arrays = {name: floats(one[name]) for name in ("points", "displacement", "rotation")}
        eta = floats(amplitudes).reshape(2, -1)
        n, points = eta.shape[1], arrays["points"].reshape(-1, 3)
        frame = np.array(one["frame"]).reshape(4, 4).T
        U, turning = (arrays[k].reshape(-1, 3, n) for k in ("displacement", "rotation"))
        base = expected[1, one["body"]] @ frame
        theta = turning @ eta[1]
        for k, point in enumerate(points):
            T = np.eye(3) * (1 - theta[k] @ theta[k] / 4) + np.outer(theta[k], theta[k]) / 2
            T = T + np.cross(np.eye(3), theta[k])
            T = T / (1 + theta[k] @ theta[k] / 4)  # Rodrigues
            there = base[:3, :3] @ (point + U[k] @ eta[1]) + base[:3, 3]
            slice_ = expected[1, first + k]
            assert slice_[:3, :3] == pytest.approx(base[:3, :3] @ T, abs=1e-5)
            assert slice_[:3, :3] @ point + slice_[:3, 3] == pytest.approx(there, abs=1e-5)
        first += len(points)
    assert max(part["body"] for part in scene["parts"]) < first


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4").astype(float)


def test_between_two_factors_a_page_draws_what_a_picture_would(ralf):
    """Its slider mixes both records on the straight way; loops stay closed to the eye."""
    q = np.array([bent(ralf, 2e-3), bent(ralf, -1e-3)])
    source = Source(ralf.model, np.array([0.0, 1.0]), q)
    scene, take = describe(source), Take(source)
    other = scene["exaggerated"]
    assert other["factor"] == visible_factor(ralf.model, take.scene.bent, q, take.span) >= 50.0
    ends = [floats(one["bodies"]["poses"]).reshape(2, -1, 7) for one in (scene, other)]
    moved = 0.0
    for part in (0.3, 0.5, 0.8):
        mixed = (1.0 - part) * ends[0] + part * ends[1]
        factor = 1.0 + part * (other["factor"] - 1.0)
        exact = Take(source, Overlays(exaggerate=factor)).bodies(q)[:, : mixed.shape[1], :3, 3]
        assert np.abs(mixed[..., :3] - exact).max() < 0.005 * take.span
        moved = max(moved, np.abs(exact - ends[0][..., :3]).max())
    assert moved > 0.03 * take.span
    assert describe(source, Overlays(exaggerate=20.0))["exaggerated"]["factor"] == 1.0
    assert describe(Rest(ralf.model).start())["exaggerated"] is None


def test_what_bends_travels_to_the_windows_process(ralf):
    copy = pickle.loads(pickle.dumps(ralf.model))
    assert copy.description.flexible == ralf.model.description.flexible


def test_the_shell_takes_a_factor(tmp_path, capsys):
    out = str(tmp_path / "arm.png")
    near = ["--near", "theta1=-0.3", "theta3=-0.2", "theta2=-0.2", "theta4=0.2"]
    assert (
        main(["view", str(OWN / "ralf.urdf"), *near, "--exaggerate", "5", "--size", "160x120",
              "--record", out]) == 0
    )  # fmt: skip
    assert "written" in capsys.readouterr().err
    assert main(["view", str(OWN / "four_bar.urdf"), "--exaggerate", "5", "--record", out]) != 0
    assert "no link of this machine bends" in capsys.readouterr().err


def test_sliders_of_a_window_bend_links_by_a_tenth_of_the_machine(ralf):
    found = {knob.name: (knob.low, knob.high) for knob in knobs(ralf.model)}
    assert found["lower.mode1"] == pytest.approx((-0.3048, 0.3048))
    assert found["theta1"] == (-3.2, 3.2)
