"""A symbolic scalar that records what is done to it.

A function of arrays is traced by calling it with object arrays of `Expression`. Each operation
becomes one node of the `Tape`; equal operations on equal operands become one node; constants
are folded and structural zeros disappear at once, so that what is left is what must be computed.

A plain ``float`` beside an expression is a constant. A product with the constant 0 is 0.

What an operation means, and the rules by which those that are not arithmetic fold, are in `ops`.

Whether a comparison of symbols holds.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels.ops import CONDITIONS, OPERATIONS

# What stands for a number while a function is traced, and how operations are put on its tape.

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


class Scalars(Symbolic):
    """Scalars, of which NumPy's functions ask methods of their names: ``np.sin(x)`` calls this."""

    __slots__ = ()

    def sin(self) -> Scalar:
        """Return the sine."""
        return self.operate("sin", self)

    def cos(self) -> Scalar:
        """Return the cosine."""
        return self.operate("cos", self)

    def tan(self) -> Scalar:
        """Return the tangent."""
        return self.sin() / self.cos()

    def sqrt(self) -> Scalar:
        """Return the square root."""
        return self.operate("sqrt", self)

    def exp(self) -> Scalar:
        """Return e to this power."""
        return self.operate("exp", self)

    def log(self) -> Scalar:
        """Return the natural logarithm."""
        return self.operate("log", self)

    def tanh(self) -> Scalar:
        """Return the hyperbolic tangent."""
        return self.operate("tanh", self)

    def arcsin(self) -> Scalar:
        """Return the inverse sine."""
        return self.operate("asin", self)

    def arccos(self) -> Scalar:
        """Return the inverse cosine."""
        return self.operate("acos", self)

    def arctan(self) -> Scalar:
        """Return the inverse tangent."""
        return self.operate("atan", self)

    def arctan2(self, x: Any) -> Scalar:
        """Return the angle of the point (x, self)."""
        return self.operate("atan2", self, x)

    def fabs(self) -> Scalar:
        """Return the absolute value."""
        return self.operate("abs", self)

    __abs__ = fabs


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


