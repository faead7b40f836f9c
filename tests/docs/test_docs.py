"""The documentation is true: its code runs, its results come out, its links lead somewhere.

A ``python`` block is executed; the blocks of a page share one namespace. What it prints must stand
in the ``text`` block behind it. A ``console`` block holds commands (behind ``$``) and what they
print.
``sh`` and ``console measured`` blocks are for people; they are not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest

import mbd_bridge as mbd
from mbd_bridge.base.extensions import _of_scripts
from tests.docs.pages import ROOT, Block, blocks, differences, pages

KNOWN = {"", "python", "text", "console", "console measured", "sh", "yaml", "xml", "csv", "c"}
INSTALL = "pip install . && "
TORCH = find_spec("torch") is not None  # its wheels bring 3 GB of CUDA: no extra of `test`
PYBULLET = find_spec("pybullet") is not None  # it has no wheels from Python 3.12 on
ASKS_PYBULLET = re.compile(r"mbd (check (?!.*--no-pybullet)|view (?!.*--(record|web)))")
"""What the README's first command begins with; the test runs what follows."""

SECONDS = 120
"""Any one command."""

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)#\s]+)(?:#(?P<anchor>[^)]*))?\)")
_HEADING = re.compile(r"^#+ (?P<title>.*)$", re.MULTILINE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like the repository's root, into which the pages may write."""
    for name in ("urdf", "docs", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(os.environ), mock.patch.dict(_of_scripts):  # a page's end with the test
        yield tmp_path


def ids(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", pages(), ids=ids)
def test_python_blocks_run_and_print_what_the_page_shows(page: Path, place: Path) -> None:
    names: dict[str, object] = {"__name__": "__page__"}
    found = list(blocks(page))
    for k, block in enumerate(found):
        if block.info != "python":
            continue
        printed = io.StringIO()
        if not PYBULLET and "import pybullet" in block.text:
            return
        if not TORCH and "import torch" in block.text:
            continue
        text = "\n" * (block.line - 1) + block.text
        code = compile(text, str(block.page), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        behind = found[k + 1] if k + 1 < len(found) else None
        shown = behind.text if behind is not None and behind.info == "text" else ""
        assert not differences(shown, printed.getvalue()), f"{block}\n{printed.getvalue()}"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a process that runs commands."""
    address = str(tmp_path_factory.mktemp("server") / "commands")
    words = [sys.executable, "-m", "tests.docs.command_server", address]
    with subprocess.Popen(words, cwd=ROOT, env=environment()) as process:
        try:
            deadline = time.monotonic() + SECONDS
            while not os.path.exists(address):
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            yield address
        finally:
            process.terminate()


@pytest.mark.parametrize("page", pages(), ids=ids)
def test_commands_print_what_the_page_shows(page: Path, place: Path, server: str) -> None:
    for block in blocks(page):
        if block.info == "console":
            for command, shown in commands(block):
                if not PYBULLET and ASKS_PYBULLET.search(command):
                    continue
                printed = run(command, place, server)
                assert not differences(shown, printed), f"{block}: {command}\n{printed}"


def commands(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what the page shows behind it."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{block}: begins without a command"
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts[1:])]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "COLUMNS": "100"}


def run(command: str, place: Path, server: str) -> str:
    """Run a command of ours as a terminal would show it; the exit code is part of the text."""
    mbd = f"{sys.executable} -SE {ROOT}/tests/docs/command_client.py {server}"
    text = re.sub(r"(^|&& |\| |\$\()mbd ", rf"\1{mbd} ", command.removeprefix(INSTALL))
    text = re.sub(r"^python ", f"{sys.executable} ", text)
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=place,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("page", pages(), ids=ids)
def test_links_lead_somewhere_and_blocks_have_a_known_kind(page: Path) -> None:
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        if "://" in link["target"]:
            continue
        target = page.parent / link["target"]
        assert target.exists(), link[0]
        assert link["anchor"] is None or link["anchor"] in anchors(target), link[0]
    unknown = [b for b in blocks(page) if b.info not in KNOWN and not b.info.startswith("{")]
    assert not [str(block) for block in unknown]  # {...} are the site's: test_site builds it


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings get: small letters, blanks to dashes."""
    titles = [m["title"] for m in _HEADING.finditer(page.read_text(encoding="utf-8"))]
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", ["load", "Builder", "simulate", "report"])
def test_the_first_pages_tell_of_what_a_user_begins_with(name: str) -> None:
    assert hasattr(mbd, name) or hasattr(mbd.Mechanism, name)
    assert f"mbd.{name}" in "".join(page.read_text(encoding="utf-8") for page in pages())


def test_every_page_is_reached_from_the_first_one() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = {m["target"] for m in _LINK.finditer(index)}
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert there - {"index.md"} <= linked


def test_ci_runs_the_readmes_test_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    between = re.search(
        r"^<!-- the test command.*?^```sh\n(?P<command>.*?)\n```\n<!-- end", readme, re.M | re.S
    )
    assert between is not None
    command = between["command"]
    assert "\n" not in command
    for part in ("pip install '.[test]'", "ruff check .", "ruff format --check .", "mypy"):
        assert part in command
    assert command.endswith("&& python -m pytest -n auto --dist worksteal")


def test_a_wrong_number_on_a_page_is_found() -> None:
    shown = "torque -2.662 N m\n...\nlast 1"
    assert not differences(shown, "torque -2.6621 N m\nbetween\nlast 1\n")
    assert differences(shown, "torque -2.7 N m\nbetween\nlast 1\n")
    assert differences("one", "one\ntwo\n")
    assert differences("", "something\n")


def test_every_digit_of_a_page_is_compared() -> None:
    assert differences("operations 1682", "operations 1683\n")
    assert differences("[0.1217 0.5174]", "[0.1219 0.5174]\n")
    assert not differences("[0.1217 0.5174]", "[0.1218 0.5174]\n")  # rounded otherwise
    assert not differences("2.35e-16", "-4e-16\n")
