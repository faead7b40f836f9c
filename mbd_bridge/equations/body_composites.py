"""The mass matrix from composite inertias in body-fixed axes.

The same K_i = M̂_i + Σ_children K_c as KimYou97 (16), but each K_i about its own body's origin and
in its own axes, as mass m, first moment h and inertia I; (R, p) carries it to the parent:

    h' = R h + m p
    I' = R I Rᵀ + 2 (p·w) 1 - (p wᵀ + w pᵀ),   w = R h + m p / 2
    K B = [m T + H × h; I H + h × T]            the wrench that a unit acceleration needs
    M_ij = B_iᵀ (K B)_j, carried from j inwards to i

About one common origin the small inertia of a far, light link is what is left when large terms
m r² cancel; here it never meets them. For that reason (six digits on a mobile arm), and because
it needs half the operations, the kernels take M from here; `motion` has the papers' form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.composite import symmetric_turn
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.mechanism import Model, Motion
from mbd_bridge.spatial import Array, cross, zeros


class BodyComposite(NamedTuple):
    """Mass (kg), first moment (kg m) and inertia (kg m²) of all that a body carries, itself too."""

    mass: float
    moment: Array
    inertia: Array

    def plus(self, other: BodyComposite) -> BodyComposite:
        """Return the sum of two composites in one frame."""
        inertia = self.inertia + other.inertia
        return BodyComposite(self.mass + other.mass, self.moment + other.moment, inertia)

    def carried(self, motion: Motion) -> BodyComposite:
        """Return this composite in the parent body's frame."""
        p = motion.position
        turned = motion.rotation @ self.moment
        w = turned + (0.5 * self.mass) * p
        px, py, pz = p[0] * w[0], p[1] * w[1], p[2] * w[2]
        shift = zeros((3, 3), w, p)
        shift[0, 0], shift[1, 1], shift[2, 2] = 2.0 * (py + pz), 2.0 * (px + pz), 2.0 * (px + py)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            shift[i, j] = shift[j, i] = -(p[i] * w[j] + p[j] * w[i])
        inertia = symmetric_turn(motion.rotation, self.inertia) + shift
        return BodyComposite(self.mass, turned + self.mass * p, inertia)


def mass_matrix_by_bodies(model: Model, q: Array) -> Array:
    """Return M (nv, nv) along the mechanism's independent velocities."""
    motions = body_motions(model, q, np.zeros(model.nv))
    found = _composites(model, motions)
    M = zeros((model.nv, model.nv), *(c.inertia for c in found), *(m.rotation for m in motions))
    for outer, body in enumerate(model.bodies):
        own = found[outer]
        for k in range(body.type.nv):
            column = body.v.start + k
            T, H = motions[outer].linear[:, k], motions[outer].angular[:, k]
            force = own.mass * T + cross(H, own.moment)
            torque = own.inertia @ H + cross(own.moment, T)
            inner = outer
            while inner >= 0:
                carrier, motion = model.bodies[inner], motions[inner]
                share = body.ratio * carrier.ratio
                entries = share * (motion.linear.T @ force + motion.angular.T @ torque)
                _put(M, carrier.v, column, entries, inner == outer, k)
                force = motion.rotation @ force
                torque = motion.rotation @ torque + cross(motion.position, force)
                inner = carrier.parent
    return M


def _put(M: Array, rows: slice, column: int, entries: Array, diagonal: bool, k: int) -> None:
    """Add M's entries of one pair of bodies; the upper half of a diagonal block, and its mirror."""
    for row, entry in enumerate(entries):
        i = rows.start + row
        if diagonal:
            if row > k:
                continue
            M[i, column] = M[i, column] + entry
            if row < k:
                M[column, i] = M[column, i] + entry
        else:
            M[i, column] = M[i, column] + entry
            M[column, i] = M[column, i] + entry


def _composites(model: Model, motions: list[Motion]) -> list[BodyComposite]:
    found: list[BodyComposite] = []
    for body in model.bodies:
        own = body.inertia
        found.append(BodyComposite(own.mass, own.mass * own.centre, own.about_origin()))
    for index in range(len(found) - 1, 0, -1):
        parent = model.bodies[index].parent
        found[parent] = found[parent].plus(found[index].carried(motions[index]))
    return found
