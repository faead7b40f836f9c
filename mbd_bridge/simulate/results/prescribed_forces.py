"""The forces that prescribed motions take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.named import Named
from mbd_bridge.spatial import Array


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
