"""A state on the way, what a step from it comes to, and what is said of how far to trust it.

    q, v    position, velocity
    t       (time, work, z, memory):
            time    s
            work    J, that forces and prescribed motions have done
            z       (nz,) states of force elements
            memory  what a method remembers beside; Runge-Kutta: nothing

Records, lanes of batches, checkpoints and steps in other loops pass t on as it is. A method with a
memory declares it in `fed_back`, makes it where a motion starts, and finds it behind z.

A position is closed to rounding, ε; at the distance σ from a singular position it is off its branch
by ε/σ, its velocity by ε/σ², its acceleration by ε/σ³. The risk of a stage is about 1/σ².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve.tolerances import STEP_RISK, STRAYED_RISK

WORK, CARRIED = 1, 2
"""Places in t: of the work, and from where on z and memory are."""


def fed_back(model: Model, nz: int, memory: int = 0) -> dict[str, int]:
    """Return the sizes of what a step gives to the next one, in this order."""
    return {"q": model.nq, "v": model.nv, "t": CARRIED + nz + memory}


def carried(t: Array) -> Array:
    """Return z, and the memory behind it, from t or from records of it (..., size)."""
    return t[..., CARRIED:]


class StepResult(NamedTuple):
    """What came of a step: q, v, the acceleration at its start, and how risky it was.

    Attributes
    ----------
    near : risk of its stages, which grows towards singular positions
    crossed : risk that it has stepped over one
    correction : what the step had to take back to be on the loops, rad or sizes
    work : J that forces and prescribed motions did in it
    carried : what goes along at its end: states of force elements, a method's memory
    """

    q: Array
    v: Array
    a: Array
    near: float
    crossed: float
    correction: float = 0.0
    work: float = 0.0
    carried: Array = NO_STATES

    @property
    def risk(self) -> float:
        """Return all together, as the step sums it up."""
        return self.near + self.crossed + self.strayed

    @property
    def finite(self) -> bool:
        """Return whether it came to numbers."""
        return all(np.isfinite(x).all() for x in (self.q, self.v, self.carried))

    @property
    def trusted(self) -> bool:
        """Return whether it may be taken: it came to numbers, and no singular position is near."""
        return self.risk < STEP_RISK and self.finite

    @property
    def strayed(self) -> float:
        """Return the risk that it has come off its branch."""
        return float(strayed_risk(self.near, self.correction**2))


def strayed_risk(near: Any, square: Any) -> Any:
    """Return the risk of having come off a branch, so near to a singular position.

    Parameters
    ----------
    square : of what the first correction took back
    """
    return STRAYED_RISK * (near * near * near) * square


def whole_risk(risks: Array) -> Array:
    """Return the risk (1,) of a step whose parts (3,) are `near`, `crossed` and that square."""
    risk = zeros(1, risks)
    risk[0] = risks[0] + risks[1] + strayed_risk(risks[0], risks[2])
    return risk


def taken(outputs: Sequence[Array]) -> StepResult:
    """Return what came of a compiled step (`steps.runge_kutta`), from its outputs."""
    q, v, t, a, risks, *_ = outputs
    near, crossed, square = (float(x) for x in risks)
    work, beside = float(t[WORK]), carried(t).copy()
    return StepResult(q.copy(), v.copy(), a.copy(), near, crossed, square**0.5, work, beside)


class Now(NamedTuple):
    """A state on the way.

    Attributes
    ----------
    carried : what goes along: states of force elements, a method's memory
    """

    t: float
    q: Array
    v: Array
    carried: Array = NO_STATES

    @property
    def fed_back(self) -> Array:
        """What a step takes as t, from work 0 on."""
        return np.array([self.t, 0.0, *self.carried])

    def after(self, length: float, step: StepResult) -> Now:
        """Return the state that a step of so many seconds has come to."""
        return Now(self.t + length, step.q, step.v, step.carried)


Step = Callable[[Now, float], StepResult]
"""One step from a state, of h seconds."""
