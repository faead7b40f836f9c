"""Claims: pages in a browser show loads where they point, ask nobody but us, and pose machines."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
import warnings
from urllib.parse import urlsplit

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.view.draw_loads import Take
from mbd_bridge.view.marks import centre_of_mass
from mbd_bridge.view.source import Rest
from mbd_bridge.view.web.web_view import LONGEST_REQUEST, MOST_CONNECTIONS, ViewServer
from tests.bounds import WAIT
from tests.flexible.beams import rod as hinged_rod
from tests.robots import own_urdfs
from tests.view.browser import PHONE, WIDE, Page, seen_at

LOADED = ["crank", "coupler_pin"]


@pytest.fixture(scope="module")
def start(bar):
    return bar.assemble(near={"crank": 0.7}, fixed="crank").q


@pytest.fixture(scope="module")
def view(bar, start):
    return bar.web_view(q=start, loads=LOADED, actuated=["crank"], view=(15.0, 20.0))


def test_an_offline_page_asks_for_nothing_and_draws_the_force_where_it_points(
    bar, start, view, browser, tmp_path
):
    path = tmp_path / "bar.html"
    view.save(path)
    shown = Page(browser, path.as_uri(), WIDE)
    for kind in ("moment", "actuation", "numbers", "names"):
        shown.box(kind).uncheck()
    shown.page.evaluate("document.querySelector('.joints').open = true")
    shown.page.get_by_label("coupler_pin", exact=True).uncheck()
    shown.page.evaluate("document.querySelector('.joints').open = false")
    full = shown.pixels(tmp_path / "full.png")
    shown.box("force").uncheck()
    changed = np.abs(full - shown.pixels(tmp_path / "empty.png")).max(axis=-1) > 40

    still = np.zeros_like(start)
    force = bar.joint_loads(start, still, still, ["crank"], actuated=["crank"], in_="world")
    tail = bar.placement(start, "crank")[:3, 3]
    vector = view.scene["scale"]["force"] * force["crank"].force
    size = full.shape[1], full.shape[0]
    begin, end = seen_at(view.scene, np.array([tail, tail + vector]), size)
    way = (end - begin) / np.linalg.norm(end - begin)
    rows, columns = np.nonzero(changed)
    points = np.column_stack([columns, rows]) + 0.5 - begin
    assert len(points) > 200
    assert (points @ way).max() == pytest.approx(np.linalg.norm(end - begin), abs=4)
    across = np.abs(points @ [-way[1], way[0]])
    assert across.max() < 0.16 * np.linalg.norm(end - begin)  # half of the head's width
    assert np.median(across) < 6
    assert shown.asked == [path.as_uri()]
    assert shown.errors == []


def test_sliders_pose_the_machine_and_its_loads_at_rest_follow(bar, view, browser, tmp_path):
    with view.serve() as server:
        shown = Page(browser, server.url, PHONE)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        before = shown.pixels(tmp_path / "before.png")
        shown.page.evaluate(
            "() => { const one = document.querySelector('.knobs input'); one.value = 1.2;"
            " one.dispatchEvent(new Event('input')); }"
        )
        for _ in range(60):
            shown.page.wait_for_timeout(50)
            angle = float(shown.page.input_value(".knobs input >> nth=0"))
            if abs(float(shown.page.input_value(".knobs input >> nth=2")) - angle) < 1e-6:
                break  # the rocker of the parallelogram has followed
        assert angle == pytest.approx(1.2)
        assert np.abs(shown.pixels(tmp_path / "after.png") - before).max() > 60
        q = bar.assemble(near={"crank": angle}, fixed="crank").q
        still = np.zeros_like(q)
        loads = bar.joint_loads(q, still, still, LOADED, actuated=["crank"])
        numbers = [float(text.split()[0]) for text in shown.labels() if text.endswith(" N")]
        for joint in LOADED:
            size = np.linalg.norm(loads[joint].force[loads[joint].unique[:3]])
            assert min(abs(np.array(numbers) - size)) < 2e-3 * size, (joint, numbers)
        assert set(LOADED) <= set(shown.labels())
        assert {urlsplit(url).netloc for url in shown.asked} == {f"127.0.0.1:{server.port}"}
        assert shown.errors == []
        shown.page.close()
        server.wait()


def test_marks_and_the_factor_on_deflections_are_switched_in_the_page(browser, tmp_path):
    machine = hinged_rod()
    q = np.array([0.3, 0.0, 0.004, 0.0, 0.0])
    page, path = machine.web_view(q=q, view=(15.0, 30.0), ground=False), tmp_path / "rod.html"
    page.save(path)
    shown = Page(browser, path.as_uri(), PHONE)
    plain = shown.pixels(tmp_path / "plain.png")
    size = plain.shape[1], plain.shape[0]

    def colour_at(picture, point):
        ((x, y),) = seen_at(page.scene, np.array([point]), size)
        return picture[int(y), int(x)]

    take = Take(Rest(machine.model).start(q))
    centre = centre_of_mass(machine.model, take.bodies(q[None])[0])
    shown.box("centre of mass").check()
    red, green, blue = colour_at(shown.pixels(tmp_path / "centre.png"), centre)
    assert red > 1.8 * blue and green > 1.5 * blue  # yellow
    shown.box("centre of mass").uncheck()
    shown.box("joints").check()
    assert np.ptp(colour_at(shown.pixels(tmp_path / "pins.png"), np.zeros(3))) < 25  # grey
    shown.box("joints").uncheck()
    shown.page.locator("summary", has_text="no frames").click()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    shown.page.get_by_label("rod", exact=True).check()
    shown.page.locator("summary", has_text="frame of rod").click()
    axis = 4.0 * take.marks.radius * machine.placement(q, "rod")[:3, 0]
    red, green, blue = colour_at(shown.pixels(tmp_path / "frame.png"), axis)
    assert red > 1.5 * max(green, blue)
    shown.page.locator("summary", has_text="frame of rod").click()
    shown.page.get_by_role("button", name="none").click()
    shown.page.locator("summary", has_text="no frames").click()

    other = page.scene["exaggerated"]["factor"]
    shown.page.locator(".factor input").fill(str(other))
    assert f"deflections {other:g} times" in shown.page.locator(".legend").text_content()
    direct = machine.web_view(q=q, view=(15.0, 30.0), ground=False, exaggerate=other)
    direct.scene["box"] = page.scene["box"]
    direct.save(tmp_path / "direct.html")
    moved = shown.pixels(tmp_path / "moved.png")
    again = Page(browser, (tmp_path / "direct.html").as_uri(), PHONE)
    same = again.pixels(tmp_path / "direct.png")
    assert (np.abs(moved - plain).max(axis=2) > 60).sum() > 300
    assert (np.abs(moved - same).max(axis=2) > 60).sum() < 10
    assert shown.errors == again.errors == [] and shown.asked == [path.as_uri()]


def ask(server, path, method="GET", host=None, body=None, origin=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    headers = {"Host": host or f"127.0.0.1:{server.port}"}
    if origin:
        headers["Origin"] = origin
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_the_server_answers_its_own_page_only(view, capfd):
    with view.serve() as server:
        root = urlsplit(server.url).path
        assert ask(server, root)[0] == 200
        assert ask(server, "/")[0] == ask(server, "/other/")[0] == 403
        assert ask(server, root, host="evil.example")[0] == 403
        assert ask(server, root, origin="http://evil.example")[0] == 403
        assert ask(server, root + "nothing")[0] == 404
        pose = root + "pose"
        assert ask(server, pose, "POST", body="x" * (LONGEST_REQUEST + 1))[0] == 413
        for bad in (
            "{",
            "[]",
            '{"moved": 9, "values": [0, 0, 0]}',
            '{"moved": 0, "values": [1]}',
            '{"moved": 0, "values": [NaN, 0, 0]}',
            '{"moved": 0, "values": "abc"}',
            "[" * 60_000,
            '{"moved": 0, "values": ' + "[" * 30_000 + "]" * 30_000 + "}",
            '{"moved": 0, "values": [' + "9" * 400 + ", 0, 0]}",
            '{"moved": ' + "9" * 400 + ', "values": [0, 0, 0]}',
            '{"moved": 0, "values": [' + "9" * 5000 + ", 0, 0]}",
            '{"moved": 0, "values": [1e308, -1e308, 0]}',
        ):
            status, text = ask(server, pose, "POST", body=bad)
            assert status == 200 and json.loads(text)["message"], bad[:60]
        good = ask(server, pose, "POST", body='{"moved": 0, "values": [0.8, -0.8, 0.8]}')
        assert json.loads(good[1])["values"][0] == pytest.approx(0.8)
        with raw(server, f"POST {pose} HTTP/1.1\r\nContent-Length: {'9' * 5000}\r\n") as long:
            long.sendall(f"Host: 127.0.0.1:{server.port}\r\n\r\n".encode())
            assert long.recv(100).startswith(b"HTTP/1.1 413")
        raw(server, f"GET {root} HTTP/1.1\r\n").close()
    assert capfd.readouterr() == ("", "")


def test_values_beyond_all_sliders_of_a_machine_that_bends_are_refused_without_a_word(capfd):
    view = mbd.load("urdf/flexible_pendulum.urdf").web_view()
    with view.serve() as server, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pose, count = urlsplit(server.url).path + "pose", len(server._posing.values())
        for place in range(count):
            for size in (1e10, 1e150, 1e308):
                values = [size * (k == place) for k in range(count)]
                body = json.dumps({"moved": place, "values": values})
                assert (
                    "at most 1e+09"
                    in json.loads(ask(server, pose, "POST", body=body)[1])["message"]
                )
        body = json.dumps({"moved": 0, "values": [1e9] * count})
        assert ask(server, pose, "POST", body=body)[0] == 200
    assert not said and capfd.readouterr() == ("", "")


def raw(server, text):
    """Return a connection on which a text has been sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT)
    connection.sendall(text.encode())
    return connection


