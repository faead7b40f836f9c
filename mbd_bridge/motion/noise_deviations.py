"""What the noise of a recorded motion leaves open in whatever is computed from it.

The errors of different degrees of freedom are independent, those of position, velocity and
acceleration of one are not: their covariance is R Rᵀ (`motions.smoothing.records.Channel`). Each
column r of R is a direction in which the states may be off by one standard deviation, and

    var(y) = Σ (y(states + r) - y(states - r))² / 4

over the columns of all degrees of freedom: linear propagation, with differences as wide as the
errors are. What is linear in accelerations needs one side only for columns that hold nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.model import Model
from mbd_bridge.motion.closing import OntoLoops
from mbd_bridge.motion.smoothing.spline import at_times

if TYPE_CHECKING:
    from mbd_bridge.motion.motion import Motion

States = tuple[Floats, Floats, Floats]
Results = TypeVar("Results")

LOOP_ROWS = 1000
"""Rows of a motion, at most, at which the uncertainty of results in loops is computed; between them
it is linear. Closing loops takes a hundred times as long as the loads of a tree."""


class Displacement(NamedTuple):
    """States q, v, a (N, n) moved one standard deviation ahead and behind along one direction.

    `behind` is None where only accelerations are moved: what is linear in these changes as much.
    """

    ahead: States
    behind: States | None

    @property
    def scale(self) -> float:
        """By which a difference counts; from the motion's own results where `behind` is None."""
        return 1.0 if self.behind is None else 0.5


def displacements(motion: Motion) -> Iterator[Displacement]:
    """Yield the directions in which a motion may be off; nothing where it is taken as exact."""
    states = motion.q, motion.v, motion.a
    for channel in () if motion.uncertainty is None else motion.uncertainty.channels:
        roots = channel.roots(motion.time)
        for column in range(3):
            way = roots[:, :, column]
            back = None if column == 2 else channel.displaced(motion.time, *states, -way)
            yield Displacement(channel.displaced(motion.time, *states, way), back)


def is_uncertain(motion: Motion) -> bool:
    """Return whether something is known of a motion's errors."""
    return motion.uncertainty is not None and bool(motion.uncertainty.channels)


def noise_deviations(
    motion: Motion,
    closed: Model | None,
    answer: Callable[[Motion], Results],
    numbers: Callable[[Results], Callable[[Results], Sequence[Floats]]],
    base: Results,
) -> tuple[Floats, ...] | None:
    """Return the standard deviations of results along a motion; None: it is exact.

    Parameters
    ----------
    closed : the machine whose loops the displaced states close; None: they need not
    answer : gives the results along motions like this one
    numbers : of the results themselves, gives what makes arrays (N, ...) of others
    base : the results along the motion
    """
    if not is_uncertain(motion):
        return None
    step = 1 if closed is None else -(-len(motion.time) // LOOP_ROWS)
    part = motion if step == 1 else motion.part(slice(None, None, step))
    onto = None if closed is None else OntoLoops(closed).near(part.q, part.v, part.a)

    def at(states: States) -> Sequence[Floats]:
        q, v, a = states if onto is None else onto(*states)
        return of(answer(replace(part, q=q, v=v, a=a)))

    own = base if step == 1 else answer(part)
    of = numbers(own)
    there = of(own)
    total = [np.zeros_like(one) for one in there]
    for way in displacements(part):
        pair = at(way.ahead), there if way.behind is None else at(way.behind)
        for squares, ahead, behind in zip(total, *pair, strict=True):
            change = ahead - behind
            change *= way.scale
            change *= change
            squares += change
    known = tuple(np.sqrt(squares, out=squares) for squares in total)
    return known if step == 1 else tuple(at_times(motion.time, part.time, one) for one in known)
