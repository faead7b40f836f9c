"""What follows from recorded states alike for one motion and for the motions of a batch.

The forces that prescribed motions take.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.named import Named
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.results.accelerations import Answer
from mbd_bridge.simulation.system import System


@dataclass(frozen=True, eq=False)
class PrescribedForces(Named[Array], entries="prescribed coordinate"):
    """Forces along prescribed coordinates: N m or N, positive along the coordinate.

    Attributes
    ----------
    coordinates : names
    force : (K, D), of a batch (N, K, D)
    """

    coordinates: tuple[str, ...]
    force: Array

    @property
    def names(self) -> tuple[str, ...]:
        """The prescribed coordinates."""
        return self.coordinates

    def _entry(self, name: str) -> Array:
        return np.asarray(self.force[..., self.names.index(name)])


class Recorded:
    """States q (K, nq), v (K, nv), z (K, nz) at K records; of a batch (N, K, ...), as all below."""

    time: Array
    q: Array
    v: Array
    z: Array
    reported: dict[str, Array] | None
    _acting: tuple[Array, Array, Array]
    _dynamics: Answer

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process; what follows from it is computed there."""
        own: Any = self
        return {one.name: getattr(self, one.name) for one in fields(own)}

    if TYPE_CHECKING:

        @property
        def system(self) -> System:
            """What was integrated."""

    @property
    def states(self) -> dict[str, Array]:
        """States z of force elements by name, "element.state", (K,) each."""
        return self.system.states.by_name(self.z)

    @property
    def external(self) -> dict[str, Array]:
        """External wrenches by link, (K, 6) N and N m at the link's origin, in the link's axes."""
        parts, wrenches = self.system.external_links.items(), self._acting[1]
        return {name: wrenches[..., k, :].sum(axis=-2) for name, k in parts}

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
    def prescribed_forces(self) -> PrescribedForces:
        """Forces (K,) N m or N that the prescribed motions take, by coordinate, beside `tau`."""
        names = tuple(part.name for part in self.system.prescribed)
        return PrescribedForces(names, self._dynamics.prescribed_forces)

    @cached_property
    def outputs(self) -> dict[str, Array]:
        """Functions that were asked for with ``outputs=``, (K,) or (K, n), by name.

        They are called where the steps did not report them.
        """
        asked, found = self.system.outputs, dict[str, Array]()
        if asked is None or self.reported is None:
            return found
        there = np.isfinite(self.q).all(axis=-1)
        for name, function in asked.functions:
            values = self.reported[name].copy()
            for place in map(tuple, np.argwhere(there & np.isnan(values).any(axis=-1))):
                values[place] = function(float(self.time[place[-1]]), self.q[place], self.v[place])
            found[name] = values[..., 0] if values.shape[-1] == 1 else values
        return found

    @property
    def recovered(self) -> Array:
        """Which records (K,) are so near a singular position that `a`, `lam` are interpolated."""
        found = self._dynamics.recovered
        return np.zeros(self.q.shape[:-1], dtype=bool) if found is None else found
