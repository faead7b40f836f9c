"""What the command line shows of loops: redundancy, what is left free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mbd_bridge.cli import screen

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.solve import Assembly, LoopReport


def info(console: screen.Stream, robot: Mechanism) -> None:
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


def remarks(report: LoopReport, found: Assembly) -> Iterator[str]:
    """Yield what is to be said of closed loops, a line each."""
    lost = report.rows - report.rank
    yield f"{report.mobility}; {report.rows} rows, {lost} of them redundant"
    if lost:
        loads = (
            "but loads along them are not determined, and are marked"
            if report.undetermined
            else "and loads along them are declared to be zero (planar)"
        )
        yield f"redundant rows forbid what others forbid already: no matter for the motion, {loads}"
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
