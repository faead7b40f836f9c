"""A formula of time as a text, ``2*pi*t`` or ``30deg*sin(3 t)``, by a grammar of its own.

    sum     = product (("+" | "-") product)*
    product = sign (("*" | "/" | nothing) sign)*          "2 pi t" is 2 * pi * t
    sign    = ("+" | "-") sign | power
    power   = atom (("^" | "**") whole number)
    atom    = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

Nothing is looked up in Python and nothing is executed: a text is a tree of the few operations here,
which floats, jets and symbols can go through.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mbd_bridge import functions as fn
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.units import find_unit
from mbd_bridge.kernels.expression import VARIABLE_POWER, Scalars, Symbolic, operate, plain
from mbd_bridge.kernels.ops import COMPARISONS

# A value with its first and second derivative along time, carried through a formula.
#
#     (f, f', f'')                  by the rules of Leibniz and of the chain, for example
#     (f g)''   = f'' g + 2 f' g' + f g''
#     (f / g)'' = (f'' - 2 (f/g)' g' - (f/g) g'') / g
#     sin(f)''  = cos(f) f'' - sin(f) f'²
#
# The parts are floats, arrays or symbols: a motion that is prescribed as a formula of t gives its
# velocity and acceleration exactly, and all three compile into the step.

JET_ADVICE = (
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
        raise StateError(JET_ADVICE)


@dataclass(frozen=True, slots=True, eq=False)
class Jet(Scalars):
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
        raise StateError(f"{VARIABLE_POWER}; {JET_ADVICE}")

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
        raise StateError(JET_ADVICE)

    __bool__ = __float__ = __int__ = _ask

    def __getattr__(self, name: str) -> NoReturn:
        # NumPy looks for a method of its function's name: np.sinh(t) asks for t.sinh.
        if name.startswith("__"):
            raise AttributeError(name)
        raise StateError(f"{name!r} is not known to prescribed motions: {JET_ADVICE}")


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


Node = Callable[[Any], Any]

UNITS = ("deg", "rad", "rev", "rpm", "m", "cm", "mm", "s", "N", "kN", "Nm")
"""Units that formulas may have; what is made of several is written so, mm/s."""
CONSTANTS = {
    "pi": math.pi,
    **{name: unit.factor for name in UNITS if (unit := find_unit(name)) is not None},
    "Hz": 2.0 * math.pi,
}
"""Names of numbers; units are what they are in SI."""

PLAIN: dict[str, tuple[int, Callable[..., Any]]] = {
    "sin": (1, fn.sin),
    "cos": (1, fn.cos),
    "tan": (1, fn.tan),
    "sqrt": (1, fn.sqrt),
    "exp": (1, fn.exp),
    "log": (1, fn.log),
    "tanh": (1, fn.tanh),
    "asin": (1, fn.arcsin),
    "acos": (1, fn.arccos),
    "atan": (1, fn.arctan),
    "atan2": (2, fn.arctan2),
    "abs": (1, fn.absolute),
    "sign": (1, fn.sign),
    "min": (2, fn.minimum),
    "max": (2, fn.maximum),
}
FUNCTIONS = {"step": 5, **{name: number for name, (number, _) in PLAIN.items()}}
"""Names of functions, and how many arguments they take."""

LONGEST, DEEPEST, HIGHEST = 500, 40, 20
"""Characters of a formula, its brackets within brackets, and its powers, at most."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|"
    r"(?P<sign>\*\*|[-+*/^(),]))"
)

ADVICE = (
    f"A formula is made of t, numbers, + - * / ^, brackets, {', '.join(FUNCTIONS)}, "
    f"{', '.join(CONSTANTS)}; step(t, t0, a, t1, b) goes smoothly from a at t0 to b at t1"
)


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


class At(NamedTuple):
    """A time and other numbers by name, at which a formula has a value."""

    t: Any
    others: Mapping[str, Any] | None


class Formula:
    """A function of time that a text says: of a float, a `Jet` or a symbol.

    Parameters
    ----------
    names : of other numbers that it may be made of

    Raises
    ------
    StateError
        The text is no formula: where, and what there is.
    """

    def __init__(self, text: str, names: Collection[str] = ()) -> None:
        self.text, self._names = text, tuple(names)
        self._node = _Reader(text, names).whole()

    def __call__(self, t: Any, others: Mapping[str, Any] | None = None) -> Any:
        """Return the value at t, and at the values of the other names."""
        try:
            return self._node(At(t, others) if self._names else t)
        except (ZeroDivisionError, OverflowError, ValueError) as problem:
            raise StateError(f"formula {self.text!r} has no value: {problem}") from None

    def __reduce__(self) -> tuple[type[Formula], tuple[str, tuple[str, ...]]]:
        return Formula, (self.text, self._names)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"


