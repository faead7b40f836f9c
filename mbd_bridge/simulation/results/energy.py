"""The energy of a mechanism, compiled (see `equations.energy`)."""

from __future__ import annotations

import numpy as np

from mbd_bridge.equations.energy import energies_of
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.model_kernel import variants_kernel


def energy_kernel(model: Model, parameters: Parameters | None = None) -> Kernel:
    """Return the kernel of the energy and of its potential part, (1,) J each, at q and v, and of a
    variant's parameters.
    """
    inputs, outputs = {"q": model.nq, "v": model.nv}, ("energy", "potential")
    name = "energy"
    return variants_kernel(model, parameters, name, inputs, outputs, _energy_of, name)


def _energy_of(model: Model) -> Traceable:
    def energy(q: Array, v: Array) -> tuple[Array, ...]:
        whole, still = np.empty(1, dtype=object), np.empty(1, dtype=object)
        kinetic, still[0] = energies_of(model, q, v)
        whole[0] = kinetic + still[0]
        return whole, still

    return energy
