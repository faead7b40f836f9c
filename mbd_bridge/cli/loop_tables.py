"""What the command line shows of loops: rows, redundancy, what is left free, loads inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from mbd_bridge.base.readable import instant, number, shown_in
from mbd_bridge.cli import screen

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.loads.efforts import EffortDifferences
    from mbd_bridge.loads.peaks import LoadPeaks
    from mbd_bridge.model import Model
    from mbd_bridge.solve import Assembly, LoopReport


def info(console: Console, robot: Mechanism) -> None:
    """Show what the loops do at the assembled position nearest to zero."""
    from mbd_bridge.base.errors import MbdError
    from mbd_bridge.solve.tolerances import ASSEMBLED

    try:
        found = robot.assemble(check=False)
        report = robot.loops.report(found.q)
    except MbdError as error:
        screen.show(console, "", f"loops not assembled: {error}")
        return
    if not found.closed:
        open_ones = ", ".join(
            name for name, residual in found.loops.items() if residual > ASSEMBLED
        )
        screen.show(
            console,
            "",
            f"from zero position these loops do not close: {open_ones}; "
            "mbd assemble --near NAME=VALUE ... tells more",
        )
        return
    screen.show(console, "", "loops closed, nearest to zero position")
    for line in remarks(report, found):
        screen.show(console, "  " + line)
    for name, rows in report.redundant.items():
        if rows:
            screen.show(console, f"  {name}: {rows} of its rows share in the redundancy")


def loops(model: Model, report: LoopReport | None = None, found: Assembly | None = None) -> Table:
    """Return the loop joints with their links and rows, redundancy and residuals if known."""
    rows = []
    for cut in model.cuts:
        ends = [model.links[link].name for link in cut.links]
        cells = [cut.name, cut.type, *ends, str(len(cut.rows))]
        if report is not None:
            cells.append(str(report.redundant[cut.name]))
        if found is not None:
            cells.append(f"{found.loops[cut.name]:.1e}")
        rows.append(cells)
    headings = ["loop joint", "type", "predecessor", "successor", ">rows"]
    headings += [">share in redundancy"] if report is not None else []
    headings += [">residual"] if found is not None else []
    return screen.table(headings, rows)


def remarks(report: LoopReport, found: Assembly) -> Iterator[str]:
    """Yield what is to be said of closed loops, a line each."""
    lost = report.rows - report.rank
    yield f"{report.mobility}; {report.rows} rows, {lost} of them redundant"
    if lost:
        yield (
            "redundant rows forbid what others forbid already: no matter for the motion, but loads "
            "along them are not determined, and are marked"
        )
    if not report.dof:
        yield "nothing can move: remove a loop, or let one forbid less"
    yield (
        f"condition {report.condition:.3g}; distance from a singular position "
        f"{report.distance:.3g} (0 is singular)"
    )
    yield from report.imprecise
    for name in report.passive:
        yield f"passive: {name} turns or slides without moving anything else"
    for name in found.reversed:
        yield f"REVERSED: the two axes of {name} point against each other; try another --near"


def peaks(found: LoadPeaks) -> Table:
    """Return the peaks of force, moment and actuators, taken over the determined components."""
    rows, joint, round_off = [], "", found.round_off
    for peak in found.rows:
        name, joint = peak.joint if peak.joint != joint else "", peak.joint
        floor, unit = round_off.floor(peak.unit), shown_in(peak.unit, peak.peak)
        values = [number(x * unit.factor) for x in (peak.peak, peak.rms)]
        band = "" if peak.band is None else f"{peak.band * unit.factor:.2g}"
        numbers = [values[0], band, values[1], unit.unit, instant(peak.time)]
        if abs(peak.peak) <= floor:
            numbers = ["0", "", "0", peak.unit, ""]
        if not peak.known:
            numbers = ["-", "", "-", peak.unit, ""]
        without = " ".join(peak.without) if peak.known or peak.without else "actuation"
        rows.append((name, peak.quantity, *numbers, without))
    headings = ("joint", "", ">peak", ">± 95 %", ">RMS", "unit", ">at, s", "without (undetermined)")
    used = [k for k in range(len(headings)) if k not in (3, 7) or any(row[k] for row in rows)]
    return screen.table([headings[k] for k in used], [tuple(row[k] for k in used) for row in rows])


def efforts(found: EffortDifferences) -> Table:
    """Return how far measured efforts are from the computed actuation."""
    heads = ("measured effort of", ">RMS", ">differs, RMS", ">%", ">at most", "unit", ">at, s")
    rows = [
        (
            one.name,
            number(one.measured_rms),
            number(one.rms),
            f"{100.0 * one.share:.2g}",
            number(one.largest),
            one.unit,
            instant(one.time),
        )
        for one in found.entries
    ]
    return screen.table(heads, rows)
