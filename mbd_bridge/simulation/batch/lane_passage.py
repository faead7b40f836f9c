"""One trajectory of a batch by itself: past a singular position, up to where the others are.

It goes by the same step as in its lane, compiled for one, and comes back with the digits that
it would have had there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.kernels.run.march import March
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.carried import carried
from mbd_bridge.simulation.singular.passage import Passage
from mbd_bridge.simulation.singular.trust import Now
from mbd_bridge.simulation.steps.compiled import one_step
from mbd_bridge.simulation.steps.knotted import step_in_parts
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.tolerances import STEP_RISK

if TYPE_CHECKING:
    from mbd_bridge.simulation.batch.clock import Clock

AT_ONCE = 1_000
"""Steps of the march between two looks at what it says."""


class LonePassage(NamedTuple):
    """How a trajectory goes by itself.

    Attributes
    ----------
    system : whose trajectories they are
    march : of one lane
    energy : at q, v and the parameters of a variant, J
    """

    system: System
    march: March
    energy: Callable[..., tuple[Array, ...]]


class Alone:
    """A trajectory that is carried on by itself.

    Parameters
    ----------
    number : of the trajectory
    """

    def __init__(self, road: LonePassage, clock: Clock, number: int) -> None:
        self.road, self.clock = road, clock
        self.trajectory = Trajectory(road.system, number)
        self._knots = road.system.knots(clock.start, clock.h)
        self._stage = road.march.start()
        step = one_step(self.trajectory, road.march)
        # lengths of a variant are its parameters: the model's scales serve all
        self._passage = Passage(
            road.system.model,
            step,
            clock.h,
            _nothing_else,
            self._energy,
            rates=self.trajectory.rates,
        )

    def on(self, now: Now, steps: int, left: int) -> list[Now]:
        """Return the states after each of the next steps, beginning with one that is not trusted.

        Parameters
        ----------
        steps : to take, if the way past does not need more of those that are `left`

        Raises
        ------
        SolveError
            It cannot go on.
        """
        found: list[Now] = []
        while len(found) < steps:
            here = found[-1] if found else now
            with self.trajectory.holding(here):
                found += self._passage.over(here, left - len(found))
            found += self.plain(found[-1], steps - len(found))
        return found

    def gained(self, one: Now, two: Now) -> float:
        """Return the energy that it has more at a second state, J."""
        return self._energy(two.q, two.v) - self._energy(one.q, one.v)

    def plain(self, now: Now, steps: int) -> list[Now]:
        """Return the states after steps that are trusted, up to one that is not."""
        march, h = self.road.march, self.clock.h
        nowhere = np.zeros((len(march.shapes), 1), dtype=np.int64)
        found: list[Now] = []
        while len(found) < steps:
            free = self._knots.steps_before(now.t, h)
            if not free and (inside := self._knots.within(now.t, now.t + h)):
                over = self._over(now, inside)
                if over is None:
                    break
                found.append(over)
                now = over
                continue
            most = 1 if self.road.system.sampled else AT_ONCE
            wanted = min(most, steps - len(found), max(1, free))
            sizes = len(now.q), len(now.v), march.inputs["t"]
            qs, vs, ts = (np.empty((wanted, size)) for size in sizes)
            nowhere[:3, 0] = [array.ctypes.data for array in (qs, vs, ts)]
            self._put(now, h)
            part = self._numbers(now.t, h, wanted)
            taken = march.advance_into(self._stage, wanted, 1, nowhere, STEP_RISK, part)
            found += [Now(float(ts[k, 0]), qs[k], vs[k], carried(ts[k])) for k in range(taken)]
            if taken < wanted:
                break
            now = found[-1]
        return found

    def _over(self, now: Now, knots: list[float]) -> Now | None:
        """Return the state after a step in parts, None if one of them is not trusted."""
        march, h = self.road.march, self.clock.h
        self._put(now, h)

        def numbers(a: float, b: float, h: float) -> Array | None:
            return self.trajectory.stream(np.array([a, b]), h)

        if not step_in_parts(march, self._stage, now.t, knots, h, numbers).all():
            return None
        q, v, t, *_ = march.state_of(self._stage)
        return Now(float(t[0]), q, v, carried(t))

    def _put(self, now: Now, h: float) -> None:
        given = now.q, now.v, now.fed_back, np.array([h])
        self.road.march.put(self._stage, *given, *self.trajectory.more(now.t, now.q, now.v))

    def _numbers(self, t: float, h: float, steps: int) -> Array | None:
        if "stream" not in self.road.march.inputs:
            return None
        times = np.add.accumulate(np.concatenate([[t], np.full(steps, h)]))
        return self.trajectory.stream(times, h)

    def _energy(self, q: Array, v: Array) -> float:
        p = self.trajectory.p
        return float(self.road.energy(q, v, *([] if p is None else [p]))[0][0])


def _nothing_else() -> NoReturn:
    """A trajectory that needs more goes alone from its start, and says what is wrong."""
    raise SolveError("a singular position")
