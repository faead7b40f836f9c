"""Whether a comparison of symbols holds."""

from __future__ import annotations

from typing import Any

from mbd_bridge.kernels.graph.symbol import Scalar, Symbol, apply


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
