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

from collections.abc import Hashable, Iterable
from functools import partial

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
from mbd_bridge.simulation.results.accelerations import Accelerations, Answer
from mbd_bridge.simulation.right_hand_side import Rate
from mbd_bridge.simulation.signals.parts import TorquePart, WrenchPart
from mbd_bridge.simulation.signals.tables import Knots, length_to
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import (
    Continued,
    Start,
    SystemStep,
    one_step,
    step_in_parts,
)
from mbd_bridge.simulation.steps.halves import Halves
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.simulation.steps.reference import ReferenceStep
from mbd_bridge.simulation.steps.schemes import RK4, CompiledIntegrator, Scheme, compiled_scheme
from mbd_bridge.simulation.steps.trusted_step import CARRIED, WORK, Now, carried
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


class RowsCode:
    """Machine code of the steps that keep some rows, and a state in it."""

    def __init__(self, trajectory: Trajectory, rows: tuple[int, ...], scheme: Scheme) -> None:
        step = SystemStep.of(trajectory.system, rows, scheme)
        self.march = step.march()
        self.memory = Continued(Start(trajectory, step))
        self.stage = self.march.start()
        self.once = one_step(trajectory, self.march)
        self.state = self.stage[: sum(step.fed_back.values())]
        self._nowhere = np.zeros((len(self.march.shapes), 1), dtype=np.int64)
        self._addresses = self.stage.ctypes.data, self._nowhere.ctypes.data

    def advance(self, stream: Array | None) -> bool:
        """Take a step; return whether it was trusted."""
        at = None if stream is None else self.march.stream_at(stream, 1)
        stage, nowhere = self._addresses
        return bool(self.march.code(stage, 1, 2, nowhere, STEP_RISK, at))

    def place(self, name: str) -> Array:
        """Return where an input is."""
        first = self.march.place_of(name)
        return self.stage[first : first + self.march.inputs[name]]


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
        self._codes: dict[tuple[int, ...], RowsCode] = {}
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
            self._codes[rows] = RowsCode(self.trajectory, rows, self._scheme)
        code, self.rows = self._codes[rows], rows
        self._code, self._march = code, code.march
        self._inputs = code.place("held") if "held" in code.march.inputs else None
        self.q, self.v, at, self._length = (code.place(name) for name in ("q", "v", "t", "h"))
        if self._inputs is not None:
            np.copyto(self._inputs, self.held)
        if self.trajectory.p is not None and "p" in code.march.inputs:
            code.place("p")[:] = self.trajectory.p
        self._length[0], self._streamed = self.h, "stream" in code.march.inputs
        self.t, self.work = at[:1], at[WORK:CARRIED]
        self._carried, self.z = carried(at), carried(at)[: self.system.nz]

    def restart(self, t: float) -> None:
        """Go back to the first state, at time t, s."""
        self.keep(self._first_rows)
        self._knots: Knots = self.system.knots(t, self.h, self._scheme)
        self.put(t, *self._given)
        if self._scheme.remembers:
            now = self._code.memory.at(self._now(self.z), self.held, jumps=True)
            self._code.memory.reached(now)
        self._carried[self.system.nz :] = 0.0
        self.guards.open(*self._given)

    def put(self, t: float, q: Array, v: Array, z: Array, h: float | None = None) -> None:
        """Go on from a state, by steps of h seconds."""
        if h is not None and h != self.h:
            self.h = self._length[0] = h
            self._knots = self.system.knots(t, h, self._scheme)
        self.t[0], self.work[0] = t, 0.0
        self.q[:], self.v[:], self.z[:] = q, v, z

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
        """Go back to a state; a basis, which is one of certain rows, is decomposed anew."""
        if self._start.beside is None:
            self._code.state[:] = state
            return
        known = len(self._code.state) - len(self._carried) + self.system.nz
        self._code.state[:known], self._code.state[known:] = state[:known], 0.0

    def _write(self, now: Now, work: float) -> None:
        before = self._now(self._carried)
        self.t[0], self.work[0] = now.t, work
        self.q[:], self.v[:] = now.q, now.v
        if len(now.carried) < len(self._carried):
            now = self._start.begun(now, before)
        self._carried[:] = now.carried

    def _take(self) -> None:
        system, h, t = self.system, self.h, float(self.t[0])
        if system.sampled:
            values = self.trajectory.sampled(t, self.q, self.v)
            assert self._inputs is not None, "samples are held"
            self._inputs[:] = values
        elif self._inputs is not None:
            self._inputs[:] = self.held
        remembers = self._scheme.remembers
        if remembers:
            self._remember(t)
        elif self._start.beside is not None and not self._carried[self.system.nz]:
            now = self._now(self.z)
            with self.trajectory.holding(now, self._inputs):
                self._carried[:] = self._start.begun(now).carried
        if self.guards.due():
            now = self._now(self._carried)
            with self.trajectory.holding(now, self._inputs):
                self.guards.look(self._code.once, now, h, self.rows)
        inside = self._knots.within(t, t + h)
        if self._way.goes_on and not inside and self._follow():
            return
        if inside:
            renew = self._renew if remembers else None
            parts = self._march, self._code.stage, t, inside, h
            taken = bool(step_in_parts(*parts, self._numbers, renew).all())
        else:
            taken = self._code.advance(self._numbers(t, t + h, h))
        if not taken:
            now = self._now(self._carried)
            with self.trajectory.holding(now, self._inputs):
                if remembers:
                    self._halve(now, [*inside, t + h])
                else:
                    self._with_care(now, [*inside, t + h])
        if remembers:
            self._code.memory.reached(self._now(self._carried))

    def _remember(self, t: float) -> None:
        """Renew the memory of the steps where forces have jumped."""
        now = self._now(self.z)
        with self.trajectory.holding(now, self._inputs):
            jumps = self._knots.at(t, self.h)
            self._carried[:] = self._code.memory.at(now, self.held, jumps).carried

    def _renew(self) -> None:
        """Begin anew in the middle of a step, where forces have jumped."""
        now = self._now(self.z)
        with self.trajectory.holding(now, self._inputs):
            self._carried[:] = self._code.memory.start.begun(now).carried

    def _halve(self, now: Now, ends: list[float]) -> None:
        """Take a step in parts."""
        halves = Halves(self.model, self._code.once, self._code.memory.start)
        end, work = halves.over(now, self.h, ends)
        self._write(end, float(self.work[0]) + work)

    def _with_care(self, now: Now, ends: list[float]) -> None:
        """Take a step of which a part at least is not trusted: past a singular position."""
        work = float(self.work[0])
        for end in ends:
            length = length_to(now.t, end) if len(ends) > 1 else self.h
            step = self._code.once(now, length)
            if step.trusted:
                now, work = now.after(length, step)._replace(t=end), work + step.work
                continue
            self.guards.check_acceleration(now, step, self.rows)
            place = self._past(self._start.bare(now), length)
            work += self._total(place.q, place.v) - self._total(now.q, now.v)
            now = self._start.behind(place, now, anew=True)._replace(t=end)
        self._write(now, work)

    def _follow(self) -> bool:
        """Go on along the way past a singular position, as long as it goes."""
        now = self._start.bare(self._now(self._carried))
        with self.trajectory.holding(now, self._inputs):
            place = self._way.next(now, self._under(self.h))
        if place is not None:
            gained = self._total(place.q, place.v) - self._total(now.q, now.v)
            self._write(place._replace(t=now.t + self.h), float(self.work[0]) + gained)
        return place is not None

    def _under(self, h: float) -> Hashable:
        """Return what a way past a singular position holds for."""
        return h, self.rows, b"" if self._inputs is None else self._inputs.tobytes()

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
            trajectory = self.trajectory
            slow = partial(ReferenceStep, self.model, trajectory.stage, self.rows)
            code = self._code
            if self._start.beside is not None:  # plain steps lead past singular positions
                plain = getattr(self._scheme, "integrator", RK4)
                code = RowsCode(trajectory, self.rows, plain)
            given = self.model, code.once, h, slow, self._total
            self._passages = {(h, self.rows): Passage(*given, rates=trajectory.rates)}
        return self._passages[h, self.rows]

    def _total(self, q: Array, v: Array) -> float:
        """Return the energy, J."""
        return float(self._energy(q, v)[0][0])

    @cached_property
    def _energy(self) -> EnergyAt:
        return energy_kernel(self.model)

    @property
    def _start(self) -> Start:
        return self._code.memory.start

    @property
    def held_now(self) -> Array:
        """What the last step held: samples of Python functions are in it."""
        return self.held if self._inputs is None else self._inputs

    def _now(self, carried: Array) -> Now:
        return Now(float(self.t[0]), self.q.copy(), self.v.copy(), carried.copy())

    def _numbers(self, start: float, end: float, h: float) -> Array | None:
        if not self._streamed:
            return None
        return self.trajectory.stream(np.array([start, end]), h)


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