def threads_of(server):
    return sum("process_request" in thread.name for thread in threading.enumerate())


def test_clients_that_never_finish_hold_no_thread(view, monkeypatch, capfd):
    monkeypatch.setattr("mbd_bridge.view.web.web_view.LONGEST_WAIT", 1.0)
    with view.serve() as server:
        root = urlsplit(server.url).path
        host = f"Host: 127.0.0.1:{server.port}\r\n"
        begun = (
            "", "GET", f"GET {root} HTTP/1.1\r\nX: ", f"GET {root} HTTP/1.1\r\n{host}\r\n",
            f"POST {root}pose HTTP/1.1\r\n{host}Content-Length: 500\r\n\r\n{{",
        )  # fmt: skip
        clients = [raw(server, text) for text in begun for _ in range(8)]
        end = time.monotonic() + 10.0
        while threads_of(server) and time.monotonic() < end:
            for client in clients:  # a byte now and then makes no request
                with contextlib.suppress(OSError):
                    client.sendall(b"x")
            time.sleep(0.3)
        assert threads_of(server) == 0
        assert ask(server, root)[0] == 200
        for client in clients:
            client.close()
    assert capfd.readouterr() == ("", "")


def test_many_connections_hold_few_threads_and_the_page_is_answered(view, capfd):
    with view.serve() as server:
        clients = [raw(server, "GET") for _ in range(4 * MOST_CONNECTIONS)]
        assert ask(server, urlsplit(server.url).path)[0] == 200
        assert threads_of(server) <= MOST_CONNECTIONS + 8
        for client in clients:
            client.close()
    assert capfd.readouterr() == ("", "")


