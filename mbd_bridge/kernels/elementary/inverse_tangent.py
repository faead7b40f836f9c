"""Inverse tangent of one and of two arguments; inverse sine and cosine by them.

The argument is brought into [-7/16, 7/16] by one of four differences of angles (fdlibm):

    atan a = atan c + atan((a - c) / (1 + a c)),     c = 1/2, 1, 3/2, ∞

and the angles atan c are sums of two doubles.
"""

from __future__ import annotations

from mbd_bridge.kernels.elementary.writer import Operand, Value, Writer, horner, with_sign_of

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
