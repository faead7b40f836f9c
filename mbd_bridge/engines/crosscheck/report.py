"""The outcome of a cross-check: a table of relative errors and a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mbd_bridge.base.errors import some
from mbd_bridge.base.table import Cell, Series, Table, Tabular

OUTCOMES = {
    None: Cell("not compared", "doubt"),
    True: Cell("agrees", "good"),
    False: Cell("DISAGREES", "bad"),
}
"""How comparisons are shown, by whether they passed."""


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
class Report(Tabular):
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

    def tables(self) -> tuple[Table, ...]:
        """Return errors, tolerances and outcomes, a table for each referee."""
        whole, each = self._table(), [row.referee for row in self.rows]
        return tuple(
            replace(
                whole.rows([name == referee for name in each]),
                title=f"against {referee}",
                caption=f"Against {referee}. {whole.caption}",
            )
            for referee in dict.fromkeys(each)
        )

    def _table(self) -> Table:
        """Return all comparisons below each other."""
        each = self.rows
        outcomes = [OUTCOMES[row.passed if row.compared else None] for row in each]
        errors = [row.error if row.compared else None for row in each]
        allowed = [row.tolerance if row.compared else None for row in each]
        texts, marks = [one.text for one in outcomes], [one.mark for one in outcomes]
        columns = [
            Series("against", "", [row.referee for row in each], listed=False),
            Series("error", "", errors, shown="{:.1e}".format),
            Series("allowed", "", allowed, shown="{:.0e}".format),
            Series("outcome", "", texts, marks=marks),
            Series("worst at", "", [row.worst for row in each]),
            Series("note", "", [row.note for row in each]),
        ]
        caption = (
            f"{self.states} random states; the largest difference relative to the largest entry of "
            f"its state."
        )
        labels = Series("quantity", "", [row.quantity for row in each])
        title = f"{self.mechanism}: {self.verdict} at {self.states} random states"
        return Table(title, labels, columns, caption=caption)

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: {self.states} random states"]
        for table in self.tables():
            lines += [table.title, str(table), ""]
        return "\n".join([*lines, *(f"not asked: {x}" for x in self.absent), self.verdict])
