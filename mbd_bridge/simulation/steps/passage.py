"""The way past a singular position: no step ends there, no stage of a step is evaluated there.

A position is closed to rounding, ε; at the distance σ from a singular position it is off its branch
by ε/σ, its velocity by ε/σ², its acceleration by ε/σ³. Steps that come closer than `STEP_RISK`
allows are not taken. Instead

1. the motion *approaches* by halved steps,
2. *jumps* by one step whose start, middle and end all lie outside, and takes the records that fall
   in between from the polynomial across (`interpolation`). Two jumps of different length must come
   to the same state: then the branch goes through smoothly,
3. where they do not (a linkage that just fails to be flat, and turns there sharply), or where the
   motion turns back, goes on by steps with *control of their own error*, as small as need be.

A motion that starts inside leaves by the Python reference (`reference_step`), which knows the
branch from its velocity.

How far two states apart are, and whether two halves of a step confirm it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.messages import StepLengthError
from mbd_bridge.simulation.guards.step_length import too_long
from mbd_bridge.simulation.results.interpolation import Bridge
from mbd_bridge.simulation.steps.reference import ReferenceStep
from mbd_bridge.simulation.steps.trusted_step import Now, Step, StepResult
from mbd_bridge.solve.tolerances import (
    CONTROLLED_ERROR,
    CONTROLLED_RISK,
    FAR_RISK,
    INSIDE_RISK,
    JUMP_CORRECTION,
    JUMP_RISKS,
    RETRIED_RISK,
    STEP_RISK,
)

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


def apart(model: Model, one: StepResult, two: StepResult | Now) -> Apart:
    """Return how far two states are apart."""
    scale = model.velocity_scale
    fastest = max(np.abs(two.v / scale).max(initial=0.0), 1e-300)
    place = np.abs(model.difference(one.q, two.q) / scale).max(initial=0.0)
    rate = np.abs((one.v - two.v) / scale).max(initial=0.0) / fastest
    size = np.maximum(np.abs(two.carried), SMALL_STATE)
    states = np.abs((one.carried - two.carried) / size).max(initial=0.0)
    return Apart(float(place), float(rate), float(states))


def same(model: Model, one: StepResult, two: StepResult | Now) -> bool:
    """Return whether two jumps have come to one state."""
    found = apart(model, one, two)
    return found.place <= SAME_PLACE and max(found.rate, found.states) <= SAME_RATE


def confirmed(
    model: Model, energy: Callable[[Array, Array], float], whole: StepResult, halves: StepResult
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


SWEPT = 0.5
"""rad, or parts of the mechanism's size: a step that is to sweep more is too long, wherever it is
not trusted and halves do not confirm it."""


EDGE = 1e-3
"""rad, or parts of the mechanism's size: an approach ends when its steps are shorter."""


APPROACHES = 12
"""Halvings of an approach, at most."""


GROWTH = 1.5
"""Of the length of jumps, from one that is not trusted to the next."""


REACH = 0.05
"""rad, or parts of the mechanism's size: a longer jump is not tried."""


FARTHEST = 4.0 * REACH
"""rad, or parts of the mechanism's size, that a jump would sweep with the velocity of its start: no
longer one is tried after some that were not trusted."""


DIFFERENT = 3
"""Pairs of jumps that may differ until no longer ones are tried."""


PARTS = 8
"""Steps of the Python reference on the way out, and of the way that confirms a jump."""


JUMPS = 80
"""Lengths of jumps that are tried, at most."""


FURTHER = 1.4
"""Length of the second jump, by that of the first."""


SHORTEST = 2.0**-40
"""Of a step: controlled ones are not shorter."""


PATIENCE = 5_000
"""Controlled steps for one step of the grid, at most: a sharp turn takes some hundred."""


CUT, CUTS = 16, 50
"""Parts into which so many steps of the grid, one after the other, may have to be cut: in more than
these the motion is not past a place, its steps are too long."""


EPISODE = 1_000
"""Steps of the grid that are led past at a time, at most."""


ON_GRID = 1e-9
"""Of a step: a time so close to the grid's is the grid's."""


UNDECIDED = "the motion passes a singular position so closely that rounding decides how it goes on"


Resumed = tuple[float, Now, float]
"""When a passage began, s; a state on it, and the time of the next one of the grid, from then."""


