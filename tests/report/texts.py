"""What the tests of reports share: a machine, its title block, and how numbers are read back."""

from __future__ import annotations

from pathlib import Path

from lxml import html

from mbd_bridge.base.readable import PREFIXES

ROOT = Path(__file__).parents[2]
ARM, MOTION = ROOT / "urdf" / "kuka_iiwa.urdf", ROOT / "urdf" / "kuka_iiwa_motion.csv"
JOINTS = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"]
FAST = {"picture": False, "check": False}
BLOCK = {"project": "Cell <7>", "author": "A. \\ Engineer", "revision": "B", "date": "2026-03-31"}


def si(text):
    """Return a number with its unit in SI."""
    value, _, unit = text.partition(" ± ")[0].partition(" ")
    power = PREFIXES.index(unit[0]) - 3 if unit and unit[0] in PREFIXES and unit != "m" else 0
    return float(value) * 1e3**power


def by_heading(page, heading, place=0):
    """Return the rows of a table of a section as texts by heading, without units in headings.

    Of headings that stand twice the second one has a 2 behind it. The first cell of a row, where it
    is empty, is that of the row above.
    """
    (section,) = html.parse(page).xpath(f"//section[h2='{heading}']")
    heads, *lines = section.findall(".//table")[place].findall(".//tr")
    names = []
    for head in (cell.text_content().partition(", ")[0] for cell in heads):
        names.append(f"{head}2" if head in names else head)
    found, first = [], ""
    for line in lines:
        row = dict(zip(names, (cell.text_content() for cell in line), strict=True))
        first = row[names[0]] = row[names[0]] or first
        found.append(row)
    return found


def rows(page, heading, place=0):
    """Return the cells of a table of a section."""
    (section,) = html.parse(page).xpath(f"//section[h2='{heading}']")
    found = section.findall(".//table")[place].findall(".//tr")[1:]
    return [[cell.text_content() for cell in row] for row in found]
