"""What the noise of a recorded motion leaves open in joint loads: their standard deviations.

`motion.noise_deviations` has the formula; lengths of force and moment change along them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import count
from mbd_bridge.loads.result import JointLoads, actuation_speeds
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.deviations import noise_deviations

if TYPE_CHECKING:
    from mbd_bridge.loads.solver import LoadSolver

FROM_NOISE = Assumption(
    "uncertainty",
    "bands of 95 % from the noise of the recorded motion; the machine is taken as exact",
    neglected=True,
)


@dataclass(frozen=True, eq=False)
class LoadUncertainty:
    """Standard deviations of loads along a motion; 1.96 of them hold 95 % of the errors.

    Attributes
    ----------
    force, moment : (N, J, 3) of the components
    force_length, moment_length : (N, J) of the lengths
    actuation, speed : (N, F) of the actuators and their rates
    needed : (N, k) of what an observer makes of the loads (`Needs.deviations`), or None
    """

    force: Array
    moment: Array
    force_length: Array
    moment_length: Array
    actuation: Array
    speed: Array
    needed: Array | None = None

    def __repr__(self) -> str:
        states, joints = self.force.shape[:2]
        return f"LoadUncertainty({count(states, 'state')}, {count(joints, 'joint')})"


def load_numbers(base: JointLoads) -> Callable[[JointLoads], tuple[Array, ...]]:
    """Return what makes of loads near others the five arrays whose deviations are known.

    Lengths change along the forces and moments of `base`.
    """
    along = _unit(base.force), _unit(base.moment)

    def numbers(loads: JointLoads) -> tuple[Array, ...]:
        vectors = loads.force, loads.moment
        lengths = (np.einsum("nji,nji->nj", *pair) for pair in zip(along, vectors, strict=True))
        return *vectors, *lengths, loads.actuation

    return numbers


def uncertain(loads: JointLoads, motion: Motion, known: Iterable[Array] | None) -> JointLoads:
    """Return loads along a motion with the deviations of their `load_numbers`, the next five."""
    if known is None or motion.uncertainty is None:
        return loads
    _, rates, _ = motion.uncertainty.standard_deviations(motion.time, motion.q, motion.v, motion.a)
    force, moment, lengths, turns, actuation = islice(known, 5)
    speed = np.abs(actuation_speeds(loads, rates))
    deviations = LoadUncertainty(force, moment, lengths, turns, actuation, speed)
    return replace(loads, uncertainty=deviations, assumed=(*loads.assumed, FROM_NOISE))


def with_uncertainty(
    solver: LoadSolver,
    loads: JointLoads,
    motion: Motion,
    pushes: ArrayLike | Callable[[Motion], Array | None] | None,
    threads: int,
) -> JointLoads:
    """Return loads with the times of their motion, and with what its noise leaves open of them.

    Parameters
    ----------
    solver, pushes : what they were computed with; pushes at the motion's states, or along others
    """
    loads = loads.along_motion(motion)

    def pushed(moved: Motion) -> ArrayLike | None:
        if callable(pushes):
            return pushes(moved)
        if isinstance(pushes, np.ndarray) and pushes.ndim == 3:
            return np.asarray(pushes[np.searchsorted(motion.time, moved.time)])
        return pushes

    def answer(moved: Motion) -> JointLoads:
        states = moved.q, moved.v, moved.a
        return solver(*states, pushed(moved), t=moved.time, threads=threads, check=False)

    known = noise_deviations(motion, solver.closed, answer, load_numbers, loads)
    return uncertain(loads, motion, known)


def _unit(vectors: Array) -> Array:
    """Return vectors (N, J, 3) of length 1, or 0 where they have none."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0.0))
