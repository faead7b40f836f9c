"""A value with its first and second derivative along time, carried through a formula.

    (f, f', f'')                  by the rules of Leibniz and of the chain, for example
    (f g)''   = f'' g + 2 f' g' + f g''
    (f / g)'' = (f'' - 2 (f/g)' g' - (f/g) g'') / g
    sin(f)''  = cos(f) f'' - sin(f) f'²

The parts are floats, arrays or symbols: a motion that is prescribed as a formula of t gives its
velocity and acceleration exactly, and all three compile into the step.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, NoReturn

from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels.expression import VARIABLE_POWER, Symbolic, operate, plain
from mbd_bridge.kernels.ops import COMPARISONS

ADVICE = (
    "a prescribed motion is a formula of t made of + - * / ** and the functions of "
    "mbd_bridge.functions: where(t > 1, a, b) instead of if, and maximum, clip, Table, ...; or a "
    "table, prescribed={name: (times, values)}"
)


@dataclass(frozen=True, slots=True, eq=False)
class Truth(Symbolic):
    """A comparison of jets: for `where` and the like, and not for ``if``."""

    holds: Any
    rank = 1

    @classmethod
    def operate(cls, op: str, *operands: Any, data: Any = None) -> Any:
        """Return a combination or a choice."""
        return Jet.operate(op, *operands, data=data)

    def __and__(self, other: Any) -> Any:
        return Jet.operate("and", self, other)

    def __or__(self, other: Any) -> Any:
        return Jet.operate("or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return Jet.operate("not", self)

    def __bool__(self) -> NoReturn:
        raise StateError(ADVICE)


@dataclass(frozen=True, slots=True, eq=False)
class Jet(Symbolic):
    """A scalar f(t) with f'(t) and f''(t)."""

    value: Any
    first: Any = 0.0
    second: Any = 0.0
    rank = 1

    @classmethod
    def operate(cls, op: str, *operands: Any, data: Any = None) -> Any:
        """Return an operation (see `kernels.ops`) of jets and of what is constant."""
        if op in ("and", "or", "not"):
            return Truth(operate(op, *(_holds(x) for x in operands)))
        if op == "where":
            return _chosen(_holds(operands[0]), *(lift(x) for x in operands[1:]))
        jets = [lift(x) for x in operands]
        if op in COMPARISONS:
            return Truth(operate(op, *(x.value for x in jets)))
        if op in ("min", "max"):
            a, b = (x.value for x in jets)
            less = operate("lt", a, b) if op == "min" else operate("lt", b, a)
            return _chosen(less, *jets)
        if op == "atan2":
            return _angle(*jets)
        return jets[0]._chain(*slopes(op, jets[0].value, data))

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.first, -self.second)

    def __pos__(self) -> Jet:
        return self

    def __add__(self, other: Any) -> Jet:
        g = lift(other)
        return Jet(self.value + g.value, self.first + g.first, self.second + g.second)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Jet:
        return self + -lift(other)

    def __rsub__(self, other: Any) -> Jet:
        return lift(other) + -self

    def __mul__(self, other: Any) -> Jet:
        g = lift(other)
        return Jet(
            self.value * g.value,
            self.first * g.value + self.value * g.first,
            self.second * g.value + 2.0 * (self.first * g.first) + self.value * g.second,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        g = lift(other)
        over = 1.0 / g.value
        value = self.value * over
        first = (self.first - value * g.first) * over
        second = (self.second - 2.0 * (first * g.first) - value * g.second) * over
        return Jet(value, first, second)

    def __rtruediv__(self, other: Any) -> Jet:
        return lift(other) / self

    def __pow__(self, power: Any) -> Jet:
        power = plain(power)
        if not isinstance(power, numbers.Real) or not float(power).is_integer() or power < 0:
            raise StateError(f"only whole powers from 0 can be differentiated, not {power!r}")
        out = Jet(1.0)
        for _ in range(int(float(power))):
            out = out * self
        return out

    def __rpow__(self, base: Any) -> NoReturn:
        raise StateError(f"{VARIABLE_POWER}; {ADVICE}")

    def sin(self) -> Jet:
        """Return the sine (NumPy's ``np.sin`` calls this)."""
        return self._chain(*slopes("sin", self.value))

    def cos(self) -> Jet:
        """Return the cosine."""
        return self._chain(*slopes("cos", self.value))

    def tan(self) -> Jet:
        """Return the tangent."""
        return self.sin() / self.cos()

    def sqrt(self) -> Jet:
        """Return the square root."""
        return self._chain(*slopes("sqrt", self.value))

    def exp(self) -> Jet:
        """Return e to this power."""
        return self._chain(*slopes("exp", self.value))

    def log(self) -> Jet:
        """Return the natural logarithm."""
        return self._chain(*slopes("log", self.value))

    def tanh(self) -> Jet:
        """Return the hyperbolic tangent."""
        return self._chain(*slopes("tanh", self.value))

    def arcsin(self) -> Jet:
        """Return the inverse sine."""
        return self._chain(*slopes("asin", self.value))

    def arccos(self) -> Jet:
        """Return the inverse cosine."""
        return self._chain(*slopes("acos", self.value))

    def arctan(self) -> Jet:
        """Return the inverse tangent."""
        return self._chain(*slopes("atan", self.value))

    def arctan2(self, x: Any) -> Jet:
        """Return the angle of the point (x, self)."""
        return _angle(self, lift(x))

    def __abs__(self) -> Jet:
        return self._chain(*slopes("abs", self.value))

    def __lt__(self, other: Any) -> Any:
        return Jet.operate("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return Jet.operate("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return Jet.operate("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return Jet.operate("le", other, self)

    def __eq__(self, other: object) -> Any:
        return Jet.operate("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return Jet.operate("ne", self, other)

    __hash__ = object.__hash__

    def _chain(self, value: Any, slope: Any, bend: Any) -> Jet:
        """Return g(f) for g, g' and g'' at f."""
        square = self.first * self.first
        return Jet(value, slope * self.first, slope * self.second + bend * square)

    def _ask(self, *_: object) -> NoReturn:
        raise StateError(ADVICE)

    __bool__ = __float__ = __int__ = _ask

    def __getattr__(self, name: str) -> NoReturn:
        # NumPy looks for a method of its function's name: np.sinh(t) asks for t.sinh.
        if name.startswith("__"):
            raise AttributeError(name)
        raise StateError(f"{name!r} is not known to prescribed motions: {ADVICE}")


def lift(value: Any) -> Jet:
    """Return a jet as it is, anything else as a constant."""
    value = plain(value)
    return value if isinstance(value, Jet) else Jet(value)


def slopes(op: str, x: Any, data: Any = None) -> tuple[Any, Any, Any]:
    """Return a function of one argument with its first and second derivative."""
    y = operate(op, x, data=data)
    if op in ("sin", "cos"):
        other = operate("cos" if op == "sin" else "sin", x)
        return y, other if op == "sin" else -other, -y
    if op == "sqrt":
        slope = 0.5 / y
        return y, slope, -0.5 * (slope / x)
    if op == "exp":
        return y, y, y
    if op == "log":
        return y, 1.0 / x, -1.0 / (x * x)
    if op == "tanh":
        slope = (1.0 - y) * (1.0 + y)
        return y, slope, -2.0 * (y * slope)
    if op == "atan":
        slope = 1.0 / (1.0 + x * x)
        return y, slope, -2.0 * (x * (slope * slope))
    if op in ("asin", "acos"):
        slope = 1.0 / operate("sqrt", (1.0 - x) * (1.0 + x))
        slope = slope if op == "asin" else -slope
        return y, slope, x * (slope * slope * slope)
    if op == "abs":
        return y, operate("sign", x), 0.0
    if op == "table":
        outside = operate("lt", x, data.start) | operate("lt", data.end, x) if data.hold else False
        rates = (operate("table", x, data=d) for d in (data.slope(), data.slope().slope()))
        first, second = (operate("where", outside, 0.0, rate) for rate in rates)
        return y, first, second
    assert op == "sign"
    return y, 0.0, 0.0


def _holds(x: Any) -> Any:
    """Return what `where` wants of a truth, of a jet whether it is not 0."""
    if isinstance(x, Jet):
        return operate("ne", x.value, 0.0)
    return x.holds if isinstance(x, Truth) else x


def _chosen(condition: Any, a: Jet, b: Jet) -> Jet:
    """Return one of two jets."""
    parts = ((a.value, b.value), (a.first, b.first), (a.second, b.second))
    return Jet(*(operate("where", condition, *pair) for pair in parts))


def _angle(y: Jet, x: Jet) -> Jet:
    """Return atan2(y, x), whose rate is (x y' - y x') / (x² + y²)."""
    square = x.value * x.value + y.value * y.value
    first = (x.value * y.first - y.value * x.first) / square
    turned = 2.0 * (x.value * x.first + y.value * y.first)
    second = (x.value * y.second - y.value * x.second - first * turned) / square
    return Jet(operate("atan2", y.value, x.value), first, second)
