"""The poses of a machine as points of a unit cube: one number from 0 to 1 for each coordinate.

A coordinate goes evenly over its range; the rotation of a ball joint takes three numbers, which
give every orientation the same weight (Shoemake 1992).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import by_name, finite_numbers, known_name
from mbd_bridge.base.errors import StateError, real_number, whole_number
from mbd_bridge.loads.options import WorkspaceOptions
from mbd_bridge.model import Body, Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import velocity_units
from mbd_bridge.motion.path import limits_of
from mbd_bridge.solve.assembly import InitialGuess, assemble_batch, held_ones, initial_position
from mbd_bridge.solve.constrained import actuated_joints
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.row_choice import row_choice

Ranges = Mapping[str, ArrayLike] | None
"""By coordinate: (lowest, highest), or one number at which it stays."""


MOST_SAMPLES = 2**30
"""Points of SciPy's Sobol sequence."""

BLOCK = 2**14
"""Poses that are evaluated together."""


class Workspace:
    """All poses of a machine within the ranges of its coordinates.

    Parameters
    ----------
    prepared : the model, with its machine code
    ranges : of coordinates; those not named have the limits of the file, and turns without limits
        go all round
    near : coordinates that are not sampled; in a machine with loops, where the others are looked
        for
    sampled : of a machine with loops, the joints that determine its pose
    clearance : of a machine with loops, poses that are nearer than this to a singular position or
        a dead centre (smallest over largest singular value of loops and sampled joints) are left
        out: loads grow there without bound

    Attributes
    ----------
    sampled : joints, of a machine with loops
    size : numbers that make a pose
    names : of the coordinates that are sampled
    """

    def __init__(
        self,
        prepared: Prepared,
        ranges: Ranges,
        near: InitialGuess,
        sampled: tuple[str, ...] | None,
        clearance: float,
    ) -> None:
        self._clearance, self.sampled = clearance, sampled
        model = self.model = prepared.model
        self._prepared, self._near = prepared, initial_position(model, near)
        bounds = _bounds(model, ranges)
        self._rotations: list[Body] = []
        own: list[tuple[int, float, float]] = []
        self._fixed: list[str] = []
        chosen = None if sampled is None else set(sampled)
        for body in model.bodies:
            joint = model.joints[body.joint]
            if (
                body.coupled
                or not body.type.nv
                or (chosen is not None and joint.name not in chosen)
            ):
                continue
            self._fixed.append(joint.name)
            if body.type.nq > body.type.nv:
                if body.type.nv == 3:
                    self._rotations.append(body)
                continue  # a floating base stays where it is
            units = velocity_units(body.type)
            for k, unit in enumerate(units):
                place = body.q.start + k
                low, high = bounds[place]
                name = model.coordinate_names[place]
                if unit == "rad" and not np.isfinite([low, high]).all():
                    low = low if np.isfinite(low) else min(high, np.pi) - 2.0 * np.pi
                    high = high if np.isfinite(high) else low + 2.0 * np.pi
                if not (np.isfinite([low, high]).all() and low <= high):
                    raise StateError(
                        f"{name} has no limits in the file: give its range, "
                        f"ranges={{{name!r}: (0.0, 1.0)}} (--range {name}=0:1), or one value"
                    )
                if low == high:
                    self._near[place] = low
                else:
                    own.append((place, low, high))
        self._places = [place for place, _, _ in own]
        self._low = np.array([low for _, low, _ in own])
        self._way = np.array([high - low for _, low, high in own])
        self.size = len(own) + 3 * len(self._rotations)
        self.names = tuple(model.coordinate_names[place] for place in self._places)

    @staticmethod
    def of(prepared: Prepared, options: WorkspaceOptions) -> Workspace:
        """Return the workspace that options tell, checked."""
        model = prepared.model
        sampled = actuated_joints(model, options["actuated"]) if model.has_loops else None
        clearance = real_number("clearance", options["clearance"], "a number from 0 to 1")
        return Workspace(prepared, options["ranges"], options["near"], sampled, clearance)

    def poses(self, u: Array) -> tuple[Array, Array]:
        """Return positions (n, nq) of points (n, size), and which of them exist (n,)."""
        q = np.repeat(self._near[None], len(u), axis=0)
        count = len(self._places)
        q[:, self._places] = self._low + self._way * u[:, :count]
        for k, body in enumerate(self._rotations):
            q[:, body.q] = _quaternions(u[:, count + 3 * k : count + 3 * k + 3])
        if not self.model.has_loops:
            return q, np.ones(len(u), dtype=bool)
        found = assemble_batch(self._prepared, q, fixed=self._fixed, check=False)
        return found.q, found.closed & (self._distance(found.q) >= self._clearance)

    def named(self, chosen: Array) -> tuple[str, ...]:
        """Return the coordinates of those numbers of a point (size,) that are chosen."""
        count = len(self._places)
        places = [place for place, own in zip(self._places, chosen, strict=False) if own]
        for k, body in enumerate(self._rotations):
            if chosen[count + 3 * k : count + 3 * k + 3].any():
                places += range(body.q.start, body.q.stop)
        return tuple(self.model.coordinate_names[place] for place in sorted(places))

    def number(self, samples: int) -> int:
        """Return the number of poses in a Sobol sequence of at least so many: a power of two."""
        samples = whole_number("samples", samples)
        if samples > MOST_SAMPLES:
            raise StateError(f"samples: expected at most {MOST_SAMPLES}, a whole Sobol sequence")
        return 2 ** max(0, int(np.ceil(np.log2(samples)))) if self.size else 1

    def points(self, number: int, seed: int) -> Iterator[Array]:
        """Yield the points (n, size) of a Sobol sequence, in blocks."""
        from scipy.stats import qmc

        if not self.size:
            yield np.zeros((1, 0))
            return
        sequence = qmc.Sobol(self.size, scramble=True, seed=whole_number("seed", seed, 0))
        for start in range(0, number, BLOCK):
            yield sequence.random(min(BLOCK, number - start))

    def sample(self, samples: int, seed: int) -> Array:
        """Return those positions (n, nq) of a Sobol sequence that exist."""
        points = self.points(self.number(samples), seed)
        found = [q[exist] for q, exist in map(self.poses, points)]
        return np.concatenate(found)

    def _distance(self, q: Array) -> Array:
        """Return smallest over largest singular value of loops and sampled joints (n,)."""
        model = self.model
        phi_q = self._prepared.kernel("constraints")(q, np.zeros((len(q), model.nv)))[1]
        rows = list(row_choice(model).rows)
        held = np.eye(model.nv)[held_ones(model, self._fixed)]
        own = np.repeat(held[None], len(q), axis=0)
        A = np.concatenate([model.scaled_jacobian(phi_q)[:, rows], own], axis=1)
        s = np.linalg.svd(A, compute_uv=False)
        return np.asarray(s[:, -1] / s[:, 0])


