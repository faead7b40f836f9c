"""Accelerations, multipliers and driving forces of the states of a batch, in one kernel.

Independent rows of all rows (drives among them) give q̈ and their multipliers (`closed`), which are
then spread over all (`smallest`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.simulate.given.motions import PrescribedMotions
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.smallest import spread
from mbd_bridge.solve.variants import Wanted
from mbd_bridge.spatial import Array, zeros


def dynamics_kernel(
    model: Model,
    rows: tuple[int, ...],
    motions: PrescribedMotions | None,
    parameters: Parameters | None = None,
) -> Kernel:
    """Return the kernel (q, v, tau, wanted) -> (a, lam, drive, risk), and of parameters.

    ``wanted`` are the accelerations of the prescribed motions.
    """
    driven = () if motions is None else motions.v

    def answer_of(own: Model) -> Traceable:
        def answer(q: Array, v: Array, tau: Array, wanted: Array) -> tuple[Array, ...]:
            found = closed_acceleration(own, rows, q, v, tau, driven, wanted)
            lam = _smallest(own, rows, driven, q, v, found.lam)
            risk = zeros(1, q)
            risk[0] = found.risk
            cut = len(own.row_scale)
            return found.a, lam[:cut], -lam[cut:], risk

        return answer

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv, "wanted": len(driven)}
    outputs = ("a", "lam", "drive", "risk")
    what = f"batch dynamics {rows} {driven}"
    return Wanted(answer_of, inputs, outputs, "batch_dynamics", what).kernel(model, parameters)


def _smallest(
    model: Model, rows: Sequence[int], driven: Sequence[int], q: Array, v: Array, chosen: Array
) -> Array:
    """Return the smallest multipliers of all rows for those of the independent ones."""
    own = np.eye(model.nv)[list(driven)]
    scale = np.concatenate([model.row_scale, model.velocity_scale[list(driven)]])
    cut = len(model.row_scale)
    phi_q = own
    if cut:
        found = constraints(model, state_vectors(model, q, v)).phi_q
        phi_q = np.vstack([found, own]) if len(own) else found
    phi_q = phi_q / scale[:, None] * model.velocity_scale
    places = [*rows, *range(cut, cut + len(driven))]
    return np.asarray(spread(phi_q, places, chosen * scale[places])[0] / scale)
