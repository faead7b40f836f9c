"""Functions to compile, and what they give in plain floats."""

import numpy as np

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
