"""KimYoo97 as printed: positions and *independent velocities* are integrated, (4.7) to (5.2).

    q' = I_R b + N z',    N^T M N z'' = N^T (g - M I_R a)

The package integrates all velocities by default, and with coordinates="independent" a corrected
form; so this one is kept here, to see what the paper's figures show. Two ways to have N:

- projected (the paper's): N = P_N P_T, with P_T the N of the last step, z' goes on unchanged;
- held (QR, Kim and Vanderploeg 1986): [Phi_q; D^T] [I_R N] = 1 with D held until less than 95 % of
  the velocity is left in it; then D and z' are made anew and the integrator starts again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.simulation.reference.integrators import AdamsBashforthMoulton
from mbd_bridge.simulation.reference.methods import ReferenceEquations
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.steps.runge_kutta import Torque, normalised
from mbd_bridge.solve.bases import HeldBasis, ProjectionBasis, SvdBasis


@dataclass
class Steps:
    """What happened: ends of steps, what was left open; records of time, q and v."""

    time: list[float] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    records: list[tuple[float, np.ndarray, np.ndarray]] = field(default_factory=list)
    restarts: int = 0
    rejected: int = 0

    def sizes(self, start: float) -> np.ndarray:
        """Return the lengths of the steps, s."""
        return np.diff(self.time, prepend=start)


class Independent:
    """The equations in q and z' with one of the two bases."""

    def __init__(
        self, system: ReferenceEquations, projected: bool, corrected: bool, complete: bool
    ) -> None:
        self.system, self.corrected, self.complete = system, corrected, complete
        self.basis: Any = ProjectionBasis() if projected else SvdBasis()
        self.held: HeldBasis = self.basis.init(np.zeros((0, system.model.nv)))
        self.steps = Steps()
        self.changed = False

    def start(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        """Return y = (q, z')."""
        phi_q = self.system.residual(q, v, t).phi_q
        self.held = self.basis.init(phi_q)
        return np.concatenate([q, self._independent(q, v, t)])

    def velocity(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return v: (4.7)."""
        q, z = self._split(y)
        still = self.system.residual(q, np.zeros(self.system.model.nv), t)
        N, right = self.basis.at(self.held, still.phi_q)
        b = -still.rate[list(self.held.rows)]
        return np.asarray(self.system.scale * (right @ b + N @ z))

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return (q', z''): (4.13)."""
        q, _ = self._split(y)
        v = self.velocity(t, y)
        M, Q, phi_q, gamma = self.system.terms(q, v, t)
        N, right = self.basis.at(self.held, phi_q)
        particular = right @ gamma[list(self.held.rows)]
        z = np.linalg.solve(N.T @ M @ N, N.T @ (Q - M @ particular))
        if self.complete:
            z = z - np.linalg.lstsq(N, self._omitted(q, v, t), rcond=None)[0]
        return np.concatenate([coordinate_rates(self.system.model, q, v), z])

    def _omitted(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        """Return what (4.8) leaves out where b is not zero: P_N Phi_q'^T (Phi_q Phi_q^T)^-1 b.

        The paper has I_R' = -I_R Phi_q' I_R; that is the part of it in the range of Phi_q^T.
        """
        rows, model, ahead = list(self.held.rows), self.system.model, 1e-5
        residual = self.system.residual(q, np.zeros(len(v)), t)
        J = residual.phi_q[rows]
        moved = [model.integrate(q, d * v) for d in (ahead, -ahead)]
        J1, J0 = (self.system.residual(there, v, t).phi_q[rows] for there in moved)
        right = ((J1 - J0) / (2 * ahead)).T @ np.linalg.solve(J @ J.T, -residual.rate[rows])
        return np.asarray(right - J.T @ np.linalg.solve(J @ J.T, J @ right))

    def settle(self, t: float, y: np.ndarray) -> np.ndarray:
        """Correct the position, (5.1), and renew the basis."""
        model, scale = self.system.model, self.system.scale
        q, z = self._split(y)
        q = normalised(model, q)
        still = np.zeros(model.nv)
        phi, _, phi_q = self.system.residual(q, still, t)
        self.steps.left.append(float(np.abs(phi).max()))
        self.steps.time.append(t)
        for _ in range(4 if self.corrected else 0):
            right = self.basis.at(self.held, phi_q).right
            q = model.integrate(q, -scale * (right @ phi[list(self.held.rows)]))
            phi, _, phi_q = self.system.residual(q, still, t)
        v = self.velocity(t, np.concatenate([q, z]))
        before = self.held.decompositions
        self.held = self.basis.renew(self.held, phi_q, v / scale)
        self.changed = self.held.decompositions > before
        if self.changed:
            z = self._independent(q, v, t)
        return np.concatenate([q, z])

    def _independent(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        """Return the z' that gives v."""
        residual = self.system.residual(q, np.zeros(len(v)), t)
        N, right = self.basis.at(self.held, residual.phi_q)
        rest = v / self.system.scale + right @ residual.rate[list(self.held.rows)]
        return np.asarray(np.linalg.lstsq(N, rest, rcond=None)[0])

    def _split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y[: self.system.model.nq], y[self.system.model.nq :]


def simulate(
    model: Any,
    state: tuple[np.ndarray, np.ndarray],
    span: tuple[float, float],
    longest: float,
    *,
    forces: Torque | None = None,
    motions: PrescribedMotions | None = None,
    projected: bool = True,
    corrected: bool = True,
    complete: bool = False,
    tolerance: float = 1e-8,
) -> Steps:
    """Return a motion by Adams-Bashforth-Moulton with steps of at most `longest` seconds."""
    form = Independent(ReferenceEquations(model, forces, motions), projected, corrected, complete)
    y, t = form.start(*state, span[0]), span[0]
    steps = form.steps
    way = AdamsBashforthMoulton(form.rate, form.settle, tolerance)
    count = round((span[1] - span[0]) / longest)
    steps.records.append((t, *state))
    for k in range(count):
        end = span[0] + (k + 1) * longest
        if form.changed:  # the rates that it remembers are in another basis
            steps.restarts, form.changed = steps.restarts + 1, False
            way.forget()
        y = way.advance(t, y, end)
        t = end
        steps.records.append((t, y[: model.nq], form.velocity(t, y)))
    steps.rejected = way.rejected
    return steps
