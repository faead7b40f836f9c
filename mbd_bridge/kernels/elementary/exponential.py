"""Exponential function, logarithm and hyperbolic tangent.

With k = round(x / ln 2), r = x - k ln 2 lies in [-0.347, 0.347] and exp x = 2ᵏ exp r; ln 2 is cut
into two doubles. exp r = 1 + r + r² Q(r) with the polynomial that interpolates in Chebyshev's
points (error < 2⁻⁶⁰). The power of two is applied in two halves, so that results near the largest
double and below the smallest normal one come out as they should.
"""

from __future__ import annotations

from math import inf, nan

from mbd_bridge.kernels.elementary.writer import Value, Writer, by_pairs, horner, with_sign_of

OVER_LN2 = 1.4426950408889634
LN2 = (0.6931471805599453, 2.3190468138462996e-17)
"""ln 2 as a sum of two doubles."""

ROUNDER = 6755399441055744.0
"""1.5 · 2⁵²: adding it rounds to an integer, whose last bits are then the last bits of the sum."""

SMALLEST, LARGEST = -746.0, 710.0
"""Beyond these exp is 0 and infinite."""

EXP = (
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326132,
    0.0013888888888883746,
    0.00019841269874827454,
    2.4801587325552618e-05,
    2.755725539154403e-06,
    2.7557273636924405e-07,
    2.5105220609870554e-08,
    2.0914689542549555e-09,
)
"""Q in exp r = 1 + r + r² Q(r)"""

BIAS, MANTISSA_BITS = 1023, 52
"""Of a double: what is added to its exponent, and the bits that stand below it."""


def _reduced(do: Writer, x: Value) -> tuple[Value, Value, Value]:
    """Return k + ROUNDER, k and exp(r) - 1 for x = k ln 2 + r."""
    shifted = do("fma", x, OVER_LN2, ROUNDER)
    k = do("sub", shifted, ROUNDER)
    r = do("fma", k, -LN2[1], do("fma", k, -LN2[0], x))
    return shifted, k, do("fma", do("mul", r, r), by_pairs(do, r, EXP), r)


def _power_of_two(do: Writer, shifted: Value) -> Value:
    """Return 2ᵏ for k + ROUNDER, -1022 <= k <= 1023."""
    biased = do("bit_add", do("bits", shifted), BIAS)
    return do("from_bits", do("shift_left", biased, MANTISSA_BITS))


def exp(do: Writer, x: Value) -> Value:
    """Return e to the power x."""
    x = do("where", do("lt", x, SMALLEST), SMALLEST, x)
    x = do("where", do("lt", LARGEST, x), LARGEST, x)
    _, k, p = _reduced(do, x)
    first = do("fma", k, 0.5, ROUNDER)
    rest = do("add", do("sub", k, do("sub", first, ROUNDER)), ROUNDER)
    half = do("mul", do("add", p, 1.0), _power_of_two(do, first))
    return do("mul", half, _power_of_two(do, rest))


def tanh(do: Writer, x: Value) -> Value:
    """Return E / (E + 2) with E = exp(2 |x|) - 1 and the sign of x."""
    size = do("abs", x)
    size = do("where", do("lt", ENOUGH, size), ENOUGH, size)
    shifted, _, p = _reduced(do, do("add", size, size))
    power = _power_of_two(do, shifted)
    e = do("fma", power, p, do("sub", power, 1.0))
    return with_sign_of(do, do("div", e, do("add", e, 2.0)), x)


ENOUGH = 22.0
"""From here on tanh is 1 to the last digit."""

LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
"""log(1 + f) = f - f²/2 + s (f²/2 + R), s = f / (2 + f), R = s² LOG(s²) (fdlibm)"""

LN2_SHORT = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
"""ln 2 in two doubles, the first with so many zeros behind that its products with k are exact."""

ROOT_HALF = 0x3FE6A09E00000000
"""Bits of the square root of 1/2, about: mantissas are taken from there to its double."""
ONE = 0x3FF0000000000000
MANTISSA = (1 << MANTISSA_BITS) - 1
WHOLE = 2.0**52
WHOLE_BITS = 0x4330000000000000
"""2⁵²: its last bits are those of an integer."""
SMALLEST_NORMAL = 2.0**-1022


def log(do: Writer, x: Value) -> Value:
    """Return the natural logarithm."""
    small = do("lt", x, SMALLEST_NORMAL)
    scaled = do("where", small, do("mul", x, 2.0**54), x)
    moved = do("bit_add", do("bits", scaled), ONE - ROOT_HALF)
    exponent = do("from_bits", do("bit_or", do("shift_right", moved, MANTISSA_BITS), WHOLE_BITS))
    k = do("sub", exponent, do("where", small, WHOLE + BIAS + 54, WHOLE + BIAS))
    m = do("from_bits", do("bit_add", do("bit_and", moved, MANTISSA), ROOT_HALF))
    f = do("sub", m, 1.0)
    half = do("mul", do("mul", f, 0.5), f)
    s = do("div", f, do("add", f, 2.0))
    z = do("mul", s, s)
    w = do("mul", z, z)
    odd, even = horner(do, w, LOG[1::2]), horner(do, w, LOG[0::2])
    r = do("fma", w, odd, do("mul", z, even))
    low = do("fma", s, do("add", half, r), do("mul", k, LN2_SHORT[1]))
    value = do("fma", k, LN2_SHORT[0], do("sub", f, do("sub", half, low)))
    value = do("where", do("lt", x, inf), value, x)
    value = do("where", do("lt", x, 0.0), nan, value)
    return do("where", do("eq", x, 0.0), -inf, value)
