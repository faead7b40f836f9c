"""Accelerations, multipliers and forces of prescribed motions at states of a motion.

    [M Φ_qᵀ Eᵀ; Φ_q 0 0; E 0 0] [q̈; λ; λ_d] = [τ - h; γ; f''(t)]           Lee94 (22)

E picks the prescribed velocities. The forces of prescribed motions are -λ_d.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.singular.near import NearSingular
from mbd_bridge.solve import prepare
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.closed_forward import ClosedForward


class Answer(NamedTuple):
    """Accelerations (K, nv), multipliers of the cuts (K, m), forces of the prescribed motions (K,
    D).

    Attributes
    ----------
    recovered : (K,) which were taken from both sides of a singular position; None for none
    """

    a: Array
    lam: Array
    prescribed_forces: Array
    recovered: Array | None = None


class Accelerations:
    """Dynamics of one model with its prescribed motions; redundant rows are allowed.

    Multipliers of redundant rows are the smallest that give the motion. A tree without prescribed
    motions is solved as a tree; one with prescribed motions in one kernel, in which no row can
    depend on another.
    """

    def __init__(self, model: Model, prescribed_velocities: tuple[int, ...] = ()) -> None:
        self.model, self.prescribed_velocities = model, prescribed_velocities
        self._prescribed_kernel: Kernel | None = None
        if model.has_loops:
            self._closed = ClosedForward(model, prescribed_velocities=prescribed_velocities)
            self._near = NearSingular(model, prescribed_velocities)
        elif prescribed_velocities:
            self._prescribed_kernel = _make_prescribed_kernel(model, prescribed_velocities)

    def prepare(self) -> None:
        """Compile what answers need, near singular positions too."""
        if self.model.has_loops:
            self._closed.prepare()
            prepare(self.model, "inverse_dynamics")
        elif self._prescribed_kernel is None:
            prepare(self.model, "forward_dynamics")

    def __call__(
        self,
        q: Array,
        v: Array,
        tau: Array,
        prescribed: Array | None = None,
        records: int | None = None,
    ) -> Answer:
        """Return the answer at K states: q (K, nq), v, tau (K, nv).

        Parameters
        ----------
        prescribed : (K, D) accelerations of the prescribed motions
        records : of the motion that these states are some of; None if they are all
        """
        none = np.zeros((len(q), 0))
        wanted = [] if prescribed is None or not self.prescribed_velocities else [prescribed]
        if self.model.has_loops:

            def solve(records: Array, places: Array, rates: Array) -> tuple[Array, Array]:
                given = (x[records] for x in (tau, *wanted))
                return self._closed(places, rates, *given, check=False)

            a, lam = solve(np.arange(len(q)), q, v)
            recovered = self._near.mend(solve, tau, q, v, a, lam, records)
            cut = len(self.model.row_scale)
            return Answer(a, lam[:, :cut], -lam[:, cut:], recovered)
        if self._prescribed_kernel is None:
            a, _ = prepare(self.model, "forward_dynamics")(q, v, tau)
            return Answer(a, none, none)
        a, lam = self._prescribed_kernel(q, v, tau, *wanted)
        return Answer(a, none, -lam)


def _make_prescribed_kernel(model: Model, prescribed_velocities: tuple[int, ...]) -> Kernel:
    def function(q: Array, v: Array, tau: Array, wanted: Array) -> tuple[Array, ...]:
        found = closed_acceleration(model, (), q, v, tau, prescribed_velocities, wanted)
        return found.a, found.lam

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv, "wanted": len(prescribed_velocities)}
    return compile_kernel(function, inputs, outputs=("a", "lam"), name="prescribed_dynamics")
