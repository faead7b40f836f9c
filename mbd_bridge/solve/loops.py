"""What the loops of a mechanism do at a position: degrees of freedom, redundancy, nearness of a
singularity.

With the singular values σ_1 ≥ σ_2 ≥ ... of the dimensionless Φ_q, and r the rank that Φ_q has at
positions close by that the loops allow,

    distance = σ_r / σ_1,     condition = σ_1 / σ_r

At a singular position the rank is less than r: distance is 0 there, and goes to 0 on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from mbd_bridge.base.errors import count
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import RANK_TOLERANCE, Across, Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.actuation import Actuation, actuated_velocities, actuation
from mbd_bridge.solve.assembly import assemble
from mbd_bridge.solve.closing import Newton, newton
from mbd_bridge.solve.dynamics import constraint_values
from mbd_bridge.solve.moves import moved
from mbd_bridge.solve.rank import Decomposition, decompose
from mbd_bridge.solve.row_choice import RowChoice, row_choice
from mbd_bridge.solve.spins import spin_velocities, spins_of
from mbd_bridge.solve.tolerances import CLOSED_BESIDE, NEARLY_REDUNDANT, ROUNDED, WEAK_BESIDE

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
    dof : of the closed mechanism here, nv - rank
    position_dof : of its positions; more than `dof` where rows constrain velocities only (wheels)
    redundant : by loop, how many of its rows take part in a redundancy
    condition : σ_1 / σ_r of the dimensionless Φ_q, r being `rank_nearby`; infinite at a singular
        position
    distance : from a singular position, σ_r / σ_1: 0 there, at most 1
    motions : (nv, degrees of freedom) basis of the velocities that the loops allow
    passive : joints in a loop with a degree of freedom that moves nothing else in it
    actuation : what the actuators do here, if they are known
    off : by loop, how far (m, rad) rows taken for redundant are off at most, where that is more
        than rounding: the machine's numbers are not exact
    weakest : how much the weakest row counts in general position, relative to the largest; None
        unless it is near the rank tolerance
    rank_tolerance : see `mbd_bridge.load`
    undetermined : by joint, tree or cut, the components of its load (fx ... mz) that rigid-body
        mechanics leaves open; joints that are not named have none
    """

    rows: int
    rank: int
    rank_nearby: int
    dof: int
    redundant: dict[str, int]
    condition: float
    distance: float
    motions: Array
    passive: tuple[str, ...]
    actuation: Actuation | None = None
    off: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    weakest: float | None = None
    rank_tolerance: float = RANK_TOLERANCE
    undetermined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    position_dof: int = 0

    @property
    def mobility(self) -> str:
        """Degrees of freedom in words, of positions too where these are more."""
        own = count(self.dof, "degree of freedom")
        if self.position_dof == self.dof:
            return own
        return f"{own} ({self.position_dof} of positions: wheels constrain velocities only)"

    @property
    def singular(self) -> bool:
        """Whether the mechanism has more degrees of freedom here than close by."""
        return self.rank < self.rank_nearby

    @property
    def imprecise(self) -> tuple[str, ...]:
        """What is to be said of rows that are, or may be, redundant but for rounded numbers."""
        lines = [
            f"{name}: taken for redundant although off by {length:.2g} m and {angle:.2g} rad; "
            f"write its axes and lengths with more digits, or, if that is meant, set a smaller "
            f"rank_tolerance (it is {self.rank_tolerance:.0e})"
            for name, (length, angle) in self.off.items()
        ]
        if self.weakest is not None:
            lines.append(
                f"the weakest row that counts does so by {self.weakest:.2g} only: if it is "
                f"redundant but for rounded numbers, write axes and lengths with more digits, or "
                f"set a larger rank_tolerance (it is {self.rank_tolerance:.0e})"
            )
        return tuple(lines)

    def __str__(self) -> str:
        lost = self.rows - self.rank
        lines = [
            f"{self.mobility}; {self.rows} constraint rows, {lost} "
            f"redundant; "
            f"condition {self.condition:.3g}, distance from a singular position {self.distance:.3g}"
        ]
        if self.singular:
            more = count(self.rank_nearby - self.rank, "degree of freedom")
            lines.append(f"  a singular position: {more} more than close by")
        lines += [
            f"  {name}: {rows} rows share in the redundancy"
            for name, rows in self.redundant.items()
            if rows
        ]
        lines += [f"  {line}" for line in self.imprecise]
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
    actuated : actuated joints; None: nothing is said about actuators
    """
    phi, phi_q = _constraints(model, q)
    choice = row_choice(model)
    J = model.scaled_jacobian(phi_q)
    rows = choice.at(J)
    found = decompose(model, phi_q, len(rows))
    redundant, k = {}, 0
    for cut in model.cuts:
        part = found.stresses[k : k + len(cut.rows)]
        redundant[cut.name] = int(np.sum(np.abs(part).max(axis=1, initial=0.0) > choice.slack))
        k += len(cut.rows)
    nearby = max(found.rank, _rank_nearby(model, q, found))
    distance = 1.0
    if nearby:
        smallest = found.singular[nearby - 1] if nearby == found.rank else 0.0
        distance = float(smallest / found.singular[0]) if found.rank else 0.0
    actuators = None
    if actuated is not None:
        active = actuated_velocities(model, actuated)
        state = state_vectors(model, q, np.zeros(model.nv))
        free = spin_velocities(spins_of(model, active), model, state)
        actuators = actuation(model, np.concatenate([J[list(rows)], free]), active)
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
        actuators,
        _off(model, choice, rows, phi) if choice.imprecise else {},
        choice.weakest if choice.weakest < NEARLY_REDUNDANT * choice.tolerance else None,
        model.rank_tolerance,
        position_dof=model.nv - _position_rank(model, J),
    )


def _position_rank(model: Model, J: Array) -> int:
    """Return how many rows of the dimensionless J that constrain positions are independent."""
    s = np.linalg.svd(J, compute_uv=False)
    own = np.linalg.svd(J[~model.velocity_rows], compute_uv=False)
    return int(np.sum(own > model.rank_tolerance * s.max(initial=0.0)))


def _constraints(model: Model, q: Array) -> tuple[Array, Array]:
    found = constraints(model, state_vectors(model, q, np.zeros(model.nv)))
    return found.phi, found.phi_q


def _off(
    model: Model, choice: RowChoice, rows: tuple[int, ...], phi: Array
) -> dict[str, tuple[float, float]]:
    """Return by loop how far (m, rad) its redundant rows are off, in direction or place."""
    off = np.maximum(choice.off * model.row_scale, np.abs(phi))
    off[list(rows)] = 0.0
    found, k = {}, 0
    for cut in model.cuts:
        angular = [isinstance(row, Across) for row in cut.rows]
        own = off[k : k + len(cut.rows)]
        if (own > ROUNDED * model.row_scale[k : k + len(cut.rows)]).any():
            most = [float(own[np.equal(angular, kind)].max(initial=0.0)) for kind in (False, True)]
            found[cut.name] = most[0], most[1]
        k += len(cut.rows)
    return found


def _rank_nearby(model: Model, q: Array, found: Decomposition) -> int:
    """Return the largest rank at some positions close by; rows are dependent here."""
    dof = found.motions.shape[1]
    if found.rank == len(model.row_scale) or not dof:
        return found.rank
    rng, best = np.random.default_rng(0), found.rank
    for _ in range(TRIES):
        step = found.motions @ rng.normal(size=dof)
        step *= NEARBY / np.abs(step / model.velocity_scale).max()
        there = assemble(model, model.integrate(q, step), check=False)
        if there.closed:
            phi_q = _constraints(model, there.q)[1]
            scaled = model.scaled_jacobian(phi_q)
            best = max(best, decompose(model, phi_q, len(row_choice(model).at(scaled))).rank)
    return best


def _passive(model: Model, phi_q: Array) -> tuple[str, ...]:
    """Return joints with a degree of freedom of their own that the loops they are in do not
    notice.
    """
    scaled = model.scaled_jacobian(phi_q)
    largest = np.linalg.norm(scaled, 2) if scaled.size else 0.0
    names = []
    in_loop = np.zeros(len(model.bodies), dtype=bool)
    for cut in model.cuts:
        in_loop |= model.path[cut.successor] != model.path[cut.predecessor]
    for index, body in enumerate(model.bodies):
        if model.joints[body.joint].is_station:
            continue
        own = scaled[:, body.v]
        if body.coupled or not own.shape[1] or not in_loop[index] or body.type.nv == 6:
            continue
        if np.linalg.matrix_rank(own, tol=model.rank_tolerance * largest) < own.shape[1]:
            names.append(model.joints[body.joint].name)
    return tuple(names)


# Residuals and Jacobian of a mechanism's loops without dimension, and closed positions nearby.

BESIDE = 1e-2
"""How far, rad or parts of the mechanism's size, is looked beside a position."""

