"""What others say of the same machine, and with what it was computed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from mbd_bridge.crosscheck import Report
from mbd_bridge.reports.page import Cell, paragraph, table, verdict

PACKAGES = ("pin", "pybullet", "numpy", "scipy", "llvmlite", "rainflow", "matplotlib", "pyarrow")
"""What has a part in the numbers or the pictures, as it is called on the index."""


def kind_of(found: Report) -> str:
    """Return how a verdict is shown: "good" only where the whole machine was compared."""
    if not any(row.compared for row in found.rows) or (found.passed and found.open_loops):
        return "doubt"
    return "good" if found.passed else "bad"


def agreement(found: Report) -> str:
    """Return the cross-check's rows and verdict as HTML."""
    rows: list[list[Cell]] = []
    for row in found.rows:
        if row.compared:
            outcome = ("agrees", "good") if row.passed else ("DISAGREES", "bad")
            numbers = [f"{row.error:.1e}", f"{row.tolerance:.0e}"]
        else:
            outcome, numbers = ("not compared", "doubt"), ["", ""]
        referee = (row.referee, "prose")
        rows.append([row.quantity, referee, *numbers, outcome, row.worst, (row.note, "prose")])
    headings = ("quantity", "referee", ">difference", ">allowed", "", "worst at", "")
    head = verdict(found.verdict, kind_of(found))
    said = (
        f"{found.states} random states; the largest difference relative to the largest entry of "
        f"its state."
    )
    absent = "".join(paragraph(f"Not asked: {reason}", "note") for reason in found.absent)
    return head + table(headings, rows, said) + absent


def versions(own: str) -> str:
    """Return what was used, as HTML."""
    rows: list[list[Cell]] = [["mbd_bridge", own], ["Python", platform.python_version()]]
    for package in PACKAGES:
        try:
            rows.append([package, version(package)])
        except PackageNotFoundError:
            rows.append([package, "not installed"])
    rows.append(["machine", f"{platform.system()} {platform.machine()}"])
    return table(("package", "version"), rows)
