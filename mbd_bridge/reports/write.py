"""The report as a page, and the file that it is: the machine, its load cases, what decides, what
others say of the same machine, and with what it was computed.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbd_bridge import __version__
from mbd_bridge.base.errors import count, some
from mbd_bridge.base.extensions import working
from mbd_bridge.base.extras import versions
from mbd_bridge.base.readable import banded, instant, quantity, sentence
from mbd_bridge.base.table import Series, Table
from mbd_bridge.engines.crosscheck import Report
from mbd_bridge.files.whole_file import whole_file
from mbd_bridge.loads.streaming import LoadCases, LoadHistory, SignalStatistics
from mbd_bridge.model import Model, outline
from mbd_bridge.motion.peak import Use
from mbd_bridge.motion.table import FORCES, MOMENTS
from mbd_bridge.motion.warnings import BEYOND_LIMITS
from mbd_bridge.reports import figures
from mbd_bridge.reports.page import page, paragraph, subsection, table, verdict
from mbd_bridge.reports.printing import print_page
from mbd_bridge.reports.sizing import Sizing, sizing_table, sizings
from mbd_bridge.reports.title import TitleBlock
from mbd_bridge.solve import LoopReport
from mbd_bridge.view.web import viewer_part
from mbd_bridge.view.web.description import Description

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Load cases of a report: what each motion asks of the joints, side by side and all together.

EXTREMES = 4
"""Columns of an envelope: largest and smallest, and the cases in which they are."""


def of_each(cases: LoadCases, part: Callable[[LoadHistory], str]) -> str:
    """Return a part of each case's, under its name where there are several."""
    if len(cases) == 1:
        return part(cases.cases[0].history)
    each = ((case.name, part(case.history)) for case in cases.cases)
    return "\n".join(subsection(name, text) for name, text in each if text)


def load_cases(cases: LoadCases) -> str:
    """Return the cases, extremes and damage over all of them, and lives of bearings."""
    envelope, listed, *lives = cases.tables()
    parts = [envelope.columns[:EXTREMES], envelope.columns[EXTREMES:]]  # a page is not as wide
    halves = [replace(envelope, columns=part, caption="") for part in parts if part]
    halves[-1] = replace(halves[-1], caption=envelope.caption)
    each = (table(half, fold="signal") for half in halves)
    return "\n".join([table(listed), *each, *map(table, lives)])


# What the machine is: sizes, its picture, the tree of joints, and what its loops leave open.


def machine(model: Model, loops: LoopReport | None) -> str:
    """Return the tree and the loops as HTML.

    Parameters
    ----------
    loops : at a position of the motion; None for a tree
    """
    parts = [paragraph(_sizes(model)), table(outline.joint_table(model))]
    if loops is not None:
        parts.append(_loops(model, loops))
    return "\n".join(parts)


def _sizes(model: Model) -> str:
    mass = sum(model.masses)
    base = "floating" if model.floating else "fixed"
    gravity = ", ".join(f"{g:.6g}" for g in model.gravity)
    dof = count(model.nv, "degree of freedom") + (" of the tree" if model.loops else "")
    return (
        f"{count(len(model.links), 'link')}, {count(len(model.joints) - 1, 'joint')}, {dof}, "
        f"{base} base, {mass:.6g} kg; gravity ({gravity}) m/s² in the world's axes."
    )


def _loops(model: Model, found: LoopReport) -> str:
    lost = found.rows - found.rank
    said = (
        f"{found.mobility} with the loops closed; {found.rows} constraint rows, {lost} of them "
        f"redundant."
    )
    if found.passive:
        said += f" Passive: {', '.join(found.passive)}."
    shown = outline.loop_table(model, found.redundant)
    return table(shown, "Joints that close loops: cut here, exact.") + paragraph(said)


# The findings that decide, in words that everybody understands, and one line for each joint.

Actuated = Mapping[str, Sequence[Sizing]]
"""What actuators need, by load case."""

FIRST = 8
"""Joints on the first page."""

NEVER = "No other program has checked these loads (the check was switched off)."


def kind_of(found: Report) -> str:
    """Return how a verdict is shown: "good" only where the whole machine was compared."""
    if not any(row.compared for row in found.rows) or (found.passed and found.open_loops):
        return "doubt"
    return "good" if found.passed else "bad"


