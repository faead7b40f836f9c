"""The forces that prescribed motions take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.errors import StateError, unknown_name
from mbd_bridge.spatial import Array


@dataclass(frozen=True, eq=False)
class PrescribedForces:
    """Forces along prescribed coordinates: N m or N, positive along the coordinate.

    Attributes
    ----------
    names : of the coordinates
    force : (K, D)
    """

    names: tuple[str, ...]
    force: Array

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise StateError(unknown_name("prescribed coordinate", name, self.names))
        return np.asarray(self.force[:, self.names.index(name)])
