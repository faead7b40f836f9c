"""A value with its first and second derivative along time, carried through a formula.

    (f, f', f'')                  by the rules of Leibniz and of the chain, for example
    (f g)''   = f'' g + 2 f' g' + f g''
    (f / g)'' = (f'' - 2 (f/g)' g' - (f/g) g'') / g
    sin(f)''  = cos(f) f'' - sin(f) f'²

The parts are floats, arrays or symbols: a motion that is prescribed as a formula of t gives its
velocity and acceleration exactly, and all three compile into the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from mbd_bridge.errors import StateError

ADVICE = (
    "a prescribed motion is a formula of t made of + - * / and NumPy's sin, cos, sqrt. What "
    "branches or looks up is given as a table instead: drives={name: (times, values)}"
)


@dataclass(frozen=True, slots=True, eq=False)
class Jet:
    """A scalar f(t) with f'(t) and f''(t)."""

    value: Any
    first: Any = 0.0
    second: Any = 0.0

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
        if not isinstance(power, int | np.integer) or power < 0:
            raise StateError(f"only whole powers from 0 can be differentiated, not {power!r}")
        out = Jet(1.0)
        for _ in range(int(power)):
            out = out * self
        return out

    def sin(self) -> Jet:
        """Return the sine (NumPy's ``np.sin`` calls this)."""
        return self._chain(np.sin(self.value), np.cos(self.value), -np.sin(self.value))

    def cos(self) -> Jet:
        """Return the cosine."""
        return self._chain(np.cos(self.value), -np.sin(self.value), -np.cos(self.value))

    def sqrt(self) -> Jet:
        """Return the square root."""
        root = np.sqrt(self.value)
        slope = 0.5 / root
        return self._chain(root, slope, -0.5 * (slope / self.value))

    def _chain(self, value: Any, slope: Any, bend: Any) -> Jet:
        """Return g(f) for g, g' and g'' at f."""
        square = self.first * self.first
        return Jet(value, slope * self.first, slope * self.second + bend * square)

    def _ask(self, *_: object) -> NoReturn:
        raise StateError(ADVICE)

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __abs__ = _ask

    def __getattr__(self, name: str) -> NoReturn:
        # NumPy looks for a method of its function's name: np.exp(t) asks for t.exp.
        if name.startswith("__"):
            raise AttributeError(name)
        raise StateError(f"{name!r} is not known to prescribed motions: {ADVICE}")


def lift(value: Any) -> Jet:
    """Return a jet as it is, anything else as a constant."""
    return value if isinstance(value, Jet) else Jet(value)
