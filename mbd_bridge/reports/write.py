"""The report as a page, and the file that it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING

from mbd_bridge.crosscheck import Report
from mbd_bridge.errors import count
from mbd_bridge.formats.whole_file import whole_file
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.mechanism import Model
from mbd_bridge.reports import checks, figures, tables
from mbd_bridge.reports.machine import machine
from mbd_bridge.reports.page import page, paragraph, sentence, verdict
from mbd_bridge.solve import LoopReport

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
    """

    model: Model
    history: LoadHistory
    motion: str
    version: str
    loops: LoopReport | None = None
    picture: NDArray[np.uint8] | None = None
    caption: str = ""
    agreement: Report | None = None


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
        f"{sentence(history.convention)} Made {datetime.now().astimezone():%Y-%m-%d %H:%M %Z} by "
        f"mbd_bridge {subject.version}."
    )
    sections = [
        ("In short", _short(subject, actuators)),
        ("The machine", _machine(subject)),
        ("Joint loads", tables.loads(history) + figures.along_time(history)),
    ]
    if actuators:
        sections.append(
            (
                "Actuators",
                tables.actuators(actuators) + figures.torque_over_speed(history, actuators),
            )
        )
    sections.append(
        ("Durability", tables.spectra(history) + figures.exceedances(history)),
    )
    sections.append(("Assumptions", tables.assumptions(history.assumptions)))
    if subject.agreement is not None:
        sections.append(("Other engines", checks.agreement(subject.agreement)))
    sections.append(("Versions", checks.versions(subject.version)))
    return page(f"Joint loads of {model.name}", lead, sections)


def _short(subject: Subject, actuators: Sequence[tables.Sizing]) -> str:
    """Return the findings that decide: agreement, limits, what is not determined, warnings."""
    parts = []
    if subject.agreement is not None:
        found = subject.agreement
        text = f"Other engines: {found.verdict}."
        parts.append(verdict(text, "good" if found.passed else "bad"))
    over = [one.name for one in actuators if one.too_much]
    limited = [one for one in actuators if one.effort_limit or one.speed_limit]
    if over:
        text = f"Beyond the file's limits of torque or speed: {', '.join(over)}."
        parts.append(verdict(text, "bad"))
    elif len(limited) == len(actuators) > 0:
        parts.append(verdict("All actuators stay within the file's limits.", "good"))
    elif limited:
        text = f"{len(limited)} of {count(len(actuators), 'actuator')} have limits, and stay"
        parts.append(verdict(f"{text} within them.", "good"))
    parts += [_undetermined(subject.history)]
    parts += [paragraph(f"Note: {note}.", "note") for note in subject.history.notes]
    return "\n".join(filter(None, parts))


def _undetermined(history: LoadHistory) -> str:
    open_ones: dict[str, list[str]] = {}
    for one in history.statistics:
        if not one.determined and not one.signal.resultant:
            open_ones.setdefault(one.signal.joint, []).append(one.signal.quantity)
    if not open_ones:
        return paragraph("Every load component is determined by rigid-body mechanics.")
    names = "; ".join(f"{joint}: {', '.join(which)}" for joint, which in open_ones.items())
    return paragraph(
        f"Rigid-body mechanics does not determine {names}. The machine is overconstrained there: "
        f"what these carry depends on elasticity and on how exactly it was built. The numbers "
        f"shown for them are the smallest that agree with the motion.",
        "warning",
    )


def _machine(subject: Subject) -> str:
    if subject.picture is None:
        shown = paragraph(subject.caption, "note") if subject.caption else ""
    else:
        shown = figures.machine_picture(subject.picture, subject.caption)
    return shown + machine(subject.model, subject.loops)
