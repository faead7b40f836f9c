"""What stands for a number while a function is traced, and how operations are put on its tape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels.graph.ops import OPERATIONS

Scalar = Any
"""An `Expression` or a float: what an operation returns depends on what it finds."""

ARITHMETIC = frozenset({"neg", "add", "sub", "mul", "div"})
"""Operations whose folding is in the methods of `Expression`."""

TRUTH_ADVICE = (
    "the truth of a comparison of symbols was asked for (by if, and, or, not, min, max, or NumPy's "
    "where, maximum, clip, sign, sort, < between arrays, ...): it is not known while a function is "
    "traced. Choose by mbd_bridge.functions.where(condition, a, b), which computes both, or use "
    "maximum, minimum, clip, sign, interp and the comparisons there; combine conditions by & | ~. "
    "Branch with if on structure only (which joint, which body)"
)


VARIABLE_POWER = "write a power x**p whose exponent varies as exp(p * log(x)), for x > 0"


class TracingError(KernelError, TypeError):
    """A function asks of a symbol what only a number can answer."""


class Symbolic:
    """What takes the place of a float in a function: it is asked to operate on itself.

    Attributes
    ----------
    rank : among operands of several classes the one of highest rank operates
    """

    __slots__ = ()
    rank = 0

    @classmethod
    def operate(cls, op: str, *operands: Any, data: Any = None) -> Any:
        """Return the operation `op` (see `ops`) of operands, at least one of them of this class."""
        raise NotImplementedError


def plain(value: Any) -> Any:
    """Return NumPy's scalars, and arrays without axes, as Python's: 64 bits, and their own sign.

    NumPy calculates ``np.float32(0.1) * x`` with seven digits, and -np.uint8(2) is 254.
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    return float(value) if isinstance(value, bool | int | np.longdouble) else value


def is_traced(*values: Any) -> bool:
    """Return whether any of the arrays, or of what becomes one, holds symbols."""
    return any(isinstance(entry, Symbol) for value in values for entry in _objects(value))


def _objects(value: Any) -> Iterable[object]:
    """Return the entries of what is an array of objects."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of several lengths
        return ()
    return array.flat if array.dtype == object else ()


def foreign() -> TracingError:
    """Return what is raised where symbols of two traces meet."""
    return TracingError("symbols of two traces were mixed: a traced function must not keep symbols")


class Symbol(Symbolic):
    """A node of a tape as a value: a scalar or a condition.

    Attributes
    ----------
    tape, index, node : the tape, the position on it, and what stands there
    conditional : it is a `Condition`
    """

    __slots__ = ("index", "node", "tape")
    conditional = False

    def __init__(self, tape: Any, index: int, node: tuple[Any, ...]) -> None:
        self.tape, self.index, self.node = tape, index, node

    @classmethod
    def operate(cls, op: str, *operands: Any, data: Any = None) -> Any:
        """Return an operation of floats and symbols (see `apply`)."""
        return apply(op, *operands, data=data)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise TracingError(TRUTH_ADVICE)

    def __float__(self) -> float:
        raise TracingError(
            "a symbolic value was turned into a float: allocate arrays with the type of the "
            "input (numpy.zeros(..., dtype=q.dtype), or result_type of all inputs), and call "
            "mbd_bridge.functions or NumPy instead of math; interp and other look-ups are there too"
        )

    __int__ = __index__ = __complex__ = __float__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index}: {' '.join(map(str, self.node))})"


def apply(op: str, *operands: Any, data: Any = None) -> Any:
    """Return an operation of floats and symbols.

    Parameters
    ----------
    op : a name of `ops.OPERATIONS`
    operands : scalars; floats alone give a float
    data : what the operation needs beside operands
    """
    row = OPERATIONS[op]
    symbol = next((x for x in operands if isinstance(x, Symbol)), None)
    if symbol is None or op in ARITHMETIC:
        assert row.evaluate is not None
        return row.evaluate(*operands) if data is None else row.evaluate(*operands, data)
    if op in ("and", "or", "not"):
        return _logical(op, *(condition(x) for x in operands))
    if op == "where":
        first = condition(operands[0])
        if not isinstance(first, Symbol):
            return operands[1] if first else operands[2]
        operands = (first, *(_scalar(x) for x in operands[1:]))
    else:
        operands = tuple(_scalar(x) for x in operands)
    simpler = row.fold(apply, *operands) if row.fold is not None else None
    if simpler is not None:
        return simpler
    tape = symbol.tape
    indices = []
    for x in operands:
        if not isinstance(x, Symbol):
            x = tape.const(float(x))
        elif x.tape is not tape:
            raise foreign()
        indices.append(x.index)
    return tape.put(op, *indices) if data is None else tape.put(op, *indices, data)


def condition(x: Any) -> Any:
    """Return a condition as it is, of a scalar whether it is not 0."""
    if not isinstance(x, Symbol):
        return bool(x)
    return x if x.conditional else apply("ne", x, 0.0)


def _scalar(x: Any) -> Any:
    """Return a scalar as it is, 1 or 0 for a condition."""
    return apply("where", x, 1.0, 0.0) if isinstance(x, Symbol) and x.conditional else x


def _logical(op: str, first: Any, second: Any = None) -> Any:
    """Return a combination of conditions, some of which may be plain truths."""
    if not isinstance(first, Symbol):
        first, second = second, first
    if op == "not":
        return first.tape.put("not", first.index)
    if not isinstance(second, Symbol):
        return first if second is (op == "and") else second
    if second.tape is not first.tape:
        raise foreign()
    return first.tape.put(op, first.index, second.index)
