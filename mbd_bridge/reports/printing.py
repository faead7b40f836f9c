"""A page printed to PDF by a browser that is installed: Chromium, Chrome or Edge."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from os import PathLike
from pathlib import Path

from mbd_bridge.base.errors import MbdError, MissingPackageError
from mbd_bridge.files.whole_file import whole_path

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "msedge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
"""Programs, by name or place, in the order in which they are looked for."""

SECONDS = 120.0
"""s that a browser may take."""


def installed_browser() -> str:
    """Return the browser that prints.

    Raises
    ------
    MissingPackageError
        There is none.
    """
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise MissingPackageError(
        "a PDF is printed by Chromium, Chrome or Edge, and none of them is installed. Install one "
        "(apt install chromium), or write .html and print it from any browser"
    )


def print_page(html: str, path: str | PathLike[str]) -> None:
    """Write a page as PDF; the file is there when it is whole."""
    browser = installed_browser()
    with tempfile.TemporaryDirectory() as folder, whole_path(path) as target:
        page, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html, encoding="utf-8")
        words = [
            *(browser, "--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"),
            *(f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}", page.as_uri()),
        ]
        if getattr(os, "geteuid", lambda: 1)() == 0:  # Chromium's sandbox refuses root
            words.insert(1, "--no-sandbox")
        try:
            done = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise MbdError(f"{browser} printed no page: {problem}; write .html") from None
        if not printed.is_file():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise MbdError(f"{browser} printed no page: {' '.join(last)}; write .html")
        target.write_bytes(printed.read_bytes())
