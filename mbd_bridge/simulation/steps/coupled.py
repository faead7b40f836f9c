"""One step at a time under forces that somebody else decides: coupling with another simulator.

A system of its own: the given one, with inputs for generalised forces and for wrenches on all
bodies, constant within a step. A wrench is given about the *world's origin*, so that the momentum
that the mechanism takes from the other side, about any point, is the wrench times the step, however
the body moves meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial

import numpy as np

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.forces.acts import StartStates
from mbd_bridge.forces.varying import Input
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards import messages
from mbd_bridge.simulation.guards.energy import Account, energy_kernel
from mbd_bridge.simulation.guards.loops import allowed_opening, opening
from mbd_bridge.simulation.guards.step_length import StateWatch
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
)
from mbd_bridge.simulation.steps.halves import Halves
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.simulation.steps.reference import ReferenceStep
from mbd_bridge.simulation.steps.schemes import CompiledIntegrator, Scheme, compiled_scheme
from mbd_bridge.simulation.steps.step_result import Now, Step, StepResult
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.tolerances import STAGE_RISK, STEP_RISK

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


LOOK = 100
"""Steps from one look to the next whether accelerations keep the loops closed."""

SAME_TIME = 1e-6
"""Of a step: times that are as close are one. Where nothing depends on time, callers need not tell
it."""


class Way:
    """The way past a singular position, step by step, as long as these follow each other.

    Parameters
    ----------
    places : the states along it
    under : what it holds for
    leeway : s, that times may be apart
    """

    def __init__(
        self, places: Iterable[Now] = (), under: Hashable = None, leeway: float = 0.0
    ) -> None:
        self._places, self._under, self._leeway = iter(places), under, leeway
        self._last: Now | None = None

    def next(self, now: Now, under: Hashable) -> Now | None:
        """Return the next state if the last one is this; None if the way leads elsewhere."""
        last = self._last
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
        return self._last


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
        timeless = not (given.parts or given.forces)
        self._leeway = np.inf if timeless else SAME_TIME
        self.system, self.z = coupled(given), given.states.start(z)[0]
        self.trajectory = Trajectory(self.system)
        inputs = self.system.inputs_by_name
        self._places = inputs[f"{OWN}torque"][0], inputs[f"{OWN}body 0"][0].start
        self.model = self.trajectory.model
        self._accelerations = Accelerations(self.model, self.system.prescribed_velocities)
        self._loops = LoopChecker(self.model) if self.model.has_loops else None
        self._scheme = compiled_scheme(integrator)
        self._steps: dict[tuple[int, ...], Step] = {}
        self._memories: dict[tuple[int, ...], Continued] = {}
        self._knots: dict[float, Knots] = {}
        self._passages: dict[tuple[float, tuple[int, ...]], Passage] = {}
        self._way = Way()
        self._looks = 0
        self._states = StateWatch(self.system.states.names)
        self._work = 0.0
        self._rates: dict[tuple[int, ...], Rate] = {}
        self.choose(q, v)

    def choose(self, q: Array, v: Array | None = None) -> None:
        """Choose rows for steps that go on from another state."""
        self.rows = independent_rows(self.model, q, self.trajectory.motions, v)

    def prepare(self) -> None:
        """Compile all that steps and questions may need, past singular positions too.

        Only where other rows come to matter on the way is a step compiled once more.
        """
        self._compiled_step()
        self._compiled_rate()
        self._accelerations.prepare()
        _ = self._energy, self.system.acting, self._account

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
        self._account.begin(q, v, self.z)
        chosen, now = self.rows, Now(t, q, v, self.z)
        if not self._scheme.remembers and self._states.due:
            with self.trajectory.holding(now):
                self._states.look(self._step, now, h)
        try:
            found = self._taken(now, h)
        except SolveError:
            self.choose(q, v)
            if self.rows == chosen:
                raise
            found = self._taken(now, h)
        if self._open(found.q) > allowed_opening(
            self.model
        ):  # others than the chosen rows have come to matter
            self.choose(q, v)
            closed = None if self._loops is None else self._loops.closed(q)
            found = self._taken(now if closed is None else now._replace(q=closed), h)
            if self._open(found.q) > self._allowed and self._loops is not None:
                phi = self._loops.at(found.q)[0]
                raise messages.stays_open(self.model, None, phi, h)
        z = found.carried[: self.system.nz]
        self._account.enter(found.q, found.v, z, self._work, h)
        self.z = z
        return found.q, found.v

    @property
    def work(self) -> float:
        """What all forces did in the last step, J."""
        return self._work

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

    def _taken(self, now: Now, h: float) -> Now:
        """Return the state after a step, in parts that end where tables of forces jump or bend."""
        self._work = 0.0
        if h not in self._knots:
            self._knots = {h: self.system.knots(now.t, h, self._scheme)}
        end = now.t + h
        if self._scheme.remembers:
            return self._with_memory(now, h)
        for knot in self._knots[h].within(now.t, end):
            now = self._once(now, length_to(now.t, knot))._replace(t=knot)
        return self._once(now, end - now.t if now.t > end - h else h)

    def _with_memory(self, now: Now, h: float) -> Now:
        """Return the state after a step of a scheme; one that is not trusted is taken in parts."""
        step, knots, end = self._compiled_step(), self._knots[h], now.t + h
        memory, ends = self._memories[self.rows], [*knots.within(now.t, end), end]
        with self.trajectory.holding(now):
            begun = there = memory.at(now, self.trajectory.held, knots.at(now.t, h))
            work = 0.0
            for number, end in enumerate(ends):
                there = memory.start.begun(there) if number else there
                length = length_to(there.t, end) if len(ends) > 1 else h
                found = step(there, length)
                self._look(there, found)
                if not found.trusted:
                    there, work = Halves(self.model, step, memory.start).over(begun, h, ends)
                    break
                there, work = there.after(length, found)._replace(t=end), work + found.work
        memory.reached(there)
        self._work += work
        return there

    def _look(self, now: Now, found: StepResult) -> None:
        """Look, now and then, whether the acceleration of a step keeps the loops closed."""
        if self._loops is None or not found.near < STEP_RISK:
            return
        self._looks += 1
        if self._looks % LOOK == 1 or not found.risk < STEP_RISK:
            values = self._loops.values
            problem = opening(self.model, values, self.rows, now.q, now.v, found.a)
            if problem is not None:
                raise SolveError(problem)

    def _once(self, now: Now, h: float) -> Now:
        found = self._step(now, h)
        self._look(now, found)
        if found.trusted:
            self._work += found.work
            return now.after(h, found)
        place = self._past(now, h)
        self._work += self._total(place.q, place.v) - self._total(now.q, now.v)
        return place

    def _step(self, now: Now, h: float) -> StepResult:
        return self._compiled_step()(now, h)

    def _compiled_step(self) -> Step:
        if self.rows not in self._steps:
            code = SystemStep(self.system, self.rows, self._scheme)
            self._memories[self.rows] = Continued(Start(self.trajectory, code))
            self._steps[self.rows] = one_step(self.trajectory, code.march())
        return self._steps[self.rows]

    def _compiled_rate(self) -> Rate:
        if self.rows not in self._rates:
            self._rates[self.rows] = Rate(self.trajectory, self.rows)
        return self._rates[self.rows]

    def _past(self, now: Now, h: float) -> Now:
        """Return the state a step past a position at which steps are not trusted.

        The way past it is kept: the next step goes on along it where this one came to, under the
        same forces.
        """
        under = h, self.rows, self.trajectory.sampled(now.t, now.q, now.v).tobytes()
        with self.trajectory.holding(now):
            place = self._way.next(now, under)
            if place is None:
                self._way = Way(self._passage(h).ahead(now, begins=True), under, self._leeway * h)
                place = self._way.next(now, under)
        assert place is not None, "a way has a first step"
        return place

    def _passage(self, h: float) -> Passage:
        """Return what leads past singular positions, in steps of h seconds."""
        if (h, self.rows) not in self._passages:
            model, rates = self.model, self.trajectory.rates
            slow = partial(ReferenceStep, model, self.trajectory.stage, self.rows)
            found = Passage(model, self._step, h, slow, self._total, rates=rates)
            self._passages = {(h, self.rows): found}
        return self._passages[h, self.rows]

    @cached_property
    def _account(self) -> Account:
        return Account(self.trajectory, self._scheme)

    def _total(self, q: Array, v: Array) -> float:
        """Return the energy, J."""
        return float(self._energy(q, v)[0][0])

    @cached_property
    def _energy(self) -> Kernel:
        return energy_kernel(self.model)

    @cached_property
    def _allowed(self) -> float:
        return allowed_opening(self.model)

    def _open(self, q: Array) -> float:
        """Return the largest residual of the loops, relative to the mechanism's size."""
        if self._loops is None:
            return 0.0
        return float(np.abs(self._loops.at(q)[0]).max(initial=0.0))
