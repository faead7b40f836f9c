"""Load cases of a report: what each motion asks of the joints, side by side and all together."""

from __future__ import annotations

from collections.abc import Callable
from math import nan

from mbd_bridge.base.errors import count
from mbd_bridge.base.readable import number, quantity, shown_in
from mbd_bridge.loads.signals import LoadSignal
from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.reports.page import Cell, subsection, table
from mbd_bridge.reports.tables import UNSURE, folded


def of_each(cases: LoadCases, part: Callable[[LoadHistory], str]) -> str:
    """Return a part of each case's, under its name where there are several."""
    if len(cases) == 1:
        return part(cases.cases[0].history)
    each = ((case.name, part(case.history)) for case in cases.cases)
    return "\n".join(subsection(name, text) for name, text in each if text)


def load_cases(cases: LoadCases) -> str:
    """Return the cases; by joint that with the largest loads; extremes and damage over all."""
    rows: list[list[Cell]] = [
        [
            case.name,
            number(case.weight),
            f"{case.history.end - case.history.begin:g}",
            count(case.history.rows, "state"),
        ]
        for case in cases.cases
    ]
    shown = table(("load case", ">repetitions", ">duration, s", "motion"), rows)
    parts = [shown, _governing(cases), _envelope(cases), _damage(cases)]
    return "\n".join(filter(None, parts))


def floor_of(cases: LoadCases, unit: str) -> float:
    """Return the size up to which numbers of a unit are rounding errors, in any of the cases."""
    return max(case.history.round_off.floor(unit) for case in cases.cases)


def _governing(cases: LoadCases) -> str:
    found: list[list[Cell]] = []
    for joint in cases.cases[0].history.joints:
        row: list[Cell] = [joint]
        for name in ("force", "moment"):
            worst = cases.largest(f"{joint}.{name}")
            unit = "N" if name == "force" else "N m"
            floor = floor_of(cases, unit)
            text = quantity(worst.extreme.value, unit, floor)
            row += [text, "" if worst.extreme.value <= floor else worst.case]
        found.append(row)
    headings = ("joint", ">largest force", "in", ">largest moment", "in")
    return table(headings, found, "The case that decides, joint by joint.")


def _signals(cases: LoadCases) -> tuple[list[tuple[LoadSignal, bool]], list[str], list[str]]:
    """Return signals with whether they are determined; names of those that are zero in all cases,
    and of undetermined ones among these.
    """
    shown, empty, unsure = [], list[str](), list[str]()
    for signal in cases.signals:
        sure = cases.determined(signal.name)
        if abs(cases.peak(signal.name).extreme.value) <= floor_of(cases, signal.unit):
            (empty if sure else unsure).append(signal.name)
        else:
            shown.append((signal, sure))
    return shown, empty, unsure


def _envelope(cases: LoadCases) -> str:
    shown, empty, unsure = _signals(cases)
    rows: list[list[Cell]] = []
    joint = ""
    for signal, sure in shown:
        name: Cell = signal.quantity if sure else (f"{signal.quantity} (undetermined)", "doubt")
        row: list[Cell] = ["" if signal.joint == joint else signal.joint, name]
        for one in (cases.largest(signal.name), cases.smallest(signal.name)):
            floor = floor_of(cases, signal.unit)
            nothing = abs(one.extreme.value) <= floor
            row += [quantity(one.extreme.value, signal.unit, floor), "" if nothing else one.case]
        rows.append(row)
        joint = signal.joint
    headings = ("joint", "", ">largest", "in", ">smallest", "in")
    there = table(headings, rows, "Extremes over all cases.") if rows else ""
    return there + folded(empty, "signal") + folded(unsure, "signal", UNSURE)


def _damage(cases: LoadCases) -> str:
    """Return damage-equivalent ranges of all repetitions, and the case that damages most."""
    spectra = cases.cases[0].history.spectra.spectra
    exponents = spectra[0].exponents if spectra else ()
    rows: list[list[Cell]] = []
    for signal, sure in _signals(cases)[0]:
        if signal.resultant or not cases.largest_range(signal.name) > floor_of(cases, signal.unit):
            continue
        ranges = [
            cases.damage_equivalent(signal.name, m) if cases.duration else nan for m in exponents
        ]
        unit = shown_in(signal.unit, max(cases.largest_range(signal.name), *ranges, 0.0))
        shares = cases.damage_shares(signal.name, exponents[0])
        most = max(shares, key=lambda name: shares[name])
        name: Cell = signal.name if sure else (f"{signal.name} (undetermined)", "doubt")
        numbers = (number(x * unit.factor) for x in (cases.largest_range(signal.name), *ranges))
        rows.append([name, *numbers, unit.unit, f"{most} ({shares[most]:.0%})"])
    if not rows:
        return ""
    heads = [f">DEL, m = {m:g}" for m in exponents]
    said = (
        "Cycles of all repetitions together, by Miner's rule. DEL: the range that does the same "
        "damage once a second (1 Hz) over the whole time."
    )
    last = f"most damage, m = {exponents[0]:g}"
    return table(("signal", ">largest range", *heads, "unit", last), rows, said)
