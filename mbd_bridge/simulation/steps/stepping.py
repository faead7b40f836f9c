"""Steps of a system one after the other, in place, with inputs that change between them.

The state stays in the places that the machine code works on: a step copies and allocates nothing.
Only where a step is not trusted, near a singular position, and for tables and Python functions,
more is done in Python. Every step is guarded (`guards.step_by_step`); where other rows of the loops
come to matter, they are chosen anew.

Coupled steps go under forces that another simulator decides: those of the given system with inputs
for generalised forces and for wrenches on all bodies, constant within a step. A wrench is given
about the *world's origin*, so that the momentum that the mechanism takes from the other side, about
any point, is the wrench times the step, however the body moves meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.forces.acts import StartStates
from mbd_bridge.forces.varying import Input
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards import messages
from mbd_bridge.simulation.guards.energy import EnergyAt, energy_kernel
from mbd_bridge.simulation.guards.step_by_step import StepGuards
from mbd_bridge.simulation.rates import Rate
from mbd_bridge.simulation.results.accelerations import Accelerations, Answer
from mbd_bridge.simulation.signals.parts import TorquePart, WrenchPart
from mbd_bridge.simulation.signals.tables import length_to, on_grid
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import (
    Continued,
    Start,
    SystemStep,
    one_step,
    passage_of,
    step_in_parts,
)
from mbd_bridge.simulation.steps.halves import Halves
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.simulation.steps.schemes import RK4, CompiledIntegrator, Scheme, compiled_scheme
from mbd_bridge.simulation.steps.trusted_step import CARRIED, WORK, Now, Step, carried
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.tolerances import STAGE_RISK, STEP_RISK

SAME_TIME = 1e-6
"""Of a step: times that are as close are one."""


class Way:
    """The way past a singular position, step by step, as long as these follow each other.

    Parameters
    ----------
    places : the states along it
    under : what it holds for
    leeway : s, that times may be apart

    Attributes
    ----------
    goes_on : whether the last state that was asked for was one of them
    """

    def __init__(
        self, places: Iterable[Now] = (), under: Hashable = None, leeway: float = 0.0
    ) -> None:
        self._places, self._under, self._leeway = iter(places), under, leeway
        self._last: Now | None = None
        self.goes_on = False

    def next(self, now: Now, under: Hashable) -> Now | None:
        """Return the next state if the last one is this; None if the way leads elsewhere."""
        last, self.goes_on = self._last, False
        if under != self._under:
            return None
        if last is not None and not (
            abs(last.t - now.t) <= self._leeway
            and np.array_equal(last.q, now.q)
            and np.array_equal(last.v, now.v)
            and np.array_equal(last.carried, now.carried)
        ):
            return None
        self._last = next(self._places, None)
        self.goes_on = self._last is not None
        return self._last


class StepsInPlace:
    """Steps that keep some rows of the loops, and the state that they go on from.

    It stays where the machine code works on it: a step copies and allocates nothing.

    Attributes
    ----------
    march, start : the machine code, and the memories with which its steps begin
    q, v, t, z : the state; t as in `trusted_step`, with z and the memory, `carried`
    held : what stays during a step, samples and inputs among it; None if nothing does
    state : q, v and t as one array
    formed : Jacobians that memories which are gone had formed
    """

    def __init__(
        self, trajectory: Trajectory, rows: tuple[int, ...], scheme: Scheme, h: float = 0.0
    ) -> None:
        step = SystemStep.of(trajectory.system, rows, scheme)
        self.trajectory, self.rows, self.formed = trajectory, rows, 0
        self.march, self.start = step.march(), Start(trajectory, step)
        self.stage = self.march.start()
        ends = itertools.accumulate(self.march.inputs.values(), initial=0)
        parts = (self.stage[a:b] for a, b in itertools.pairwise(ends))
        places = dict(zip(self.march.inputs, parts, strict=True))
        self.q, self.v, self.t, self._length = (places[name] for name in ("q", "v", "t", "h"))
        self.state = self.stage[: sum(step.fed_back.values())]
        self.carried = carried(self.t)
        self.z = self.carried[: trajectory.system.nz]
        self.held: Array | None = places.get("held")
        self._streamed, self.h = "stream" in places, h
        if self.held is not None:
            self.held[:] = trajectory.held
        if "p" in places:
            places["p"][:] = trajectory.p
        self._nowhere = np.zeros((len(self.march.shapes), 1), dtype=np.int64)
        self._addresses = self.stage.ctypes.data, self._nowhere.ctypes.data

    @property
    def h(self) -> float:
        """Length of the steps, s."""
        return self._h

    @h.setter
    def h(self, length: float) -> None:
        """Take steps of another length from now on."""
        self._h = self._length[0] = length

    @property
    def now(self) -> Now:
        """The state, by itself."""
        return Now(float(self.t[0]), self.q.copy(), self.v.copy(), self.carried.copy())

    @property
    def work(self) -> float:
        """J, that forces and prescribed motions have done."""
        return float(self.t[WORK])

    def put(self, now: Now, work: float) -> None:
        """Go on from a state."""
        self.q[:], self.v[:], self.carried[:] = now.q, now.v, now.carried
        self.t[0], self.t[WORK] = now.t, work

    @cached_property
    def once(self) -> Step:
        """One step from any state, in places of its own."""
        return one_step(self.trajectory, self.march)

    def numbers(self, start: float, end: float, h: float) -> Array | None:
        """Return what is streamed into one step of h seconds."""
        return self.trajectory.stream(np.array([start, end]), h) if self._streamed else None

    def holding(self, now: Now) -> contextlib.AbstractContextManager[None]:
        """Hold the samples of the step that goes on."""
        return self.trajectory.holding(now, self.held)

    def advance(self) -> bool:
        """Take a step; return whether it was trusted."""
        march, (stage, nowhere), at = self.march, self._addresses, None
        if self._streamed:
            t = float(self.t[0])
            stream = self.trajectory.stream(np.array([t, t + self._h]), self._h)
            assert stream is not None
            at = march.stream_at(stream, 1)
        return bool(march.code(stage, 1, 2, nowhere, STEP_RISK, at))

    def in_parts(self, ends: Sequence[float]) -> bool:
        """Take a step in parts that end where forces jump; return whether it was trusted."""
        renew = self.renew if self.start.remembers else None
        parts = self.march, self.stage, float(self.t[0]), ends, self._h, self.numbers, renew
        return bool(step_in_parts(*parts).all())

    def renew(self) -> None:
        """Begin a memory anew, where forces have jumped."""
        now = self.now
        self.formed += self.start.jacobians(now) or 0
        with self.holding(now):
            self.carried[:] = self.start.begun(now).carried

    def in_halves(self, ends: Sequence[float]) -> None:
        """Take a step that is not trusted in halves; between its `ends` forces jump."""
        now = self.now
        with self.holding(now):
            halves = Halves(self.trajectory.model, self.once, self.start)
            end, work = halves.over(now, self._h, ends)
        self.put(end, self.work + work)

    def passage(self, h: float) -> Passage:
        """Return the way past singular positions, in plain steps where these keep more."""
        march = None if self.start.beside is not None else self.march
        return passage_of(self.trajectory, self.rows, h, march)


class Stepping:
    """A system at a state, and its next steps.

    Parameters
    ----------
    start : (nq + nv + nz,) state
    h : s; None: `put` tells it before each step
    scheme : of the steps
    leeway : s, that times of steps that follow each other may be apart

    Attributes
    ----------
    q, v, t, z : the state: views of where the machine code keeps it; t holds one number
    work : (1,) J that forces and prescribed motions have done, in place
    held : (H,) numbers that stay during a step, inputs among them; write into them
    rows : of the loops, that steps keep
    """

    def __init__(
        self,
        system: System,
        start: Array,
        h: float | None,
        scheme: Scheme = RK4,
        leeway: float = SAME_TIME,
    ) -> None:
        self.system, self.h, self._scheme, self._leeway = system, h or 0.0, scheme, leeway
        self.trajectory = Trajectory(system)
        self.model: Model = self.trajectory.model
        self.held = self.trajectory.held
        self._codes: dict[tuple[int, ...], StepsInPlace] = {}
        self._memories: dict[tuple[int, ...], Continued] = {}
        self._passages: dict[tuple[float, tuple[int, ...]], Passage] = {}
        self._way, self.guards = Way(), StepGuards(self.trajectory, scheme)
        q, v, z = np.split(start, [self.model.nq, self.model.nq + self.model.nv])
        self._given = q.copy(), v.copy(), z.copy()
        self.choose(q, v)
        self._first_rows = self.rows
        if h is not None:
            self.restart(0.0)

    def choose(self, q: Array, v: Array | None = None) -> None:
        """Choose rows for steps that go on from a state."""
        self.keep(independent_rows(self.model, q, self.trajectory.motions, v))

    def keep(self, rows: tuple[int, ...]) -> None:
        """Keep such rows of the loops."""
        if rows not in self._codes:
            code = StepsInPlace(self.trajectory, rows, self._scheme)
            self._codes[rows], self._memories[rows] = code, Continued(code.start)
        code, self.rows = self._codes[rows], rows
        self._code, self._memory, code.h = code, self._memories[rows], self.h
        if code.held is not None:
            np.copyto(code.held, self.held)
        self.q, self.v, self.z = code.q, code.v, code.z
        self.t, self.work = code.t[:1], code.t[WORK:CARRIED]

    def restart(self, t: float) -> None:
        """Go back to the first state, at time t, s."""
        self.keep(self._first_rows)
        self._find_knots(t)
        self.put(t, *self._given)
        if self._scheme.remembers:
            self._memory.reached(self._memory.at(self._bare, self.held, jumps=True))
        self._code.carried[self.system.nz :] = 0.0
        self.guards.open(*self._given)

    def put(self, t: float, q: Array, v: Array, z: Array, h: float | None = None) -> None:
        """Go on from a state, by steps of h seconds."""
        if h is not None and (h != self.h or not on_grid(t, self._grid, h)):
            self.h = self._code.h = h
            self._find_knots(t)
        self.t[0], self.work[0] = t, 0.0
        self.q[:], self.v[:], self.z[:] = q, v, z

    def _find_knots(self, t: float) -> None:
        """Find where steps have to end, beside the grid of those from t."""
        self._grid, self._knots = t, self.system.knots(t, self.h, self._scheme)

    def prepare(self) -> None:
        """Compile what later steps may need, past singular positions too, so that none waits.

        Only where other rows come to matter on the way is a step compiled once more.
        """
        if self.model.has_loops and not self._scheme.remembers:
            Accelerations(self.model, self.system.prescribed_velocities).prepare()
            _ = self.system.acting
        _ = self._energy
        self.guards.prepare()

    def advance(self) -> None:
        """Take a step.

        Raises
        ------
        SolveError
            The step cannot be taken: which loop or joint, and what to try.
        """
        code, rows = self._code, self.rows
        before, start = float(self.work[0]), code.state.copy()
        try:
            self._take()
        except SolveError:
            self._go_back(start)
            self._choose_here()
            if self.rows == rows:
                raise
            self._take()
        if self.guards.opened(self.q):
            self._go_back(start)
            self._choose_here()
            loops = self.guards.loops
            closed = None if loops is None else loops.closed(self.q.copy())
            if closed is not None:
                self.q[:] = closed
            self._take()
            if self.guards.opened(self.q) and loops is not None:
                raise messages.stays_open(self.model, None, loops.at(self.q)[0], self.h)
        self.guards.energy.enter(self.q, self.v, self.z, float(self.work[0]) - before, self.h)

    def _choose_here(self) -> None:
        """Choose rows for steps that go on from here."""
        state = self._code.state
        self.choose(self.q.copy(), self.v.copy())
        self._go_back(state)

    def _go_back(self, state: Array) -> None:
        """Go back to a state; a memory, which is one of certain rows, begins anew."""
        code = self._code
        known = len(code.state) - len(code.carried) + self.system.nz
        code.state[:known], code.state[known:] = state[:known], 0.0

    @property
    def _bare(self) -> Now:
        """The state without memory."""
        return Now(float(self.t[0]), self.q.copy(), self.v.copy(), self.z.copy())

    def _take(self) -> None:
        code, h, t = self._code, self.h, float(self.t[0])
        if code.held is not None:
            sampled = self.system.sampled
            code.held[:] = self.trajectory.sampled(t, self.q, self.v) if sampled else self.held
        remembers = self._scheme.remembers
        if remembers:
            with code.holding(self._bare):
                jumps = self._knots.at(t, h)
                code.carried[:] = self._memory.at(self._bare, self.held, jumps).carried
        elif code.start.beside is not None and not code.carried[self.system.nz]:
            with code.holding(self._bare):
                code.carried[:] = code.start.begun(self._bare).carried
        if self.guards.due():
            now = code.now
            with code.holding(now):
                self.guards.look(code.once, now, h, self.rows)
        inside = self._knots.within(t, t + h)
        if self._way.goes_on and not inside and self._follow():
            return
        if not (code.in_parts(inside) if inside else code.advance()):
            ends = [*inside, t + h]
            if remembers:
                code.in_halves(ends)
            else:
                with code.holding(code.now):
                    self._with_care(code.now, ends)
        if remembers:
            self._memory.reached(code.now)

    def _with_care(self, now: Now, ends: list[float]) -> None:
        """Take a step of which a part at least is not trusted: past a singular position."""
        code, work = self._code, self._code.work
        for end in ends:
            length = length_to(now.t, end) if len(ends) > 1 else self.h
            step = code.once(now, length)
            if step.trusted:
                now, work = now.after(length, step)._replace(t=end), work + step.work
                continue
            self.guards.check_acceleration(now, step, self.rows)
            place = self._past(code.start.bare(now), length)
            work += self._total(place.q, place.v) - self._total(now.q, now.v)
            now = code.start.behind(place, now, anew=True)._replace(t=end)
        code.put(now, work)

    def _follow(self) -> bool:
        """Go on along the way past a singular position, as long as it goes."""
        code, before = self._code, self._code.now
        now = code.start.bare(before)
        with code.holding(now):
            place = self._way.next(now, self._under(self.h))
            if place is None:
                return False
            place = code.start.behind(place._replace(t=now.t + self.h), before, anew=True)
        gained = self._total(place.q, place.v) - self._total(now.q, now.v)
        code.put(place, code.work + gained)
        return True

    def _under(self, h: float) -> Hashable:
        """Return what a way past a singular position holds for."""
        held = self._code.held
        return h, self.rows, b"" if held is None else held.tobytes()

    def _past(self, now: Now, h: float) -> Now:
        """Return the state a step past a position at which steps are not trusted.

        The way past it is kept: the next step goes on along it where this one came to, under the
        same forces.
        """
        under = self._under(h)
        place = self._way.next(now, under)
        if place is None:
            self._way = Way(self._passage(h).ahead(now, begins=True), under, self._leeway * h)
            place = self._way.next(now, under)
        assert place is not None, "a way has a first step"
        return place

    def _passage(self, h: float) -> Passage:
        """Return what leads past singular positions, in steps of h seconds."""
        if (h, self.rows) not in self._passages:
            self._passages = {(h, self.rows): self._code.passage(h)}
        return self._passages[h, self.rows]

    def _total(self, q: Array, v: Array) -> float:
        """Return the energy, J."""
        return float(self._energy(q, v)[0][0])

    @cached_property
    def _energy(self) -> EnergyAt:
        return energy_kernel(self.model)

    @property
    def held_now(self) -> Array:
        """What the last step held: samples of Python functions are in it."""
        return self.held if self._code.held is None else self._code.held


OWN = "coupled step: "
"""Begin of the names of inputs that a step in another loop adds: a user's may be called alike."""


