"""The window: under Xvfb where there is one, and its loop with a window of paper where not."""

import contextlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pybullet
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, NoDisplayError
from mbd_bridge.engines.pybullet.window import Canvas, Window, WindowClosed
from mbd_bridge.view import window as held
from mbd_bridge.view.camera import camera_of
from mbd_bridge.view.draw_loads import Overlays, Take
from mbd_bridge.view.marks import CUT
from mbd_bridge.view.source import Rest, of_simulation
from tests.bounds import WAIT
from tests.robots import own_urdfs
from tests.view.xvfb import Xvfb

ROOT = Path(__file__).parents[2]
SIZE, LARGE = (900, 640), (1240, 780)
FREE = np.s_[110:650, 250:990]
"""Rows and columns of the large window that no panel covers."""

screen = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="there is no Xvfb here")


@pytest.fixture(scope="module")
def run(bar):
    start = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    return bar.simulate(1.0, step=1e-3, q=start, every=10)


@pytest.fixture
def display(tmp_path, monkeypatch):
    with Xvfb(tmp_path) as server:
        monkeypatch.setenv("DISPLAY", server.display)
        yield server


class Shown(threading.Thread):
    """`show` in a thread; what it raises is kept."""

    def __init__(self, *what, **options):
        super().__init__(daemon=True)
        self.what, self.options, self.error = what, {"size": SIZE} | options, None
        self.start()

    def run(self):
        try:
            self.what[0].show(*self.what[1:], **self.options)
        except BaseException as error:
            self.error = error


def orange(picture):
    """Pixels in the colour of the ring that closes a loop: any brightness of it."""
    red, green, blue = picture.astype(float).transpose(2, 0, 1)
    return (red > 100) & (np.abs(green - CUT[1] * red) < 0.13 * red) & (blue < 0.25 * red)


