"""The turning points of a signal: all that cycle counting needs of it, taken in piece by piece."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import StateError

Floats = NDArray[np.float64]


class TurningPoints:
    """Peaks and valleys of a signal that comes in pieces.

    The first and the last sample are turning points too, as in ASTM E1049-85. What comes out does
    not depend on where the pieces are cut.
    """

    def __init__(self) -> None:
        # The last turning point that is sure, and the last sample: it may become one.
        self._held = np.zeros(0)

    def add(self, values: Floats) -> Floats:
        """Take in samples (N,); return the turning points that have become sure with them."""
        values = signal(values)
        if not len(values):
            return values
        known = np.concatenate([self._held, values])
        moves = np.concatenate([[True], known[1:] != known[:-1]])
        known = known[moves]
        rises = known[1:] > known[:-1]
        turns = np.flatnonzero(rises[1:] != rises[:-1]) + 1
        first = known[:1] if not len(self._held) else known[:0]
        last_sure = known[turns[-1]] if len(turns) else known[0]
        self._held = np.array([last_sure, known[-1]])
        return np.concatenate([first, known[turns]])

    def last(self) -> Floats:
        """Return the last sample (1,), which ends the signal; none if it never moved."""
        held = self._held
        return held[1:] if len(held) and held[0] != held[1] else held[:0]


def signal(values: object) -> Floats:
    """Return samples (N,) as numbers, all of them finite.

    Raises
    ------
    StateError
        if they are no row of finite numbers; the first bad one is named
    """
    try:
        samples = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"expected a row of numbers, got {type(values).__name__}") from None
    if samples.ndim != 1:
        raise StateError(f"expected samples (N,), one signal, got the shape {samples.shape}")
    bad = np.flatnonzero(~np.isfinite(samples))
    if len(bad):
        raise StateError(
            f"expected finite samples, got {samples[bad[0]]} as sample {bad[0]} "
            f"({len(bad)} of {len(samples)} are not finite): cycles across a gap mean nothing; "
            f"fill it, or count the parts apart"
        )
    return samples
