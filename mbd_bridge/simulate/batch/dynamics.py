"""Accelerations, multipliers and driving forces of the states of a batch, in one kernel.

Independent rows of all rows (drives among them) give q̈ and their multipliers (`closed`), which are
then spread over all (`smallest`).
"""

from __future__ import annotations

from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.smallest import smallest_multipliers
from mbd_bridge.solve.variants import Wanted
from mbd_bridge.spatial import Array, zeros


def dynamics_kernel(
    model: Model,
    rows: tuple[int, ...],
    driven: tuple[int, ...],
    parameters: Parameters | None = None,
) -> Kernel:
    """Return the kernel (q, v, tau, wanted) -> (a, lam, drive, risk), and of parameters.

    ``wanted`` are the accelerations of the prescribed motions.
    """

    def answer_of(own: Model) -> Traceable:
        def answer(q: Array, v: Array, tau: Array, wanted: Array) -> tuple[Array, ...]:
            found = closed_acceleration(own, rows, q, v, tau, driven, wanted)
            lam = smallest_multipliers(own, rows, driven, q, v, found.lam)
            risk = zeros(1, q)
            risk[0] = found.risk
            cut = len(own.row_scale)
            return found.a, lam[:cut], -lam[cut:], risk

        return answer

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv, "wanted": len(driven)}
    outputs = ("a", "lam", "drive", "risk")
    what = f"batch dynamics {rows} {driven}"
    return Wanted(answer_of, inputs, outputs, "batch_dynamics", what).kernel(model, parameters)
