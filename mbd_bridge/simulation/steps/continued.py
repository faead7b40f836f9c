"""The memory of a scheme from step to step, where steps are taken one by one in somebody's loop.

Between two of them forces may jump, and then q̈ does; the state may be put elsewhere. The
algorithmic acceleration a keeps its distance from q̈ over a jump of forces that are held during a
step, since it is that of the scheme, not of the forces.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.singular.trust import Now
from mbd_bridge.simulation.steps.by_scheme import Start


class Continued:
    """The memory where the last step ended, and for which forces."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self._last: Now | None = None
        self._held = np.zeros(0)

    def at(self, now: Now, held: Array, jumps: bool = False) -> Now:
        """Return a state, without memory, with that of the step that begins there.

        Parameters
        ----------
        held : what is held during the step
        jumps : whether a table of forces jumps there
        """
        last, before = self._last, self._held
        self._held = held.copy()
        if last is None or jumps or not _same(last, now):
            return self.start.begun(now)
        if np.array_equal(before, held):
            return now._replace(carried=last.carried)
        return self.start.like(self.start.begun(now), last)

    def reached(self, now: Now) -> None:
        """Keep the end of a step, with its memory."""
        self._last = now


def _same(last: Now, now: Now) -> bool:
    z = last.carried[: len(now.carried)]
    pairs = (last.q, now.q), (last.v, now.v), (z, now.carried)
    return all(np.array_equal(one, other) for one, other in pairs)
