"""The energy of a mechanism, compiled (see `equations.energy`)."""

from __future__ import annotations

import numpy as np

from mbd_bridge.equations.energy import energies_of
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.solve.variants import KernelRequest
from mbd_bridge.spatial import Array


def energy_kernel(model: Model, parameters: Parameters | None = None) -> Kernel:
    """Return the kernel of the energy (1,) J at q and v, and of a variant's parameters."""
    inputs = {"q": model.nq, "v": model.nv}
    return KernelRequest(_energy_of, inputs, ("energy",), "energy", "energy").kernel(
        model, parameters
    )


def _energy_of(model: Model) -> Traceable:
    def energy(q: Array, v: Array) -> tuple[Array, ...]:
        out = np.empty(1, dtype=object)
        kinetic, potential = energies_of(model, q, v)
        out[0] = kinetic + potential
        return (out,)

    return energy
