"""What a step tells of itself, and how near a singular position it is taken still.

A position is closed to rounding, ε; at the distance σ from a singular position it is off its branch
by ε/σ, its velocity by ε/σ², its acceleration by ε/σ³. The risk of a stage is about 1/σ².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mbd_bridge.solve.tolerances import STRAYED_RISK
from mbd_bridge.spatial import Array


class Taken(NamedTuple):
    """What came of a step: q, v, the acceleration at its start, and how risky it was.

    Attributes
    ----------
    near : risk of its stages, which grows towards singular positions
    crossed : risk that it has stepped over one
    correction : what the step had to take back to be on the loops, rad or sizes
    work : J that forces and prescribed motions did in it
    """

    q: Array
    v: Array
    a: Array
    near: float
    crossed: float
    correction: float = 0.0
    work: float = 0.0

    @property
    def risk(self) -> float:
        """Return all together, as the step sums it up."""
        return self.near + self.crossed + self.strayed

    @property
    def strayed(self) -> float:
        """Return the risk that it has come off its branch."""
        return STRAYED_RISK * self.near**3 * self.correction**2


def taken(outputs: Sequence[Array]) -> Taken:
    """Return what came of a compiled step (`simulate.steps.runge_kutta`), from its outputs."""
    q, v, t, a, risks, *_ = outputs
    near, crossed, square = (float(x) for x in risks)
    return Taken(q.copy(), v.copy(), a.copy(), near, crossed, square**0.5, float(t[1]))


Step = Callable[[Array, Array, float, float], Taken]
"""One step from q and v at t, of h seconds."""


class Now(NamedTuple):
    """A state on the way."""

    t: float
    q: Array
    v: Array
