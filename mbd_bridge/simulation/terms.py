"""The equations of motion of a system and their exact derivatives at one state, compiled.

    f = M a + h + Φ_qᵀ λ - τ         what the equations of motion leave (nv,)
    Φ, Φ̇ = Φ_q v, Φ̈ = Φ_q a - γ      of the rows that are kept: loops, then prescribed motions
    ż                                rates of the states of force elements

as functions of q, v, a, z, λ and u, the numbers that inputs hold. Derivatives by q are taken along
velocities: with q̇ = Q(q) v, a displacement δ (nv,) changes q by Q δ. Displaced from a motion
that goes on with v0, δ itself changes with

    δ̇ = δv + L δ,   Q L δ = ∂(Q v0)/∂q Q δ - ∂(Q δ)/∂q Q v0

where L is zero but for joints whose velocities are no rates of coordinates (quaternions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Kernel, jacobian
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.steps.runge_kutta import residuals
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.model_kernel import model_kernel

OUTPUTS = ("f", "phi", "phi_rate", "phi_acceleration", "q_rate", "z_rate")
BY = ("q", "v", "a", "z", "held")


class By(NamedTuple):
    """Derivatives of one value (n,) by displacements, v, a, z and what inputs hold: (n, ...)."""

    q: Array
    v: Array
    a: Array
    z: Array
    u: Array


@dataclass(frozen=True, eq=False)
class Values:
    """The equations at one state, and their derivatives.

    Attributes
    ----------
    f : (nv,); phi, phi_rate, phi_acceleration : (m,); z_rate : (nz,)
    f_by, phi_by, rate_by, acceleration_by, z_by : of these; f_by.a is M, rate_by.v is Φ_q, that of
        velocity rows too
    Q : (nq, nv)
    L : (nv, nv)
    """

    f: Array
    phi: Array
    phi_rate: Array
    phi_acceleration: Array
    z_rate: Array
    f_by: By
    phi_by: By
    rate_by: By
    acceleration_by: By
    z_by: By
    Q: Array
    L: Array


class Terms:
    """The equations of one trajectory of a system at one time, with derivatives.

    Parameters
    ----------
    rows : independent rows of the loops

    Attributes
    ----------
    positions : (m,) which of the rows that are kept constrain positions
    """

    def __init__(self, system: System, rows: tuple[int, ...], t: float = 0.0) -> None:
        if system.sampled:
            raise StateError(
                "Python functions (mbd.Sampled) cannot be differentiated; give forces as numbers, "
                "formulas or traceable functions"
            )
        self.system, self.rows, self.t = system, rows, t
        self.trajectory = Trajectory(system)
        prescribed = np.ones(len(system.prescribed), dtype=bool)
        own = ~system.model.velocity_rows[list(rows)]
        self.positions = np.concatenate([own, prescribed]).astype(bool)
        self._kernel = _kernel(system, rows)

    def derived(
        self, t: float, q: Array, v: Array, a: Array, z: Array, lam: Array
    ) -> tuple[tuple[Array, ...], tuple[By, ...]]:
        """Return `OUTPUTS` at a state and a time, and their derivatives; those by q are as such.

        They are by the nq coordinates, of which quaternions are displaced off their unit sphere.
        """
        time, held, now, *p = self.trajectory.now(t, q, v, z)
        ends = np.cumsum([len(q), len(v), len(v), len(z)])
        found = self._kernel(q, v, time[:1], held, now, a, z, lam, *p)
        values, derived = found[: len(OUTPUTS)], found[len(OUTPUTS) :]
        whole = int(ends[-1]) + len(held)
        by = (
            By(*np.split(x.reshape(len(y), whole), ends, axis=1))
            for x, y in zip(derived, values, strict=True)
        )
        return values, tuple(by)

    def __call__(self, q: Array, v: Array, a: Array, z: Array, lam: Array) -> Values:
        """Return the values at a state, with accelerations and multipliers of the rows kept."""
        nq, nv = len(q), len(v)
        values, (f, phi, rate, second, dq, dz) = self.derived(self.t, q, v, a, z, lam)
        Q, L = dq.v, np.zeros((nv, nv))
        if nq > nv:
            along = (self.derived(self.t, q, e, a, z, lam)[1] for e in np.eye(nv))
            turned = [by[OUTPUTS.index("q_rate")].q for by in along]
            carried = np.column_stack([change @ (Q @ v) for change in turned])
            L = np.linalg.pinv(Q) @ (dq.q @ Q - carried)
        f, phi, rate, second, dz = (one._replace(q=one.q @ Q) for one in (f, phi, rate, second, dz))
        left, left_phi, left_rate, left_second, _, z_rate = values
        return Values(
            left, left_phi, left_rate, left_second, z_rate, f, phi, rate, second, dz, Q, L
        )


def _kernel(system: System, rows: tuple[int, ...]) -> Kernel:
    held, _, instant = system.layout.sizes
    model, prescribed = system.model, list(system.prescribed_velocities)
    inputs = {"q": model.nq, "v": model.nv, "t": 1, "held": held, "now": instant}
    inputs |= {"a": model.nv, "z": system.nz, "lam": len(rows) + len(prescribed)}

    def traced(q: Array, v: Array, *rest: Array) -> tuple[Array, ...]:
        t, held, now, a, z, lam, *p = rest
        acts = Acting.at(system, system.machine(*p), held, now)
        own, motions = acts.model, acts.stage().motions
        forces = acts.residual(rows, t[0], q, v, z, a, lam)
        phi, rate, _ = residuals(own, rows, q, v, motions, t[0])
        second = np.zeros(0)
        if rows:
            found = constraints(own, state_vectors(own, q, v))
            second = found.phi_q[list(rows)] @ a - found.gamma[list(rows)]
        if motions is not None:
            second = np.concatenate([second, a[prescribed] - motions.at(t[0])[2]])
        dz = acts.rates(t[0], q, v, z) if system.nz else np.zeros(0)
        return forces, phi, rate, second, coordinate_rates(own, q, v), dz

    parameters = system.parameters
    if parameters is not None:
        inputs["p"] = parameters.size
    outputs = (*OUTPUTS, *(f"{name}_by" for name in OUTPUTS))
    derived = jacobian(traced, inputs, BY)
    return model_kernel(model, "linear_terms", inputs, outputs, derived, (rows, system))