def only_a_message(picture):
    """Some dark pixels in the middle before plain sky."""
    middle = picture[SIZE[1] // 2 - 30 : SIZE[1] // 2 + 30, 200:700].max(axis=-1)
    around = picture[: SIZE[1] // 2 - 40, : SIZE[0]]
    return 20 < (middle < 120).sum() < 3000 and around.min() > 200 and np.ptp(around[..., 0]) < 20


@screen
def test_the_window_shows_the_loop_closed_where_our_camera_says(bar, run, display):
    shown = Shown(run, playing=False)
    display.wait(40, only_a_message, every=0.03)
    picture = display.wait(40, lambda seen: orange(seen[:, 250:650]).sum() > 20)
    take = Take(of_simulation(run))
    pin = bar.placement(run.q[0], "coupler") @ np.array([1.0, 0.0, 0.0, 1.0])
    expected = camera_of(take, (18.0, 12.0), SIZE, moves=False).pixels(pin[:3], SIZE)
    rows, columns = np.nonzero(orange(picture[:, 250:650]))
    assert np.median(columns) + 250 == pytest.approx(expected[0], abs=8)
    assert np.median(rows) == pytest.approx(expected[1], abs=8)
    assert (picture[: SIZE[1], : SIZE[0]] == 239).all(axis=-1).mean() < 1e-3  # grey of panels
    display.process.kill()  # whoever closes the screen closes the window: no error
    shown.join(20)
    assert not shown.is_alive()
    assert shown.error is None


def red(picture):
    """Pixels in the colour of forces, without thin lines: pybullet draws an axis in red."""
    hue = (picture[..., 0] > 90) & (2 * picture[..., 1:].max(axis=-1).astype(int) < picture[..., 0])
    around = sum(np.roll(hue, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1))
    return hue & (around > 8)


@screen
def test_the_window_shows_a_force_along_the_load_that_we_compute(bar, display):
    q = bar.assemble(near={"crank": 0.7}, fixed="crank").q
    Shown(bar, q=q, loads=["crank"], actuated=["crank"], labels=False, size=LARGE)
    picture = display.wait(40, lambda seen: red(seen[FREE]).sum() > 40)
    rest = Rest(bar.model, ("crank",), ("crank",))
    take = Take(rest.start(q))
    force = bar.joint_loads(q, q * 0, q * 0, ["crank"], actuated="crank", in_="world").force[0]
    camera = camera_of(take, (18.0, 12.0), LARGE, moves=True)
    tail, tip = camera.pixels([q * 0, take.scale.force * force], LARGE)
    rows, columns = np.nonzero(red(picture[FREE]))
    along = (np.column_stack([columns + 250, rows + 110]) - tail) @ (tip - tail)
    along /= (tip - tail) @ (tip - tail)
    assert np.linalg.norm(tip - tail) > 40
    assert along.min() == pytest.approx(0.0, abs=0.3)  # it begins within the crank's pin
    assert along.max() == pytest.approx(1.0, abs=0.1)
    across = np.column_stack([columns + 250, rows + 110]) - tail - np.outer(along, tip - tail)
    assert np.abs(np.median(across, axis=0)).max() < 4


@screen
def test_a_motion_is_played_until_ctrl_c_without_a_traceback(display):
    words = [sys.executable, "-m", "mbd_bridge", "view", own_urdfs()["four_bar"], "--near"]
    more = ["crank=30deg", "--fixed", "crank", "--seconds", "1", "--loads", "crank"]
    process = subprocess.Popen(
        [*map(str, words), *more, "--size", "900x640"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs ignore Ctrl-C, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    first = display.wait(40, lambda seen: orange(seen[:, 250:650]).sum() > 20)
    before = first[:, 250:650].astype(int)
    display.wait(20, lambda seen: np.abs(seen[:, 250:650] - before).max() > 99)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0
    assert out == ""
    assert err == ""


def test_without_a_display_the_recording_is_offered(run, bar, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(NoDisplayError, match=r"DISPLAY is not set.*robot\.render.*--record"):
        run.show()
    monkeypatch.setenv("DISPLAY", ":987")
    with pytest.raises(NoDisplayError, match=r"DISPLAY=:987.*--record"):
        bar.show()


@pytest.mark.parametrize(
    ("script", "error", "told"),
    [
        ("echo ready; kill -SEGV $$", MbdError, "ended by SIGSEGV.*--record"),
        ("echo ready; echo Traceback: oh; exit 70", RuntimeError, "Traceback: oh"),
        ("echo it is too large; exit 2", MbdError, "it is too large"),
        ("exit 1", NoDisplayError, "no window could be opened"),
        ("echo ready; exit 1", None, ""),  # X ends a process so whose window is closed
    ],
)
def test_how_the_windows_process_ends_is_told(run, script, error, told, tmp_path, monkeypatch):
    other = tmp_path / "python"
    other.write_text(f"#!/bin/sh\n{script}\n")
    other.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(other))
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(error, match=told) if error else contextlib.nullcontext():
        run.show()


def test_a_window_that_is_closed_ends_its_process_in_peace(run, tmp_path):
    """Its owner holds the other end of stdin then, and a thread waits there."""
    script = tmp_path / "closed.py"
    script.write_text(
        "import sys\n"
        "from mbd_bridge.engines.pybullet import window\n"
        "from mbd_bridge.view.window import main\n"
        "class Closed(window.Window):\n"
        "    def __init__(self, size):\n"
        "        raise window.WindowClosed\n"
        "window.Window = Closed\n"
        "sys.exit(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        process.stdin.write(pickle.dumps(order_of(run)))
        process.stdin.flush()
        assert process.wait(60) == 0
        assert process.stdout.read() == b""


def test_a_key_that_came_up_before_anybody_looked_counts_once():
    class Typed(Window):
        def __init__(self, events):
            self.engine, self._down, self.events = pybullet, set(), iter(events)

        def _ask(self, function):
            return next(self.events)

    new, down, up = pybullet.KEY_WAS_TRIGGERED, pybullet.KEY_IS_DOWN, pybullet.KEY_WAS_RELEASED
    space, left = 32, pybullet.B3G_LEFT_ARROW
    window = Typed([{space: new | down}, {space: down}, {space: up}, {space: up, left: up}, {}])
    assert [window.pressed() for _ in range(5)] == [{" "}, set(), set(), {" ", "left"}, set()]


# -- the window's loop, without a window ---------------------------------------------------------


class Paper(Canvas):
    """A window that somebody follows a script at: frame -> what is done then."""

    def __init__(self, script, frames=6):
        super().__init__()
        self.script, self.frames, self.frame = script, frames, 0
        self.sliders, self.texts, self.looked = {}, {}, None

    def drawing(self, on):
        self.on = on

    def shadows(self, on):
        pass

    def panels(self, on):
        self.with_panels = on

    def look(self, *where):
        self.looked = where

    def looking(self):
        return self.looked

    def slider(self, name, low, high, start):
        assert low <= start <= high
        self.sliders[name] = start
        return name

    def button(self, name):
        self.sliders[name] = 0.0
        return name

    def value(self, slider):
        return self.sliders[slider]

    def clear_sliders(self):
        self.sliders.clear()

    def write(self, key, text, point, colour, size):
        assert not self.on
        self.texts[key] = text

    def wipe(self, key):
        del self.texts[key]

    def pressed(self):
        self.frame += 1
        if self.frame > self.frames:
            raise WindowClosed
        done = self.script.get(self.frame, set())
        if callable(done):
            done(self)
            return set()
        return done


def follow(kind, order, script, frames=6):
    with Paper(script, frames) as paper:
        made = kind(paper, order)
        with contextlib.suppress(WindowClosed):
            made.run()
    return paper, made


def order_of(run, **more):
    source = of_simulation(run, ["crank"])
    values = {"rest": None, "view": (20.0, 15.0), "size": SIZE, "speed": 1.0, "playing": False}
    return held.Order(source, Overlays(), **(values | more))


class Forgetful:
    """An engine that holds texts and sliders, and sometimes does not say under which number."""

    def __init__(self, silent):
        self.silent, self.asked, self.texts, self.sliders = silent, 0, {}, []

    def __call__(self, function, *given, replaceItemUniqueId=None, **options):
        self.asked += 1
        if function == "removeAllUserDebugItems":
            self.texts.clear()
        elif function == "addUserDebugText":
            number = self.asked if replaceItemUniqueId is None else replaceItemUniqueId
            self.texts[number] = given[0]
            return -1 if self.asked in self.silent else number
        elif function == "addUserDebugParameter":
            if self.asked in self.silent:
                return -1
            self.sliders.append(given[0])
            return self.asked
        return None


@pytest.mark.parametrize("silent", [(), (1,), (2,), (3,), (4,), (5,), (4, 5), (1, 4, 7)])
def test_texts_do_not_stay_behind_when_the_engine_forgets_their_numbers(silent):
    window = object.__new__(Window)
    window._texts, window._ask = {}, Forgetful(silent)
    for moment in range(8):
        for key in "ab":
            window.write(key, f"{key} at {moment}", np.zeros(3), (1.0, 0.0, 0.0), 1.0)
    assert sorted(window._ask.texts.values()) == ["a at 7", "b at 7"]


def test_a_slider_is_asked_for_until_there_is_one():
    window = object.__new__(Window)
    window._ask = Forgetful((1, 2))
    assert window.slider("time, s", 0.0, 1.0, 0.0) == 3
    assert window._ask.sliders == [" time, s"]  # pybullet clips the first letter


def test_keys_and_sliders_move_the_time(run):
    def scrub(paper):
        paper.sliders["time, s (arrows)"] = 0.7

    paper, made = follow(held._Playing, order_of(run), {2: {"right"}, 4: scrub})
    assert made.player.time == pytest.approx(0.7)
    assert any("t = 0.700 s" in text for text in paper.texts.values())
    assert any(text.strip().endswith(" N") for text in paper.texts.values())
    assert paper.on
    _, made = follow(held._Playing, order_of(run), {2: {"right", "c", "f", "n"}})
    assert made.player.time == pytest.approx(0.01)
    assert made.take.overlays.centre
    assert made.take.overlays.frames
    assert not made.take.overlays.labels

    def press(paper):
        paper.sliders["play / pause (space)"] += 1

    def faster(paper):
        paper.sliders["speed (+ -)"] = 2.5

    _, made = follow(held._Playing, order_of(run), {1: press, 2: faster})
    assert made.player.playing
    assert made.player.speed == 2.5
    assert made.player.time > 0.0


def test_arrow_keys_choose_a_joint_and_move_it_and_p_shows_the_sliders():
    bar = mbd.load(own_urdfs()["crank_rocker"])
    rest = Rest(bar.model)
    start = rest.start()
    order = held.Order(start, Overlays(), rest, (20.0, 15.0), SIZE, 1.0, False)
    knob = held.Poser(bar.model, start.q[0]).knobs[2]
    script = {1: {"up"}, 2: {"right"}, 3: {"p"}}
    paper, made = follow(held._Posing, order, script, frames=4)
    step = (knob.high - knob.low) / held.POSE_STEPS
    assert made.poser.values()[2] == pytest.approx(step + start.q[0, 2])
    assert paper.sliders["rocker"] == pytest.approx(made.poser.values()[2])
    assert any(f"rocker = {made.poser.values()[2]:.3f} rad" in x for x in paper.texts.values())
    assert paper.with_panels


def test_a_posed_machine_stays_closed_and_its_loads_are_those_there():
    bar = mbd.load(own_urdfs()["crank_rocker"])
    rest = Rest(bar.model, ("crank",), ("crank",))

    def turn(paper):
        paper.sliders["crank"] += 0.4

    start = rest.start()
    order = held.Order(start, Overlays(), rest, (20.0, 15.0), SIZE, 1.0, False)
    held_before = bar.joint_loads(start.q[0], np.zeros(3), np.zeros(3), ["crank"], actuated="crank")
    paper, made = follow(held._Posing, order, {2: turn})
    q = made.poser.q
    assert q[0] == pytest.approx(start.q[0, 0] + 0.4)
    expected = bar.joint_loads(q, np.zeros(3), np.zeros(3), ["crank"], actuated="crank")
    assert made.take.source.loads.force[0] == pytest.approx(expected.force)
    assert not np.allclose(expected.force, held_before.force)
    assert set(paper.sliders) == {"crank", "elbow", "rocker"}
