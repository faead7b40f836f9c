"""The equations of motion as LeeJoo90 derives them, from positions and derivatives alone.

    M_ij = Σ_p ∫ J_pᵀ J_p dm,   J_p = ∂r_p/∂q                                                 (24)
    G_i = ∂U_g/∂q_i                                                                          (25)
    K_ij = ∫ E I ψ_i'' ψ_j'' dx                                                              (26)
    C_jk(i) = (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) / 2                                     (27)
    Σ M_ij q̈_j + Σ C_jk(i) q̇_j q̇_k + Σ K_ij q_j + Σ D_ij q̇_j + G_i = τ_i                     (23)

(The paper prints G with the opposite sign of g.) The derivatives are those of the traced graph;
what is structurally zero is never formed, so that the count of operations shows what a mechanism's
structure saves. This is independent of the recursions, which are faster: it tests them, and
shows the structure of the equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.material_points import material_points, potential
from mbd_bridge.kernels import jacobian
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The terms of (23) for one mechanism whose coordinates change by its velocities.

    Every method takes floats or symbols. Loops are left open: `equations.cuts` closes them.
    """

    model: Model

    def __post_init__(self) -> None:
        if self.model.nq != self.model.nv:
            raise ModelError(
                "Christoffel symbols need coordinates of which the velocities are the rates; this "
                "mechanism has quaternions (spherical or floating joints). Use mass_matrix and "
                "bias_forces"
            )

    def mass_matrix(self, q: Array) -> Array:
        """Return M (n, n), (24)."""
        derive = jacobian(
            lambda q: (material_points(self.model, q),), {"q": self.model.nq}, values=False
        )
        (J,) = derive(q)
        rows = J.reshape(-1, self.model.nv)
        M = zeros((self.model.nv, self.model.nv), rows)
        for i in range(self.model.nv):
            for j in range(i, self.model.nv):
                M[i, j] = M[j, i] = rows[:, i] @ rows[:, j]
        return M

    def christoffel(self, q: Array) -> Array:
        """Return C_jk(i) as C[i, j, k] (n, n, n), (27)."""
        derive = jacobian(lambda q: (self.mass_matrix(q),), {"q": self.model.nq}, values=False)
        (dM,) = derive(q)
        n = self.model.nv
        C = zeros((n, n, n), dM)
        for i in range(n):
            for j in range(n):
                for k in range(j, n):
                    C[i, j, k] = 0.5 * (dM[i, j, k] + dM[i, k, j] - dM[j, k, i])
                    C[i, k, j] = C[i, j, k]  # (33)
        return C

    def gravity(self, q: Array) -> Array:
        """Return G (n,), (25)."""
        derive = jacobian(
            lambda q: (np.array([potential(self.model, q)]),), {"q": self.model.nq}, values=False
        )
        return np.asarray(derive(q)[0][0])

    def stiffness(self) -> Array:
        """Return K (n, n), (26)."""
        return self._of_modes([part.stiffness for part in self.model.flexible])

    def damping(self) -> Array:
        """Return D (n, n)."""
        return self._of_modes([part.damping for part in self.model.flexible])

    def bias_forces(self, q: Array, v: Array) -> Array:
        """Return what (23) has beside M q̈."""
        velocity = self.christoffel(q) @ v @ v
        return np.asarray(velocity + self.stiffness() @ q + self.damping() @ v + self.gravity(q))

    def _of_modes(self, parts: list[Array]) -> Array:
        out = np.zeros((self.model.nv, self.model.nv))
        for part, own in zip(self.model.flexible, parts, strict=True):
            out[part.v, part.v] += own
        return out
