"""How an elementary function is written: operations noted down one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

# One operation of a program, on values that are named by their position.


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


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the function that is being written, by the position of its instruction."""

    index: int


Operand = Value | float
"""A value, or a constant."""

Recipe = Callable[..., Value]
"""Writes a function with a `Writer`: ``recipe(do, *arguments)``, with the data if there are any."""


class Writer:
    """Notes down the instructions of one function: ``do("fma", a, b, c)`` returns a b + c.

    Constants are floats, or whole numbers where bits are meant.
    """

    def __init__(self, arity: int) -> None:
        self.code = [Instruction("load", (), k) for k in range(arity)]
        self.arguments = tuple(Value(k) for k in range(arity))
        self._known: dict[Instruction, Value] = {}

    def __call__(self, op: str, *operands: Operand | int, data: Any = None) -> Value:
        """Note down one operation, or find it among those before."""
        return self._put(Instruction(op, tuple(self._index(x) for x in operands), data))

    def _index(self, operand: Operand | int) -> int:
        if isinstance(operand, Value):
            return operand.index
        kind = "whole" if isinstance(operand, int) else "const"
        return self._put(Instruction(kind, (), operand)).index

    def _put(self, instruction: Instruction) -> Value:
        # The text of a constant tells the two zeros apart, which are equal.
        key = instruction._replace(data=repr(instruction.data))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Value(len(self.code))
            self.code.append(instruction)
        return known


def written(recipe: Recipe, arity: int, data: Any) -> tuple[Instruction, ...]:
    """Return the instructions of a function; the last one is its result."""
    do = Writer(arity)
    result = recipe(do, *do.arguments) if data is None else recipe(do, *do.arguments, data)
    assert result.index == len(do.code) - 1, "the last operation is the result"
    return tuple(do.code)


def horner(do: Writer, x: Value, coefficients: Sequence[float]) -> Value:
    """Return c[0] + c[1] x + c[2] x² ..., one product and sum after the other."""
    total: Operand = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = do("fma", x, total, c)
    assert isinstance(total, Value)
    return total


def by_pairs(do: Writer, x: Value, coefficients: Sequence[float]) -> Value:
    """Return c[0] + c[1] x + c[2] x² ... with few products waiting for each other (Estrin)."""
    terms: list[Operand] = list(coefficients)
    while len(terms) > 1:
        pairs: list[Operand] = [
            do("fma", x, high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)
        ]
        terms = pairs + (terms[-1:] if len(terms) % 2 else [])
        x = do("mul", x, x) if len(terms) > 1 else x
    (total,) = terms
    assert isinstance(total, Value)
    return total


SIGN = 1 << 63
"""The bit that is the sign of a double."""


def with_sign_of(do: Writer, size: Value, signed: Operand) -> Value:
    """Return `size`, which is not negative, with the sign of another value, zeros included."""
    sign = do("bit_and", do("bits", signed), SIGN)
    return do("from_bits", do("bit_or", do("bits", size), sign))