def text_formula(where: str, text: str | Formula) -> Formula:
    """Return the formula of a prescribed motion or a torque; `where` is for messages."""
    try:
        return Formula(text) if isinstance(text, str) else text
    except StateError as problem:
        raise StateError(f"{where}: {problem}") from None


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str, names: Collection[str] = ()) -> None:
        self._text, self._names = text, names
        if len(text) > LONGEST:
            raise StateError(
                f"formula {text[:40]!r}...: {len(text)} characters, at most {LONGEST}; give a "
                f"table instead"
            )
        self._tokens = list(self._split())
        self._next = 0
        self._depth = 0
        self._of_time = False

    def whole(self) -> Node:
        """Return the function that the whole text says."""
        node = self._sum()
        if self._at().kind != "end":
            raise self._error(f"expected an operation, got {self._at().text!r}")
        return node

    def _split(self) -> list[_Token]:
        tokens, place = [], 0
        text = self._text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._error(f"{text[place:].lstrip()[:1]!r} has no meaning here", place)
            kind = str(match.lastgroup)
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            place = match.end()
        return [*tokens, _Token("end", "the end", len(text))]

    def _at(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> str | None:
        token = self._at()
        if token.kind == "sign" and token.text in texts:
            self._next += 1
            return token.text
        return None

    def _need(self, text: str) -> None:
        if self._take(text) is None:
            raise self._error(f"expected {text!r}, got {self._at().text!r}")

    def _error(self, message: str, place: int | None = None) -> StateError:
        at = self._at().place if place is None else place
        stop = "" if message.endswith("?") else "."
        return StateError(f"formula {self._text!r}, character {at + 1}: {message}{stop} {ADVICE}")

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"brackets nested deeper than {DEEPEST}")
        node = self._product()
        while sign := self._take("+", "-"):
            node = _both(node, self._product(), sign)
        self._depth -= 1
        return node

    def _product(self) -> Node:
        node = self._signed()
        while True:
            sign = self._take("*", "/")
            if sign is None:
                if self._at().kind != "name" and self._at().text != "(":
                    return node
                sign = "*"  # nothing between two factors
            node = _both(node, self._signed(), sign)

    def _signed(self) -> Node:
        minus = False
        while sign := self._take("+", "-"):
            minus ^= sign == "-"
        node = self._power()
        return (lambda t: -node(t)) if minus else node

    def _power(self) -> Node:
        node = self._atom()
        if self._take("^", "**") is None:
            return node
        token = self._at()
        if token.kind != "number" or not token.text.isdecimal() or int(token.text) > HIGHEST:
            raise self._error(f"expected a whole power up to {HIGHEST}, got {token.text!r}")
        self._next += 1
        power = int(token.text)
        return lambda t: node(t) ** power

    def _atom(self) -> Node:
        token = self._at()
        if token.kind == "number":
            self._next += 1
            value = float(token.text)
            return lambda t: value
        if self._take("("):
            node = self._sum()
            self._need(")")
            return node
        if token.kind != "name":
            raise self._error(f"expected a number, a name or a bracket, got {token.text!r}")
        self._next += 1
        if token.text == "t":
            self._of_time = True
            return (lambda at: at.t) if self._names else lambda t: t
        if token.text in CONSTANTS:
            constant = CONSTANTS[token.text]
            return lambda t: constant
        if token.text in FUNCTIONS:
            return self._function(token)
        if token.text in self._names:
            self._of_time = True
            name = token.text
            return lambda at: at.others[name]
        near = get_close_matches(token.text, ["t", *self._names, *CONSTANTS, *FUNCTIONS], n=3)
        also = f"; here also {', '.join(self._names)}" if self._names else ""
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise self._error(f"no name named {token.text!r}{also}{hint}", token.place)

    def _function(self, token: _Token) -> Node:
        self._need("(")
        arguments, constant = [], []
        while True:
            before, self._of_time = self._of_time, False
            arguments.append(self._sum())
            constant.append(not self._of_time)
            self._of_time |= before
            if self._take(",") is None:
                break
        self._need(")")
        if len(arguments) != FUNCTIONS[token.text]:
            raise self._error(
                f"{token.text} takes {FUNCTIONS[token.text]} arguments, got {len(arguments)}",
                token.place,
            )
        if token.text == "step":
            if not all(constant[1:]):
                raise self._error("step(x, x0, a, x1, b): x0, a, x1 and b are numbers", token.place)
            x0, a, x1, b = (float(node(0.0)) for node in arguments[1:])
            if not x1 > x0:
                raise self._error("step(x, x0, a, x1, b) needs x1 > x0", token.place)
            x = arguments[0]
            return lambda t: _step(x(t), x0, a, x1, b)
        _, function = PLAIN[token.text]
        return lambda t: function(*(node(t) for node in arguments))


def _both(left: Node, right: Node, sign: str) -> Node:
    if sign == "+":
        return lambda t: left(t) + right(t)
    if sign == "-":
        return lambda t: left(t) - right(t)
    if sign == "*":
        return lambda t: left(t) * right(t)
    return lambda t: left(t) / right(t)


def _step(x: Any, x0: float, a: float, x1: float, b: float) -> Any:
    """Return a + (b - a) u³ (10 - 15 u + 6 u²) with u = (x - x0) / (x1 - x0) held in 0 ... 1.

    Value, slope and bend are continuous, since both rates vanish at the ends.
    """
    along = (lift(x) - x0) / (x1 - x0)
    u = _above(along.value)
    u = 1.0 - _above(1.0 - u)
    rise = b - a
    left = 1.0 - u
    value = a + rise * (u * u * u * (10.0 + u * (6.0 * u - 15.0)))
    slope = rise * 30.0 * (u * u) * (left * left)
    bend = rise * 60.0 * (u * left) * (1.0 - 2.0 * u)
    if not isinstance(x, Jet):
        return value
    first = slope * along.first
    return Jet(value, first, slope * along.second + bend * (along.first * along.first))


def _above(x: Any) -> Any:
    """Return max(x, 0)."""
    return 0.5 * (x + np.sqrt(x * x))