CORRECTIONS = 12

DIRECTIONS = 3
"""Ways out of a position at rest that are tried."""


class LoopChecker:
    """Φ and Φ_q of a mechanism's loops, without dimension.

    Attributes
    ----------
    values : (q, v) -> Φ, Φ_q and γ with their dimensions, of one state or many
    """

    def __init__(self, model: Model) -> None:
        self.model, self.values = model, constraint_values(model)
        self._still = np.zeros(model.nv)

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return Φ (..., m) and Φ_q (..., m, nv) at positions (..., nq)."""
        phi, phi_q, _ = self.values(q, self._still)
        return phi / self.model.row_scale, self.model.scaled_jacobian(phi_q)

    def choice(self, prescribed_velocities: tuple[int, ...] = ()) -> RowChoice:
        """Return the choice of rows in general position, of the model itself."""
        return row_choice(self.model, prescribed_velocities)

    def rows(self, q: Array, prescribed_velocities: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Return rows of Φ_q, less the prescribed columns, that are independent at q."""
        return self.choice(prescribed_velocities).at(self.at(q)[1])

    def beside(self, q: Array, v: Array | None = None) -> Iterator[Array]:
        """Yield closed positions a little way from q: along v, then where the loops let it go.

        Where many branches meet, none of these may be found; then positions beside q that are not
        closed tell the rank. (A machine that moves although it is overconstrained does close.)
        """
        _, J = self.at(q)
        scale = self.model.velocity_scale
        free = self.choice().motions(J)
        ways = list(np.random.default_rng(0).normal(size=(DIRECTIONS, free.shape[1])) @ free.T)
        if v is not None and np.any(v):
            ways.insert(0, v / scale)
        sizes = [np.linalg.norm(way) for way in ways]
        places = [
            self.model.integrate(q, BESIDE / size * scale * way)
            for way, size in zip(ways, sizes, strict=True)
            if size > 0.0
        ]
        found = False
        for place in map(self.closed, places):
            if place is not None:
                found = True
                yield place
        if not found:
            yield from places

    def correction(self, q: Array, weakest: float) -> tuple[Array, Array]:
        """Return the smallest step (nv,), without dimension, towards the loops, and Φ at q.

        Newton's next position is integrate(q, -scale * step). Singular values of Φ_q below
        `weakest`, relative to the largest, do not count.
        """
        phi, J = self.at(q)
        return np.linalg.pinv(J, rcond=weakest) @ phi, phi

    def closed(self, q: Array) -> Array | None:
        """Return the position put onto the loops by Newton's method, None if it stays open.

        Redundant rows stay as open as the machine's imprecise numbers leave them.
        """
        found = newton(
            lambda q, _: self.at(q),
            lambda q, step: moved(self.model, q, self.model.velocity_scale * step),
            q[None],
            np.zeros(1, dtype=int),
            CORRECTIONS,
            steps=lambda r, J: Newton.of(J, WEAK_BESIDE).onto(r),
            done=CLOSED_BESIDE,
        )
        allowed = max(CLOSED_BESIDE, self.choice().leeway)
        closed = found.arrived[0] and np.abs(found.r).max(initial=0.0) < allowed
        place: Array = found.q[0]
        return place if closed else None
