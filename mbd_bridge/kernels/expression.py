"""A symbolic scalar that records what is done to it.

A function of arrays is traced by calling it with object arrays of `Expression`. Each operation
becomes one node of the `Tape`; equal operations on equal operands become one node; constants
are folded and structural zeros disappear at once, so that what is left is what must be computed.

A plain ``float`` beside an expression is a constant. A product with the constant 0 is 0.
"""

from __future__ import annotations

from typing import Any, NoReturn

from numpy import ndarray

from mbd_bridge.errors import KernelError

Scalar = Any
"""An `Expression` or a float: what an operation returns depends on what it finds."""

UNARY = frozenset({"neg", "sin", "cos", "sqrt"})
BINARY = frozenset({"add", "sub", "mul", "div"})


class TracingError(KernelError, TypeError):
    """A function asks of a symbol what only a number can answer."""


def is_traced(*arrays: ndarray[Any, Any]) -> bool:
    """Return whether any of the arrays holds symbols."""
    return any(
        type(entry) is Expression
        for array in arrays
        if array.dtype == object
        for entry in array.flat
    )


def _foreign() -> TracingError:
    return TracingError("symbols of two traces were mixed: a traced function must not keep symbols")


class Tape:
    """The list of operations, in an order in which each one's operands come before it.

    Attributes
    ----------
    nodes : list of tuples
        ``("input", name, k)``, ``("const", value)``, ``(unary, i)`` or ``(binary, i, j)``,
        where i and j are positions in this list.
    """

    __slots__ = ("memo", "nodes")

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.memo: dict[tuple[Any, ...], Expression] = {}

    def put(self, *node: Any) -> Expression:
        """Return the expression of a node, made now or found."""
        found = self.memo.get(node)
        if found is None:
            found = Expression(self, len(self.nodes), node)
            self.nodes.append(node)
            self.memo[node] = found
        return found

    def const(self, value: float) -> Expression:
        """Return the node of a constant."""
        return self.put("const", value)


class Expression:
    """One scalar on a tape; behaves like a float in arithmetic, never in comparisons."""

    __slots__ = ("index", "node", "tape")

    def __init__(self, tape: Tape, index: int, node: tuple[Any, ...]) -> None:
        self.tape, self.index, self.node = tape, index, node

    def _lift(self, other: Scalar) -> Expression:
        """Return the node of a plain number."""
        return other if type(other) is Expression else self.tape.const(float(other))

    def _arg(self, k: int) -> Expression:
        """Return the operand k (1 or 2) of this node."""
        tape = self.tape
        return tape.memo[tape.nodes[self.node[k]]]

    def __neg__(self) -> Expression:
        op = self.node[0]
        if op == "neg":
            return self._arg(1)
        if op == "sub":
            return self.tape.put("sub", self.node[2], self.node[1])
        return self.tape.put("neg", self.index)

    def __add__(self, other: Scalar) -> Scalar:
        if type(other) is not Expression:
            if isinstance(other, ndarray):
                return NotImplemented
            if other == 0.0:
                return self
            other = self._lift(other)
        elif other.tape is not self.tape:
            raise _foreign()
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
            if isinstance(other, ndarray):
                return NotImplemented
            if other == 0.0:
                return self
            return self + self.tape.const(-float(other))
        if other.tape is not self.tape:
            raise _foreign()
        if other.node[0] == "neg":
            return self + other._arg(1)
        return self._minus(other)

    def __rsub__(self, other: Scalar) -> Scalar:
        if isinstance(other, ndarray):
            return NotImplemented
        if other == 0.0:
            return -self
        return self._lift(other) - self

    def __mul__(self, other: Scalar) -> Scalar:
        if type(other) is not Expression:
            if isinstance(other, ndarray):
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
            raise _foreign()
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
            if isinstance(other, ndarray):
                return NotImplemented
            if other == 0.0:
                raise KernelError("a symbolic value was divided by the constant 0")
            return self * (1.0 / other)
        if other.tape is not self.tape:
            raise _foreign()
        if other.node[0] == "neg":
            return -(self / other._arg(1))
        if self.node[0] == "neg":
            return -(self._arg(1) / other)
        return self.tape.put("div", self.index, other.index)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        if isinstance(other, ndarray):
            return NotImplemented
        if other == 0.0:
            return 0.0
        return self._lift(other) / self

    def __pow__(self, power: int) -> Scalar:
        if power == 2:
            return self * self
        raise KernelError(f"only squares can be traced, not the power {power!r}; write products")

    def _unary(self, name: str) -> Expression:
        return self.tape.put(name, self.index)

    def sin(self) -> Scalar:
        """Return the sine (NumPy's ``np.sin`` calls this on object arrays)."""
        if self.node[0] == "neg":
            return -self._arg(1).sin()
        return self._unary("sin")

    def cos(self) -> Scalar:
        """Return the cosine."""
        return self._arg(1).cos() if self.node[0] == "neg" else self._unary("cos")

    def sqrt(self) -> Scalar:
        """Return the square root."""
        return self._unary("sqrt")

    def __bool__(self) -> bool:
        raise TracingError(
            "the truth of a symbolic value was asked for: traced functions branch on structure "
            "(which joint, which body), never on values"
        )

    def _compare(self, other: object = None) -> NoReturn:
        raise TracingError(
            "a symbolic value was compared, or its absolute value taken: traced functions branch "
            "on structure (which joint, which body), never on values"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = _compare

    def __float__(self) -> float:
        raise TracingError(
            "a symbolic value was turned into a float: allocate arrays with the type of the "
            "input (numpy.zeros(..., dtype=q.dtype), or result_type of all inputs)"
        )

    __int__ = __index__ = __complex__ = __float__

    def __getattr__(self, name: str) -> NoReturn:
        # NumPy looks for a method of its function's name: np.exp(x) asks for x.exp.
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{name!r} cannot be traced; traced functions calculate with + - * / sin cos sqrt"
        )

    def __repr__(self) -> str:
        return f"Expression({self.index}: {' '.join(map(str, self.node))})"
