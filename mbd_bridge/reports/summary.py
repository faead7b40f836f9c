"""The findings that decide, in words that everybody understands, and one line for each joint."""

from __future__ import annotations

from collections.abc import Sequence

from mbd_bridge.crosscheck import Report
from mbd_bridge.errors import count
from mbd_bridge.loads.streaming import LoadHistory, SignalStatistics
from mbd_bridge.motions.table import FORCES, MOMENTS
from mbd_bridge.readable import quantity
from mbd_bridge.reports.motors import motors_verdicts
from mbd_bridge.reports.page import Cell, paragraph, sentence, table, verdict
from mbd_bridge.reports.tables import Sizing, folded

UNSURE = " (undetermined)"

NEVER = "No other program has checked these loads (the check was switched off)."


def summary(history: LoadHistory, agreement: Report | None, actuators: Sequence[Sizing]) -> str:
    """Return verdicts, the joints' largest loads, and notes as HTML."""
    parts = [
        _checked(agreement),
        motors_verdicts(history.motors) if history.motors else _limits(history, actuators),
        _undetermined(history),
        joints(history),
        *(paragraph(f"Note: {note}.", "note") for note in history.notes if _is_news(history, note)),
    ]
    return "\n".join(filter(None, parts))


def checked_in_words(found: Report) -> str:
    """Return what the cross-check says, for readers who know none of the programs."""
    compared = [row for row in found.rows if row.compared]
    each = list(dict.fromkeys(name.partition(",")[0] for name in found.providers))
    names, several = " and ".join(each), len(each) > 1
    programs = f"{len(each)} independent programs" if several else "an independent program"
    if not compared:
        return f"Not checked: {names or 'no other program'} could compare nothing of this machine."
    if found.passed:
        worst = max(row.error for row in compared)
        return (
            f"Checked: {programs} ({names}) compute{'' if several else 's'} the same for this "
            f"machine, to {_parts(worst)}, in {count(found.states, 'random state')}."
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
    compared = any(row.compared for row in found.rows)
    kind = "good" if found.passed else "bad" if compared else "doubt"
    parts = [verdict(checked_in_words(found), kind)]
    left_out = list(dict.fromkeys(row.quantity for row in found.rows if not row.compared))
    if left_out and compared:
        parts.append(paragraph(f"Not compared: {', '.join(left_out)}.", "note"))
    parts += [paragraph(f"Not checked: {reason}.", "note") for reason in found.absent]
    return "\n".join(parts)


def _limits(history: LoadHistory, actuators: Sequence[Sizing]) -> str:
    """Return whether actuators stay within their limits, and what that leaves out."""
    over = [f"{one.name} ({one.excess})" for one in actuators if one.too_much]
    limited = [one for one in actuators if one.effort_limit or one.speed_limit]
    neglected = history.assumptions.neglected
    missing = dict.fromkeys(
        said.heading.lower() for said in neglected if said.topic in ("friction", "rotors")
    )
    without = f" Not counted: {'; '.join(missing)}." if missing else ""
    if over:
        return verdict(f"Beyond limits: {', '.join(over)}.{without}", "bad")
    if not limited:
        return ""
    kind = "doubt" if missing else "good"
    if len(limited) == len(actuators):
        return verdict(f"All actuators stay within their limits.{without}", kind)
    text = f"{len(limited)} of {count(len(actuators), 'actuator')} have limits, and stay within"
    return verdict(f"{text} them.{without}", kind)


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


def joints(history: LoadHistory) -> str:
    """Return one line for each joint; those that carry nothing are folded away."""
    by_joint: dict[str, dict[str, SignalStatistics]] = {}
    for one in history.statistics:
        by_joint.setdefault(one.signal.joint, {})[one.signal.quantity] = one
    rows: list[list[Cell]] = []
    empty: list[str] = []
    actuated = any(_actuations(signals) for signals in by_joint.values())
    for joint, signals in by_joint.items():
        if all(_is_zero(history, one) for one in signals.values()):
            empty.append(joint)
            continue
        row: list[Cell] = [joint]
        for name in ("force", "moment"):
            row += _peak(history, signals[name])
        if actuated:
            row += _actuation(history, _actuations(signals))
        rows.append(row)
    headings = ["joint", ">largest force", ">at, s", ">largest moment", ">at, s"]
    headings += [">actuation, peak", ">RMS"] if actuated else []
    shown = table(headings, rows, f"Largest loads. {sentence(history.convention)}") if rows else ""
    return shown + folded(empty, "joint")


def _is_zero(history: LoadHistory, one: SignalStatistics) -> bool:
    return abs(one.peak.value) <= history.round_off.floor(one.signal.unit)


def _is_news(history: LoadHistory, note: str) -> bool:
    """Return whether a note is not among the assumptions, which have a section of their own."""
    return note not in history.assumptions.texts


def _peak(history: LoadHistory, one: SignalStatistics) -> list[Cell]:
    floor = history.round_off.floor(one.signal.unit)
    text = quantity(one.largest.value, one.signal.unit, floor)
    if one.largest.band is not None and not _is_zero(history, one):
        text += f" ± {quantity(one.largest.band, one.signal.unit, digits=2)}"
    unsure = _unsure(history, one)
    kind = "doubt" if unsure == UNSURE else ""
    return [(text + unsure, kind), "" if _is_zero(history, one) else f"{one.largest.time:g}"]


def _unsure(history: LoadHistory, length: SignalStatistics) -> str:
    """Return which components rigid-body mechanics leaves out of a length, or that it says nothing.

    Those that are zero in the smallest solution do not change the length of the others.
    """
    if length.determined:
        return ""
    joint = length.signal.joint
    names = FORCES if length.signal.quantity == "force" else MOMENTS
    parts = [history[f"{joint}.{name}"] for name in names]
    left_out = [one for one in parts if not one.determined]
    if len(left_out) == len(parts) or not all(_is_zero(history, one) for one in left_out):
        return UNSURE
    return f" without {' '.join(one.signal.quantity for one in left_out)}"


def _actuations(signals: dict[str, SignalStatistics]) -> list[SignalStatistics]:
    return [one for name, one in signals.items() if name.partition(".")[0] == "actuation"]


def _actuation(history: LoadHistory, found: Sequence[SignalStatistics]) -> list[Cell]:
    shown = [one for one in found if not _is_zero(history, one)]
    peaks = [
        quantity(one.peak.value, one.signal.unit)
        + (
            ""
            if one.peak.band is None
            else f" ± {quantity(one.peak.band, one.signal.unit, digits=2)}"
        )
        for one in shown
    ]
    rms = [quantity(one.rms, one.signal.unit) for one in shown]
    return [", ".join(peaks), ", ".join(rms)]