class Passage:
    """Carries a motion from step to step where these are not trusted.

    Parameters
    ----------
    step : takes any step, and tells its risk
    h : length of the steps of the motion's grid, s
    slow : makes the Python reference
    energy : of a state, J; controlled steps must agree in it
    traced : whether the step is machine code
    most_strayed : risk of having come off its branch below which a step of the grid is taken
    rates : of the states of force elements, if there are some
    """

    def __init__(
        self,
        model: Model,
        step: Step,
        h: float,
        slow: Callable[[], ReferenceStep],
        energy: Callable[[Array, Array], float],
        traced: bool = True,
        most_strayed: float = STEP_RISK,
        rates: Callable[[Now], Array] | None = None,
    ) -> None:
        self.model, self.h, self.traced = model, h, traced
        self._most_strayed, self._rates = most_strayed, rates
        self._step, self._make_slow, self.energy = step, slow, energy
        self._slow: ReferenceStep | None = None
        self._end: tuple[float, SolveError] | None = None
        self._origin = 0.0
        self._length = h

    def blocked(self, now: Now) -> bool:
        """Return whether the next step of the grid is not trusted."""
        return self._taken(now, self.h) is None

    def over(
        self, start: Now, most: int, begins: bool = False, resumed: Resumed | None = None
    ) -> list[Now]:
        """Return the states of the next one or more steps of the grid, `most` at most.

        The last one is where to go on from, by steps of the grid.

        Parameters
        ----------
        begins : whether the motion begins here, maybe in a singular position
        resumed : from where to go on if `start` is on the way across

        Raises
        ------
        SolveError
            The motion cannot be continued: why, and what to try.
        """
        if self._end is not None and self._end[0] == start.t:
            raise self._end[1]
        found: list[Now] = []
        try:
            for place in islice(self.ahead(start, begins, resumed), min(most, EPISODE)):
                found.append(place)
        except SolveError as met:
            if not found:
                raise
            self._end = found[-1].t, met  # what there is comes first
        finally:
            self._origin = 0.0
        return found

    def ahead(
        self, start: Now, begins: bool = False, resumed: Resumed | None = None
    ) -> Iterator[Now]:
        """Yield these states one by one, each computed when it is asked for."""
        # from here on times count from the start: digits do not depend on when that is
        self._origin, t = start.t, start.t
        now, time = start._replace(t=0.0), self.h
        if resumed is not None:
            self._origin, now, time = resumed
        for place in self._places(now, time, begins):
            t += self.h
            yield place._replace(t=t)

    def _places(self, start: Now, time: float, begins: bool) -> Iterator[Now]:
        now, self._length, cut = start, self.h, 0
        while True:
            bridge = self._bridge(now, time, begins and now is start)
            if bridge is None:
                now = self.controlled(now, time, RETRIED_RISK)
                bridge = self._bridge(now, time) if now.t < time else None
            if bridge is None:
                now = self.controlled(now, time)
                yield now
                time += self.h
                cut = cut + 1 if self._length < self.h / CUT else 0
                if cut > CUTS:
                    raise StepLengthError(
                        f"the step of {self.h:.3g} s is too long for this motion, which needs "
                        f"{self._length:.2g} s all the time; "
                    )
                if not self.blocked(now):
                    return
                continue
            ended = False
            while time <= bridge.end.t + ON_GRID * self.h:
                yield bridge.at(time)
                ended = abs(time - bridge.end.t) <= ON_GRID * self.h
                time += self.h
            if ended:
                return
            now = bridge.end
            last = self._taken(now, time - now.t)
            if last is not None:
                yield now.after(time - now.t, last)._replace(t=time)
                return

    def _taken(
        self, now: Now, length: float, limit: float = STEP_RISK, over: bool = False
    ) -> StepResult | None:
        """Return what comes of a step, None if it is not trusted, or leads `over` and must not."""
        with np.errstate(all="ignore"):
            found = self._at(now, length)
        good = found.near < limit
        good = good and (over or found.crossed < STEP_RISK)
        good = good and (over or limit > STEP_RISK or found.strayed < self._most_strayed)
        return found if good and found.finite else None

    def _inside(self, now: Now) -> bool:
        """Return whether a state is in a singular position: not whether its loops can be closed."""
        with np.errstate(all="ignore"):
            found = self._at(now, 0.0)
        return not (found.near < INSIDE_RISK and found.finite)

    def _bridge(self, now: Now, time: float, begins: bool = False) -> Bridge | None:
        """Return the way across, None if it is not smooth or leads nowhere."""
        if self._inside(now):
            return self._left(now) if begins else None
        if not self._far(now, time - now.t):
            for limit in JUMP_RISKS:
                bridge = self._jump(now, time - now.t, limit)
                if bridge is not None:
                    return bridge
        return None

    def _far(self, now: Now, length: float) -> bool:
        """Return whether a step that is not trusted has nothing singular near it.

        Raises
        ------
        SolveError
            It is just too long.
        """
        with np.errstate(all="ignore"):
            whole = self._at(now, length)
            half = self._at(now, 0.5 * length)
            last = self._at(now.after(0.5 * length, half), 0.5 * length)
        swept = self._fastest(now) * length
        sweeps = swept >= SWEPT and self._at(now, 0.0).near < FAR_RISK
        if not max(whole.near, half.near, last.near) < FAR_RISK and not sweeps:
            return False
        problem = too_long(self.model, whole.q, last.q, length)
        if problem is not None:
            self._say(now, length, prescribed=True)  # a motion that leads out of reach, rather
            raise problem
        return all(x.near < FAR_RISK and x.crossed < STEP_RISK for x in (whole, half, last))

    def _jump(self, now: Now, length: float, limit: float) -> Bridge | None:
        """Return the way across by a jump whose stages are as near as the limit allows."""
        for _ in range(APPROACHES):
            length *= 0.5
            swept = length * self._fastest(now)
            nearer = self._taken(now, length, 0.25 * limit)
            if nearer is not None:
                now = now.after(length, nearer)
            if swept < EDGE * (STEP_RISK / limit) ** 0.5:
                break
        blocked, differed, fastest = False, 0, self._fastest(now)
        for _ in range(JUMPS):
            length *= GROWTH
            if length * fastest > FARTHEST:
                break
            landed = self._taken(now, length, limit, over=True)
            if landed is not None and blocked and not landed.correction < JUMP_CORRECTION:
                differed += 1
                if differed == DIFFERENT:
                    break
                continue
            if landed is None or not blocked:
                blocked |= landed is None
                continue
            place = now.after(length, landed)
            if self._distance(now, place) > REACH or differed == DIFFERENT:
                break
            if self._agree(now, place, partial(self._taken, limit=limit, over=True)):
                ends = self._acceleration(now), self._acceleration(place)
                return Bridge(self.model, now, ends[0], place, ends[1], self._rates)
            differed += 1
        return None

    def _agree(self, now: Now, place: Now, way: Callable[[Now, float], StepResult | None]) -> bool:
        """Return whether a longer way comes to where this one leads on to."""
        whole = place.t - now.t
        other, there = way(now, FURTHER * whole), place
        if other is None:
            return False
        part = (FURTHER - 1.0) * whole / PARTS
        for k in range(PARTS):
            step = self._taken(there._replace(t=place.t + k * part), part, JUMP_RISKS[-1])
            if step is None:
                return False
            there = there.after(part, step)
        return same(self.model, other, there)

    def _distance(self, one: Now, two: Now) -> float:
        scale = self.model.velocity_scale
        return float(np.abs(self.model.difference(one.q, two.q) / scale).max(initial=0.0))

    def _fastest(self, now: Now) -> float:
        return float(np.abs(now.v / self.model.velocity_scale).max(initial=0.0))

    def _at(self, now: Now, length: float) -> StepResult:
        return self._step(now._replace(t=self._origin + now.t), length)

    def _acceleration(self, now: Now) -> Array:
        return self._at(now, 0.0).a

    def _left(self, now: Now) -> Bridge | None:
        """Return the way out of a singular position, or of its neighbourhood."""
        if self._slow is None:
            self._slow = self._make_slow()
        slow = self._slow
        fastest = self._fastest(now)
        # at rest it says that nothing tells the way
        first = slow.acceleration(now.q, now.v, self._origin + now.t, now.carried)
        if fastest <= 0.0:
            return None

        def way(now: Now, length: float) -> StepResult | None:
            part, there = length / PARTS, now
            try:
                with np.errstate(all="ignore"):
                    for k in range(PARTS):
                        t = self._origin + now.t + k * part
                        there = slow(there._replace(t=t), part)
            except (SolveError, np.linalg.LinAlgError):
                return None
            return StepResult(there.q, there.v, first, 0.0, 0.0, carried=there.carried)

        change = float(np.abs(first / self.model.velocity_scale).max(initial=0.0))
        differed, distance = 0, EDGE
        while distance < REACH and differed < DIFFERENT:
            distance *= FURTHER
            length = 2.0 * distance / (fastest + np.hypot(fastest, (2 * change * distance) ** 0.5))
            out = way(now, length)
            if out is None:
                return None
            place = now.after(length, out)
            if self._inside(place):
                continue
            if self._agree(now, place, way):
                last = self._acceleration(place)
                return Bridge(self.model, now, first, place, last, self._rates)
            differed += 1
        return None

    def controlled(self, now: Now, time: float, nearer: float = np.inf) -> Now:
        """Return the state at `time`, reached by steps that control their own error.

        Or one before, from which on stages have a risk of more than `nearer`.
        """
        self._length = min(2.0 * self._length, self.h)
        for _ in range(PATIENCE):
            if now.t >= time - ON_GRID * self.h:
                return now._replace(t=time)
            length = min(self._length, time - now.t)
            whole, half = (
                self._taken(now, length, CONTROLLED_RISK),
                self._taken(now, 0.5 * length, CONTROLLED_RISK),
            )
            last = None
            if whole is not None and half is not None:
                middle = now.after(0.5 * length, half)
                last = self._taken(middle, 0.5 * length, CONTROLLED_RISK)
            if whole is None or last is None or not confirmed(self.model, self.energy, whole, last):
                self._length = 0.5 * length
                if self._length < SHORTEST * self.h:
                    self._say(now, time - now.t)
                    raise SolveError(UNDECIDED)
                continue
            now = now.after(length, last)
            self._length = 1.5 * length
            if last.near > nearer and now.t < time - ON_GRID * self.h:
                return now
        raise SolveError(
            f"steps of {self._length:.2g} s, each confirmed by two of half its length, do not get "
            f"on: forces or loops change faster than that here"
        )

    def _say(self, now: Now, length: float, prescribed: bool = False) -> None:
        """Raise the Python reference's message; `prescribed`: there are prescribed motions."""
        if self._slow is None:
            self._slow = self._make_slow()
        if not prescribed or self._slow.motions is not None:
            with np.errstate(all="ignore"):
                self._slow(now._replace(t=self._origin + now.t), length)
