"""What the peers' models have in common: planar machines, hinges about y, no turned frames."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

MOST_TURNS = 200
"""Turns that each work has at most."""
LEAST_TURNS = 5
"""Turns that each work has at least."""
ENOUGH = 1.0
"""s."""


class Engine(Protocol):
    """One machine in one engine with one step size."""

    name: str

    def run(self, steps: int) -> float:
        """Take steps from the start; return the processor's seconds that they took."""

    def q(self) -> np.ndarray:
        """Return the coordinates where the last run ended, in our order, rad."""

    def open(self) -> float:
        """Return how far the loops stood open there, m."""


def spent() -> float:
    """Return the processor's seconds of this process, and of those that compile for it."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor's seconds that a call took.

    Of one thread on a quiet machine they are those of the clock on the wall; other programs
    disturb them less.
    """
    start = time.process_time()
    work()
    return time.process_time() - start


def least_seconds(runs: list[Callable[[], float]], enough: float = ENOUGH) -> list[float]:
    """Return the least of what each run says that it took, in turns, so that none has bad luck.

    Parameters
    ----------
    enough : s in its turns, after which a work has no more than it must have
    """
    least, spent = [np.inf] * len(runs), [0.0] * len(runs)
    for turn in range(MOST_TURNS):
        for k, run in enumerate(runs):
            if turn < LEAST_TURNS or spent[k] < enough:
                took = run()
                least[k], spent[k] = min(least[k], took), spent[k] + took
    return least


def depth_first(description: Any, parent: str | None = None) -> Iterator[Any]:
    """Yield the joints of the tree, each branch to its end before the next."""
    above = description.links[0].name if parent is None else parent
    for joint in description.joints:
        if joint.parent == above:
            yield joint
            yield from depth_first(description, joint.child)


def carried(r: Any, r_dot: Any, angle: float, rate: float, local: Any) -> tuple[Any, Any]:
    """Return place and velocity of a point of a body in the plane (z, x)."""
    c, s = np.cos(angle), np.sin(angle)
    arm = np.array([c * local[0] - s * local[1], s * local[0] + c * local[1]])
    return r + arm, r_dot + rate * np.array([-arm[1], arm[0]])


def in_plane(point: Any) -> np.ndarray:
    """Return a point's (z, x): so turned, angles about y keep their sign."""
    return np.array([point[2], point[0]], dtype=float)


def gap(model: Any, q: np.ndarray) -> float:
    """Return how far the two ends of a loop are apart at most, m."""
    angles = dict(zip(model.velocity_names, q, strict=True))
    description, none = model.description, np.zeros(2)
    places: dict[str, tuple[np.ndarray, float]] = {description.links[0].name: (none, 0.0)}
    for joint in depth_first(description):
        r, angle = places[joint.parent]
        origin = carried(r, none, angle, 0.0, in_plane(joint.origin.translation))[0]
        places[joint.child] = origin, angle + angles[joint.name]

    def end(one: Any) -> np.ndarray:
        r, angle = places[one.link]
        return np.asarray(carried(r, none, angle, 0.0, in_plane(one.frame.translation))[0])

    return max(
        float(np.linalg.norm(end(loop.predecessor) - end(loop.successor)))
        for loop in description.loops
    )
