"""A mechanism as rows: a joint each, as ``mbd info`` shows it."""

from __future__ import annotations

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.reports.outline import rows as outline
from mbd_bridge.tabular import Rows, Series


def rows_of(mechanism: Mechanism) -> Rows:
    """Return type, axis, limits, child link and mass of the joints, with the tree drawn."""
    heads, cells = outline(mechanism.model)
    first, *rest = (
        Series(head.removeprefix(">"), "", [row[k] for row in cells])
        for k, head in enumerate(heads)
    )
    return Rows(repr(mechanism), first, tuple(rest))