class Condition(Symbol):
    """Whether a comparison of symbols holds: for `where`, ``&``, ``|``, ``~``; 1 or 0 in sums."""

    __slots__ = ()
    conditional = True

    def value(self) -> Scalar:
        """Return 1 where it holds, else 0."""
        return apply("where", self, 1.0, 0.0)

    def __and__(self, other: Any) -> Any:
        return apply("and", self, other)

    def __or__(self, other: Any) -> Any:
        return apply("or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return apply("not", self)

    def __neg__(self) -> Scalar:
        return -self.value()

    def __add__(self, other: Any) -> Scalar:
        return self.value() + other

    def __sub__(self, other: Any) -> Scalar:
        return self.value() - other

    def __rsub__(self, other: Any) -> Scalar:
        return other - self.value()

    def __mul__(self, other: Any) -> Scalar:
        return self.value() * other

    def __truediv__(self, other: Any) -> Scalar:
        return self.value() / other

    __radd__, __rmul__ = __add__, __mul__


FUNCTION_ADVICE = (
    "traced functions calculate with + - * / **, abs, comparisons, and with NumPy's sin, cos, tan, "
    "sqrt, exp, log, tanh, arcsin, arccos, arctan, arctan2; where, maximum, interp and the like "
    "are in mbd_bridge.functions"
)


class Tape:
    """The list of operations, in an order in which each one's operands come before it.

    Attributes
    ----------
    nodes : list of tuples
        ``(op, i, j, ..., data)``: as many positions in this list as the operation has operands,
        then what it needs beside them: ``("input", name, k)``, ``("const", value)``,
        ``("table", i, table)``.
    calls : functions that are `shared` are called, not written out: see `trace`
    ways : operations that each of several ways would add, where the fewest were taken
    """

    __slots__ = ("calls", "memo", "nodes", "ways")

    def __init__(self, calls: float = False) -> None:
        self.calls = calls
        self.nodes: list[tuple[Any, ...]] = []
        self.memo: dict[tuple[Any, ...], Any] = {}
        self.ways: dict[str, int] = {}

    def put(self, *node: Any) -> Any:
        """Return the expression of a node, made now or found."""
        found = self.memo.get(node)
        if found is None:
            kind = Condition if node[0] in CONDITIONS else Expression
            found = kind(self, len(self.nodes), node)
            self.nodes.append(node)
            self.memo[node] = found
        return found

    def vector(self, name: str, size: int) -> Any:
        """Return the symbols (size,) of an input."""
        vector = np.empty(size, dtype=object)
        for k in range(size):
            vector[k] = self.put("input", name, k)
        return vector

    def const(self, value: float) -> Expression:
        """Return the node of a constant."""
        found: Expression = self.put("const", value)
        return found


class Expression(Symbol, Scalars):
    """One scalar on a tape; behaves like a float, but a comparison of it is a `Condition`."""

    __slots__ = ()

    def _lift(self, other: Scalar) -> Any:
        """Return the node of a plain number."""
        return other if type(other) is Expression else self.tape.const(float(other))

    def _arg(self, k: int) -> Any:
        """Return the operand k (1 or 2) of this node."""
        tape = self.tape
        return tape.memo[tape.nodes[self.node[k]]]

    def __neg__(self) -> Any:
        op = self.node[0]
        if op == "neg":
            return self._arg(1)
        if op == "sub":
            return self.tape.put("sub", self.node[2], self.node[1])
        return self.tape.put("neg", self.index)

    def __add__(self, other: Scalar) -> Scalar:
        if type(other) is not Expression:
            if isinstance(other, _ELSEWHERE):
                return NotImplemented
            if other == 0.0:
                return self
            other = self._lift(other)
        elif other.tape is not self.tape:
            raise foreign()
        if other.node[0] == "neg":
            return self._minus(other._arg(1))
        if self.node[0] == "neg":
            return other._minus(self._arg(1))
        i, j = self.index, other.index
        return self.tape.put("add", i, j) if i <= j else self.tape.put("add", j, i)

    __radd__ = __add__

    def _minus(self, other: Expression) -> Scalar:
        """Return self - other for an `other` that is not a negation."""
        if other is self:
            return 0.0
        if self.node[0] == "neg":
            return -(self._arg(1) + other)
        return self.tape.put("sub", self.index, other.index)

    def __sub__(self, other: Scalar) -> Scalar:
        if type(other) is not Expression:
            if isinstance(other, _ELSEWHERE):
                return NotImplemented
            if other == 0.0:
                return self
            return self + self.tape.const(-float(other))
        if other.tape is not self.tape:
            raise foreign()
        if other.node[0] == "neg":
            return self + other._arg(1)
        return self._minus(other)

    def __rsub__(self, other: Scalar) -> Scalar:
        if isinstance(other, _ELSEWHERE):
            return NotImplemented
        if other == 0.0:
            return -self
        return self._lift(other) - self

    def __mul__(self, other: Scalar) -> Scalar:
        if type(other) is not Expression:
            if isinstance(other, _ELSEWHERE):
                return NotImplemented
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
            value = float(other)
            op = self.node[0]
            if op == "neg":
                return self._arg(1) * -value
            if op == "mul":
                first = self.tape.nodes[self.node[1]]
                if first[0] == "const":
                    return self._arg(2) * (first[1] * value)
            if value < 0.0:
                return -(self * -value)
            return self.tape.put("mul", self.tape.const(value).index, self.index)
        if other.tape is not self.tape:
            raise foreign()
        if other.node[0] == "neg":
            return -(self * other._arg(1))
        if self.node[0] == "neg":
            return -(self._arg(1) * other)
        if other.node[0] == "const":
            return self * other.node[1]
        if self.node[0] == "const":
            return other * self.node[1]
        i, j = self.index, other.index
        return self.tape.put("mul", i, j) if i <= j else self.tape.put("mul", j, i)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if type(other) is not Expression:
            if isinstance(other, _ELSEWHERE):
                return NotImplemented
            if other == 0.0:
                raise KernelError("a symbolic value was divided by the constant 0")
            return self * (1.0 / float(other))
        if other.tape is not self.tape:
            raise foreign()
        if other.node[0] == "neg":
            return -(self / other._arg(1))
        if self.node[0] == "neg":
            return -(self._arg(1) / other)
        return self.tape.put("div", self.index, other.index)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        if isinstance(other, _ELSEWHERE):
            return NotImplemented
        if other == 0.0:
            return 0.0
        return self._lift(other) / self

    def __pow__(self, power: Any) -> Scalar:
        """Return a whole power, by squares and products."""
        power = plain(power)
        exponent = float(power) if isinstance(power, numbers.Real) else 0.5
        if exponent.is_integer() and abs(exponent) <= POWERS:
            if exponent < 0.0:
                return 1.0 / self**-exponent
            out: Scalar = 1.0
            square: Scalar = self
            rest = int(exponent)
            while rest:
                out = out * square if rest & 1 else out
                rest >>= 1
                square = square * square if rest else square
            return out
        raise KernelError(
            f"only whole powers up to {POWERS} can be traced, not {power!r}; write sqrt(x), or "
            f"exp(p * log(x)) for x > 0"
        )

    def __rpow__(self, base: Any) -> NoReturn:
        raise KernelError(VARIABLE_POWER)

    __hash__ = Symbol.__hash__

    def __eq__(self, other: object) -> Any:
        return self._compared("eq", other, False)

    def __ne__(self, other: object) -> Any:
        return self._compared("ne", other, False)

    def __lt__(self, other: object) -> Any:
        return self._compared("lt", other, False)

    def __le__(self, other: object) -> Any:
        return self._compared("le", other, False)

    def __gt__(self, other: object) -> Any:
        return self._compared("lt", other, True)

    def __ge__(self, other: object) -> Any:
        return self._compared("le", other, True)

    def _compared(self, op: str, other: object, turned: bool) -> Any:
        if not isinstance(other, (Expression, numbers.Real)):
            return NotImplemented
        return apply(op, other, self) if turned else apply(op, self, other)

    def __getattr__(self, name: str) -> NoReturn:
        # NumPy looks for a method of its function's name: np.sinh(x) asks for x.sinh.
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{name!r} cannot be traced; {FUNCTION_ADVICE}")


POWERS = 64
"""Largest whole power that is written out as products."""

_ELSEWHERE = (ndarray, Symbolic)
"""Operands that know better what an operation with an expression means."""


# An operation of whatever it is asked of: floats, arrays, symbols.


def operate(op: str, *operands: Any, data: Any = None) -> Any:
    """Return an operation of scalars, of arrays entry by entry, or of symbols."""
    symbols = [x for x in operands if isinstance(x, Symbolic)]
    arrays = [x for x in operands if isinstance(x, np.ndarray | list | tuple) and np.ndim(x)]
    if symbols and not arrays:
        return max(symbols, key=lambda x: x.rank).operate(op, *operands, data=data)
    if any(np.asarray(x).dtype == object for x in operands):
        one = np.frompyfunc(functools.partial(operate, op, data=data), len(operands), 1)
        return one(*operands)
    evaluate = OPERATIONS[op].evaluate
    assert evaluate is not None
    return evaluate(*operands) if data is None else evaluate(*operands, data)
