"""What the noise of a recorded motion leaves open in joint loads: their standard deviations.

`motions.noise_deviations` has the formula; lengths of force and moment change along them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import count
from mbd_bridge.loads.result import JointLoads, actuation_speeds
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.closing import OntoLoops
from mbd_bridge.motion.noise_deviations import LOOP_ROWS, displacements, is_uncertain
from mbd_bridge.motion.smoothing.spline import at_times

if TYPE_CHECKING:
    from mbd_bridge.loads.solver import LoadSolver

FROM_NOISE = Assumption(
    "uncertainty",
    "bands of 95 % from the noise of the recorded motion; the machine is taken as exact",
    neglected=True,
)
Answer = Callable[[Array, Array, Array], JointLoads]
"""Returns the loads at states q, v, a (N, n)."""


@dataclass(frozen=True, eq=False)
class LoadUncertainty:
    """Standard deviations of loads along a motion; 1.96 of them hold 95 % of the errors.

    Attributes
    ----------
    force, moment : (N, J, 3) of the components
    force_length, moment_length : (N, J) of the lengths
    actuation, speed : (N, F) of the actuators and their rates
    """

    force: Array
    moment: Array
    force_length: Array
    moment_length: Array
    actuation: Array
    speed: Array

    def __repr__(self) -> str:
        states, joints = self.force.shape[:2]
        return f"LoadUncertainty({count(states, 'state')}, {count(joints, 'joint')})"

    def at(self, time: Array, known: Array) -> LoadUncertainty:
        """Return the deviations at times (N,), linear between those known (K,)."""
        names = ("force", "moment", "force_length", "moment_length", "actuation", "speed")
        return LoadUncertainty(*(at_times(time, known, getattr(self, name)) for name in names))


def load_uncertainty(answer: Answer, motion: Motion, loads: JointLoads) -> LoadUncertainty | None:
    """Return how exactly loads along a motion are known, as far as the motion's noise goes.

    None where the motion is exact, or nothing is known of its errors.

    Parameters
    ----------
    answer : gives the loads, as `loads` were computed from the motion
    """
    if motion.uncertainty is None or not is_uncertain(motion):
        return None
    sums = [np.zeros(x.shape) for x in (loads.force, loads.moment, loads.actuation)]
    directions = _unit(loads.force), _unit(loads.moment)
    lengths = [np.zeros(x.shape[:-1]) for x in directions]
    for way in displacements(motion):
        ahead = answer(*way.ahead)
        behind = loads if way.behind is None else answer(*way.behind)
        changes = [
            way.scale * (ahead.force - behind.force),
            way.scale * (ahead.moment - behind.moment),
            way.scale * (ahead.actuation - behind.actuation),
        ]
        for total, change in zip(sums, changes, strict=True):
            total += change * change
        for total, unit, change in zip(lengths, directions, changes[:2], strict=True):
            total += np.einsum("nji,nji->nj", unit, change) ** 2
    force, moment, actuation = (np.sqrt(x) for x in sums)
    _, rates, _ = motion.uncertainty.standard_deviations(motion.time, motion.q, motion.v, motion.a)
    speed = np.abs(actuation_speeds(loads, rates))
    return LoadUncertainty(
        force, moment, np.sqrt(lengths[0]), np.sqrt(lengths[1]), actuation, speed
    )


def with_uncertainty(
    solver: LoadSolver,
    loads: JointLoads,
    motion: Motion,
    pushes: ArrayLike | None,
    threads: int,
) -> JointLoads:
    """Return loads with the times of their motion, and with what its noise leaves open of them.

    Parameters
    ----------
    solver, pushes : what they were computed with
    """
    loads = loads.along_motion(motion)
    if motion.uncertainty is None:
        return loads
    closed = solver.model.has_loops and not solver.request.open_tree
    rows = range(0, len(motion.time), -(-len(motion.time) // LOOP_ROWS) if closed else 1)
    some = slice(None, None, rows.step)
    part = replace(
        motion, time=motion.time[some], q=motion.q[some], v=motion.v[some], a=motion.a[some]
    )
    onto = OntoLoops(solver.model).near(part.q, part.v, part.a) if closed else None
    forces = pushes[some] if isinstance(pushes, np.ndarray) and pushes.ndim == 3 else pushes

    def answer(q: Array, v: Array, a: Array) -> JointLoads:
        if onto is not None:
            q, v, a = onto(q, v, a)
        return solver(q, v, a, forces, t=part.time, threads=threads, check=False)

    base = loads if rows.step == 1 else answer(part.q, part.v, part.a)
    known = load_uncertainty(answer, part, base)
    if known is not None and rows.step > 1:
        known = known.at(motion.time, part.time)
    if known is None:
        return loads
    return replace(loads, uncertainty=known, assumed=(*loads.assumed, FROM_NOISE))


def _unit(vectors: Array) -> Array:
    """Return vectors (N, J, 3) of length 1, or 0 where they have none."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0.0))
