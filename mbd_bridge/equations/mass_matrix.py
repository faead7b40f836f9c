"""The mass matrix from composite inertias in body-fixed axes.

The same K_i = M̂_i + Σ_children K_c as KimYou97 (16), but each K_i about its own body's origin and
in its own axes, as mass m, first moment h and inertia I; (R, p) carries it to the parent:

    h' = R h + m p
    I' = R I Rᵀ + 2 (p·w) 1 - (p wᵀ + w pᵀ),   w = R h + m p / 2
    K B = [m T + H × h; I H + h × T]            the wrench that a unit acceleration needs
    M_ij = B_iᵀ (K B)_j, carried from j inwards to i

A flexible link has m, h and I as it is deformed, and a column for each mode: the wrench that a unit
modal acceleration needs (`flexible`), carried inwards in the same way.

About one common origin the small inertia of a far, light link is what is left when large terms
m r² cancel; here it never meets them. For that reason (six digits on a mobile arm), and because
it needs half the operations, the kernels take M from here; `motion` has the papers' form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.composite import symmetric_turn
from mbd_bridge.equations.flexible import FlexibleInertia, flexible_inertia
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.model import JointMotion, Model
from mbd_bridge.model.spatial import Array, Inertia, cross, zeros

LONG = 24
"""Bodies on a branch from which on there are stations. On shorter ones the positions of bodies in
their stations cost more than they save."""

BODIES = 12
"""Bodies behind a station: beyond, carrying is less than a quarter of the work."""

FAR = 8.0
"""Distance of a body from its station in sizes of what it carries: as many units in the last place
of an entry may be lost."""

TURNING = ("revolute", "continuous", "universal", "spherical")
"""Joint types that leave the body's origin where it is."""


class BodyComposite(NamedTuple):
    """Mass (kg), first moment (kg m) and inertia (kg m²) of all that a body carries, itself too."""

    mass: float
    moment: Array
    inertia: Array

    @staticmethod
    def of(inertia: Inertia) -> BodyComposite:
        """Return that of a rigid body about its frame's origin."""
        return BodyComposite(inertia.mass, inertia.mass * inertia.centre, inertia.about_origin())

    def plus(self, other: BodyComposite) -> BodyComposite:
        """Return the sum of two composites in one frame."""
        inertia = self.inertia + other.inertia
        return BodyComposite(self.mass + other.mass, self.moment + other.moment, inertia)

    def carried(self, motion: JointMotion) -> BodyComposite:
        """Return this composite in the parent body's frame."""
        p = motion.position
        turned = motion.rotation @ self.moment
        inertia = symmetric_turn(motion.rotation, self.inertia)
        inertia = inertia + steiner(p, turned + (0.5 * self.mass) * p)
        return BodyComposite(self.mass, turned + self.mass * p, inertia)


def steiner(p: Array, w: Array) -> Array:
    """Return 2 (p·w) 1 - p wᵀ - w pᵀ: what inertia gains where masses are moved by p, for the
    first moment w of all of them half-way.
    """
    px, py, pz = p[0] * w[0], p[1] * w[1], p[2] * w[2]
    shift = zeros((3, 3), w, p)
    shift[0, 0], shift[1, 1], shift[2, 2] = 2.0 * (py + pz), 2.0 * (px + pz), 2.0 * (px + py)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        shift[i, j] = shift[j, i] = -(p[i] * w[j] + p[j] * w[i])
    return shift


class ColumnWrench(NamedTuple):
    """The wrench (K B) that a unit acceleration needs, on the body that it moves, in its axes.

    Attributes
    ----------
    velocity : number of the velocity
    body : what moves
    ratio : acceleration of the body's own joint for a unit one of the velocity
    own : number of the velocity among those of this body's joint; None if it is not its joint's
    """

    velocity: int
    body: int
    ratio: float
    own: int | None
    force: Array
    torque: Array


