"""One trajectory of a batch by itself: past a singular position, up to where the others are.

It goes by the same step as in its lane, compiled for one, and comes back with the digits that
it would have had there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from mbd_bridge.errors import SolveError
from mbd_bridge.kernels.run.march import March, OneStep
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.given.knots import NO_KNOTS
from mbd_bridge.simulate.knotted_step import step_in_parts
from mbd_bridge.simulate.passage import Passage
from mbd_bridge.simulate.trust import TRUSTED, Now, Taken, taken
from mbd_bridge.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.simulate.batch.lanes import Clock, Stream

AT_ONCE = 1_000
"""Steps of the march between two looks at what it says."""


class Road(NamedTuple):
    """How a trajectory goes by itself.

    Attributes
    ----------
    model : the mechanism, for its scales; lengths of a variant are its parameters
    march : of one lane
    energy : at q, v and the parameters of a variant, J
    variant : whether the last constant input is a variant's parameters
    """

    model: Model
    march: March
    energy: Callable[..., tuple[Array, ...]]
    variant: bool


class Alone:
    """A trajectory that is carried on by itself.

    Parameters
    ----------
    number : of the trajectory
    more : its constant inputs behind q, v, t and h
    variant : its parameters, if it has some
    """

    def __init__(
        self,
        road: Road,
        clock: Clock,
        stream: Stream | None,
        number: int,
        more: Sequence[Array],
        variant: Sequence[Array],
    ) -> None:
        self.road, self.clock, self.stream = road, clock, stream
        self._own, self._more, self._variant = np.array([number]), list(more), list(variant)
        self._knots = NO_KNOTS if stream is None else stream.knots(clock.start, clock.h)
        self._stage, self._once = road.march.start(), OneStep(road.march, more)
        self._passage = Passage(road.model, self._step, clock.h, _nothing_else, self._energy)

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
            found += self._passage.over(found[-1] if found else now, left - len(found))
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
            wanted = min(AT_ONCE, steps - len(found), max(1, free))
            qs, vs, ts = (np.empty((wanted, size)) for size in (len(now.q), len(now.v), 2))
            nowhere[:3, 0] = [array.ctypes.data for array in (qs, vs, ts)]
            self._put(now, h)
            part = self._numbers(now.t, h, wanted)
            taken = march.advance_into(self._stage, wanted, 1, nowhere, TRUSTED, part)
            found += [Now(float(ts[k, 0]), qs[k], vs[k]) for k in range(taken)]
            if taken < wanted:
                break
            now = found[-1]
        return found

    def _over(self, now: Now, knots: list[float]) -> Now | None:
        """Return the state after a step in parts, None if one of them is not trusted."""
        march, h = self.road.march, self.clock.h
        self._put(now, h)

        def numbers(a: float, b: float, h: float) -> Array:
            assert self.stream is not None, "it has the knots"
            given = self.stream.numbers(np.array([a, b]), h, self._own)
            return np.ascontiguousarray(given[:, :, :1])

        if not step_in_parts(march, self._stage, now.t, knots, h, numbers).all():
            return None
        q, v, t, *_ = march.state_of(self._stage)
        return Now(float(t[0]), q, v)

    def _put(self, now: Now, h: float) -> None:
        given = now.q, now.v, np.array([now.t, 0.0]), np.array([h])
        self.road.march.put(self._stage, *given, *self._more)

    def _numbers(self, t: float, h: float, steps: int) -> Array | None:
        if self.stream is None:
            return None
        times = np.add.accumulate(np.concatenate([[t], np.full(steps, h)]))
        return np.ascontiguousarray(self.stream.numbers(times, h, self._own)[:, :, :1])

    def _step(self, q: Array, v: Array, t: float, h: float) -> Taken:
        return taken(self._once(q, v, np.array([t, 0.0]), h, stream=self._numbers(t, h, 1)))

    def _energy(self, q: Array, v: Array) -> float:
        return float(self.road.energy(q, v, *self._variant)[0][0])


def _nothing_else() -> NoReturn:
    """A trajectory that needs more goes alone from its start, and says what is wrong."""
    raise SolveError("a singular position")