def summary(
    cases: LoadCases, agreement: Report | None, actuators: Actuated, shown: str = ""
) -> str:
    """Return verdicts, the machine and the joints' largest loads as HTML.

    Parameters
    ----------
    actuators : what they need, by case
    shown : the machine as it is seen
    """
    parts = [
        _checked(agreement),
        "" if cases.cases[0].history.results.get("motors") else _limits(cases, actuators),
        *(one.in_short(cases) for one in added_sections() if hasattr(one, "in_short")),
        _undetermined(cases),
        shown,
        *_notes(cases, limits=True),
        joints(cases),
    ]
    return "\n".join(filter(None, parts))


def added_sections() -> list[Any]:
    """Return the sections of applications and plugins, in their order.

    They are modules or objects with a `HEADING`; `text` of a history as HTML; perhaps `in_short` of
    all cases, and a `PLACE` among them.
    """
    return sorted((one for _, one in working("sections")), key=lambda x: getattr(x, "PLACE", 9))


def _notes(cases: LoadCases, limits: bool) -> list[str]:
    """Return notes of limits, or others; those of assumptions have a section of their own."""
    found: list[str] = []
    for case in cases.cases:
        label = f"Note, {case.name}" if len(cases) > 1 else "Note"
        news = (x for x in case.history.notes if x not in case.history.assumptions.texts)
        chosen = (note for note in news if note.startswith(BEYOND_LIMITS) == limits)
        found += [paragraph(f"{label}: {note}.", "note") for note in chosen]
    return found


def checked_in_words(report: Report) -> str:
    """Return what the cross-check says, for readers who know none of the programs."""
    compared = [row for row in report.rows if row.compared]
    each = list(dict.fromkeys(name.partition(",")[0] for name in report.providers))
    names, several = " and ".join(each), len(each) > 1
    programs = f"{len(each)} independent programs" if several else "an independent program"
    if not compared:
        if not names:
            return "Not checked: no other program is installed."
        return f"Not checked: {names} could compare nothing of this machine."
    if report.passed:
        worst = max(row.error for row in compared)
        loops = report.open_loops
        subject = "the open tree of this machine" if loops else "this machine"
        return (
            f"{'Checked in part' if loops else 'Checked'}: {programs} ({names}) "
            f"compute{'' if several else 's'} the same for {subject}, to {_parts(worst)}, in "
            f"{report.at}."
            + f" Nobody has checked its closed loops ({some(loops, 8)})."
            * bool(loops)
        )
    wrong = list(dict.fromkeys(row.quantity for row in compared if not row.passed))
    return (
        f"NOT CONFIRMED: {programs} ({names}) found otherwise: {', '.join(wrong)}. Do not use "
        f"these loads before the reason is known; see the section Other engines."
    )


def _parts(share: float) -> str:
    """Return a share in words: one part in so many."""
    if not share > 0.0:
        return "the last digit"
    digits = 1
    while share < 10.0**-digits and digits < 16:
        digits += 1
    names = {3: "a thousand", 6: "a million", 9: "a billion"}
    whole = max((d for d in names if d < digits), default=0)
    return f"better than one part in {names[whole]}" if whole else f"{share:.0%}"


def _checked(found: Report | None) -> str:
    if found is None:
        return verdict(NEVER, "doubt")
    kind = kind_of(found)
    parts = [verdict(checked_in_words(found), kind)]
    left_out = list(dict.fromkeys(row.quantity for row in found.rows if not row.compared))
    if left_out and any(row.compared for row in found.rows):
        parts.append(paragraph(f"Not compared: {', '.join(left_out)}.", "note"))
    parts += [paragraph(f"Not checked: {reason}.", "note") for reason in found.absent]
    return "\n".join(parts)


