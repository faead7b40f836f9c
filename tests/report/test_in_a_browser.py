"""Claims about the report as it is seen: on a phone, on a screen, on paper; offline, and silent.

One browser and one tab for each page serve all claims: starting Chromium costs as much as they do.
"""

from __future__ import annotations

import re
import shutil
import unicodedata

import numpy as np
import pytest
from lxml import html

import mbd_bridge as mbd
from mbd_bridge.applications.bearings import Bearing
from tests.report.pdf_text import pages
from tests.report.texts import ARM, BLOCK, JOINTS, MOTION, ROOT, si

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")

FOOT = (BLOCK["project"], f"revision {BLOCK['revision']}", BLOCK["author"], BLOCK["date"])

PAPER = 680
"""px: what A4 has between the margins of the style."""


@pytest.fixture(scope="module")
def arm():
    motor = mbd.actuators.Actuator(JOINTS[0], ratio=100.0, rotor_inertia=1e-5)
    bearing = {JOINTS[0]: Bearing(15.9e3, 11e3)}
    return mbd.load(ARM).with_actuators([motor]).with_bearings(bearing)


@pytest.fixture(scope="module")
def files(arm, tmp_path_factory):
    """A report of two load cases with all that there is, and one of a linkage that swings."""
    folder = tmp_path_factory.mktemp("seen")
    motion = arm.read_motion(MOTION)
    pushed = (motion, {"lbr_iiwa_link_7": [0, 0, -200.0, 0, 0, 0]})
    names = {"free": motion, "pushed": pushed}
    arm.report(folder / "arm.html", names, JOINTS, **BLOCK)
    bar = mbd.load(ROOT / "urdf" / "four_bar.urdf")
    start = bar.assemble(near={"crank": 0.5}, fixed="crank")
    bar.simulate(0.3, q=start.q, v=start.v).report(folder / "bar.html", check=False)
    return {"arm": folder / "arm.html", "bar": folder / "bar.html"}


@pytest.fixture(scope="module")
def seen(files):
    """Tabs by name, with what each of them complained of and asked for."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tabs = {}
        for name, path in files.items():
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            said, asked = [], []
            tab.on("console", lambda message, to=said: to.append(message.text))
            tab.on("pageerror", lambda error, to=said: to.append(str(error)))
            tab.on("request", lambda request, to=asked: to.append(request.url))
            tab.goto(path.as_uri())
            tabs[name] = tab, said, asked
        yield tabs
        browser.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["arm", "bar"])
def test_nothing_is_wider_than_the_screen_and_every_picture_is_drawn(seen, name, width):
    tab, _, _ = seen[name]
    tab.set_viewport_size({"width": width, "height": 900})
    drawn = "[...document.images].every(i => i.complete && i.naturalWidth > 100)"
    assert tab.evaluate(drawn)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    charts = tab.evaluate(
        "[...document.querySelectorAll('.charts img')].map(i => i.getBoundingClientRect())"
        ".map(r => [r.left, r.right])"
    )
    assert charts and all(left >= 0 and right <= width for left, right in charts)
    assert len({left for left, _ in charts}) == (1 if width < 640 else 2)  # columns
    if width > 640:  # on a phone tables are moved sideways
        wide = "[...document.querySelectorAll('.wide')].every(w => w.scrollWidth <= w.clientWidth)"
        assert tab.evaluate(wide)


def test_the_view_shows_the_loads_of_the_api(seen, arm):
    """The worst case is shown: it is the one that is pushed."""
    tab, _, _ = seen["arm"]
    tab.set_viewport_size({"width": 900, "height": 900})
    motion = arm.read_motion(MOTION)
    push = {"lbr_iiwa_link_7": [0, 0, -200.0, 0, 0, 0]}
    loads = arm.joint_loads(motion, joints=JOINTS, external=push)
    shot = "document.querySelector('.mbd-view canvas').toDataURL()"
    first = tab.evaluate(shot)
    for row in (0, 150):
        tab.evaluate(
            "t => { const s = document.querySelector('.mbd-view input[type=range]');"
            " s.value = t; s.dispatchEvent(new Event('input')); }",
            float(motion.time[row]),
        )
        tab.wait_for_timeout(200)
        shown = tab.evaluate(
            "[...document.querySelectorAll('.mbd-view .label')].filter(l => !l.hidden)"
            ".map(l => l.textContent)"
        )
        force = float(np.linalg.norm(loads.force[row, 0]))  # the other's is too small to draw
        assert "lbr_iiwa_link_7: 200 N" in shown  # the push itself
        near = [si(text) for text in shown if text.endswith("N") and ":" not in text]
        assert any(x == pytest.approx(force, rel=1e-3) for x in near), (force, shown)
    assert tab.evaluate(shot) != first  # the machine moved


@pytest.mark.parametrize("name", ["arm", "bar"])
def test_paper_has_every_word_and_number_and_numbered_pages(seen, files, name):
    tab, _, _ = seen[name]
    sheets = pages(tab.pdf(prefer_css_page_size=True))
    assert len(sheets) > 2
    tree = html.parse(files[name])
    foot = [tree.findtext(".//h1"), *(FOOT if name == "arm" else [tree.findtext(".//dd")])]
    text = ""
    for number, sheet in enumerate(sheets, start=1):
        margin = _plain(f"{number} / {len(sheets)}{' · '.join(foot)}")
        assert _plain(sheet).startswith(margin)
        text += _plain(sheet).removeprefix(margin)
    headings = tree.xpath("//h2/text()")
    assert {"In short", "Joint loads", "Durability", "Assumptions", "Versions"} <= {*headings}
    assert name == "bar" or {"Load cases", "Motors", "Bearings", "Other engines"} <= {*headings}
    said = tree.xpath("//h2 | //h3 | //dd | //p[not(ancestor::details)] | //th | //td")
    words = {
        _plain(one.text_content()) for one in said if not one.xpath("ancestor::*[@class='screen']")
    }
    missing = [word for word in words if word not in text]
    assert not missing
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": PAPER, "height": 900})
    clipped = tab.evaluate(
        "[...document.querySelectorAll('.wide')].filter(w => w.scrollWidth > w.clientWidth)"
        ".map(w => w.innerText.slice(0, 80))"
    )
    tab.emulate_media(media="screen")
    assert not clipped


@pytest.mark.parametrize("name", ["arm", "bar"])
def test_the_page_asked_for_nothing_and_complained_of_nothing(seen, files, name):
    """It comes last: nothing of what was done above made it."""
    _, said, asked = seen[name]
    # without a graphics card the browser's own driver tells that it is slow
    assert not [text for text in said if "GPU stall due to ReadPixels" not in text]
    assert [url for url in asked if not url.startswith("data:")] == [files[name].as_uri()]


def _plain(text: str) -> str:
    """Return letters without blanks: lines are broken elsewhere, and ligatures are one glyph."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def test_the_first_sheet_of_a_pdf_has_verdict_picture_and_largest_loads(arm, tmp_path):
    arm.report(tmp_path / "arm.pdf", MOTION, JOINTS, view=False)
    first, *others = pages((tmp_path / "arm.pdf").read_bytes())
    assert others
    for said in ("In short", "Checked: ", "At t = ", "Largest loads.", *JOINTS):
        assert _plain(said) in _plain(first)
    assert _plain("The machine") in _plain(others[0])
    assert b"/Subtype /Image" in (tmp_path / "arm.pdf").read_bytes()
