"""Pictures and films: what is in them, and that files are whole."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MissingPackageError, ModelError, StateError
from mbd_bridge.cli import main
from mbd_bridge.view import arrows as look
from mbd_bridge.view.picture import _write_legend
from mbd_bridge.view.record import Shot, _write_gif
from tests.robots import own_urdfs

SMALL = (160, 120)


@pytest.fixture(scope="module")
def run(bar):
    start = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    return bar.simulate(0.2, step=1e-3, q=start, every=10)


def test_a_picture_is_an_array_and_a_file(bar, tmp_path):
    picture = bar.render(size=SMALL)
    assert picture.shape == (120, 160, 3)
    assert picture.dtype == np.uint8
    path = tmp_path / "bar.png"
    assert np.array_equal(bar.render(path, size=SMALL), picture)
    assert np.array_equal(np.asarray(Image.open(path)), picture)
    assert [p.name for p in tmp_path.iterdir()] == ["bar.png"]
    assert np.ptp(picture.reshape(-1, 3), axis=0).min() > 60  # there is something in it


def test_a_film_has_a_picture_for_each_moment_and_shows_motion(run, tmp_path):
    path = tmp_path / "bar.gif"
    steps = []
    last = run.render(path, size=SMALL, fps=20, progress=steps.append)
    film = Image.open(path)
    assert film.n_frames == 5 == len(steps)
    assert film.info["duration"] == 50
    assert film.info["loop"] == 0
    frames = []
    for k in range(5):
        film.seek(k)
        frames.append(np.asarray(film.convert("RGB")).astype(int))
    assert np.abs(frames[-1] - last).mean() < 4  # 128 colours
    moved = [np.abs(a - b).mean() for a, b in pairwise(frames)]
    assert min(moved) > 0.05


def test_an_mp4_can_be_read_again(run, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "bar.mp4"
    run.render(path, size=SMALL, fps=20, speed=2.0)
    frames = ffmpeg.read_frames(str(path))
    facts = next(frames)
    assert facts["size"] == SMALL
    assert facts["fps"] == 20
    assert sum(1 for _ in frames) == 3


def test_an_mp4_without_ffmpeg_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingPackageError, match=r"mbd_bridge\[video\]"):
        run.render(tmp_path / "bar.mp4")


def test_a_film_that_fails_leaves_no_file_behind(run, tmp_path):
    path = tmp_path / "bar.gif"
    path.write_text("old")

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.render(path, size=SMALL, progress=stop)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["bar.gif"]


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"path": "bar.tiff"}, FileError, r"\.png"),
        ({"path": "bar.gif", "time": 0.1}, StateError, "motion"),
        ({"time": 7.0}, StateError, "from 0 to 0.2"),
        ({"size": (0, 10)}, StateError, "size"),
        ({"path": "bar.gif", "fps": -1}, StateError, "fps"),
        ({"path": "bar.mp4", "size": (321, 240)}, StateError, r"take \(322, 240\)"),
        ({"path": "bar.gif", "speed": 1e-9}, StateError, "at most 5000"),
        ({"q": [0.0, 0.0, 0.0]}, StateError, "its own motion"),
        ({"loads": ["nothing"]}, ModelError, "nothing"),
        ({"frames": ["nothing"]}, ModelError, "no link named"),
    ],
)
def test_what_cannot_be_drawn_is_told(run, options, error, told):
    with pytest.raises(error, match=told):
        run.render(options.pop("path", None), **options)


def test_what_a_machine_has_not_is_told(bar):
    with pytest.raises(ModelError, match="actuated"):
        bar.render(loads=["crank"])
    with pytest.raises(StateError, match=r"\(3,\)"):
        bar.render(q=[0.0])


def test_the_picture_of_a_time_is_that_of_the_state_then(bar, run):
    k = 7
    there = run.render(time=run.time[k], size=SMALL)
    assert np.array_equal(there, bar.render(q=run.q[k], size=SMALL))


def test_a_motion_that_is_read_is_shown_as_one_that_is_simulated():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    motion = arm.read_motion(Path(own_urdfs()["kuka_iiwa"]).with_name("kuka_iiwa_motion.csv"))
    k = 60
    seen = arm.render(None, motion, time=motion.time[k], size=SMALL)
    assert np.array_equal(seen, arm.render(q=motion.q[k], size=SMALL))
    with pytest.raises(StateError, match="leave out q="):
        arm.render(None, motion, q=motion.q[0])
    other = mbd.load(own_urdfs()["pendulum"])
    with pytest.raises(StateError, match="load it for this mechanism"):
        other.render(None, motion)


def test_joints_are_seen_where_they_are(bar):
    """The pixels of each pin, and our projection of where the joint is (`placement`)."""
    from mbd_bridge.view.draw_loads import Take
    from mbd_bridge.view.picture import LIGHT, RayCanvas
    from mbd_bridge.view.pieces import CanvasStage
    from mbd_bridge.view.record import Shot, camera_of
    from mbd_bridge.view.source import Rest

    size = (480, 360)
    q = bar.assemble(near={"crank": 0.7}, fixed="crank").q
    source = Rest(bar.model).start(q)
    take = Take(source)
    camera = camera_of(take, Shot(size))
    moment = take.of(source)
    canvas = RayCanvas()
    bodies = CanvasStage(canvas).show(moment.pins)
    seen = canvas.image(camera.view(), camera.projection(size), size, LIGHT).bodies
    joints = [bar.placement(q, link)[:3, 3] for link in ("crank", "coupler", "rocker")]
    joints.append((bar.placement(q, "coupler") @ [1.0, 0.0, 0.0, 1.0])[:3])
    assert len(moment.pins) == len(joints) + 1  # the loop's has two halves
    for joint, pin in zip(joints, bodies, strict=False):
        rows, columns = np.nonzero(np.isin(seen, pin))
        middle = [0.5 * (x.min() + x.max()) + 0.5 for x in (columns, rows)]
        assert middle == pytest.approx(camera.pixels(joint, size), abs=1.5)


@pytest.mark.parametrize(
    ("taken", "free"),
    [([], (0, 1)), ([(12, 105)], (0, 0)), ([(12, 105), (12, 12)], (1, 1)), ([(145, 12)], (0, 1))],
)
def test_the_legend_stands_where_the_machine_is_not(taken, free):
    image = Image.new("RGB", SMALL, (200, 210, 220))
    legend = [("force", (0.8, 0.1, 0.1, 1.0)), ("actuation", (0.1, 0.6, 0.2, 1.0))]
    _write_legend(image, np.reshape(taken, (-1, 2)), legend)
    rows, columns = np.nonzero(np.ptp(np.asarray(image).astype(int), axis=-1) > 100)
    assert (columns.mean() > 80, rows.mean() > 60) == free
    assert columns.min() > 2 and columns.max() < 157 and rows.min() > 2 and rows.max() < 117


@pytest.mark.parametrize("option", ["--speed", "--fps"])
def test_a_film_that_would_never_end_is_refused_by_the_command(option, tmp_path, capsys):
    arm = own_urdfs()["kuka_iiwa"]
    words = ["view", arm, Path(arm).with_name("kuka_iiwa_motion.csv"), option, 0]
    assert main([*map(str, words), "--record", str(tmp_path / "a.gif")]) == 2
    assert f"{option[2:]}: expected a positive number, got 0" in capsys.readouterr().err


def test_arrows_that_only_later_pictures_show_keep_their_colours(tmp_path):
    machine = np.random.default_rng(0).integers(100, 200, (120, 160, 1), dtype=np.uint8)
    machine = np.repeat(machine, 3, axis=-1)  # grey: no colour of an arrow is near
    later = machine.copy()
    colours = [
        np.array(colour[:3]) * 255 * 0.85 for colour in (look.FORCE, look.MOMENT, look.ACTUATION)
    ]
    for k, colour in enumerate(colours):
        later[40 * k : 40 * k + 20] = colour
    path = tmp_path / "x.gif"
    _write_gif(path, iter([machine, later]), Shot(SMALL))
    with Image.open(path) as film:
        film.seek(1)
        shown = np.asarray(film.convert("RGB")).astype(float)
    for k, colour in enumerate(colours):
        assert np.abs(shown[40 * k : 40 * k + 20] - colour).max() < 40