def _limits(cases: LoadCases, actuators: Actuated) -> str:
    """Return whether actuators stay within their limits, and what that leaves out."""
    over, near, limited, every = [], [], set[str](), set[str]()
    for case, each in actuators.items():
        label = f" in {case}" if len(cases) > 1 else ""
        every |= {one.name for one in each}
        limited |= {one.name for one in each if one.uses}
        over += [_excess(one, one.too_much) + label for one in each if one.too_much]
        near += [_excess(one, one.open) + label for one in each if one.open and not one.too_much]
    neglected = cases.assumptions.neglected
    missing = dict.fromkeys(
        said.heading.lower() for said in neglected if said.topic in ("friction", "rotors")
    )
    without = f" Not counted: {'; '.join(missing)}." if missing else ""
    lines = []
    if over:
        lines.append(verdict(f"Beyond limits: {', '.join(over)}.{without}", "bad"))
    if near:
        text = "The motion's noise leaves open whether limits are kept"
        lines.append(verdict(f"{text}: {', '.join(near)}.{without}", "doubt"))
    if lines or not limited:
        return "\n".join(lines)
    kind = "doubt" if missing else "good"
    if limited == every:
        return verdict(f"All actuators stay within their limits.{without}", kind)
    text = f"{len(limited)} of {count(len(every), 'actuator')} have limits, and stay within"
    return verdict(f"{text} them.{without}", kind)


def _excess(one: Sizing, uses: Sequence[Use]) -> str:
    return f"{one.name} ({', '.join(map(_of_limit, uses))})"


def _of_limit(use: Use) -> str:
    return f"{use} of its limit"


def _undetermined(cases: LoadCases) -> str:
    open_ones: dict[str, list[str]] = {}
    for signal in cases.signals:
        if not cases.determined(signal.name) and not signal.resultant:
            open_ones.setdefault(signal.joint, []).append(signal.quantity)
    if not open_ones:
        return paragraph("Every load component is determined by rigid-body mechanics.")
    names = "; ".join(f"{joint}: {', '.join(which)}" for joint, which in open_ones.items())
    return paragraph(
        f"Rigid-body mechanics does not determine {names}. The machine is overconstrained there: "
        f"what these carry depends on elasticity and on how exactly it was built. The numbers "
        f"shown for them are the smallest that agree with the motion.",
        "warning",
    )


def joints(cases: LoadCases) -> str:
    """Return one line for each joint; those that carry nothing are folded away."""
    by_joint: dict[str, list[str]] = {}
    for signal in cases.signals:
        by_joint.setdefault(signal.joint, []).append(signal.quantity)
    several, columns = len(cases) > 1, list[Series]()
    for name, unit in (("force", "N"), ("moment", "N m")):
        worst = [_worst(cases, f"{joint}.{name}") for joint in by_joint]
        sizes = [x.one.largest for x in worst]
        bands, sure = [size.band for size in sizes], [x.one.determined for x in worst]
        values, times = [size.value for size in sizes], [_at(x, several) for x in worst]
        columns.append(Series(f"largest {name}", unit, values, bands=bands, sure=sure))
        columns.append(Series("in, at s" if several else "at, s", "", times))
    acting = [_actuations(cases, joint, names) for joint, names in by_joint.items()]
    columns.append(Series("actuation, peak", "", [_peaks(found, several) for found in acting]))
    if not several:
        rms = [[quantity(x.one.rms, x.one.signal.unit) for x in found] for found in acting]
        columns.append(Series("RMS", "", list(map(", ".join, rms))))
    said = f"Largest loads{' of all cases' if several else ''}. "
    said += sentence(cases.cases[0].history.convention)
    labels = Series("joint", "", [*by_joint])
    shown = Table("largest loads", labels, columns, floors=cases.floors, brackets=True)
    if len(by_joint) > FIRST:
        lengths = [np.abs(np.asarray(columns[k].values, dtype=float)) for k in (0, 2)]
        force, moment = (each / max(np.nanmax(each), 1e-300) for each in lengths)
        share = np.nan_to_num(np.fmax(force, moment))
        least = np.sort(share)[-FIRST]
        shown = shown.rows(list(share >= least))
        said += f" The {FIRST} joints with the largest; all {len(by_joint)} are under Joint loads."
    return table(shown, said, fold="joint")


class WorstSignal(NamedTuple):
    """A signal in the case in which it is largest."""

    case: str
    history: LoadHistory
    one: SignalStatistics


def _worst(cases: LoadCases, signal: str) -> WorstSignal:
    name = cases.peak(signal).case
    return WorstSignal(name, cases[name], cases[name][signal])


def _is_zero(worst: WorstSignal) -> bool:
    floor = worst.history.round_off.floor(worst.one.signal.unit)
    return abs(worst.one.peak.value) <= floor


