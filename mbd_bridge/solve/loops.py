"""What the loops of a mechanism do at a position: freedoms, redundancy, nearness of a singularity.

With the singular values σ_1 ≥ σ_2 ≥ ... of the dimensionless Φ_q, and r the rank that Φ_q has at
positions close by that the loops allow,

    distance = σ_r / σ_1,     condition = σ_1 / σ_r

At a singular position the rank is less than r: distance is 0 there, and goes to 0 on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.errors import count
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.actuation import Actuation, actuation, driven_velocities
from mbd_bridge.solve.assembly import assemble
from mbd_bridge.solve.rank import TOLERANCE, Decomposition, decompose
from mbd_bridge.spatial import Array

NEARBY = 0.02
"""How far away the other positions are, rad or sizes of the mechanism."""

TRIES = 3
"""Positions nearby that are looked at, in random directions among those that the loops allow."""


@dataclass(frozen=True, eq=False)
class LoopReport:
    """The constraints at one position.

    Attributes
    ----------
    rows, rank : constraint rows of all cuts, and how many of them are independent here
    rank_nearby : how many are at positions close by; more than `rank` where this one is singular
    freedoms : of the closed mechanism here, nv - rank
    redundant : by loop, how many of its rows take part in a redundancy
    condition : σ_1 / σ_r of the dimensionless Φ_q, r being `rank_nearby`; infinite at a singular
        position
    distance : from a singular position, σ_r / σ_1: 0 there, at most 1
    motions : (nv, freedoms) basis of the velocities that the loops allow
    passive : joints in a loop with a freedom that moves nothing else in it
    actuation : what the drives do here, if they are known
    undetermined : by joint, tree or cut, the components of its load (fx ... mz) that rigid-body
        mechanics leaves open; joints that are not named have none
    """

    rows: int
    rank: int
    rank_nearby: int
    freedoms: int
    redundant: dict[str, int]
    condition: float
    distance: float
    motions: Array
    passive: tuple[str, ...]
    actuation: Actuation | None = None
    undetermined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def singular(self) -> bool:
        """Whether the mechanism has more freedoms here than close by."""
        return self.rank < self.rank_nearby

    def __str__(self) -> str:
        lost = self.rows - self.rank
        lines = [
            f"{count(self.freedoms, 'freedom')}; {self.rows} constraint rows, {lost} redundant; "
            f"condition {self.condition:.3g}, distance from a singular position {self.distance:.3g}"
        ]
        if self.singular:
            more = count(self.rank_nearby - self.rank, "freedom")
            lines.append(f"  a singular position: {more} more than close by")
        lines += [
            f"  {name}: {rows} rows share in the redundancy"
            for name, rows in self.redundant.items()
            if rows
        ]
        lines += [
            f"  {name}: turns or slides without moving anything else" for name in self.passive
        ]
        if self.actuation is not None:
            lines.append(f"  {self.actuation}")
        lines += [
            f"  {name}: {' '.join(components)} not determined"
            for name, components in self.undetermined.items()
        ]
        return "\n".join(lines)


def report(model: Model, q: Array, actuated: Iterable[str] | None = None) -> LoopReport:
    """Return the report for a position that closes the loops.

    Parameters
    ----------
    q : (nq,)
    actuated : joints with a drive; None: nothing is said about drives
    """
    phi_q = _jacobian(model, q)
    found = decompose(model, phi_q)
    redundant, k = {}, 0
    for cut in model.cuts:
        part = found.stresses[k : k + len(cut.rows)]
        redundant[cut.name] = int(np.sum(np.abs(part).max(axis=1, initial=0.0) > TOLERANCE))
        k += len(cut.rows)
    nearby = max(found.rank, _rank_nearby(model, q, found))
    distance = 1.0
    if nearby:
        smallest = found.singular[nearby - 1] if nearby == found.rank else 0.0
        distance = float(smallest / found.singular[0]) if found.rank else 0.0
    drives = None
    if actuated is not None:
        J = phi_q / model.row_scale[:, None] * model.velocity_scale
        drives = actuation(model, J, driven_velocities(model, actuated))
    return LoopReport(
        len(phi_q),
        found.rank,
        nearby,
        model.nv - found.rank,
        redundant,
        1.0 / distance if distance else np.inf,
        distance,
        found.motions,
        _passive(model, phi_q),
        drives,
    )


def _jacobian(model: Model, q: Array) -> Array:
    return constraints(model, state_vectors(model, q, np.zeros(model.nv))).phi_q


def _rank_nearby(model: Model, q: Array, found: Decomposition) -> int:
    """Return the largest rank at some positions close by; rows are dependent here."""
    freedoms = found.motions.shape[1]
    if found.rank == len(model.row_scale) or not freedoms:
        return found.rank
    rng, best = np.random.default_rng(0), found.rank
    for _ in range(TRIES):
        step = found.motions @ rng.normal(size=freedoms)
        step *= NEARBY / np.abs(step / model.velocity_scale).max()
        there = assemble(model, model.integrate(q, step), check=False)
        if there.closed:
            best = max(best, decompose(model, _jacobian(model, there.q)).rank)
    return best


def _passive(model: Model, phi_q: Array) -> tuple[str, ...]:
    """Return joints with a freedom of their own that the loops they are in do not notice."""
    scaled = phi_q / model.row_scale[:, None] * model.velocity_scale
    largest = np.linalg.norm(scaled, 2) if scaled.size else 0.0
    names = []
    in_loop = np.zeros(len(model.bodies), dtype=bool)
    for cut in model.cuts:
        in_loop |= model.path[cut.successor] != model.path[cut.predecessor]
    for index, body in enumerate(model.bodies):
        own = scaled[:, body.v]
        if body.coupled or not own.shape[1] or not in_loop[index]:
            continue
        if np.linalg.matrix_rank(own, tol=TOLERANCE * largest) < own.shape[1]:
            names.append(model.joints[body.joint].name)
    return tuple(names)
