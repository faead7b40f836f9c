"""Functions to compile, and what they give in plain floats."""

import mpmath
import numpy as np

from mbd_bridge import functions as fn

ARM_INPUTS = {"q": 3, "v": 3}


def arm(q, v):
    """Shared sines, divisions, a root, a constant, an input that goes straight through."""
    s, c = np.sin(q), np.cos(q)
    x = c[0] * v[1] - s[1] * v[0]
    return (
        np.array([x, s[0] * c[2] + v[2], np.sqrt(x * x + 2.0) / (3.0 + c[1]), 7.5, v[0]]),
        np.outer(s[:2], v),
    )


def reference(function, *arrays):
    """Evaluate in floats, state by state."""
    number = max(len(a) for a in arrays if a.ndim == 2)
    rows = [function(*(a[k] if a.ndim == 2 else a for a in arrays)) for k in range(number)]
    return [np.array([row[j] for row in rows], dtype=float) for j in range(len(rows[0]))]


def states(number, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return tuple(scale * rng.normal(size=(2, number, 3)))


SEED = np.random.default_rng(5)


def sizes(low, high, number=300):
    """Return numbers of both signs whose exponents are spread."""
    found = 10.0 ** SEED.uniform(low, high, number)
    return np.where(SEED.random(number) < 0.5, -found, found)


UNIT = np.concatenate([SEED.uniform(-1, 1, 500), 1 - 10.0 ** SEED.uniform(-16, 0, 200)])

EXP_ENDS = [709.782712893384, 709.7827128933841, -708.4, -745.1, -745.14, -746.0, 710.0]

FUNCTIONS = {
    "exp": (fn.exp, mpmath.exp, 1.0, [SEED.uniform(-745, 710, 900), sizes(-300, 0), EXP_ENDS]),
    "log": (fn.log, mpmath.log, 1.0, [np.abs(sizes(-323, 308, 900)), 1 + sizes(-15, -1), [-2.0]]),
    "tanh": (fn.tanh, mpmath.tanh, 2.5, [sizes(-308, 2, 900), [19.0, 21.9, 22.1, -25.0]]),
    "arctan": (fn.arctan, mpmath.atan, 1.0, [sizes(-308, 308, 900), [0.4375, 0.6875, 1.1875]]),
    "arcsin": (fn.arcsin, mpmath.asin, 2.0, [UNIT, -UNIT, sizes(-308, 0), [1.5, -1.0000001]]),
    "arccos": (fn.arccos, mpmath.acos, 2.0, [UNIT, -UNIT, sizes(-308, 0), [1.5, -1.0000001]]),
    "sin": (fn.sin, mpmath.sin, 1.5, []),
    "cos": (fn.cos, mpmath.cos, 1.5, []),
    "sqrt": (fn.sqrt, mpmath.sqrt, 0.501, [np.abs(sizes(-323, 308))]),
    "absolute": (fn.absolute, abs, 0.0, [sizes(-323, 308)]),
    "sign": (fn.sign, mpmath.sign, 0.0, [sizes(-323, 308)]),
}
"""The function, the oracle, the largest error in units in the last place, arguments."""
