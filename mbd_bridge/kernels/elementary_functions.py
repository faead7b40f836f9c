"""Exponential function, logarithm and hyperbolic tangent.

With k = round(x / ln 2), r = x - k ln 2 lies in [-0.347, 0.347] and exp x = 2ᵏ exp r; ln 2 is cut
into two doubles. exp r = 1 + r + r² Q(r) with the polynomial that interpolates in Chebyshev's
points (error < 2⁻⁶⁰). The power of two is applied in two halves, so that results near the largest
double and below the smallest normal one come out as they should.
"""

from __future__ import annotations

from math import inf, nan

from mbd_bridge.kernels.recipe import Operand, Value, Writer, by_pairs, horner, with_sign_of

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


# Inverse tangent of one and of two arguments; inverse sine and cosine by them.
#
# The argument is brought into [-7/16, 7/16] by one of four differences of angles (fdlibm):
#
#     atan a = atan c + atan((a - c) / (1 + a c)),     c = 1/2, 1, 3/2, ∞
#
# and the angles atan c are sums of two doubles.

LIMITS = (7.0 / 16.0, 11.0 / 16.0, 19.0 / 16.0, 39.0 / 16.0)
"""From each of these on the next c is taken."""

ANGLES = (
    (4.63647609000806093515e-01, 2.26987774529616870924e-17),
    (7.85398163397448278999e-01, 3.06161699786838301793e-17),
    (9.82793723247329054082e-01, 1.39033110312309984516e-17),
    (1.57079632679489655800e00, 6.12323399573676603587e-17),
)
"""atan c, each as a sum of two doubles."""

ATAN = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)
"""atan t = t - t³ (ATAN[0] + t² (ATAN[1] + ...))"""

PI, PI_REST = 3.141592653589793, 1.2246467991473532e-16
UPRIGHT = 2.0**60
"""Slope from which on the angle is π/2 to the last digit, on either side."""
INFINITE = float("inf")


def _positive(do: Writer, a: Value) -> Value:
    """Return atan a for a >= 0, and nan for nan."""
    forms: tuple[tuple[Operand, Operand], ...] = (
        (a, 1.0),
        (do("fma", a, 2.0, -1.0), do("add", a, 2.0)),
        (do("sub", a, 1.0), do("add", a, 1.0)),
        (do("sub", a, 1.5), do("fma", a, 1.5, 1.0)),
        (-1.0, a),
    )
    (above, below), high, low = forms[0], 0.0, 0.0
    over: Operand = above
    under: Operand = below
    first: Operand = high
    rest: Operand = low
    for limit, (numerator, denominator), angle in zip(LIMITS, forms[1:], ANGLES, strict=True):
        beyond = do("le", limit, a)
        over = do("where", beyond, numerator, over)
        under = do("where", beyond, denominator, under)
        first = do("where", beyond, angle[0], first)
        rest = do("where", beyond, angle[1], rest)
    t = do("div", over, under)
    z = do("mul", t, t)
    w = do("mul", z, z)
    odd, even = horner(do, w, ATAN[1::2]), horner(do, w, ATAN[0::2])
    p = do("fma", w, odd, do("mul", z, even))
    return do("sub", first, do("sub", do("sub", do("mul", t, p), rest), t))


def atan(do: Writer, x: Value) -> Value:
    """Return the inverse tangent."""
    return with_sign_of(do, _positive(do, do("abs", x)), x)


def atan2(do: Writer, y: Operand, x: Operand) -> Value:
    """Return the angle of the point (x, y), -π ... π; zeros and infinities as in C."""
    a, b = do("abs", y), do("abs", x)
    q = do("div", a, b)
    on_axis = do("eq", a, 0.0)
    q = do("where", do("and", on_axis, do("eq", b, 0.0)), 0.0, q)
    q = do("where", do("and", do("eq", a, INFINITE), do("eq", b, INFINITE)), 1.0, q)
    angle = _positive(do, q)
    behind = do("and", do("lt", x, 0.0), do("lt", q, UPRIGHT))
    behind = do("or", behind, do("and", on_axis, _minus(do, x)))
    turned = do("sub", PI, do("sub", angle, PI_REST))
    return with_sign_of(do, do("where", behind, turned, angle), y)


def _minus(do: Writer, x: Operand) -> Value:
    """Return whether the sign of x is set, of a zero too."""
    sign = do("shift_right", do("bits", x), 63)
    return do("bit_eq", sign, 1)


def asin(do: Writer, x: Value) -> Value:
    """Return atan2(x, √((1 - x) (1 + x)))."""
    return atan2(do, x, _other(do, x))


def acos(do: Writer, x: Value) -> Value:
    """Return atan2(√((1 - x) (1 + x)), x)."""
    return atan2(do, _other(do, x), x)


def _other(do: Writer, x: Value) -> Value:
    """Return the other coordinate of the point of the unit circle; nan outside."""
    return do("sqrt", do("mul", do("sub", 1.0, x), do("add", 1.0, x)))


# Sine and cosine of one argument at once: reduction to [-π/4, π/4] and two polynomials.
#
# With k = round(2 x/π), r = x - k π/2 is formed by three fused multiply-subtractions, π/2 being
# cut into three doubles (Cody and Waite). The first is exact for every k that occurs, so r carries
# the error of one rounding. The polynomials are those of fdlibm (error < 2⁻⁵⁷ on the interval).
# k's last two bits choose and sign the result. Beyond `LARGEST_ANGLE` the C library's own `sin`
# and `cos` (full reduction modulo π/2) take over, lane by lane; nan and ±inf give nan.

LARGEST_ANGLE = 2.0**30
"""rad; beyond it k might lose the nearest integer and π/2 its last digits: ask the C library."""

TWO_OVER_PI = 0.6366197723675814
"""1.5 · 2⁵²: adding it rounds to an integer, whose last bits are then the last bits of the sum."""

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""π/2 as a sum of three doubles."""

SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
"""sin r = r + r³ (SIN[0] + r² (SIN[1] + ...))"""

COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
"""cos r = 1 - r²/2 + r⁴ (COS[0] + r² (COS[1] + ...))"""
