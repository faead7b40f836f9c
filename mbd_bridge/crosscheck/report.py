"""The outcome of a cross-check: a table of relative errors and a verdict."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    quantity: str
    referee: str
    error: float
    tolerance: float
    worst: str = ""
    passed: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All rows, the referees that were asked, and those that could not be, with the reason."""

    mechanism: str
    states: int
    rows: tuple[Row, ...]
    providers: tuple[str, ...]
    absent: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether something was compared and every comparison passed."""
        return bool(self.rows) and all(row.passed for row in self.rows)

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: {self.states} random states"]
        for row in self.rows:
            verdict = "ok" if row.passed else "DISAGREES"
            where = f"  worst: {row.worst}" if row.worst else ""
            note = f"  ({row.note})" if row.note else ""
            lines.append(
                f"  {row.quantity:<22} {row.error:9.2e} <= {row.tolerance:.0e}  {verdict:<9} "
                f"{row.referee}{where}{note}"
            )
        lines += [f"  not asked: {reason}" for reason in self.absent]
        lines.append("agreement" if self.passed else "DISAGREEMENT")
        return "\n".join(lines)
