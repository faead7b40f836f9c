"""Load cases of a report: what each motion asks of the joints, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mbd_bridge.errors import count
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.readable import number, quantity
from mbd_bridge.reports.page import Cell, table


@dataclass(frozen=True, eq=False)
class Case:
    """One motion of the machine.

    Attributes
    ----------
    name : of the load case
    history : of its loads
    weight : how often it happens, beside the others
    """

    name: str
    history: LoadHistory
    weight: float = 1.0


def load_cases(cases: Sequence[Case]) -> str:
    """Return a row for each case, and for each joint the case with its largest force and moment."""
    rows: list[list[Cell]] = [
        [
            case.name,
            number(case.weight),
            f"{case.history.end - case.history.begin:g}",
            count(case.history.rows, "state"),
        ]
        for case in cases
    ]
    shown = table(("load case", ">weight", ">duration, s", "motion"), rows)
    found: list[list[Cell]] = []
    for joint in cases[0].history.joints:
        row: list[Cell] = [joint]
        for name in ("force", "moment"):
            worst = max(cases, key=lambda case: case.history[f"{joint}.{name}"].largest.value)
            one = worst.history[f"{joint}.{name}"]
            floor = worst.history.round_off.floor(one.signal.unit)
            text = quantity(one.largest.value, one.signal.unit, floor)
            row += [text, "" if one.largest.value <= floor else worst.name]
        found.append(row)
    headings = ("joint", ">largest force", "in", ">largest moment", "in")
    return shown + table(headings, found, "The case that decides, joint by joint.")
