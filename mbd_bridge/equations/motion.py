"""The equations of motion M q̈ = P + τ (KimYou97 (15)).

    M_ij = B_iᵀ K_l B_j, with l the outer of the two
    P_i  = B_iᵀ (L_i - K_i Σ_{k ≤ i} D_k)

and the modal rows of flexible links (`composite.modal_rows`): M_ηη, M_ηi = Cᵀ B_i, P_η - Cᵀ Σ D.
Only pairs of which one carries the other appear: the path matrix is the sparsity of M.
"""

from __future__ import annotations

from collections.abc import Sequence

from mbd_bridge.equations.composite import Composite, modal_rows
from mbd_bridge.equations.mass_matrix import with_rotors
from mbd_bridge.equations.state_vectors import MechanismState
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros


def mass_matrix(model: Model, state: MechanismState, found: Sequence[Composite]) -> Array:
    """Return M (nv, nv) along the mechanism's independent velocities."""
    M = zeros((model.nv, model.nv), *(at.B for at in state.bodies))
    for outer, body in enumerate(model.bodies):
        KB = body.ratio * (found[outer].K @ state.bodies[outer].B)
        inner = outer
        while inner >= 0:
            carrier = model.bodies[inner]
            block = carrier.ratio * (state.bodies[inner].B.T @ KB)
            M[carrier.v, body.v] = M[carrier.v, body.v] + block
            if inner != outer:
                M[body.v, carrier.v] = M[body.v, carrier.v] + block.T
            inner = carrier.parent
    for part in model.flexible:
        rows, inner = modal_rows(part, state), part.body
        M[part.v, part.v] = M[part.v, part.v] + rows.modal
        while inner >= 0:
            carrier = model.bodies[inner]
            block = carrier.ratio * (state.bodies[inner].B.T @ rows.C)
            M[carrier.v, part.v] = M[carrier.v, part.v] + block
            M[part.v, carrier.v] = M[part.v, carrier.v] + block.T
            inner = carrier.parent
    return with_rotors(model, M)


def generalised_forces(model: Model, state: MechanismState, found: Sequence[Composite]) -> Array:
    """Return P (nv,): gravity, external and velocity forces along the independent velocities."""
    P = zeros(model.nv, *(own.L for own in found), *(at.B for at in state.bodies))
    for body, at, own in zip(model.bodies, state.bodies, found, strict=True):
        P[body.v] = P[body.v] + body.ratio * (at.B.T @ (own.L - own.K @ at.D_sum))
    for part in model.flexible:
        rows = modal_rows(part, state)
        P[part.v] = P[part.v] + rows.P - rows.C.T @ state.bodies[part.body].D_sum
    return P
