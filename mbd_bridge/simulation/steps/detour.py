"""The way past a singular position in machine code, between two steps of a march (`march.Detour`).

It is that of `passage`, with the same numbers: halved steps lead near, two jumps of different
length lead across to the same state, records in between are taken from the polynomial, and a last
step ends on the grid; where no two jumps agree, steps with control of their error lead on. In the
lanes of vectors each goes its own way. Where it does not find one (starts in a singular position,
what rounding decides, steps that are just too long), the march stops as it does without, and the
passage in Python has the word.

What it goes by, its registers, says what the step that was just taken was for:

    READY    a step of the grid, which is not trusted
    STILL    whether the state is in a singular position itself; no length
    HALF     whether anything singular is near: half the step; HALVES the other half
    NEARER   a halved step
    JUMP     a jump; FURTHER one that is longer
    ALONG    parts of the way from the end of the one jump to that of the other
    BRIDGE   nothing: states of the grid lie on the polynomial
    LAST     from the end of the jump to the next state of the grid
    WHOLE    a controlled step; FIRST and SECOND are its halves
    STUCK    nothing: there is no way
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.energy import energies_of
from mbd_bridge.functions import absolute, logical_not, maximum, minimum, sqrt, where
from mbd_bridge.kernels import llvm_march
from mbd_bridge.kernels.llvm_march import ARRIVED, STAYS, STEP_ON
from mbd_bridge.kernels.march import Detour, March
from mbd_bridge.kernels.tracing import Conditional
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.guards.step_length import coordinate_scale
from mbd_bridge.simulation.results.interpolation import Between, State, cubic
from mbd_bridge.simulation.steps.passage import (
    APPROACHES,
    CUT,
    CUTS,
    DIFFERENT,
    EDGE,
    FARTHEST,
    FURTHER as FURTHER_BY,
    GROWTH,
    JUMPS,
    LOST_PLACE,
    LOST_RATE,
    ON_GRID,
    PARTS,
    PATIENCE,
    REACH,
    SAME_PLACE,
    SAME_RATE,
    SHORTEST,
    SMALL_STATE,
    SWEPT,
    Resumed,
)
from mbd_bridge.simulation.steps.trusted_step import CARRIED, WORK, Now, strayed_risk
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.tolerances import (
    CONTROLLED_ERROR,
    CONTROLLED_RISK,
    FAR_RISK,
    INSIDE_RISK,
    JUMP_CORRECTION,
    JUMP_RISKS,
    RETRIED_RISK,
    STEP_ERROR,
    STEP_RISK,
)

STUCK, OFF, READY, STILL, NEARER, JUMP, FURTHER, ALONG, BRIDGE, LAST = map(float, range(-1, 9))
HALF, HALVES, WHOLE, FIRST, SECOND = map(float, range(9, 14))
assert llvm_march.READY == READY, "up to it the march takes steps of the grid"

MOST = 3 * PATIENCE
"""Steps of one detour."""

LIMITS_APART = JUMP_RISKS[1] / JUMP_RISKS[0]

NONE = np.zeros(0)


class Registers(NamedTuple):
    """What a detour goes by: times count from where it began, so that digits do not depend on them.

    Attributes
    ----------
    phase : what the step was for; `OFF`: there are to be no detours
    detours : states of the grid that were led past, until somebody sets it to 0
    tried : steps of this detour
    began : s, time where it began
    clock : s, of the last state of the grid
    step : s, of the grid
    grid : s, where the next state of the grid is
    at : s, of the state from which jumps go
    length, end : s, of the jump, and where it ends
    limit : risk that jumps may have
    count, parts : halved steps or jumps, and parts of the way along
    blocked, differed : whether a jump was not trusted; how many were and did not agree
    lift : J, work less energy (see `_Way.energy`), which stays
    base : s, of the state from which a way across is tried
    far : whether nothing singular is near the step that is not trusted, as far as looked
    crossed : whether it, or one of its halves, has stepped over something
    risk : of a controlled step, before its halves
    pace : s, length of controlled steps; 0 where the last detour ended without
    retried : how often the way to the next state of the grid was taken in controlled steps
    led : states of the grid that these have led to, one after the other
    cut : of these the last ones with steps that were much shorter than the grid's
    y, a : the state (q, v, z) from which jumps go, and its acceleration
    jumped, jumped_a : those after the jump
    other, along : the state after the longer jump; on the way to it from the end of the other. Of a
        controlled step: after it, and after its first half
    base_y : the state from which a way across is tried
    """

    phase: Any
    detours: Any
    tried: Any
    began: Any
    clock: Any
    step: Any
    grid: Any
    at: Any
    length: Any
    end: Any
    limit: Any
    count: Any
    parts: Any
    blocked: Any
    differed: Any
    lift: Any
    base: Any
    far: Any
    crossed: Any
    risk: Any
    pace: Any
    retried: Any
    led: Any
    cut: Any
    y: Array
    a: Array
    jumped: Array
    jumped_a: Array
    other: Array
    along: Array
    base_y: Array

    @staticmethod
    def sizes(system: System) -> list[int]:
        """Return how many numbers each one has."""
        y, a = sum(_parts(system)), system.model.nv
        return [1] * NUMBERS + [y, a, y, a, y, y, y]

    @staticmethod
    def of(system: System, numbers: Array) -> Registers:
        """Return them from where they stand side by side."""
        parts = np.split(numbers, np.cumsum(Registers.sizes(system))[:-1])
        return Registers(*(part[0] if k < NUMBERS else part for k, part in enumerate(parts)))

    def packed(self) -> Array:
        """Return them side by side."""
        return np.concatenate([np.atleast_1d(np.asarray(part)) for part in self])


NUMBERS = Registers._fields.index("y")
"""Registers that are single numbers."""


def _where(condition: Any, new: Registers, old: Registers) -> Registers:
    """Return new registers where a condition holds, else the old ones."""
    pairs = zip(new, old, strict=True)
    return Registers(*(b if a is b else where(condition, a, b) for a, b in pairs))


def _parts(system: System) -> tuple[int, int, int]:
    """Return the numbers of q, v and z."""
    return system.model.nq, system.model.nv, system.nz


def _split(system: System, y: Array) -> tuple[Array, Array, Array]:
    """Return q, v and z of a state."""
    nq, nv, _ = _parts(system)
    return y[:nq], y[nq : nq + nv], y[nq + nv :]


class Passing:
    """The detours of a march, in a stage of it: of the trajectories in its lanes.

    Attributes
    ----------
    registers : (registers, lanes), in place; none where a march has no detours
    """

    def __init__(self, march: March, stage: Array) -> None:
        self.registers = march.registers_of(stage)

    def allow(self, lanes: Any = slice(None), yes: bool = True) -> None:
        """Have these lanes be led past singular positions from where they are, or not at all."""
        self.registers[:, lanes] = 0.0
        self.registers[:1, lanes] = READY if yes else OFF

    @property
    def on_bridge(self) -> Array:
        """Which lanes (lanes,) are where no step begins, on the way across."""
        return np.asarray((self.registers[:1] > READY).any(axis=0))

    def count(self) -> int:
        """Return how many states of the grid were led past since the last call, in all lanes."""
        number = int(self.registers[1:2].sum())
        self.registers[1:2] = 0.0
        return number

    def resumed(self, system: System, lane: int) -> Resumed | None:
        """Return from where to go on if a lane is stuck after a jump; None if it has made none."""
        if not len(self.registers):
            return None
        r = Registers.of(system, self.registers[:, lane].copy())
        if r.phase != STUCK or r.clock == r.began:
            return None
        return r.began, Now(r.at, *_split(system, r.y)), r.grid


class _Step(NamedTuple):
    """What came of a step, to the state y (see `StepResult`)."""

    y: Array
    a: Array
    near: Any
    crossed: Any
    square: Any
    finite: Any

    def trusted(self, limit: Any, over: bool = False, strayed: Any = STEP_RISK) -> Any:
        """Return whether it may be taken, at most so near; `over` the singular position."""
        good = self.finite & (self.near < limit)
        if over:
            return good
        return good & (self.crossed < STEP_RISK) & (strayed_risk(self.near, self.square) < strayed)


def detour_of(system: System, sizes: Mapping[str, int]) -> Detour:
    """Return the detour of a system's Runge-Kutta step, with inputs of such sizes."""
    names = list(sizes)

    def function(registers: Array, *rest: Array) -> tuple[Array, ...]:
        given = dict(zip(names, rest, strict=False))
        q, v, t, a, risks, *_, finite = rest[len(names) :]
        y = np.concatenate([q, v, t[CARRIED:]])
        step = _Step(y, a, risks[0], risks[1], risks[2], finite[0] == 0.0)
        way = _Way(system, given.get("p", NONE), given.get("held", NONE))
        now = np.concatenate([given["q"], given["v"], given["t"][CARRIED:]])
        r = Registers.of(system, registers)
        return way.next(r, now, given["t"], given["h"][0], step)

    return Detour(function, sum(Registers.sizes(system)))