def _bounds(model: Model, ranges: Ranges) -> Array:
    """Return the lowest and the highest value of each coordinate (nq, 2)."""
    bounds = np.tile([-np.inf, np.inf], (model.nq, 1))
    lower, upper = limits_of(model)
    for body in model.bodies:
        if not body.coupled and body.type.nq == body.type.nv:
            bounds[body.q] = np.column_stack([lower[body.v], upper[body.v]])
    for name, given in by_name("ranges", ranges, "{'elbow': (0.0, 2.0)}").items():
        known_name("coordinate", name, model.coordinate_names, "ranges: ")
        ends = np.atleast_1d(finite_numbers(f"ranges[{name!r}]", given, (), (1,), (2,)))
        if ends[0] > ends[-1]:
            raise StateError(f"ranges[{name!r}]: expected (lowest, highest), got {given!r:.60}")
        bounds[model.coordinate_names.index(name)] = ends[0], ends[-1]
    return bounds


def _quaternions(u: Array) -> Array:
    """Return unit quaternions (n, 4) that are evenly spread for points (n, 3) that are."""
    first, second = np.sqrt(1.0 - u[:, 0]), np.sqrt(u[:, 0])
    one, two = 2.0 * np.pi * u[:, 1], 2.0 * np.pi * u[:, 2]
    return np.column_stack(
        [first * np.sin(one), first * np.cos(one), second * np.sin(two), second * np.cos(two)]
    )