def coupled(system: System) -> System:
    """Return the system with inputs for forces along all velocities and wrenches on all bodies."""
    model = system.model
    first = {link.body: number for number, link in reversed([*enumerate(model.links)])}
    wrenches = [
        WrenchPart(model.links[first[body]].name, first[body], "origin", Input(f"{OWN}body {body}"))
        for body in range(len(model.bodies))
        if body in first
    ]
    torques = TorquePart(tuple(range(model.nv)), Input(f"{OWN}torque"))
    return system.with_parts(
        torques=(*system.torques, torques),
        wrenches=(*system.wrenches, *wrenches),
    )


class CoupledStep:
    """Compiled steps, one at a time.

    Parameters
    ----------
    system : a mechanism and what acts on it beside; or the mechanism alone
    q, v : (nq,), (nv,) a state that satisfies its loops; rows of them are chosen there
    z : states of force elements there, as for `simulate`
    integrator : "rk4", or an implicit one as for `simulate`, with steps of fixed length

    Attributes
    ----------
    z : (nz,) states of force elements where the next step begins: each step carries them on
    work : J, that all forces did in the last step
    """

    def __init__(
        self,
        system: System | Model,
        q: Array,
        v: Array | None = None,
        z: StartStates | None = None,
        integrator: CompiledIntegrator | Scheme = "rk4",
    ) -> None:
        given = System(system) if isinstance(system, Model) else system
        if given.number > 1:
            raise StateError("a step is that of one trajectory; give one value of each")
        self.system, self.z = coupled(given), given.states.start(z)[0]
        # where nothing depends on time, callers need not tell it
        timeless = not (given.parts or given.forces)
        leeway = np.inf if timeless else SAME_TIME
        rest = np.zeros(self.system.model.nv) if v is None else v
        start, scheme = np.concatenate([q, rest, self.z]), compiled_scheme(integrator)
        self._stepping = Stepping(self.system, start, None, scheme, leeway)
        self.trajectory = self._stepping.trajectory
        self.model = self.trajectory.model
        inputs = self.system.inputs_by_name
        self._places = inputs[f"{OWN}torque"][0], inputs[f"{OWN}body 0"][0].start
        self._accelerations = Accelerations(self.model, self.system.prescribed_velocities)
        self._rates: dict[tuple[int, ...], Rate] = {}
        self.work = 0.0

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the loops that steps keep."""
        return self._stepping.rows

    def keep(self, rows: tuple[int, ...]) -> None:
        """Keep such rows in the steps that follow."""
        self._stepping.keep(rows)

    def choose(self, q: Array, v: Array | None = None) -> None:
        """Choose rows for steps that go on from another state."""
        self._stepping.choose(q, v)

    def prepare(self) -> None:
        """Compile all that steps and questions may need, past singular positions too.

        Only where other rows come to matter on the way is a step compiled once more.
        """
        self._stepping.prepare()
        self._compiled_rate()
        self._accelerations.prepare()
        _ = self.system.acting

    def __call__(
        self, q: Array, v: Array, tau: Array, wrenches: Array, h: float, t: float = 0.0
    ) -> tuple[Array, Array]:
        """Return q and v after h seconds under forces tau (nv,) and wrenches (bodies, 6).

        Raises
        ------
        SolveError
            The step cannot be taken: which loop or joint, and what to try.
        """
        self._hold(tau, wrenches)
        stepping = self._stepping
        stepping.put(t, q, v, self.z, h)
        stepping.guards.energy.begin(q, v, self.z)
        stepping.advance()
        self.z, self.work = stepping.z.copy(), float(stepping.work[0])
        return stepping.q.copy(), stepping.v.copy()

    def forces(self, q: Array, v: Array, tau: Array, wrenches: Array, t: float = 0.0) -> Array:
        """Return all generalised forces (nv,): tau, those of wrenches, what the system has."""
        self._hold(tau, wrenches)
        whole, _, pushed = self.trajectory.acting(np.array([t]), q[None], v[None], z=self.z[None])
        return np.asarray((whole + pushed)[0])

    def accelerations(
        self, q: Array, v: Array, tau: Array, wrenches: Array, t: float = 0.0
    ) -> Array:
        """Return the accelerations (nv,) under forces and wrenches, loops closed."""
        self._hold(tau, wrenches)
        rate, risk = self._compiled_rate()(t, q, v, self.z)
        a = rate[self.model.nq :][: self.model.nv]
        if risk < STAGE_RISK and np.isfinite(a).all():
            return a.copy()
        return np.asarray(self.answer(q, v, tau, wrenches, t).a[0])

    def answer(self, q: Array, v: Array, tau: Array, wrenches: Array, t: float = 0.0) -> Answer:
        """Return accelerations (1, nv) and multipliers (1, m), at singular positions too."""
        whole = self.forces(q, v, tau, wrenches, t)
        wanted = self.trajectory.accelerations(np.array([t]))
        return self._accelerations(q[None], v[None], whole[None], wanted)

    def _hold(self, tau: Array, wrenches: Array) -> None:
        held, (torque, first) = self.trajectory.held, self._places
        held[torque] = tau
        held[first : first + wrenches.size] = wrenches.reshape(-1)

    def _compiled_rate(self) -> Rate:
        if self.rows not in self._rates:
            self._rates[self.rows] = Rate(self.trajectory, self.rows)
        return self._rates[self.rows]
