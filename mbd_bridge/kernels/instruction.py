"""One operation of a program, on values that are named by their position."""

from __future__ import annotations

from typing import Any, NamedTuple


class Instruction(NamedTuple):
    """One operation; `ops.OPERATIONS` says what each one means.

    Attributes
    ----------
    op : name of the operation
    operands : positions of the operands
    data : what the operation needs beside operands: the value of a ``const``, the component of a
        ``load`` (counted over all inputs), the `Table` of a ``table``, the `Program` of a ``call``
        or ``call_if``, the entry of a ``part``
    """

    op: str
    operands: tuple[int, ...]
    data: Any = None

    @property
    def arguments(self) -> tuple[int, ...]:
        """What a call passes on: its operands but for the condition."""
        return self.operands[1:] if self.op == "call_if" else self.operands
