"""Runge-Kutta steps with one matrix each, that of their start: Lee94 (22), (26), (29), (30).

    [M  Φ_qᵀ] [Δq̈]       [M q̈ + h + Φ_qᵀ λ - τ]
    [Φ_q   0 ] [Δλ] = -  [Φ_q q̈ - γ            ]        right at a stage, left at the start

Its factors serve the accelerations of all later stages and put the end onto the loops. What is on
the right comes from the recursion, so that M is formed once a step. Each correction leaves a part
of the order of h of what it finds.

Where a stage begins: of (q̈, λ) = x its guess is x1, x2, 2 x3 - x1 for the second, third and fourth
stage, and what that lacked in the step before, which is the memory. So it lacks h², h³ and h³; two,
one and one corrections leave h⁴, and the step has its order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from mbd_bridge.kernels.tracing import shared
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.acts import Acting, Numbers
from mbd_bridge.simulation.steps.runge_kutta import After, Correct, Slope, slopes
from mbd_bridge.simulation.steps.schemes import KeptMatrix
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.closed import Closed, NearbyFactors
from mbd_bridge.solve.tolerances import CORRECTED, STEP_RISK, UNCLOSED_RISK

Sloped: TypeAlias = tuple[Array, Closed, Any, Array]
"""What a slope returns: q̇, the acceleration, the power, ż."""

OPEN = STEP_RISK / (UNCLOSED_RISK * CORRECTED**2)
"""What is left of accelerations, by what is left of the loops: both count as risk."""

GUESSES = ((1.0, 0.0), (0.0, 1.0), (-1.0, 2.0))
"""Shares of the first and of the last acceleration in the guess of a later stage."""


class KeptMatrixMemory:
    """What such steps keep: how many matrices there have been, what the guesses lacked.

    Attributes
    ----------
    size : numbers of the memory
    """

    def __init__(self, system: System, rows: Sequence[int], scheme: KeptMatrix) -> None:
        self.system, self.rows, self.scheme = system, tuple(rows), scheme
        self._unknown = system.model.nv + len(rows) + len(system.prescribed_velocities)
        self.size = 1 + len(GUESSES) * self._unknown

    def start(self, acting: Acting, q: Array) -> Array:
        """Return the memory of a motion that begins: nothing is known."""
        return np.zeros(self.size)

    def first(self, start: Array, before: Array | None = None) -> Array:
        """Return memories (..., size) of motions that begin, or go on."""
        out = np.array(start)
        if before is not None:
            out[..., 0] = before[0]
        return out

    def slopes(
        self, exact: Callable[..., Any], at: Sequence[Numbers], memory: Array, h: Array
    ) -> tuple[tuple[Slope, Slope, Slope], Callable[[Correct], Correct], After]:
        """Return the slopes of one step, what its corrections are made to, its memory at the end.

        They keep what came before, so they are to be called in the order of the stages.
        """
        lacked = memory[1:].reshape(len(GUESSES), self._unknown)
        first = self.scheme.corrections
        two, later = (shared(partial(self._corrected, n)) for n in (first, max(first - 1, 1)))
        near: list[Closed] = []
        known: list[Array] = []
        lacks: list[Array] = []
        moved: list[Any] = []

        def start(*state: Any) -> Sloped:
            found: Sloped = exact(at[0], *state)
            near.append(found[1])
            known.append(np.concatenate([found[1].a, found[1].lam]))
            return found

        def following(numbers: Numbers, *state: Any) -> Sloped:
            k = len(lacks)
            one, last = GUESSES[k]
            guess = one * known[0] + last * known[-1]
            corrected = later if k else two
            dq, found, *more = corrected(near[0], guess + lacked[k], h[0] * h[0], numbers, *state)
            known.append(np.concatenate([found.a, found.lam]))
            lacks.append(known[-1] - guess)
            moved.append(found.risk)
            return dq, found._replace(risk=near[0].risk), *more

        def after(*_: Any) -> Array:
            return np.concatenate([memory[:1] + 1.0, *lacks])

        def judged(correct: Correct) -> Correct:
            def more(*state: Any) -> tuple[Array, Array, Any, Any]:
                q, v, left, went = correct(*state)
                return q, v, left + sum(moved) * OPEN, went

            return more

        return (start, partial(following, at[1]), partial(following, at[2])), judged, after

    def _corrected(
        self, times: int, near: Closed, guess: Array, reach: Any, numbers: Numbers, *state: Any
    ) -> Sloped:
        acting = numbers.acting(self.system)
        solve = NearbyFactors(near, guess, reach, times).acceleration
        return slopes(acting.model, self.rows, *acting.stage(), solve)(*state)