def test_ports_that_are_none_are_refused(view):
    for port in (-1, 65_536, 99_999, 10**400, 80.5, "80", None):
        with pytest.raises(StateError, match="port"):
            view.serve(port=port)


def test_a_page_is_refused_where_it_cannot_be(view, bar, tmp_path):
    with pytest.raises(FileError, match=r"ends with \.html"):
        view.save(tmp_path / "page.png")
    with pytest.raises(StateError, match="window, web"):
        bar.show(viewer="film")
    with view.serve() as server, pytest.raises(StateError, match="cannot be used"):
        view.serve(port=server.port)


def test_the_window_gives_way_to_the_browser_where_pybullet_is_not(bar, monkeypatch):
    opened = []
    monkeypatch.setattr("mbd_bridge.api.pictures.find_spec", lambda name: None)
    monkeypatch.setattr("mbd_bridge.view.web.web_view.open_page", opened.append)
    bar.show()
    (page,) = opened
    assert page.playing and "iframe" in page._repr_html_()


def test_the_command_says_where_the_page_is(run, tmp_path, monkeypatch):
    monkeypatch.setattr(ViewServer, "wait", lambda self: None)
    monkeypatch.setattr("mbd_bridge.view.web.web_view.open_browser", lambda url: False)
    path = own_urdfs()["pendulum"]
    code, out, err = run("view", path, "--web", "--loads", "all")
    assert (code, out) == (0, "")
    assert "open http://127.0.0.1:" in err
    page = tmp_path / "page.html"
    assert run("view", path, "--record", page)[0] == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    marks = "--pins", "--centre", "--frames", "rod"
    assert run("view", path, *marks, "--record", page)[0] == 0
    assert '"shown":{"joints":true,"centre":true,"frames":["rod"]}' in page.read_text()
