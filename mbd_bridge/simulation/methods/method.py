"""What a method promises to an integrator: accelerations, and the way back onto the constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.tolerances import STEP_RISK

CORRECTIONS = 8
"""Corrections after which a step is given up."""


def stays_open(phi: Array) -> SolveError:
    """Return the error of a step whose corrections leave Φ, without dimension, open."""
    return SolveError(
        f"loops or prescribed motions stay open by {np.abs(phi).max():.3g} of the mechanism's "
        f"size after "
        f"{CORRECTIONS} corrections: it cannot go there, or the step is too long"
    )


class Method(ABC):
    """One of the roads to the motion of a constrained mechanism, state by state.

    Attributes
    ----------
    most_strayed : risk of having come off its branch below which a fixed step is taken
    """

    most_strayed = STEP_RISK

    @abstractmethod
    def init(self, q: Array, v: Array, t: float) -> None:
        """Prepare for a motion that starts here."""

    @abstractmethod
    def acceleration(self, q: Array, v: Array, t: float, z: Array = NO_STATES) -> Array:
        """Return q̈ (nv,); z are states of force elements."""

    @abstractmethod
    def settle(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return the state put onto the constraints, and renew what is kept for it.

        Raises
        ------
        SolveError
            It cannot be: the step was too long, or the mechanism cannot go there.
        """

    @abstractmethod
    def facts(self) -> dict[str, int]:
        """Return what was counted."""
