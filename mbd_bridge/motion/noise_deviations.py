"""What the noise of a recorded motion leaves open in whatever is computed from it.

The errors of different degrees of freedom are independent, those of position, velocity and
acceleration of one are not: their covariance is R Rᵀ (`motions.smoothing.records.Channel`). Each
column r of R is a direction in which the states may be off by one standard deviation, and

    var(y) = Σ (y(states + r) - y(states - r))² / 4

over the columns of all degrees of freedom: linear propagation, with differences as wide as the
errors are. What is linear in accelerations needs one side only for columns that hold nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.model import Model
from mbd_bridge.motion.closing import OntoLoops
from mbd_bridge.motion.smoothing.spline import at_times

if TYPE_CHECKING:
    from mbd_bridge.motion.motion import Motion

Floats = NDArray[np.float64]
States = tuple[Floats, Floats, Floats]

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
    model: Model, motion: Motion, answer: Callable[[Motion], Floats]
) -> Floats | None:
    """Return the standard deviations (N, ...) of results along a motion; None: it is exact.

    Parameters
    ----------
    answer : gives the results (N, ...) along motions like this one
    """
    if not is_uncertain(motion):
        return None
    step = -(-len(motion.time) // LOOP_ROWS) if model.has_loops else 1
    some = slice(None, None, step)
    names = ("time", "q", "v", "a")
    part = replace(motion, **{name: getattr(motion, name)[some] for name in names})
    onto = OntoLoops(model).near(part.q, part.v, part.a) if model.has_loops else None

    def at(states: States) -> Floats:
        q, v, a = states if onto is None else onto(*states)
        return answer(replace(part, q=q, v=v, a=a))

    base = answer(part)
    total = np.zeros_like(base)
    for way in displacements(part):
        change = way.scale * (at(way.ahead) - (base if way.behind is None else at(way.behind)))
        total += change * change
    known = np.sqrt(total)
    return known if step == 1 else np.asarray(at_times(motion.time, part.time, known))
