"""The outcome of a cross-check: a table of relative errors and a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from mbd_bridge.base.errors import some
from mbd_bridge.base.tabular import Tabular


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity against one referee.

    Attributes
    ----------
    quantity : what was compared
    referee : who said otherwise, or the same
    error : largest difference over all states, relative to the largest entry of each state
    tolerance : what is allowed
    worst : the joint, coordinate or link with the largest difference
    passed : whether the error is within the tolerance
    note : why something was not compared, or what to know
    compared : False: there is nothing to compare here; error and verdict mean nothing
    """

    quantity: str
    referee: str
    error: float
    tolerance: float
    worst: str = ""
    passed: bool = True
    note: str = ""
    compared: bool = True


@dataclass(frozen=True, slots=True)
class Report(Tabular, rows="mbd_bridge.engines.crosscheck.rows"):
    """All rows, the referees that were asked, and those that could not be, with the reason.

    Attributes
    ----------
    open_loops : loops that nobody compared: the rows are about the open tree only
    """

    mechanism: str
    states: int
    rows: tuple[Row, ...]
    providers: tuple[str, ...]
    absent: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether something was compared and every comparison passed."""
        compared = [row for row in self.rows if row.compared]
        return bool(compared) and all(row.passed for row in compared)

    @property
    def verdict(self) -> str:
        """The outcome in words: agreement or not, and how much of it was not looked at."""
        left_out = sum(not row.compared for row in self.rows)
        noun = "quantity" if left_out == 1 else "quantities"
        if left_out == len(self.rows):
            return "nothing compared"
        words = "agreement" if self.passed else "DISAGREEMENT"
        words += " of the open tree" if self.open_loops else ""
        words += f", {left_out} {noun} not compared" if left_out else ""
        return words + (f", loops not compared: {some(self.open_loops, 8)}" * bool(self.open_loops))

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: {self.states} random states"]
        for row in self.rows:
            verdict = "ok" if row.passed else "DISAGREES"
            where = f"  worst: {row.worst}" if row.worst else ""
            note = f"  ({row.note})" if row.note else ""
            if not row.compared:
                lines.append(f"  {row.quantity:<22} not compared with {row.referee}{note}")
                continue
            lines.append(
                f"  {row.quantity:<22} {row.error:9.2e} <= {row.tolerance:.0e}  {verdict:<9} "
                f"{row.referee}{where}{note}"
            )
        lines += [f"  not asked: {reason}" for reason in self.absent]
        lines.append(self.verdict)
        return "\n".join(lines)
