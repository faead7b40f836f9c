"""Accelerations, multipliers and forces of prescribed motions of the states of a batch, in one
kernel.

Independent rows of all rows (prescribed motions among them) give q̈ and their multipliers
(`closed`), which are then spread over all (`minimum_norm`).
"""

from __future__ import annotations

from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.minimum_norm import minimum_norm_multipliers
from mbd_bridge.solve.model_kernel import variants_kernel
from mbd_bridge.spatial import Array, zeros


def dynamics_kernel(
    model: Model,
    rows: tuple[int, ...],
    prescribed_velocities: tuple[int, ...],
    parameters: Parameters | None = None,
) -> Kernel:
    """Return the kernel (q, v, tau, wanted) -> (a, lam, prescribed_forces, risk), and of
    parameters.

    ``wanted`` are the accelerations of the prescribed motions.
    """

    def answer_of(own: Model) -> Traceable:
        def answer(q: Array, v: Array, tau: Array, wanted: Array) -> tuple[Array, ...]:
            found = closed_acceleration(own, rows, q, v, tau, prescribed_velocities, wanted)
            lam = minimum_norm_multipliers(own, rows, prescribed_velocities, q, v, found.lam)
            risk = zeros(1, q)
            risk[0] = found.risk
            cut = len(own.row_scale)
            return found.a, lam[:cut], -lam[cut:], risk

        return answer

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv, "wanted": len(prescribed_velocities)}
    outputs = ("a", "lam", "prescribed_forces", "risk")
    what = f"batch dynamics {rows} {prescribed_velocities}"
    name = "batch_dynamics"
    return variants_kernel(model, parameters, name, inputs, outputs, answer_of, what)