class _Way:
    """The next step of a detour.

    Parameters
    ----------
    p, held : parameters of a variant; numbers that stay during a step
    """

    def __init__(self, system: System, p: Array, held: Array) -> None:
        self.system, self._p, self._held = system, p, held
        model = system.model
        self._place, self._rate = coordinate_scale(model), model.velocity_scale
        self._works = bool(system.pushed or system.prescribed or model.flexible)

    def next(self, r: Registers, now: Array, t: Array, h: Any, step: _Step) -> tuple[Array, ...]:
        """Return registers, q, v, t and length of the next step, and what it is.

        Parameters
        ----------
        r : registers
        now, t, h : state, time and length of the last step, of which came `step`
        """
        was, arrives = r.phase, (r.phase == LAST) & step.trusted(STEP_RISK)
        r = self._entered(r, now, t, h, step, was)
        r, wall = self._approached(r, step, was)
        r, open_way = self._looked(r, step, was)
        r, longer, ends = self._jumped(r, step, was)
        r, differs = self._went_along(r, step, was)
        r, back, none = _lengthened(r, longer | differs, ends, self._fastest(r.y))
        r, led = self._controlled(r, step, was)
        r = _where(back | wall | open_way, r._replace(at=r.base, y=r.base_y), r)
        r = _controlling(r, wall | open_way | none)
        r, arrives = _where(arrives, r._replace(pace=0.0), r), arrives | led
        r = _where(r.tried > MOST, r._replace(phase=STUCK), r)
        r = _kept(r, step, was)
        r, grid_y, records = self._bridged(r, step, arrives)
        energy = self.energy((was == READY) | records, where(was == READY, now, grid_y))
        r = _where(was == READY, r._replace(lift=t[WORK] - energy), r)
        time, length, y = _wanted(r)
        q, v, z = _split(self.system, where(records, grid_y, y))
        out, signal, lengths = zeros(len(t), t), zeros(1, t), zeros(1, t)
        out[0] = where(records, r.clock, r.began + time)
        out[WORK] = where(records, r.lift + energy, t[WORK])
        out[CARRIED:] = z
        lengths[0] = length
        signal[0] = where(records, ARRIVED, where(r.phase == STUCK, STAYS, STEP_ON))
        return r.packed(), q, v, out, lengths, signal

    def _entered(
        self, r: Registers, now: Array, t: Array, h: Any, step: _Step, was: Any
    ) -> Registers:
        """Begin after a step of the grid that is not trusted, again after such a last one."""
        enters, again = was == READY, (was == LAST) & logical_not(step.trusted(STEP_RISK))
        goes_on = (r.pace > 0.0) & (r.clock == t[0])
        fresh = r._replace(pace=h, led=0.0, cut=0.0)
        r = _where(enters & logical_not(goes_on), fresh, r)
        r = _where(
            enters, r._replace(tried=-1.0, began=t[0], clock=t[0], step=h, grid=h, at=0.0, y=now), r
        )
        r = _where(again, r._replace(at=r.end, y=r.jumped), r)
        r = r._replace(tried=r.tried + 1.0)
        far = where(step.near < FAR_RISK, 1.0, 0.0)
        crossed = where(step.crossed < STEP_RISK, 0.0, 1.0)
        begun = r._replace(phase=STILL, limit=JUMP_RISKS[0])
        begun = begun._replace(far=far, crossed=crossed, retried=0.0)
        r = _where(enters | again, begun, r)
        swept = logical_not(self._fastest(r.y) * (r.grid - r.at) < SWEPT)
        stuck = swept | (r.cut > CUTS)
        return _where((enters | again) & stuck, r._replace(phase=STUCK), r)

    def _approached(self, r: Registers, step: _Step, was: Any) -> tuple[Registers, Any]:
        """Halve steps until they sweep little; say whether the state itself is singular."""
        outside = step.finite & (step.near < INSIDE_RISK)
        still, nearer = was == STILL, was == NEARER
        strayed = where(r.limit > STEP_RISK, np.inf, STEP_RISK)
        swept = self._fastest(r.y) * r.length
        ahead = nearer & step.trusted(0.25 * r.limit, strayed=strayed)
        r = _where(ahead, r._replace(at=r.at + r.length, y=step.y), r)
        count = r.count + 1.0
        reached = (swept < EDGE * sqrt(STEP_RISK / r.limit)) | (count >= APPROACHES)
        r = _where(
            nearer,
            r._replace(
                phase=where(reached, JUMP, NEARER),
                length=where(reached, GROWTH, 0.5) * r.length,
                count=where(reached, 1.0, count),
                blocked=0.0,
                differed=0.0,
            ),
            r,
        )
        phase = where(outside, where(r.far > 0.0, HALF, NEARER), STUCK)  # it may begin there
        half = 0.5 * (r.grid - r.at)
        wall = still & logical_not(outside) & ((r.at > 0.0) | (r.led > 0.0))
        return _where(still, r._replace(phase=phase, length=half, count=0.0), r), wall

    def _looked(self, r: Registers, step: _Step, was: Any) -> tuple[Registers, Any]:
        """Look whether anything singular is near in halves of the step; say whether nothing is."""
        first, second = was == HALF, was == HALVES
        far, crosses = step.near < FAR_RISK, logical_not(step.crossed < STEP_RISK)
        r = _where((first | second) & crosses, r._replace(crossed=1.0), r)
        nothing = second & far
        too_long = nothing & logical_not(self._apart(step.y, r.other) <= STEP_ERROR)
        r = _where(first | second, r._replace(phase=where(first & far, HALVES, NEARER)), r)
        r = _where(too_long, r._replace(phase=STUCK), r)
        return r, nothing & logical_not(too_long) & (r.crossed < 0.5)

    def _controlled(self, r: Registers, step: _Step, was: Any) -> tuple[Registers, Any]:
        """Look at a controlled step or a half of it; say whether it leads to the next state."""
        whole, first, second = was == WHOLE, was == FIRST, was == SECOND
        good = step.trusted(CONTROLLED_RISK, strayed=np.inf)
        r = _where(whole & good, r._replace(phase=FIRST, risk=step.near), r)
        r = _where(first & good, r._replace(phase=SECOND), r)
        right = self._confirmed(second & good, r, step)
        wrong = (whole | first | second) & logical_not(good & (right | logical_not(second)))
        r = _where(right, r._replace(at=r.at + r.length, y=step.y, pace=1.5 * r.length), r)
        r = _where(wrong, r._replace(pace=0.5 * r.length), r)
        led = right & (r.at >= r.grid - ON_GRID * r.step)
        near = right & logical_not(led) & (step.near > RETRIED_RISK) & (r.retried < 1.5)
        r = _where(right | wrong, r._replace(phase=WHOLE, length=_paced(r)), r)
        r = _where(near, r._replace(phase=STILL, limit=JUMP_RISKS[0], far=0.0), r)
        r = _where(wrong & (r.pace < SHORTEST * r.step), r._replace(phase=STUCK), r)
        pace = where(r.retried < 1.5, minimum(2.0 * r.pace, r.step), r.pace)
        cut = where(pace < r.step / CUT, r.cut + 1.0, 0.0)
        return _where(led, r._replace(pace=pace, led=r.led + 1.0, cut=cut), r), led

    def _confirmed(self, condition: Any, r: Registers, step: _Step) -> Any:
        """Return whether a condition holds and two halves confirm a step (`passage.confirmed`)."""
        risk = maximum(r.risk, step.near)
        _, v, z = _split(self.system, step.y - r.other)
        rate = maximum(LOST_RATE * risk, CONTROLLED_ERROR)
        fastest = maximum(self._fastest(step.y), 1e-300)
        sizes = maximum(absolute(_split(self.system, step.y)[2]), SMALL_STATE)
        same = self._apart(step.y, r.other) <= maximum(LOST_PLACE * sqrt(risk), CONTROLLED_ERROR)
        same = same & (_largest(v / self._rate) <= rate * fastest) & (_largest(z / sizes) <= rate)
        same = condition & same

        def energies(one: Array, other: Array, p: Array) -> tuple[Array]:
            model, found = self.system.machine(p)[0], zeros(3, one, other, p)
            found[0] = sum(energies_of(model, *_split(self.system, one)[:2]))
            found[1:] = energies_of(model, *_split(self.system, other)[:2])
            return (found,)

        found = Conditional(energies, r.other, step.y, self._p).where(same, (np.zeros(3),))[0]
        whole, kinetic, still = found
        most = CONTROLLED_ERROR * (absolute(still) + absolute(kinetic))
        return same & (absolute(whole - (kinetic + still)) <= most)

    def _jumped(self, r: Registers, step: _Step, was: Any) -> tuple[Registers, Any, Any]:
        """Look at a jump; say whether a longer one is to be tried, and whether none is."""
        jumps, further = was == JUMP, was == FURTHER
        arrived = step.trusted(r.limit, over=True)
        tested = jumps & arrived & (r.blocked > 0.0)
        right = tested & (sqrt(step.square) < JUMP_CORRECTION)
        wrong = tested & logical_not(right)
        differed = r.differed + 1.0
        ends = right & ((self._apart(step.y, r.y) > REACH) | (r.differed >= DIFFERENT))
        ends = ends | (wrong & (differed >= DIFFERENT))
        r = _where(wrong, r._replace(differed=differed), r)
        r = _where(jumps, r._replace(a=step.a, blocked=where(arrived, r.blocked, 1.0)), r)
        r = _where(right, r._replace(phase=FURTHER, end=r.at + r.length), r)
        r = _where(further & arrived, r._replace(phase=ALONG, parts=0.0), r)
        short = further & logical_not(arrived)
        r = _where(short, r._replace(differed=differed), r)
        return r, (jumps & logical_not(right)) | short, ends

    def _went_along(self, r: Registers, step: _Step, was: Any) -> tuple[Registers, Any]:
        """Look at a part of the way to the end of the longer jump; say whether they differ."""
        along, goes = was == ALONG, step.trusted(JUMP_RISKS[-1], strayed=np.inf)
        r = _where(along & (r.parts < 0.5), r._replace(jumped_a=step.a), r)
        r = _where(along & goes, r._replace(parts=r.parts + 1.0), r)
        there = along & goes & (r.parts >= PARTS)
        _, v, z = _split(self.system, step.y - r.other)
        sizes = maximum(absolute(_split(self.system, step.y)[2]), SMALL_STATE)
        fastest = maximum(self._fastest(step.y), 1e-300)
        same = (self._apart(step.y, r.other) <= SAME_PLACE) & (
            _largest(v / self._rate) <= SAME_RATE * fastest
        )
        same = same & (_largest(z / sizes) <= SAME_RATE)
        differs = (along & logical_not(goes)) | (there & logical_not(same))
        r = _where(differs, r._replace(differed=r.differed + 1.0), r)
        return _where(there & same, r._replace(phase=BRIDGE), r), differs

    def _bridged(self, r: Registers, step: _Step, arrives: Any) -> tuple[Registers, Array, Any]:
        """Return a state of the grid on the way across, or after the last step; if there is one."""
        on = (r.phase == BRIDGE) & (r.grid <= r.end + ON_GRID * r.step)
        ended = on & (absolute(r.grid - r.end) <= ON_GRID * r.step)
        across = self._across(on & logical_not(ended), r)
        y = where(arrives, step.y, where(ended, r.jumped, across))
        leaves = (r.phase == BRIDGE) & logical_not(on)
        r = _where(leaves, r._replace(phase=LAST), r)
        r = _where(ended, r._replace(pace=0.0), r)
        r = _where(ended | arrives, r._replace(phase=READY), r)
        detours, clock, grid = r.detours + 1.0, r.clock + r.step, r.grid + r.step
        r = _where(on | arrives, r._replace(detours=detours, clock=clock, grid=grid), r)
        return r, y, on | arrives

    def _across(self, condition: Any, r: Registers) -> Array:
        """Return the state of the grid on the polynomial where a condition holds."""

        def polynomial(r: Registers, p: Array, held: Array) -> tuple[Array]:
            system, length, passed = self.system, r.end - r.at, r.grid - r.at
            start, end = _split(system, r.y), _split(system, r.jumped)
            ends = State(*start[:2], r.a), State(*end[:2], r.jumped_a)
            found = Between(system.model, *ends, length).at(passed)
            z = start[2]
            if len(z):
                rates = Acting.at(system, system.machine(p), held, NONE).rates
                first, last = rates(r.began + r.at, *start), rates(r.began + r.end, *end)
                z = cubic(z, first, end[2], last, length, passed / length)
            return (np.concatenate([found.q, found.v, z]),)

        found = Conditional(polynomial, r, self._p, self._held)
        return np.asarray(found.where(condition, (r.jumped,))[0])

    def energy(self, condition: Any, y: Array) -> Any:
        """Return the energy, J, where a condition holds; 0 where nothing acts that does work."""
        if not self._works:
            return 0.0

        def energy(q: Array, v: Array, p: Array) -> tuple[Array]:
            whole = zeros(1, q, v, p)
            kinetic, still = energies_of(self.system.machine(p)[0], q, v)
            whole[0] = kinetic + still
            return (whole,)

        q, v, _ = _split(self.system, y)
        return Conditional(energy, q, v, self._p).where(condition, (np.zeros(1),))[0][0]

    def _apart(self, one: Array, two: Array) -> Any:
        return _largest(_split(self.system, one - two)[0] / self._place)

    def _fastest(self, y: Array) -> Any:
        return _largest(_split(self.system, y)[1] / self._rate)