def _at(worst: WorstSignal, several: bool) -> str:
    """Return when it is largest, and which of its components are left out."""
    at = "" if _is_zero(worst) else instant(worst.one.largest.time)
    at = f"{worst.case}, {at}" if several and at else at
    return at + _left_out(worst)


def _left_out(worst: WorstSignal) -> str:
    """Return which components rigid-body mechanics leaves out of a length, if some are known.

    Those that are zero in the smallest solution do not change the length of the others.
    """
    length, history = worst.one, worst.history
    if length.determined:
        return ""
    joint = length.signal.joint
    names = FORCES if length.signal.quantity == "force" else MOMENTS
    parts = [history[f"{joint}.{name}"] for name in names]
    left_out = [one for one in parts if not one.determined]
    empty = all(_is_zero(worst._replace(one=one)) for one in left_out)
    if len(left_out) == len(parts) or not empty:
        return ""
    return f" without {' '.join(one.signal.quantity for one in left_out)}"


def _actuations(cases: LoadCases, joint: str, names: Sequence[str]) -> list[WorstSignal]:
    own = [name for name in names if name.partition(".")[0] == "actuation"]
    worst = (_worst(cases, f"{joint}.{name}") for name in own)
    return [one for one in worst if not _is_zero(one)]


def _peaks(found: Sequence[WorstSignal], several: bool) -> str:
    texts = [banded(x.one.peak.value, x.one.signal.unit, x.one.peak.band) for x in found]
    cases = [f" ({x.case})" * several for x in found]
    return ", ".join(text + case for text, case in zip(texts, cases, strict=True))


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
    """Write the page, as PDF if its name says so; the file is there when it is whole."""
    text = report_page(subject)
    if fspath(path).lower().endswith(".pdf"):
        print_page(text, path)
        return
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
    sections = [("In short", summary(cases, subject.agreement, actuators, _seen(subject)))]
    if len(cases) > 1:
        sections.append(("Load cases", load_cases(cases)))
    sections += [
        ("The machine", machine(subject.model, subject.loops)),
        ("Joint loads", of_each(cases, lambda x: _loads(x) + figures.along_time(x))),
    ]
    parts: list[tuple[str, Callable[[LoadHistory], str]]] = [
        ("Actuators", partial(_actuators, model)),
        ("Measured efforts", _efforts),
        ("What changes the loads", _changes),
    ]
    each = ((heading, of_each(cases, part)) for heading, part in (*parts, *_added()))
    sections += [(heading, text) for heading, text in each if text]
    sections.append(("Assumptions", _assumptions(cases)))
    if subject.agreement is not None:
        sections.append(("Other engines", agreement(subject.agreement)))
    if notes := _notes(cases, limits=False):
        sections.append(("Notes on the input", "\n".join(notes)))
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


def _changes(history: LoadHistory) -> str:
    sensitivity = history.results.get("sensitivity")
    if sensitivity is None:
        return ""
    parts = [
        paragraph(
            "Slopes of the peaks, per unit of a number of the machine; peak %/%: by how many per "
            "cent the peak grows with one per cent more of it."
        )
    ]
    for result in sensitivity.tables():
        peaks = [column for column in result.columns if not column.name.startswith("rms")]
        caption = " ".join(map(sentence, (result.title, *result.notes)))
        shown = replace(result, columns=peaks, notes=())  # a page is not as wide
        parts.append(table(shown, caption))
    return "".join(parts)


def _loads(history: LoadHistory) -> str:
    (shown,) = history.tables()
    return table(replace(shown, notes=()), fold="signal")


def _assumptions(cases: LoadCases) -> str:
    return "".join(
        table(one, "What every number of this report assumes.")
        for one in cases.assumptions.tables()
    )


def _seen(subject: Subject) -> str:
    """Return the machine in 3-D for screens, as a picture for paper."""
    if subject.picture is None:
        shown = paragraph(subject.caption, "note") if subject.caption else ""
    else:
        shown = figures.machine_picture(subject.picture, subject.caption)
        kind = "picture" if subject.scene is None else "picture paper"
        shown = f'<div class="{kind}">{shown}</div>'
    if subject.scene is not None:
        part = viewer_part(subject.scene)
        shown += f'<div class="screen">{part}</div>' if subject.picture is not None else part
    return shown
