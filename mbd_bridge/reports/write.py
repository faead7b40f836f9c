"""The report as a page, and the file that it is.

What others say of the same machine, and with what it was computed.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

from mbd_bridge import __version__
from mbd_bridge.base.errors import count
from mbd_bridge.base.readable import instant
from mbd_bridge.base.table import Series, Table
from mbd_bridge.base.versions import versions
from mbd_bridge.engines.crosscheck import Report
from mbd_bridge.files.whole_file import whole_file
from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.model import Model
from mbd_bridge.reports import figures
from mbd_bridge.reports.cases import load_cases, of_each
from mbd_bridge.reports.machine import machine
from mbd_bridge.reports.page import page, paragraph, table, verdict
from mbd_bridge.reports.sizing import sizing_table, sizings
from mbd_bridge.reports.summary import added_sections, kind_of, summary
from mbd_bridge.reports.title import TitleBlock
from mbd_bridge.solve import LoopReport
from mbd_bridge.view.web import viewer_part
from mbd_bridge.view.web.description import Description

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGES = ("pin", "pybullet", "numpy", "scipy", "llvmlite", "rainflow", "matplotlib", "pyarrow")
"""What has a part in the numbers or the pictures, as it is called on the index."""


def agreement(found: Report) -> str:
    """Return the cross-check's rows and verdict as HTML."""
    head = verdict(found.verdict, kind_of(found))
    absent = "".join(paragraph(f"Not asked: {reason}", "note") for reason in found.absent)
    return head + "".join(map(table, found.tables())) + absent


def versions_table() -> str:
    """Return what was used, as HTML."""
    known = versions(PACKAGES)
    found = {"mbd_bridge": known.pop("mbd_bridge"), "Python": platform.python_version(), **known}
    found["machine"] = f"{platform.system()} {platform.machine()}"
    columns = [Series("version", "", [*found.values()])]
    return table(Table("versions", Series("package", "", [*found]), columns))


@dataclass(frozen=True, eq=False)
class Subject:
    """All that the report is about.

    Attributes
    ----------
    cases : the loads along each motion
    motion : what moved it, in words: a file, a simulation
    loops : at a position of the motion; None for a tree
    picture : RGB (height, width, 3), or None
    caption : of the picture, or why there is none
    agreement : with other engines; None if they were not asked
    title : the title block
    scene : what the 3-D view shows (`view.web`); None: no such view
    """

    model: Model
    cases: LoadCases
    motion: str
    loops: LoopReport | None = None
    picture: NDArray[np.uint8] | None = None
    caption: str = ""
    agreement: Report | None = None
    title: TitleBlock = TitleBlock()  # noqa: RUF009 - it is frozen
    scene: Description | None = None


def _added() -> list[tuple[str, Callable[[LoadHistory], str]]]:
    """Return headings and texts of sections that applications and plugins add."""
    return [(one.HEADING, one.text) for one in added_sections()]


def write_report(path: str | PathLike[str], subject: Subject) -> None:
    """Write the page; the file is there when it is whole."""
    text = report_page(subject)
    with whole_file(path) as file:
        file.write(text)


def report_page(subject: Subject) -> str:
    """Return the page."""
    model, cases = subject.model, subject.cases
    first = cases.cases[0].history
    actuators = {case.name: sizings(model, case.history) for case in cases.cases}
    lead = f"Loads of {count(len(first.joints), 'joint')} along {subject.motion}: "
    if len(cases) == 1:
        lead += (
            f"{count(first.rows, 'state')} from {instant(first.begin)} to {instant(first.end)} s. "
        )
    else:
        lead += f"{', '.join(case.name for case in cases.cases)}. "
    lead += f"Computed by mbd_bridge {__version__}."
    sections = [("In short", summary(cases, subject.agreement, actuators))]
    if len(cases) > 1:
        sections.append(("Load cases", load_cases(cases)))
    sections += [
        ("The machine", _machine(subject)),
        ("Joint loads", of_each(cases, lambda x: _loads(x) + figures.along_time(x))),
    ]
    parts: list[tuple[str, Callable[[LoadHistory], str]]] = [
        ("Actuators", partial(_actuators, model)),
        ("Measured efforts", _efforts),
    ]
    each = ((heading, of_each(cases, part)) for heading, part in (*parts, *_added()))
    sections += [(heading, text) for heading, text in each if text]
    sections.append(("Assumptions", _assumptions(cases)))
    if subject.agreement is not None:
        sections.append(("Other engines", agreement(subject.agreement)))
    sections.append(("Versions", versions_table()))
    title = f"Joint loads of {model.name}"
    foot = " · ".join(filter(None, (title, subject.title.line)))
    return page(title, lead, sections, subject.title.rows(), foot)


def _actuators(model: Model, history: LoadHistory) -> str:
    found = sizings(model, history)
    return table(sizing_table(found)) + figures.torque_over_speed(history, found) if found else ""


def _efforts(history: LoadHistory) -> str:
    found = history.effort_differences
    return "".join(map(table, found.tables())) if found else ""


def _loads(history: LoadHistory) -> str:
    (shown,) = history.tables()
    return table(replace(shown, notes=()), fold="signal")


def _assumptions(cases: LoadCases) -> str:
    return "".join(
        table(one, "What every number of this report assumes.")
        for one in cases.assumptions.tables()
    )


def _machine(subject: Subject) -> str:
    """Return the machine in 3-D for screens, as a picture for paper, its tree and its loops."""
    if subject.picture is None:
        shown = paragraph(subject.caption, "note") if subject.caption else ""
    else:
        shown = figures.machine_picture(subject.picture, subject.caption)
        if subject.scene is not None:
            shown = f'<div class="paper">{shown}</div>'
    if subject.scene is not None:
        part = viewer_part(subject.scene)
        shown += f'<div class="screen">{part}</div>' if subject.picture is not None else part
    return shown + machine(subject.model, subject.loops)
