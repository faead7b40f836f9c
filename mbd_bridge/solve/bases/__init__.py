"""Bases of the velocities that constraints allow, kept from step to step.

To add one: a file with one final class that derives from `NullSpace`, and its name in `BASES`.
"""

from mbd_bridge.solve.bases.base import Held, NullSpace
from mbd_bridge.solve.bases.projection import ProjectionBasis
from mbd_bridge.solve.bases.qr import QrBasis
from mbd_bridge.solve.bases.svd import SvdBasis

BASES: dict[str, NullSpace] = {
    "svd": SvdBasis(),
    "qr": QrBasis(),
    "projection-reference": ProjectionBasis(),
}
"""Name of the method -> how its basis is made and kept."""

__all__ = ["BASES", "Held", "NullSpace", "ProjectionBasis", "QrBasis", "SvdBasis"]
