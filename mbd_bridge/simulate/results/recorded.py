"""What follows from recorded states alike for one motion and for the motions of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from mbd_bridge.simulate.results.accelerations import Answer
from mbd_bridge.simulate.system import System
from mbd_bridge.spatial import Array


class Recorded:
    """States q (K, nq), v (K, nv), z (K, nz) at K records; of a batch (N, K, ...)."""

    q: Array
    _acting: tuple[Array, Array, Array]
    _dynamics: Answer

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process; what follows from it is computed there."""
        own: Any = self
        return {one.name: getattr(self, one.name) for one in fields(own)}

    @property
    def tau(self) -> Array:
        """Generalised forces (K, nv) that moved it, N m or N, of force elements on joints too.

        Those of external wrenches and of prescribed motions are not among them.
        """
        return self._acting[0]

    @property
    def a(self) -> Array:
        """Accelerations (K, nv)."""
        return self._dynamics.a

    @property
    def lam(self) -> Array:
        """Multipliers of the cut joints' rows (K, m), the smallest where they are not unique."""
        return self._dynamics.lam

    @property
    def recovered(self) -> Array:
        """Which records (K,) are so near a singular position that `a`, `lam` are interpolated."""
        found = self._dynamics.recovered
        return np.zeros(self.q.shape[:-1], dtype=bool) if found is None else found


def reported_outputs(
    system: System, reported: Mapping[str, Array] | None, time: Array, q: Array, v: Array
) -> dict[str, Array]:
    """Return functions of the state by name, called where the steps did not report them."""
    asked, found = system.outputs, dict[str, Array]()
    if asked is None or reported is None:
        return found
    there = np.isfinite(q).all(axis=-1)
    for name, function in asked.functions:
        values = reported[name].copy()
        for place in map(tuple, np.argwhere(there & np.isnan(values).any(axis=-1))):
            values[place] = function(float(time[place[-1]]), q[place], v[place])
        found[name] = values[..., 0] if values.shape[-1] == 1 else values
    return found
