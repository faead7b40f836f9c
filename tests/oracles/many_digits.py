"""The reference equations in fifty digits: what rounding does, they do not.

A scalar that wraps mpmath's numbers runs through the same functions as floats and symbols do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

DIGITS = 50


class Precise:
    """A number of fifty digits."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def sin(self) -> Precise:
        return Precise(mpmath.sin(self.value))

    def cos(self) -> Precise:
        return Precise(mpmath.cos(self.value))

    def __neg__(self) -> Precise:
        return Precise(-self.value)

    def __float__(self) -> float:
        return float(self.value)


def _plain(other: Any) -> Any:
    return other.value if isinstance(other, Precise) else mpmath.mpf(float(other))


def _define(name: str, operation: Callable[[Any, Any], Any]) -> None:
    def forward(self: Precise, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Precise(operation(self.value, _plain(other)))

    def reverse(self: Precise, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Precise(operation(_plain(other), self.value))

    setattr(Precise, f"__{name}__", forward)
    setattr(Precise, f"__r{name}__", reverse)


_define("add", lambda a, b: a + b)
_define("sub", lambda a, b: a - b)
_define("mul", lambda a, b: a * b)
_define("truediv", lambda a, b: a / b)


def precisely(function: Callable[..., tuple[Any, ...]], *arguments: Any) -> list[np.ndarray]:
    """Return the outputs of a traceable function, computed in fifty digits, as floats."""
    with mpmath.workdps(DIGITS):
        lifted = []
        for vector in arguments:
            out = np.empty(len(vector), dtype=object)
            for k, x in enumerate(vector):
                out[k] = Precise(mpmath.mpf(float(x)))
            lifted.append(out)
        return [np.array(result, dtype=float) for result in function(*lifted)]