def _paced(r: Registers) -> Any:
    """Return the length of the next controlled step."""
    return minimum(r.pace, r.grid - r.at)


def _controlling(r: Registers, condition: Any) -> Registers:
    """Begin controlled steps where a condition holds."""
    pace = minimum(2.0 * r.pace, r.step)
    r = _where(condition, r._replace(phase=WHOLE, pace=pace, retried=r.retried + 1.0), r)
    return _where(condition, r._replace(length=_paced(r)), r)


def _lengthened(r: Registers, longer: Any, ends: Any, fastest: Any) -> tuple[Registers, Any, Any]:
    """Try a longer jump, or after the last one those with the next limit of risk.

    Say whether a way begins again where the last one did, and whether there is none.
    """
    length = GROWTH * r.length
    ends = ends | (longer & ((r.count >= JUMPS) | (length * fastest > FARTHEST)))
    r = _where(longer, r._replace(phase=JUMP, length=length, count=r.count + 1.0), r)
    limit, half = r.limit * LIMITS_APART, 0.5 * (r.grid - r.base)
    r = _where(ends, r._replace(phase=NEARER, limit=limit, length=half, count=0.0), r)
    return r, ends, ends & (limit > JUMP_RISKS[-1])


def _kept(r: Registers, step: _Step, was: Any) -> Registers:
    """Keep the state of the step, or where a way begins, for what the phase is to compare."""
    phase, arrives = r.phase, (was == READY) | (was == LAST)
    r = _where(phase == STILL, r._replace(base=r.at, base_y=r.y), r)
    r = _where(phase == FURTHER, r._replace(jumped=step.y), r)
    walks = (was == FURTHER) & (phase == ALONG)
    other = walks | (phase == FIRST) | (arrives & (phase == STILL))
    r = _where(walks, r._replace(along=r.jumped), r)
    r = _where(other, r._replace(other=step.y), r)
    middle = (was == ALONG) | (phase == SECOND) | (phase == HALVES)
    return _where(middle, r._replace(along=step.y), r)


def _wanted(r: Registers) -> tuple[Any, Any, Array]:
    """Return time, length and state of the next step."""
    walks, lasts = r.phase == ALONG, r.phase == LAST
    whole = r.end - r.at
    part = (FURTHER_BY - 1.0) * whole / PARTS
    first, second = r.phase == FIRST, (r.phase == SECOND) | (r.phase == HALVES)
    half = where(r.phase == HALVES, r.length, 0.5 * r.length)
    length = where(r.phase == FURTHER, FURTHER_BY * whole, r.length)
    length = where(r.phase == STILL, 0.0, where(walks, part, length))
    length = where(lasts, r.grid - r.end, where(first | second, half, length))
    time = where(walks, r.end + r.parts * part, where(lasts, r.end, r.at))
    time = where(second, r.at + half, time)
    return time, length, where(walks | second, r.along, where(lasts, r.jumped, r.y))


def _largest(values: Array) -> Any:
    """Return the largest absolute value."""
    most: Any = 0.0
    for value in values:
        most = maximum(absolute(value), most)
    return most
