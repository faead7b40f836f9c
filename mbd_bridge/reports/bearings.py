"""Bearings in a report: what they carry, and how long they live."""

from __future__ import annotations

import math

from mbd_bridge.applications.bearings import BearingDuty, Bearings, RatingLife
from mbd_bridge.base.readable import banded, instant, number, quantity
from mbd_bridge.loads.streaming import LoadCases
from mbd_bridge.motion.peak import Peak
from mbd_bridge.reports.page import Cell, paragraph, table, verdict

UNSURE: Cell = ("undetermined", "doubt")
LIVES = (
    "Rating life by ISO 281: P the mean equivalent load over all turns, L10 and L10h for 90 % "
    "survival of this motion over and over, Lnmh with reliability and lubrication as assumed. "
    "S0: static load rating by the largest static equivalent load."
)


def bearings_section(found: Bearings) -> str:
    """Return loads and lives of bearings."""
    loads: list[list[Cell]] = [_loads(duty) for duty in found.duties]
    headings = (
        "bearing of",
        ">radial",
        ">at, s",
        ">axial",
        ">tilting",
        "in the child's ring",
        "in the parent's ring",
    )
    said = "Largest loads, of the parent on the child."
    if found.planar:
        said += " Loads out of the plane are declared to be zero (planar)."
    parts = [table(headings, loads, said)]
    lives: list[list[Cell]] = [
        _life(duty, duty.life) for duty in found.duties if duty.life is not None
    ]
    if lives:
        heads = ("bearing of", ">P", ">turns", ">L10, 1e6 turns", ">L10h", ">Lnmh", ">S0")
        parts.append(table(heads, lives, LIVES))
    notes = (f"{duty.title}: {note}." for duty in found.duties for note in duty.notes)
    return "\n".join([*parts, *(paragraph(note, "note") for note in notes)])


def bearings_verdicts(found: Bearings) -> str:
    """Return what decides, in short."""
    lines = []
    for state, text, kind in (
        ("yes", "Static load rating exceeded", "bad"),
        ("open", "The motion's noise leaves open whether the static load rating is kept", "doubt"),
    ):
        names = [
            f"{duty.title} ({_safety(duty)})" for duty in found.duties if duty.overload == state
        ]
        if names:
            lines.append(verdict(f"{text}: bearing of {', '.join(names)}.", kind))
    lives = [duty for duty in found.duties if duty.life is not None]
    if lives:
        least = min(lives, key=lambda duty: duty.life.hours if duty.life else math.inf)
        assert least.life is not None
        text = f"Shortest rating life: bearing of {least.title}, L10h {hours(least.life.hours)}"
        if least.life.least_hours is not None:
            text += f" (with the motion's noise at least {hours(least.life.least_hours)})"
        lines.append(paragraph(f"{text}."))
    unsure = [duty.title for duty in found.duties if not all(duty.determined[:2])]
    if unsure:
        text = "Rigid-body mechanics does not determine the loads of the bearing of"
        lines.append(verdict(f"{text} {', '.join(unsure)}: no rating life.", "doubt"))
    return "\n".join(lines)


def combined_lives(cases: LoadCases) -> str:
    """Return rating lives under all cases together; "" where there are none."""
    first = cases.cases[0].history.bearings
    rows: list[list[Cell]] = []
    for duty in first.duties if first else ():
        life = cases.bearing_hours(duty.joint, duty.name)
        if life is not None:
            rows.append([duty.title, hours(life)])
    said = "All cases as often as they happen, by Miner's rule."
    return table(("bearing of", ">L10h"), rows, said) if rows else ""


def hours(value: float) -> str:
    """Return a life as people read it."""
    return "unlimited" if math.isinf(value) else f"{number(value)} h"


def _safety(duty: BearingDuty) -> str:
    assert duty.life is not None
    return f"S0 {duty.life.static_safety:.3g}"


def _loads(duty: BearingDuty) -> list[Cell]:
    from mbd_bridge.loads.round_off import ROUND_OFF

    floor = ROUND_OFF * max(duty.radial.value, duty.axial.value)
    axial, radial, tilting = duty.determined
    time = "" if duty.radial.value <= floor else instant(duty.radial.time)
    return [
        duty.title,
        *([_peak(duty.radial, "N", floor), time] if radial else [UNSURE, ""]),
        _peak(duty.axial, "N", floor) if axial else UNSURE,
        _peak(duty.tilting, "N m", floor) if tilting else UNSURE,
        *([duty.child_ring, duty.parent_ring] if radial else ["", ""]),
    ]


def _peak(peak: Peak, unit: str, floor: float) -> str:
    return banded(peak.value, unit, peak.band, floor)


def _life(duty: BearingDuty, life: RatingLife) -> list[Cell]:
    static: Cell = "" if life.static_safety is None else f"{life.static_safety:.3g}"
    if duty.overload != "no":
        static = (str(static), "bad" if duty.overload == "yes" else "doubt")
    return [
        duty.title,
        quantity(life.mean_load, "N"),
        number(life.revolutions),
        number(life.million_revolutions),
        hours(life.hours),
        hours(life.modified_hours),
        static,
    ]
