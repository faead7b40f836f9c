"""Smoothed motions of machines with loops: moved onto the loops, which noise leaves open.

Each state goes to the nearest one that closes the loops: positions first, then velocities and
accelerations with Φ_q v = 0 and Φ_q v̇ = γ. The coordinates thereby share what is known of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.model import Model
from mbd_bridge.solve.assembly import held_ones, weighted
from mbd_bridge.solve.closing import Closing
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.moves import difference, moved
from mbd_bridge.solve.row_choice import row_choice

if TYPE_CHECKING:
    from mbd_bridge.motion.motion import Motion

Floats = NDArray[np.float64]

Move = Callable[[Floats, Floats, Floats], tuple[Floats, ...]]
"""Returns states for states (N, n)."""
MOVED = "smoothed states are moved to the nearest ones that close the loops"


class OntoLoops:
    """Moves states of a machine with loops onto these."""

    def __init__(self, model: Model) -> None:
        self._kernel = kernel = prepare(model, "constraints")

        def constraints(q: Floats, v: Floats, numbers: NDArray[np.intp]) -> tuple[Floats, ...]:
            return kernel(q, v)

        self._model, self._scale = model, weighted(model, None)
        held = held_ones(model, ())
        self._closing = Closing(model, constraints, held, self._scale, row_choice(model))

    def __call__(self, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the nearest states (N, n) that close the loops."""
        q, _ = self._closing.position(np.array(q))
        _, phi_q, _ = self._kernel(q, v)
        v = self._closing.rates(phi_q, -np.einsum("nij,nj->ni", phi_q, v), v)
        _, phi_q, gamma = self._kernel(q, v)
        a = self._closing.rates(phi_q, gamma - np.einsum("nij,nj->ni", phi_q, a), a)
        return q, v, a

    def near(self, q: Floats, v: Floats, a: Floats) -> Move:
        """Return what moves states near to these (N, n), which close the loops, onto the loops.

        To first order: P = 1 - S B⁺ B S⁻¹ with B = Φ_q S, S the scale of the velocities. How the
        loops turn with a displacement of q does not enter, which is small beside the errors of
        the velocities themselves.
        """
        model, scale = self._model, self._scale
        _, phi_q, _ = self._kernel(q, v)
        B = phi_q * scale / model.row_scale[:, None]
        inside = np.linalg.pinv(B, rcond=model.rank_tolerance) @ B
        project = np.eye(model.nv) - scale[:, None] * inside / scale

        def moved_near(q_off: Floats, v_off: Floats, a_off: Floats) -> tuple[Floats, ...]:
            ways = difference(model, q, q_off), v_off - v, a_off - a
            first, second, third = (np.einsum("nij,nj->ni", project, way) for way in ways)
            return moved(model, q, first), v + second, a + third

        return moved_near


def onto_loops(motion: Motion) -> Motion:
    """Return a motion that was smoothed on the loops of its model, if this has any."""
    model = motion.model
    if motion.uncertainty is None or model is None or not model.has_loops:
        return motion
    q, v, a = OntoLoops(model)(motion.q, motion.v, motion.a)
    said = Assumption("smoothing", MOVED)
    return replace(
        motion, q=q, v=v, a=a, notes=(*motion.notes, MOVED), assumed=(*motion.assumed, said)
    )