class BodyComposites(NamedTuple):
    """What the mass matrix is made of: what each body carries, and the columns K B."""

    model: Model
    motions: list[JointMotion]
    flexible: list[FlexibleInertia]
    carried: list[BodyComposite]
    columns: list[ColumnWrench]
    inward: _Inward

    @staticmethod
    def of(model: Model, q: Array, joints: Iterable[int] = ()) -> BodyComposites:
        """Return those of a position; `joints`: those whose sections are wanted (`sections`)."""
        motions = body_motions(model, q, np.zeros(model.nv))
        flexible = [flexible_inertia(part, q) for part in model.flexible]
        carried = _composites(model, motions, flexible)
        columns = []
        for outer, body in enumerate(model.bodies):
            mass, moment, inertia = carried[outer]
            for k in range(body.type.nv):
                T, H = motions[outer].linear[:, k], motions[outer].angular[:, k]
                force, torque = mass * T + cross(H, moment), inertia @ H + cross(moment, T)
                columns.append(ColumnWrench(body.v.start + k, outer, body.ratio, k, force, torque))
        for part, bent in zip(model.flexible, flexible, strict=True):
            for k in range(part.v.stop - part.v.start):
                wrench = bent.force[:, k], bent.torque[:, k]
                columns.append(ColumnWrench(part.v.start + k, part.body, 1.0, None, *wrench))
        stops = {model.joints[j].body for j in joints}
        inward = _Inward(model, motions, *_seen_from_stations(model, motions, stops))
        return BodyComposites(model, motions, flexible, carried, columns, inward)

    def mass_matrix(self) -> Array:
        """Return M (nv, nv) along the mechanism's independent velocities."""
        model, nv = self.model, self.model.nv
        like = [*(c.inertia for c in self.carried), *(m.rotation for m in self.motions)]
        M = zeros((nv, nv), *like)
        modal = {
            part.v.start: (part.v, bent.modal)
            for part, bent in zip(model.flexible, self.flexible, strict=True)
        }
        for column in self.columns:
            if column.own is None and column.velocity in modal:  # the first of its link
                v, inertia = modal[column.velocity]
                M[v, v] = M[v, v] + inertia
            self.inward.put(M, column)
        return with_rotors(model, M)


def mass_matrix_by_bodies(model: Model, q: Array) -> Array:
    """Return M (nv, nv) along the mechanism's independent velocities."""
    return BodyComposites.of(model, q).mass_matrix()


def with_rotors(model: Model, M: Array) -> Array:
    """Return M (nv, nv) with the inertia of rotors on its diagonal."""
    return M if model.rotors is None else M + np.diag(model.rotors)


class _Inward(NamedTuple):
    """The bodies' motions as wrenches meet them on their way inwards."""

    model: Model
    motions: list[JointMotion]
    stations: set[int]
    seen: list[JointMotion]

    def put(self, M: Array, column: ColumnWrench) -> None:
        """Add a column of M: the power of its wrench on the bodies that carry it."""
        for inner, seen, force, torque in self.path(column):
            carrier = self.model.bodies[inner]
            share = column.ratio * carrier.ratio
            entries = share * (seen.linear.T @ force + seen.angular.T @ torque)
            own = column.own if inner == column.body else None
            _put(M, carrier.v, column.velocity, entries, own)

    def path(self, column: ColumnWrench) -> Iterator[tuple[int, JointMotion, Array, Array]]:
        """Go through the bodies inwards: each one's motion and the wrench, in the same frame.

        That is the body's own at the column's body and at stations.
        """
        force, torque, outer = column.force, column.torque, column.body
        seen, inner = self.motions[outer], outer
        while inner >= 0:
            yield inner, seen, force, torque
            if inner == outer or inner in self.stations:
                rotation, position = self.seen[inner].rotation, self.seen[inner].position
                force = rotation @ force
                torque = rotation @ torque + cross(position, force)
            inner = self.model.bodies[inner].parent
            seen = self.motions[inner] if inner in self.stations else self.seen[inner]


