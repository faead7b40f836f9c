"""Sine and cosine of one argument at once: reduction to [-π/4, π/4] and two polynomials.

With k = round(2 x/π), r = x - k π/2 is formed by three fused multiply-subtractions, π/2 being cut
into three doubles (Cody and Waite). The first is exact for every k that occurs, so r carries the
error of one rounding. The polynomials are those of fdlibm (error < 2⁻⁵⁷ on the interval).
k's last two bits choose and sign the result. Beyond `LARGEST` the C library's own `sin` and `cos`
(full reduction modulo π/2) take over, lane by lane; nan and ±inf give nan.
"""

from __future__ import annotations

LARGEST = 2.0**30
"""rad; beyond it k might lose the nearest integer and π/2 its last digits: ask the C library."""

TWO_OVER_PI = 0.6366197723675814
ROUNDER = 6755399441055744.0
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
