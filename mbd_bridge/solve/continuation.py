"""Take held coordinates to their values step by step, the loops closed at each.

From a closed position the held coordinates go on a straight way to where they are to be; the free
ones follow by the tangent and by Newton's steps. The branch of the start is kept. A step that does
not close is halved; a way that ends, at a limit position of the branch, is given up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.solve.newton import LONGEST_STEP, Newton, largest
from mbd_bridge.solve.tolerances import CLOSED_ON_THE_WAY, SINGULAR
from mbd_bridge.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.solve.closing import Closing

FIRST, LONGEST, SHORTEST = 0.1, 0.25, 1e-3
"""Parts of the way: the first step, the longest, and the one below which the way ends."""

STEPS = 200
CORRECTIONS = 6


def follow(closing: Closing, start: Array, goal: Array, numbers: Array) -> tuple[Array, Array]:
    """Return positions (n, nq), and which (n,) are at the goals' held values: others' ways ended.

    Parameters
    ----------
    start : (n, nq) closed positions
    goal : (n, nq) of which the held coordinates are taken
    numbers : (n,) of the states
    """
    q, part = start.copy(), np.zeros(len(start))
    length = np.full(len(start), FIRST)
    for _ in range(STEPS):
        going = np.flatnonzero((part < 1.0) & (length >= SHORTEST))
        if not len(going):
            break
        some, left = numbers[going], 1.0 - part[going]
        step = np.minimum(length[going], left)
        held = closing.difference(q[going], goal[going])[:, closing.held] * (step / left)[:, None]
        _, J = closing.relative(q[going], some)
        push = np.einsum("nij,nj->ni", closing.by_held(q[going], some), held)
        tangent = Newton.of(J, SINGULAR).onto(push)
        small = largest(tangent) < LONGEST_STEP
        place = closing.moved(q[going], np.where(small[:, None], tangent, 0.0), held)
        place, good = _corrected(closing, place, some)
        good &= small
        q[going[good]] = place[good]
        part[going[good]] += step[good]
        length[going] = np.where(good, np.minimum(2.0 * step, LONGEST), 0.5 * step)
    arrived = part >= 1.0
    return _exact(closing, q, goal, arrived), arrived


def _corrected(closing: Closing, q: Array, numbers: Array) -> tuple[Array, Array]:
    """Return positions after Newton's steps, and which of them are closed and near."""
    start = q
    for _ in range(CORRECTIONS):
        r, J = closing.relative(q, numbers)
        q = closing.moved(q, Newton.of(J, SINGULAR).onto(r))
    r, _ = closing.relative(q, numbers)
    way = largest(closing.difference(start, q))
    return q, (largest(r) < CLOSED_ON_THE_WAY) & (way < LONGEST_STEP)


def _exact(closing: Closing, q: Array, goal: Array, arrived: Array) -> Array:
    """Return positions with the goals' own numbers where a joint is held as a whole."""
    q = q.copy()
    for body in closing.model.bodies:
        if not body.coupled and body.type.nv and closing.held[body.v].all():
            q[arrived, body.q] = goal[arrived, body.q]
    return q
