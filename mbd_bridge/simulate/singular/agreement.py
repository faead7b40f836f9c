"""How far two states apart are, and whether two halves of a step confirm it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.singular.trust import Now, Taken
from mbd_bridge.solve.tolerances import CONTROLLED_ERROR
from mbd_bridge.spatial import Array

SAME_PLACE, SAME_RATE = 1e-10, 1e-8
"""How well two jumps must agree: positions relative to the mechanism's size, velocities relative to
the fastest. A linkage that misses a flat position by e differs by e/`EDGE`, and by e/`EDGE`²."""

LOST_PLACE, LOST_RATE = 1e-15, 1e-14
"""What rounding may leave across the branch, times 1/σ of positions, times 1/σ² of velocities."""

SMALL_STATE = 1e-3
"""In its own unit: the size of a state of a force element below which it need not agree better."""


class Apart(NamedTuple):
    """How far two states are apart.

    Attributes
    ----------
    place : rad, or sizes of the mechanism
    rate : relative to the fastest
    states : of force elements and a method's memory, relative to their size
    """

    place: float
    rate: float
    states: float


def apart(model: Model, one: Taken, two: Taken | Now) -> Apart:
    """Return how far two states are apart."""
    scale = model.velocity_scale
    fastest = max(np.abs(two.v / scale).max(initial=0.0), 1e-300)
    place = np.abs(model.difference(one.q, two.q) / scale).max(initial=0.0)
    rate = np.abs((one.v - two.v) / scale).max(initial=0.0) / fastest
    size = np.maximum(np.abs(two.carried), SMALL_STATE)
    states = np.abs((one.carried - two.carried) / size).max(initial=0.0)
    return Apart(float(place), float(rate), float(states))


def same(model: Model, one: Taken, two: Taken | Now) -> bool:
    """Return whether two jumps have come to one state."""
    found = apart(model, one, two)
    return found.place <= SAME_PLACE and max(found.rate, found.states) <= SAME_RATE


def confirmed(
    model: Model, energy: Callable[[Array, Array], float], whole: Taken, halves: Taken
) -> bool:
    """Return whether two halves confirm a step, but for what rounding takes.

    Parameters
    ----------
    energy : of q and v, J
    """
    found, risk = apart(model, whole, halves), max(whole.near, halves.near)
    if found.place > max(CONTROLLED_ERROR, LOST_PLACE * risk**0.5) or max(
        found.rate, found.states
    ) > max(CONTROLLED_ERROR, LOST_RATE * risk):
        return False
    one, two = energy(whole.q, whole.v), energy(halves.q, halves.v)
    still = energy(halves.q, np.zeros_like(halves.v))
    return abs(one - two) <= CONTROLLED_ERROR * (abs(still) + abs(two - still))
