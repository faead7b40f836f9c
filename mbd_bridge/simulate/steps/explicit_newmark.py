"""One step of explicit Newmark, β = 0, γ = 1/2, as Cho09 compares it with the implicit one.

    q' = q ⊕ (h v + h²/2 q̈),   q̈', ż' at (q', v + h q̈, z + h ż)
    v' = v + h/2 (q̈ + q̈'),     z' = z + h/2 (ż + ż')

The end is put onto the constraints as that of a Runge-Kutta step, with the factors of q̈'. What it
hands on, its memory, is q̈ and ż, and the power P of what acts, for the work h (P + P') / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbd_bridge.simulate.acting import Acting
from mbd_bridge.simulate.steps.implicit import moved
from mbd_bridge.simulate.steps.memory import Begin, Memory
from mbd_bridge.simulate.steps.runge_kutta import corrections, projected, slopes
from mbd_bridge.simulate.system import System
from mbd_bridge.solve.tolerances import UNCLOSED_RISK
from mbd_bridge.spatial import Array, zeros


class ExplicitNewmarkStep:
    """One step of a system by explicit Newmark.

    Parameters
    ----------
    rows : independent rows of the loops
    """

    def __init__(self, system: System, rows: Sequence[int]) -> None:
        self.system, self.rows = system, tuple(rows)
        self.memory = Memory(system.model.nv + system.nz, True, 0, 1)

    def start(self, acting: Acting, q: Array, v: Array, t: Any, z: Array) -> Array:
        """Return the memory of a motion that begins at a state."""
        _, found, power, dz = slopes(acting.model, self.rows, *acting.stage())(q, v, t, z)
        return self._memory(np.concatenate([found.a, dz]), power)

    def __call__(self, begin: Begin) -> tuple[Array, Array, Array, Array, Any, Array]:
        """Return q', v', z', the memory, the work of the step, J, and its risks (3,).

        Risks : of being near a singular position, of having come off the loops; the square of what
        the first correction took back.
        """
        acting, nv = begin.acting(self.system), self.system.model.nv
        model, stage, h = acting.model, acting.stage(), begin.h[0]
        a = self.memory.acceleration(begin.memory)
        q = moved(model, begin.q, h * begin.v + (0.5 * h * h) * a[:nv])
        far = h * a
        _, found, power, dz = slopes(model, self.rows, *stage)(
            q, begin.v + far[:nv], begin.t[0], begin.z + far[nv:]
        )
        after = np.concatenate([found.a, dz])
        change = (0.5 * h) * (a + after)
        v, correct = begin.v + change[:nv], corrections(model, self.rows, stage.motions)
        q, v, left, strayed = projected(correct, q, v, begin.t[0], found)
        work = (0.5 * h) * (self.memory.force(begin.memory)[0] + power)
        risks = zeros(3, begin.q, begin.v)
        risks[0], risks[1], risks[2] = found.risk, left * UNCLOSED_RISK, strayed
        return q, v, begin.z + change[nv:], self._memory(after, power), work, risks

    def _memory(self, a: Array, power: Any) -> Array:
        last = zeros(1, a)
        last[0] = power
        return self.memory.packed(a, a, np.zeros(0), last)
