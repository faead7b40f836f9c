"""The report as a page, and the file that it is."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from mbd_bridge.crosscheck import Report
from mbd_bridge.errors import count
from mbd_bridge.formats.whole_file import whole_file
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.mechanism import Model
from mbd_bridge.reports import checks, figures, tables
from mbd_bridge.reports.cases import Case, load_cases
from mbd_bridge.reports.machine import machine
from mbd_bridge.reports.motors import motors_section
from mbd_bridge.reports.page import page, paragraph
from mbd_bridge.reports.summary import summary
from mbd_bridge.reports.title import TitleBlock
from mbd_bridge.solve import LoopReport
from mbd_bridge.view.web import viewer_part
from mbd_bridge.view.web.description import Description

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Subject:
    """All that the report is about.

    Attributes
    ----------
    history : of the loads of the joints that are looked at
    motion : what moved it, in words: a file, a simulation
    version : of this package
    loops : at a position of the motion; None for a tree
    picture : RGB (height, width, 3), or None
    caption : of the picture, or why there is none
    agreement : with other engines; None if they were not asked
    title : the title block
    scene : what the 3-D view shows (`view.web`); None: no such view
    cases : load cases, of which `history` is the first or the whole
    """

    model: Model
    history: LoadHistory
    motion: str
    version: str
    loops: LoopReport | None = None
    picture: NDArray[np.uint8] | None = None
    caption: str = ""
    agreement: Report | None = None
    title: TitleBlock = TitleBlock()  # noqa: RUF009 - it is frozen
    scene: Description | None = None
    cases: tuple[Case, ...] = ()


def write_report(path: str | PathLike[str], subject: Subject) -> None:
    """Write the page; the file is there when it is whole."""
    text = report_page(subject)
    with whole_file(path) as file:
        file.write(text)


def report_page(subject: Subject) -> str:
    """Return the page."""
    model, history = subject.model, subject.history
    actuators = tables.sizings(model, history)
    lead = (
        f"Loads of {count(len(history.joints), 'joint')} along {subject.motion}: "
        f"{count(history.rows, 'state')} from {history.begin:g} to {history.end:g} s. "
        f"Computed by mbd_bridge {subject.version}."
    )
    sections = [("In short", summary(history, subject.agreement, actuators))]
    if len(subject.cases) > 1:
        sections.append(("Load cases", load_cases(subject.cases)))
    sections += [
        ("The machine", _machine(subject)),
        ("Joint loads", tables.loads(history) + figures.along_time(history)),
    ]
    if actuators:
        drawn = figures.torque_over_speed(history, actuators)
        sections.append(("Actuators", tables.actuators(actuators) + drawn))
    if history.motors is not None and len(history.motors):
        sections.append(("Motors", motors_section(history.motors)))
    sections.append(("Durability", tables.spectra(history) + figures.exceedances(history)))
    sections.append(("Assumptions", tables.assumptions(history.assumptions)))
    if subject.agreement is not None:
        sections.append(("Other engines", checks.agreement(subject.agreement)))
    sections.append(("Versions", checks.versions(subject.version)))
    title = f"Joint loads of {model.name}"
    foot = " · ".join(filter(None, (title, subject.title.line)))
    return page(title, lead, sections, subject.title.rows(), foot)


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
