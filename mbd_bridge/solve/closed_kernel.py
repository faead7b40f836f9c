"""Forward dynamics with loops as one kernel, whose rows were chosen at a position: to be exported.

`closed_forward` looks at every state and takes another road where the rows that it chose become
dependent. A kernel alone, as C source or in a caller's loop, cannot; it gives its `risk` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers, name_list
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.assembly import assemble
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.dynamics import Dynamics, Traceable, external_on, traceable
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import ROWS_RISK

TERMS = "mass_matrix", "bias_forces", "constraints", "centroid"
"""Functions that are the same with loops closed or open."""


class ClosedKernel(NamedTuple):
    """The kernel (q, v, tau, ...) -> (a, lam, risk), its rows, and where they were chosen.

    Attributes
    ----------
    rows : of all cuts' rows, those whose multipliers are `lam`
    q : (nq,) the position
    """

    kernel: Kernel
    rows: tuple[int, ...]
    q: Array

    def notes(self, model: Model) -> str:
        """Return what a user of the kernel alone must know."""
        names = [f"{cut.name}[{k}]" for cut in model.cuts for k in range(len(cut.rows))]
        place = ", ".join(
            f"{name}={value:.6g}"
            for name, value in zip(model.coordinate_names, self.q, strict=True)
        )
        return (
            f"The loops are closed: q and v must satisfy them.\n"
            f"Rows of the loops that are solved for: {', '.join(names[k] for k in self.rows)};\n"
            f"lam are their multipliers. They were chosen at {place}.\n"
            f"risk[0] tells whether they are independent at a state: use a and lam only\n"
            f"where 0 <= risk[0] < {ROWS_RISK:.0e}; beyond it, at or near a singular position, "
            f"they\n"
            f"are wrong."
        )


def closed_kernel(
    model: Model, q: ArrayLike | None = None, links: Sequence[int] = ()
) -> ClosedKernel:
    """Return forward dynamics with loops as straight-line code.

    Parameters
    ----------
    q : (nq,) the position at which independent rows are chosen; None: the one nearest to zero at
        which the loops are closed
    links : link indices that carry external wrenches (the last argument)
    """
    place, numbers = _position(model, q), tuple(links)
    rows = _rows_at(model, place)
    closed = _traceable(model, rows, numbers)
    inputs, outputs, what = closed.inputs, closed.outputs, (numbers, rows)
    kernel = model_kernel(model, "forward_dynamics", inputs, outputs, closed.function, what)
    return ClosedKernel(kernel, rows, place)


def function_of(
    model: Model, what: Dynamics, at: ArrayLike | None = None
) -> tuple[Callable[[Model], Traceable], tuple[int, ...]]:
    """Return what `kernel_of` compiles, of variants of the model, and the rows that it chose."""
    if not model.has_loops or what in TERMS:
        return lambda own: traceable(own, what), ()
    _check_closed(what)
    rows = _rows_at(model, _position(model, at))
    return lambda own: _traceable(own, rows), rows


def _position(model: Model, at: ArrayLike | None) -> Array:
    return assemble(model).q if at is None else finite_numbers("at", at, (model.nq,))


def _rows_at(model: Model, q: Array) -> tuple[int, ...]:
    phi_q = constraints(model, state_vectors(model, q, np.zeros(model.nv))).phi_q
    return row_choice(model).at(model.scaled_jacobian(phi_q))


def _traceable(model: Model, rows: tuple[int, ...], links: tuple[int, ...] = ()) -> Traceable:
    def function(q: Array, v: Array, tau: Array, *rest: Array) -> tuple[Array, ...]:
        external = external_on(links, *rest)
        closed = closed_acceleration(model, rows, q, v, tau, external=external)
        return closed.a, closed.lam, np.array([closed.risk])

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv}
    if links:
        inputs["external"] = 6 * len(links)
    return Traceable(inputs, ("a", "lam", "risk"), function)


def kernel_of(
    prepared: Prepared, what: Dynamics, links: Sequence[str] = (), at: ArrayLike | None = None
) -> Kernel:
    """Return a kernel of `solve.dynamics` for a user who calls it alone.

    With loops, ``"forward_dynamics"`` is the closed mechanism's (a, lam, risk), its rows chosen at
    the position `at` (None: nearest to zero): right where 0 <= risk < 1e7. ``"mass_matrix"``,
    ``"bias_forces"`` and ``"constraints"`` are the terms of M a + h + Φ_qᵀ λ = tau, and
    ``"centroid"`` asks for no loops.

    Raises
    ------
    ModelError
        ``"inverse_dynamics"`` or derivatives with loops: the actuators depend on which joints have
        one.
    """
    model = prepared.model
    if not model.has_loops or what in TERMS:
        return prepared.kernel(what, links)
    _check_closed(what)
    numbers = tuple(map(model.link_number, name_list("links", links, "links")))
    place = None if at is None else tuple(finite_numbers("at", at, (model.nq,)).tolist())
    key = ("closed kernel", numbers, place)
    return prepared.get(key, lambda: closed_kernel(model, at, numbers)).kernel


def _check_closed(what: Dynamics) -> None:
    if what != "forward_dynamics":
        raise ModelError(
            f"a mechanism with loops has no kernel of {what}: its actuators depend on "
            "which joints are actuated. Use inverse_dynamics(q, v, a, actuated=[...]) or "
            "constrained_dynamics(actuated=[...]).inverse; M a + h of the tree is mass_matrix and "
            "bias_forces"
        )
