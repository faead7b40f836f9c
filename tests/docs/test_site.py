"""The documentation site builds without a warning and has every page and example."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import mbd_bridge as mbd
from tests.docs.pages import ROOT

pytest.importorskip("sphinx")

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("[0-9]*.py"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(place)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def test_every_page_is_on_the_site_and_in_its_menu(site: Path) -> None:
    menu = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        address = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (site / address).is_file()
        assert address in menu, address


def test_every_example_is_on_the_page_of_examples() -> None:
    written = (ROOT / "docs" / "start" / "examples.md").read_text(encoding="utf-8")
    assert re.findall(r"\.\./\.\./examples/(\S+)", written) == EXAMPLES


def test_the_reference_has_every_public_name() -> None:
    written = (ROOT / "docs" / "reference" / "reference.md").read_text(encoding="utf-8")
    whole = re.findall(r"automodule:: (\S+)\n   :members:", written)
    for name in mbd.__all__:
        part = getattr(mbd, name)
        if not isinstance(part, ModuleType):
            assert re.search(rf"\.{name}$", written, re.M) or part.__module__ in whole, name
        elif part.__name__ not in whole:
            for own in part.__all__:
                there = getattr(part, own)
                known = isinstance(there, ModuleType) and there.__name__ in whole
                assert known or re.search(rf"\.{own}$", written, re.M), f"{name}.{own}"


def test_the_reference_says_what_a_parameter_means(site: Path) -> None:
    page = site / "reference" / "reference.html"
    text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))
    assert "gravity – (3,) m/s², in the world’s axes" in text
    assert "\nin_ – axes of the" in text  # and not a link that leads nowhere
