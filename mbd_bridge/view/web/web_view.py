"""A machine in the browser: a page that can be saved, shown in a notebook, or served locally.

A page served on this computer only, whose sliders ask this process for poses and loads.

It listens on 127.0.0.1. The address holds a random token, and only requests that name this address
are answered: other users and other pages cannot ask.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.resources import files
from types import TracebackType
from typing import Any, Self

import numpy as np

from mbd_bridge.base.errors import FileError, MbdError, StateError, warn, whole_number
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.files.whole_file import check_place, whole_path
from mbd_bridge.view.draw_loads import Overlays, Take
from mbd_bridge.view.posing import Poser
from mbd_bridge.view.source import Rest, Source
from mbd_bridge.view.web.description import Description, describe, state_of

# The page that shows a described scene: styles, data and script in one piece of HTML.
#
# Nothing is fetched: the script is ours and draws with WebGL. Texts from files are shown as texts.


def viewer_part(scene: Description) -> str:
    """Return a scene as part of a page: it takes the width that it is given."""
    return (
        f"<style>\n{_file('viewer.css')}</style>\n"
        f'<div class="mbd-view" role="group" aria-label="{escape(scene["title"])}, in 3-D">\n'
        f'<script type="application/json">{_json(scene)}</script>\n'
        f"<script>\n{_script(scene)}</script>\n</div>"
    )


def viewer_page(scene: Description) -> str:
    """Return a page of its own."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(scene['title'])}</title>\n"
        "<style>html, body { margin: 0; height: 100%; color-scheme: light dark; }\n"
        "body > .mbd-view { height: 100vh; height: 100dvh; margin: 0; padding: 0 .5em; }\n"
        "body > .mbd-view .stage { flex: 1; min-height: 40vh; aspect-ratio: auto; "
        "max-height: none; }</style>\n"
        f"</head>\n<body>\n{viewer_part(scene)}\n</body>\n</html>\n"
    )


def _script(scene: Description) -> str:
    """Return the script: its files share one scope; what asks a server is in served pages only."""
    names = ["viewer.js", "marks.js", "controls.js"]
    names += ["live.js"] if scene.get("served") else []
    text = "".join(_file(name) for name in names)
    return f'(function () {{\n"use strict";\n{text}}})();\n'


def _json(scene: Description) -> str:
    """Return JSON that ends no script, whatever names are in it."""
    text = json.dumps(scene, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _file(name: str) -> str:
    return files("mbd_bridge.view.web").joinpath(name).read_text(encoding="utf-8")


HOST = "127.0.0.1"

LONGEST_REQUEST = 65_536
"""Bytes of a request; the values of sliders are far fewer."""

DIGITS = len(str(LONGEST_REQUEST))

LONGEST_WAIT = 10.0
"""Time in which a request must be complete, and in which a piece of the answer is taken, s."""

PIECE = 65_536
"""Bytes of an answer that a client takes within that time, at least."""

MOST_CONNECTIONS = 64
"""At a time, each with a thread: of more, the one is closed that has waited longest."""

LAST_PORT = 65_535

FARTHEST = 1e9
"""rad or m, at which sliders may stand: what is posed and drawn there is still a number."""

BEAT = 0.5
"""Time between two signs that the page is still open, s."""

PATIENCE = 3.0
"""Time after which a page that is no longer open counts as closed, s: a reload is faster."""

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; frame-ancestors 'none'"
)
"""What the page may load: nothing but itself."""


