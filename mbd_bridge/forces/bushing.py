"""A bushing: six springs and dampers between two frames.

    d = p2 - p1,   Q = R1ᵀ R2,   w = ω2 - ω1
    ψ = the vector of (Q - Qᵀ)/2 = n sin θ             small-angle rotation vector, for |θ| < 90 deg

    U = ¼ Σ_i (R_iᵀ d)ᵀ K (R_iᵀ d) + ½ ψᵀ K_θ ψ        i = 1, 2: both frames hold half of it
    D = ½ Σ_i (R_iᵀ u_i)ᵀ C (R_iᵀ u_i) + ½ Σ_i (R_iᵀ w)ᵀ C_θ (R_iᵀ w),   u_i = ḋ - ω_i × d

The forces are the exact derivatives of U and D: f_i = ½ R_i (K R_iᵀ d + C R_iᵀ u_i) acts between
the links with -(f_1 + f_2) at p2 and f_1 + f_2 at p1, and its axes carry d × f_i on link i. So
forces and moments balance, energy is kept at any angle, and the two sides may change places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units, vector
from mbd_bridge.forces.points import TwoLinks, TwoVectors, both, link_numbers, on_links
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame, cross, zeros

AXES = ("x", "y", "z")

STIFFNESS = vector(*3 * ("N/m",), *3 * ("N m/rad",))
DAMPING = vector(*3 * ("N s/m",), *3 * ("N m s/rad",))


@final
@dataclass(frozen=True, eq=False)
class Bushing(ForceElement):
    """An elastic mount between frames of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two origins (3,) m, in the frames of these links
    rpy : two orientations (3,) rad, roll, pitch, yaw of the bushing's axes in these links
    stiffness : (6,) N/m along and N m/rad about x, y, z of the bushing
    damping : (6,) N s/m and N m s/rad

    Notes
    -----
    It is relaxed where the two frames coincide. The moment is proportional to sin θ.
    """

    links: TwoLinks
    points: TwoVectors = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    rpy: TwoVectors = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    stiffness: Annotated[ArrayLike, STIFFNESS] = (0.0,) * 6
    damping: Annotated[ArrayLike, DAMPING] = (0.0,) * 6

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        bound = self.checked(model)
        numbers = np.concatenate([bound.stiffness, bound.damping])
        known = [x for x in numbers if not is_traced(x)]
        if min(known, default=0.0) < 0.0:
            raise StateError(
                f"{self.label}: stiffness, damping: expected six numbers each, at least 0, got "
                f"{bound.stiffness} and {bound.damping}"
            )
        return bound

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrenches on the links, and the report in the axes of the first frame."""
        ends = both(model, q, v, self.links, self.points)
        K, C = np.array(self.stiffness), np.array(self.damping)
        turns = [
            end.rotation @ Frame.from_rpy(rpy=angles).rotation
            for end, angles in zip(ends, self.rpy, strict=True)
        ]
        first, second = ends
        d = second.position - first.position
        d_dot, w = second.velocity - first.velocity, second.omega - first.omega
        energy: Any = 0.0
        dissipation: Any = 0.0
        pull, twist = np.zeros(3), np.zeros(3)
        arms = []
        for end, R in zip(ends, turns, strict=True):
            way, rate = R.T @ d, R.T @ (d_dot - cross(end.omega, d))
            spin = R.T @ w
            f = 0.5 * (R @ (K[:3] * way + C[:3] * rate))
            pull = pull + f
            twist = twist + 0.5 * (R @ (C[3:] * spin))
            arms.append(cross(d, f))
            energy = energy + 0.25 * (way @ (K[:3] * way))
            dissipation = dissipation + 0.5 * (rate @ (C[:3] * rate) + spin @ (C[3:] * spin))
        Q = turns[0].T @ turns[1]
        psi = _small_rotation(Q)
        elastic = K[3:] * psi
        twist = twist + 0.5 * (turns[1] @ ((Q[0, 0] + Q[1, 1] + Q[2, 2]) * elastic - Q @ elastic))
        moments = arms[0] + twist, arms[1] - twist
        wrenches = on_links(
            (first, first.wrench(pull, moments[0])), (second, second.wrench(-pull, moments[1]))
        )
        shown = turns[0].T @ d, psi, turns[0].T @ pull, turns[0].T @ twist
        kinds = "deflection", "rotation", "force", "moment"
        report = {
            f"{kind}_{axis}": part[k]
            for kind, part in zip(kinds, shown, strict=True)
            for k, axis in enumerate(AXES)
        }
        energy = energy + 0.5 * (psi @ elastic)
        return Effect({}, wrenches, energy, dissipation, report)

    def units(self, model: Model) -> Units:
        """Return the units of the report: force and moment are those on the first link."""
        kinds = {"deflection": "m", "rotation": "rad", "force": "N", "moment": "N m"}
        return {f"{kind}_{axis}": unit for kind, unit in kinds.items() for axis in AXES}

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links of its ends."""
        return link_numbers(model, self.links)


def _small_rotation(Q: Array) -> Array:
    """Return ψ (3,) of a rotation Q."""
    psi = zeros(3, Q)
    psi[0], psi[1], psi[2] = Q[2, 1] - Q[1, 2], Q[0, 2] - Q[2, 0], Q[1, 0] - Q[0, 1]
    return 0.5 * psi
