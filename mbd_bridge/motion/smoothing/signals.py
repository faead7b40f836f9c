"""The signals of a joint that are smoothed, one beside another, and its motion made of them.

A joint with one number for each degree of freedom has its coordinates. A rotation is the four parts
u of its quaternion (with signs that follow each other), smoothed alike; the smoothed u is no longer
of unit length, and the rotation is s = u / |u|, with ω in the child's axes

    ω = 2 vec(s̄ ⊗ u̇) / |u|,    ω̇ = 2 vec(s̄ ⊗ ü) / |u| - 2 (s·u̇) / |u| ω.

A free body's position p is smoothed in its parent's axes: v = Rᵀ ṗ, v̇ = Rᵀ p̈ - ω × v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.model import JointType
from mbd_bridge.motion.quaternions import in_child, in_parent, near_signs, product, vector_part
from mbd_bridge.motion.smoothing.basis import Floats
from mbd_bridge.motion.smoothing.noise import Flags
from mbd_bridge.motion.smoothing.rows import measured_rows


def _not_looked_for() -> Flags:
    return np.zeros(0, dtype=bool)


@dataclass(frozen=True, eq=False)
class Signal:
    """Numbers of a joint that are smoothed alike.

    Attributes
    ----------
    kind : "plain", "along" or "turn"
    axis : which degree of freedom ("plain", "along"); 0 of a rotation
    values : (N, 1), or (N, 4) of a rotation
    rates : likewise, measured, or None
    copied, glitch : (N,) which rows were not measured; (0,) before `measured` looked for them
    """

    kind: str
    axis: int
    values: Floats
    rates: Floats | None
    copied: Flags = field(default_factory=_not_looked_for)
    glitch: Flags = field(default_factory=_not_looked_for)

    def measured(self, time: Floats) -> Signal:
        """Return it with the rows that were not measured, which are looked for only once."""
        if len(self.copied):
            return self
        copied, glitch = measured_rows(time, self.values)
        return replace(self, copied=copied, glitch=glitch)

    def rows(self, rows: NDArray[np.bool_] | slice) -> Signal:
        """Return some of the rows."""
        rates = None if self.rates is None else self.rates[rows]
        copied, glitch = (x[rows] if len(x) else x for x in (self.copied, self.glitch))
        return replace(self, values=self.values[rows], rates=rates, copied=copied, glitch=glitch)

    @property
    def freedom(self) -> int:
        """Numbers that the values really are."""
        return 3 if self.kind == "turn" else 1

    @property
    def angle(self) -> float:
        """What a number of a rotation counts as an angle: s changes by half of it."""
        return 2.0 if self.kind == "turn" else 1.0


Derivatives = tuple[Floats, Floats, Floats]
"""A signal, and its first and second derivative, each shaped as `Signal.values`."""


def signals_of(kind: JointType, q: Floats, v: Floats | None) -> list[Signal]:
    """Return the signals of a joint from its coordinates (N, nq) and, measured, velocities."""
    if kind.nq == kind.nv:
        return [
            Signal("plain", k, q[:, k : k + 1], None if v is None else v[:, k : k + 1])
            for k in range(kind.nq)
        ]
    s = q[:, -4:] * near_signs(q[:, -4:])[:, None]
    rates = None
    if v is not None:
        omega = np.column_stack([v[:, -3:], np.zeros(len(v))])
        rates = 0.5 * product(s, omega)
    turn = Signal("turn", 0, s, rates)
    if kind.nq == 4:
        return [turn]
    along = None if v is None else in_parent(s, v[:, :3])
    places = [
        Signal("along", k, q[:, k : k + 1], None if along is None else along[:, k : k + 1])
        for k in range(3)
    ]
    return [*places, turn]


def motion_of(kind: JointType, parts: Sequence[Derivatives]) -> Derivatives:
    """Return q (N, nq), v and a (N, nv) of a joint from its signals."""
    if kind.nq == kind.nv:
        q, v, a = (np.hstack([part[order] for part in parts]) for order in range(3))
        return q, v, a
    u, first, second = parts[-1]
    length = np.linalg.norm(u, axis=1)[:, None]
    s = u / length
    omega = 2.0 * vector_part(s, first) / length
    growth = np.sum(s * first, axis=1)[:, None] / length
    omega_rate = 2.0 * vector_part(s, second) / length - 2.0 * growth * omega
    if kind.nq == 4:
        return s, omega, omega_rate
    p, along, along_rate = (np.hstack([part[order] for part in parts[:3]]) for order in range(3))
    v = in_child(s, along)
    v_rate = in_child(s, along_rate) - np.cross(omega, v)
    return np.hstack([p, s]), np.hstack([v, omega]), np.hstack([v_rate, omega_rate])
