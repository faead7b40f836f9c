"""Photograph the first screens of a report for docs/guides/report.md, in headless Chromium.

python docs/guides/make_report_picture.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

import mbd_bridge as mbd  # noqa: E402

URDF = HERE.parents[1] / "urdf"
JOINTS = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"]
VIEW = {"width": 800, "height": 1180}
TITLE = {"project": "Packing cell 7", "author": "A. Engineer", "revision": "B"}


def main(folder: Path) -> None:
    """Make the report of the page and its picture."""
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as running:
        page_path = Path(place) / "report.html"
        arm = mbd.load(URDF / "kuka_iiwa.urdf")
        motion = URDF / "kuka_iiwa_motion.csv"
        arm.report(page_path, motion, JOINTS, date="2026-03-31", **TITLE)
        browser = running.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport=VIEW)
        page.goto(page_path.as_uri())
        page.screenshot(path=folder / "report.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
