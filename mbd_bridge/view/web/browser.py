"""A page opened in a browser on this computer, or in the cell of a notebook."""

from __future__ import annotations

import contextlib
import os
import sys
import webbrowser
from importlib import import_module

from mbd_bridge.base.errors import warn
from mbd_bridge.view.web.web_view import WebView


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
