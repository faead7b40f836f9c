"""What is counted along a motion beside the loads' own statistics."""

from __future__ import annotations

from typing import Any, Protocol

from mbd_bridge.base.assumptions import Assumptions
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.motion.motion import Motion

EXPONENTS = (3.0, 5.0, 10.0)
"""Woehler exponents unless others are asked for: welded steel, machined steel, composites."""


class Observer(Protocol):
    """Sees a motion and the loads along it piece by piece, and has a result in the end.

    The result's `assumed` are among the assumptions that `assume` returns.
    """

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""

    def result(self) -> Any:
        """Return what came of the pieces so far."""

    def assume(self, known: Assumptions) -> Assumptions:
        """Return the assumptions of the loads with those of the result."""