def _seen_from_stations(
    model: Model, motions: list[JointMotion], stops: set[int]
) -> tuple[set[int], list[JointMotion]]:
    """Return the stations, and each body's motion as seen from the station of its parent.

    `stops` are bodies that have to be stations.
    """
    stations = station_bodies(model) | stops
    inwards: list[JointMotion] = []
    for index, (body, motion) in enumerate(zip(model.bodies, motions, strict=True)):
        seen = motion
        if body.parent >= 0 and body.parent not in stations:
            parent = inwards[body.parent]
            rotation = parent.rotation @ motion.rotation
            position = parent.position + parent.rotation @ motion.position
            seen = motion._replace(rotation=rotation, position=position)
        if index not in stations:
            angular = seen.rotation @ motion.angular
            linear = zeros(angular.shape, angular, seen.position)
            for k in range(angular.shape[1]):
                linear[:, k] = cross(seen.position, angular[:, k])
            seen = seen._replace(angular=angular, linear=linear)
        inwards.append(seen)
    return stations, inwards


def station_bodies(model: Model) -> set[int]:
    """Return the bodies in whose frames wrenches stop on their way inwards.

    To carry a wrench over a joint takes 24 products, its power on a motion that is seen from the
    same frame 6. On a long branch a wrench is therefore carried over several bodies at once, to the
    next station, if these only turn, and are not farther from it than some sizes of what they carry
    (see above: distance costs digits). Everywhere else each body is a station.
    """
    count = len(model.bodies)
    depth, reach, since = [0] * count, [0.0] * count, [0] * count
    every = set(range(count))
    for i, body in enumerate(model.bodies):
        depth[i] = depth[body.parent] + 1 if body.parent >= 0 else 1
        parts = body.placement.translation, body.inertia.centre, np.asarray(body.inertia.mass)
        if any(part.dtype == object for part in parts):
            return every  # lengths or masses are parameters
    if max(depth, default=0) < LONG:
        return every
    extent = _extents(model)
    stations = set()
    for i, body in enumerate(model.bodies):
        far = float(np.linalg.norm(body.placement.translation))
        if body.parent >= 0:
            reach[i], since[i] = reach[body.parent] + far, since[body.parent] + 1
        turns = body.parent >= 0 and body.type.name in TURNING
        if not turns or since[i] > BODIES or reach[i] > FAR * extent[i]:
            stations.add(i)
            reach[i], since[i] = 0.0, 0
    return stations


def _extents(model: Model) -> list[float]:
    """Return how far what each body carries reaches from its origin, m; massless bodies end it."""
    extent = [
        float(np.linalg.norm(body.inertia.centre)) if body.inertia.mass > 0.0 else 0.0
        for body in model.bodies
    ]
    for i in range(len(extent) - 1, 0, -1):
        body = model.bodies[i]
        far = float(np.linalg.norm(body.placement.translation))
        extent[body.parent] = max(extent[body.parent], far + extent[i])
    return extent


def _put(M: Array, rows: slice, column: int, entries: Array, k: int | None) -> None:
    """Add M's entries of one pair of bodies and their mirror; of column k of a diagonal block
    the upper half and its mirror.
    """
    for row, entry in enumerate(entries):
        i = rows.start + row
        if k is not None:
            if row > k:
                continue
            M[i, column] = M[i, column] + entry
            if row < k:
                M[column, i] = M[column, i] + entry
        else:
            M[i, column] = M[i, column] + entry
            M[column, i] = M[column, i] + entry


def _composites(
    model: Model, motions: list[JointMotion], flexible: list[FlexibleInertia]
) -> list[BodyComposite]:
    found = [BodyComposite.of(body.inertia) for body in model.bodies]
    for part, at in zip(model.flexible, flexible, strict=True):
        bent = BodyComposite(part.integrals.mass, at.moment, at.inertia)
        found[part.body] = found[part.body].plus(bent)
    for index in range(len(found) - 1, 0, -1):
        parent = model.bodies[index].parent
        found[parent] = found[parent].plus(found[index].carried(motions[index]))
    return found