class ViewServer:
    """A running server of one page; ``with view.serve() as server: print(server.url)``.

    Attributes
    ----------
    url, port : address of the page, with its token, and the port in it
    open_pages : how many browsers show it
    last_open : when one did so last, s of the monotonic clock
    """

    url: str
    port: int
    open_pages: int
    last_open: float | None

    def __init__(self, view: WebView, port: int = 0) -> None:
        if whole_number("port", port, 0) > LAST_PORT:
            raise StateError(f"port: expected 0 (a free one) to {LAST_PORT}, got {port}")
        self._posing = view.posing()
        self.lock = threading.Lock()
        token = secrets.token_urlsafe(16)
        live = None
        if self._posing is not None:
            live = {"knobs": self._posing.knobs(), "values": self._posing.values()}
        page = viewer_page({**view.scene, "live": live, "served": True}).encode()
        self.open_pages, self.last_open = 0, None
        try:
            self._server = _Server((HOST, port), _handler(self, f"/{token}/", page))
        except OSError as error:
            raise StateError(f"port {port} of {HOST} cannot be used: {error.strerror}") from None
        self.port = self._server.server_port
        self.url = f"http://{HOST}:{self.port}/{token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def turn(self, request: Any) -> dict[str, Any]:
        """Return the state at which sliders stand."""
        if self._posing is None:
            raise StateError("a motion is not posed")
        if not isinstance(request, dict) or not isinstance(request.get("moved"), int):
            raise StateError("expected {values: [...], moved: 0}")
        with self.lock:
            return self._posing.turn(request.get("values", ()), request["moved"])

    def wait(self) -> None:
        """Wait until the page, once opened, is closed."""
        while True:
            last = self.last_open
            if last is not None and not self.open_pages and time.monotonic() - last > PATIENCE:
                return
            time.sleep(BEAT / 2.0)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    """A thread for each connection, of which none is held by who sends or takes nothing."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._guard = threading.Lock()
        self._deadlines: dict[socket.socket, float] = {}
        super().__init__(address, handler)

    def wait_for(self, connection: Any, seconds: float) -> None:
        """Close a connection that asks for nothing more within so many seconds from now."""
        with self._guard:
            self._deadlines[connection] = time.monotonic() + seconds

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection; where there are too many, another one ends."""
        with self._guard:
            full = len(self._deadlines) >= MOST_CONNECTIONS
            oldest = min(self._deadlines, key=self._deadlines.__getitem__) if full else None
        if oldest is not None:
            self._hang_up(oldest)
        self.wait_for(request, LONGEST_WAIT)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close the connections whose time is over; called twice a second."""
        now = time.monotonic()
        with self._guard:
            late = [
                connection for connection, deadline in self._deadlines.items() if deadline < now
            ]
        for connection in late:
            self._hang_up(connection)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._guard:
            self._deadlines.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that are gone."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def _hang_up(self, connection: socket.socket) -> None:
        """End what a thread waits for; the thread closes the connection."""
        with self._guard:
            self._deadlines.pop(connection, None)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _handler(owner: ViewServer, root: str, page: bytes) -> type[BaseHTTPRequestHandler]:
    """Return what answers the requests for one page."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "mbd", ""
        server: _Server

        def handle_one_request(self) -> None:
            self.server.wait_for(self.connection, LONGEST_WAIT)
            super().handle_one_request()

        def do_GET(self) -> None:
            if not self._allowed():
                return
            if self.path == root:
                self._answer(HTTPStatus.OK, "text/html; charset=utf-8", page)
            elif self.path == f"{root}open":
                self._stay()
            else:
                self._refuse(HTTPStatus.NOT_FOUND)

        def do_POST(self) -> None:
            if not self._allowed():
                return
            length = self.headers.get("Content-Length", "")
            if self.path != f"{root}pose" or not length.isdecimal():
                self._refuse(HTTPStatus.NOT_FOUND)
                return
            if len(length) > DIGITS or int(length) > LONGEST_REQUEST:
                self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
                return
            body = self.rfile.read(int(length))
            self.server.wait_for(self.connection, math.inf)
            try:
                state = owner.turn(json.loads(body))
            except (MbdError, ValueError, TypeError, OverflowError, RecursionError) as error:
                state = {"message": str(error)}
            self._answer(HTTPStatus.OK, "application/json", json.dumps(state).encode())

        def _allowed(self) -> bool:
            """Return whether the request is one of our own page's; refuse it otherwise."""
            port = owner.port
            hosts = {f"{HOST}:{port}", f"localhost:{port}"}
            origin = self.headers.get("Origin")
            same_origin = origin is None or origin in {f"http://{host}" for host in hosts}
            known = secrets.compare_digest(self.path[: len(root)].encode(), root.encode())
            if self.headers.get("Host") in hosts and same_origin and known:
                return True
            self._refuse(HTTPStatus.FORBIDDEN)
            return False

        def _stay(self) -> None:
            """Keep a connection as long as the page is open."""
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.close_connection = True
            with owner.lock:
                owner.open_pages += 1
            try:
                while True:
                    self.server.wait_for(self.connection, LONGEST_WAIT)
                    self.wfile.write(b": here\n\n")
                    self.wfile.flush()
                    owner.last_open = time.monotonic()
                    time.sleep(BEAT)
            except OSError:
                pass
            finally:
                with owner.lock:
                    owner.open_pages -= 1

        def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
            self.send_response(status)
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(body))),
                ("Content-Security-Policy", POLICY),
                ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
                ("X-Content-Type-Options", "nosniff"),
            ):
                self.send_header(name, value)
            self.end_headers()
            for start in range(0, len(body), PIECE):
                self.server.wait_for(self.connection, LONGEST_WAIT)
                self.wfile.write(body[start : start + PIECE])

        def _refuse(self, status: HTTPStatus) -> None:
            self.close_connection = True
            self._answer(status, "text/plain", status.phrase.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: only the command line prints."""

    return Handler


HEIGHT = 560
"""Of the frame in a notebook, pixels."""

ENDINGS = (".html", ".htm")


@dataclass(frozen=True, eq=False)
class WebView:
    """A machine, its motion and its loads, as a page for a browser that needs no network.

    In a notebook it shows itself. `save` writes the page; `serve` shows it from this process, with
    a slider for each degree of freedom of a machine without a motion.

    Attributes
    ----------
    source : the states that are shown
    rest : how loads at rest are found when the machine is posed; None: it is not posed
    overlays : what is shown beside the machine at first
    view : yaw and pitch of the camera, degrees; None: chosen for the machine
    playing, speed : whether it plays from the beginning on, and how many seconds in a second
    """

    source: Source
    rest: Rest | None = None
    title: str = ""
    overlays: Overlays = Overlays()  # noqa: RUF009 - it is frozen
    view: tuple[float, float] | None = None
    playing: bool = False
    speed: float = 1.0

    @cached_property
    def scene(self) -> Description:
        """What the page shows, as plain data."""
        return describe(
            self.source,
            self.overlays,
            title=self.title,
            view=self.view,
            playing=self.playing,
            speed=self.speed,
        )

    def page(self) -> str:
        """Return the page, of one piece."""
        return viewer_page(self.scene)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; a machine without a motion stands where it is.

        Parameters
        ----------
        path : ends with .html
        """
        check_page(path)
        with whole_path(path) as part:
            part.write_text(self.page(), encoding="utf-8")

    def serve(self, *, port: int = 0) -> ViewServer:
        """Return a server of the page, which runs until it is closed, for this computer only.

        Parameters
        ----------
        port : of 127.0.0.1; 0 for a free one
        """
        return ViewServer(self, port)

    def posing(self) -> Posing | None:
        """Return the machine as it is posed by sliders; None of a motion."""
        if self.rest is None:
            return None
        return Posing(Take(self.source, self.overlays), self.rest)

    def _repr_html_(self) -> str:
        """Return the page in a frame, as notebooks show it."""
        return (
            f'<iframe srcdoc="{escape(self.page())}" title="{escape(self.scene["title"])}" '
            f'style="width:100%;height:{HEIGHT}px;border:0" sandbox="allow-scripts"></iframe>'
        )

    def __repr__(self) -> str:
        records = len(self.source.time)
        states = "a pose" if records == 1 else f"{records} states"
        return f"WebView({self.scene['title']!r}: {states}; .save('page.html'), .serve())"


class Posing:
    """A machine that the sliders of a page move."""

    def __init__(self, take: Take, rest: Rest) -> None:
        self._rest, self._take = rest, take
        self._poser = Poser(take.model, take.source.q[0])

    def knobs(self) -> list[dict[str, Any]]:
        """Return the sliders: name, unit and range."""
        keys = "name", "unit", "low", "high"
        return [{key: getattr(knob, key) for key in keys} for knob in self._poser.knobs]

    def values(self) -> list[float]:
        """Return where the sliders stand."""
        return self._poser.values()

    def turn(self, values: Sequence[float], moved: int) -> Description:
        """Move to where the sliders stand; return the state and the sliders there.

        Parameters
        ----------
        moved : the slider that was moved
        """
        knobs = self._poser.knobs
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.shape != (len(knobs),) or not (np.abs(numbers) <= FARTHEST).all():
            raise StateError(
                f"values: expected {len(knobs)} numbers, one a slider, of at most {FARTHEST:g}"
            )
        if not 0 <= moved < len(knobs):
            raise StateError(f"moved: expected a slider from 0 to {len(knobs) - 1}, got {moved}")
        closed = self._poser.turn(numbers.tolist(), moved)
        state = self._rest.at(self._poser.q)
        self._take = self._take.followed_by(state)
        message = "" if closed else "no position near closes the loops there"
        return {**state_of(self._take), "values": self.values(), "message": message}


def check_page(path: str | os.PathLike[str]) -> None:
    """Refuse a name that is not one of a page, and a place where none can be written."""
    name = os.fspath(path)
    if not str(name).lower().endswith(ENDINGS):
        raise FileError("expected a name that ends with .html", str(name))
    check_place(path)


def is_page(path: str | os.PathLike[str] | None) -> bool:
    """Return whether a name is one of a page for the browser."""
    return path is not None and str(os.fspath(path)).lower().endswith(ENDINGS)


# A page opened in a browser on this computer, or in the cell of a notebook.


def open_page(view: WebView) -> None:
    """Show a page until it is closed, or until Ctrl-C; in a notebook put it into the cell."""
    if in_notebook():
        import_module("IPython.display").display(view)
        return
    with view.serve() as server, contextlib.suppress(KeyboardInterrupt):
        if not open_browser(server.url):
            warn(f"no browser was found here; open {server.url} in one on this computer")
        server.wait()


def open_browser(url: str) -> bool:
    """Open an address in a browser with a window; return whether there is one."""
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not shown:
        return False
    return webbrowser.open(url)


def in_notebook() -> bool:
    """Return whether the cell of a notebook runs this."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and getattr(running, "kernel", None) is not None
