"""What the loops of a mechanism do at a position: freedoms, redundancy, passive freedoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.solve.rank import TOLERANCE, decompose
from mbd_bridge.spatial import Array


@dataclass(frozen=True, eq=False)
class LoopReport:
    """The constraints at one position.

    Attributes
    ----------
    rows, rank : constraint rows of all cuts, and how many of them are independent
    freedoms : of the closed mechanism, nv - rank
    redundant : by loop, how many of its rows take part in a redundancy
    condition : largest over smallest independent singular value (dimensionless)
    distance : smallest independent singular value over the largest: 0 is a singular position
    motions : (nv, freedoms) basis of the velocities that the loops allow
    passive : joints in a loop with a freedom that moves nothing else in it
    """

    rows: int
    rank: int
    freedoms: int
    redundant: dict[str, int]
    condition: float
    distance: float
    motions: Array
    passive: tuple[str, ...]

    def __str__(self) -> str:
        count = self.rows - self.rank
        plural = "" if self.freedoms == 1 else "s"
        lines = [
            f"{self.freedoms} freedom{plural}; {self.rows} constraint rows, {count} redundant; "
            f"condition {self.condition:.3g}, distance from a singular position {self.distance:.3g}"
        ]
        lines += [
            f"  {name}: {rows} rows share in the redundancy"
            for name, rows in self.redundant.items()
            if rows
        ]
        lines += [
            f"  {name}: turns or slides without moving anything else" for name in self.passive
        ]
        return "\n".join(lines)


def report(model: Model, phi_q: Array) -> LoopReport:
    """Return the report for Φ_q (m, nv) at one position."""
    found = decompose(model, phi_q)
    redundant, k = {}, 0
    for cut in model.cuts:
        part = found.stresses[k : k + len(cut.rows)]
        redundant[cut.name] = int(np.sum(np.abs(part).max(axis=1, initial=0.0) > TOLERANCE))
        k += len(cut.rows)
    distance = found.singular[found.rank - 1] / found.singular[0] if found.rank else 1.0
    return LoopReport(
        len(phi_q),
        found.rank,
        model.nv - found.rank,
        redundant,
        found.condition,
        float(distance),
        found.motions,
        _passive(model, phi_q),
    )


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
