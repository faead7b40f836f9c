"""Energies that force elements store and lose, as they state them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd_bridge.forces.states import effect_at
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.kernel import Forces, system_kernel
from mbd_bridge.simulation.system import System


def stored_energies(
    system: System, time: Array, states: Sequence[Array], p: Array | None
) -> tuple[Array, Array]:
    """Return Σ U (K,), J, and D (K, n), W, of the n elements whose energies count.

    Parameters
    ----------
    time, states : (K,); q, v, z (K, ...)
    p : parameters (P,) of one trajectory, or (K, P)
    """
    q, v, z = states
    kernel = _kernel(system)
    more = [] if p is None else [np.broadcast_to(p, (len(time), np.shape(p)[-1]))]
    stored, lost = kernel(q, v, np.column_stack([time, z]), *more)
    return stored[:, 0], lost


def _kernel(system: System) -> Kernel:
    members = [one for one in system.members if one.passive]
    told = [(one.identity, one.states) for one in members]
    identity = None if None in (one.identity for one in members) else f"stored {told}"

    def of(own: Model, forces: Forces) -> Traceable:
        def report(q: Array, v: Array, t: Array) -> tuple[Array, ...]:
            energy, lost = zeros(1, q, v, t), zeros(len(members), q, v, t)
            for k, one in enumerate(members):
                effect = effect_at(forces[one.number], one.states, own, t[0], q, v, t[1:])
                energy[0] = energy[0] + effect.energy
                lost[k] = effect.dissipation
            return energy, lost

        return report

    inputs = {"q": system.model.nq, "v": system.model.nv, "t": 1 + system.nz}
    return system_kernel(system, of, inputs, ("energy", "lost"), "stored", identity)
