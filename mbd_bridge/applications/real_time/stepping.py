"""Steps of a system one after the other, in place, with inputs that change between them.

The state stays in the places that the machine code works on: a step copies and allocates nothing.
Only where a step is not trusted, near a singular position, and for tables and Python functions,
more is done in Python.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Single, compile_kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.energy import Account
from mbd_bridge.simulation.guards.step_length import StateWatch
from mbd_bridge.simulation.results.recorded import limits_of
from mbd_bridge.simulation.signals.effort import EffortLimits
from mbd_bridge.simulation.signals.tables import Knots
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import (
    Continued,
    Start,
    SystemStep,
    one_step,
    step_in_parts,
)
from mbd_bridge.simulation.steps.coupled import CoupledStep
from mbd_bridge.simulation.steps.halves import Halves
from mbd_bridge.simulation.steps.schemes import RK4, Scheme
from mbd_bridge.simulation.steps.source import inlined
from mbd_bridge.simulation.steps.step_result import CARRIED, Now, Step, carried
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.simulation.variables import given_function, inputs_of_state, outputs_function
from mbd_bridge.solve.tolerances import STEP_RISK


class Stepping:
    """A system at a state, and its next steps.

    Parameters
    ----------
    start : (nq + nv + nz,) state
    h : s
    scheme : of the steps

    Attributes
    ----------
    q, v, t, z : the state: views of where the machine code keeps it; t holds one number
    held : (H,) numbers that stay during a step, inputs among them; write into them
    outputs : function of the state now: a vector, in the order of `output_variables`
    """

    def __init__(self, system: System, start: Array, h: float, scheme: Scheme = RK4) -> None:
        self.system, self.h = system, h
        self._trajectory = Trajectory(system)
        self.model: Model = self._trajectory.model
        q, v, z = np.split(start, [self.model.nq, self.model.nq + self.model.nv])
        self.rows = independent_rows(self.model, q, self._trajectory.motions, v)
        code = SystemStep(system, self.rows, scheme)
        self._march, self._memory = code.march(), Continued(Start(self._trajectory, code))
        self._scheme = scheme
        self._stage = self._march.start()
        self.q, self.v, at = (self._view(name) for name in ("q", "v", "t"))
        self.t, self._work = at[:1], at[1:CARRIED]
        self._carried, self.z = carried(at), carried(at)[: system.nz]
        self._inputs = self._view("held") if "held" in self._march.inputs else None
        self.held = self._trajectory.held
        self._nowhere = np.zeros((len(self._march.shapes), 1), dtype=np.int64)
        self._given = (q.copy(), v.copy(), z.copy())
        self._states = StateWatch(system.states.names)
        self._account = Account(self._trajectory, scheme)
        self.restart(0.0)

    def _view(self, name: str) -> Array:
        place = self._march.place_of(name)
        return self._stage[place : place + self._march.inputs[name]]

    def restart(self, t: float) -> None:
        """Go back to the first state, at time t, s."""
        q, v, z = self._given
        more, now = self._trajectory.more(t, q, v), Now(t, q, v, z)
        self._knots: Knots = self.system.knots(t, self.h, self._scheme)
        if self._scheme.remembers:
            now = self._memory.at(now, self.held, jumps=True)
            self._memory.reached(now)
        self._march.put(self._stage, q, v, now.fed_back, np.array([self.h]), *more)
        self._states.begin()
        self._account.open(q, v, z)

    def prepare(self) -> None:
        """Compile what later steps and outputs may need, so that none of them waits for it."""
        _ = self._outputs, self._once
        if self.limits is not None:
            _ = self._given_forces
        if self.model.has_loops and not self._scheme.remembers:
            self._careful.prepare()

    def advance(self) -> None:
        """Take a step.

        Raises
        ------
        SolveError
            The step cannot be taken: which loop or joint, and what to try.
        """
        before = float(self._work[0])
        self._take()
        self._account.enter(self.q, self.v, self.z, float(self._work[0]) - before, self.h)

    def _take(self) -> None:
        system, h, t = self.system, self.h, float(self.t[0])
        if system.sampled:
            values = self._trajectory.sampled(t, self.q, self.v)
            assert self._inputs is not None, "samples are held"
            self._inputs[:] = values
        elif self._inputs is not None:
            self._inputs[:] = self.held
        if self._scheme.remembers:
            self._remember(t)
        elif self._states.due:
            now = self._now(self.z)
            with self._trajectory.holding(now, self._inputs):
                self._states.look(self._once, now, h)
        inside = self._knots.within(t, t + h)
        if inside:
            renew = self._renew if self._scheme.remembers else None
            parts = self._march, self._stage, t, inside, h
            taken = bool(step_in_parts(*parts, self._numbers, renew).all())
        else:
            stream = self._numbers(t, t + h, h)
            taken = bool(
                self._march.advance_into(self._stage, 1, 2, self._nowhere, STEP_RISK, stream)
            )
        if not self._scheme.remembers:
            if not taken:
                self._with_care(t)
            return
        if not taken:
            self._halve(t, inside)
        self._memory.reached(self._now(self._carried))

    def _remember(self, t: float) -> None:
        """Renew the memory of the steps where forces have jumped."""
        now = self._now(self.z)
        with self._trajectory.holding(now, self._inputs):
            self._carried[:] = self._memory.at(now, self.held, self._knots.at(t, self.h)).carried

    def _renew(self) -> None:
        """Begin anew in the middle of a step, where forces have jumped."""
        now = self._now(self.z)
        with self._trajectory.holding(now, self._inputs):
            self._carried[:] = self._memory.start.begun(now).carried

    def _halve(self, t: float, knots: list[float]) -> None:
        """Take a step in parts."""
        now = self._now(self._carried)
        with self._trajectory.holding(now, self._inputs):
            halves = Halves(self.model, self._once, self._memory.start)
            end, work = halves.over(now, self.h, (*knots, t + self.h))
        self._work[0] += work
        self.q[:], self.v[:], self._carried[:], self.t[0] = end.q, end.v, end.carried, t + self.h

    def _now(self, carried: Array) -> Now:
        return Now(float(self.t[0]), self.q.copy(), self.v.copy(), carried.copy())

    def outputs(self) -> Array:
        """Return the outputs at the state now, an array that the next call overwrites."""
        given = {"q": self.q, "v": self.v, "t": self.t, "z": self.z, "held": self.held}
        p = self._trajectory.p
        if p is not None:
            given["p"] = p
        (values,) = self._outputs.run(*(given[name] for name in self._output_inputs))
        return values

    @cached_property
    def limits(self) -> EffortLimits | None:
        """The effort limits of the joints along which forces are given, or none."""
        return limits_of(self.system)

    def given(self) -> Array:
        """Return the forces (nv,) that are given now, an array that the next call overwrites."""
        held = self.held if self._inputs is None else self._inputs
        given = {"q": self.q, "v": self.v, "t": self.t, "z": self.z, "held": held}
        p = self._trajectory.p
        if p is not None:
            given["p"] = p
        (values,) = self._given_forces.run(*(given[name] for name in self._output_inputs))
        return values

    def _numbers(self, start: float, end: float, h: float) -> Array | None:
        return self._trajectory.stream(np.array([start, end]), h)

    @cached_property
    def _once(self) -> Step:
        return one_step(self._trajectory, self._march)

    @cached_property
    def _output_inputs(self) -> tuple[str, ...]:
        return tuple(inputs_of_state(inlined(self.system)))

    @cached_property
    def _outputs(self) -> Single:
        system = inlined(self.system)
        function = outputs_function(system, self.rows)
        return compile_kernel(function, inputs_of_state(system), name="outputs").single()

    @cached_property
    def _given_forces(self) -> Single:
        system = inlined(self.system)
        function = given_function(system)
        return compile_kernel(function, inputs_of_state(system), name="given").single()

    @cached_property
    def _careful(self) -> CoupledStep:
        return CoupledStep(self.system, self.q.copy(), self.v.copy(), self.z.copy())

    def _with_care(self, t: float) -> None:
        """Take a step past a singular position."""
        step = self._careful
        for here, there in self._places:
            step.trajectory.held[there] = self.held[here]
        step.z = self.z.copy()
        none = np.zeros((len(self.model.bodies), 6))
        tau = np.zeros(self.model.nv)
        q, v = step(self.q.copy(), self.v.copy(), tau, none, self.h, t)
        self.q[:], self.v[:], self.z[:], self.t[0] = q, v, step.z, t + self.h
        self._work[0] += step.work

    @cached_property
    def _places(self) -> list[tuple[slice, slice]]:
        """Where each held signal is here, and in the system with inputs for all forces."""
        mine, other = self.system, self._careful.system
        there = {id(part): other.layout.held.get(k) for k, part in enumerate(other.parts)}
        found = []
        for k, part in enumerate(mine.parts):
            place, into = mine.layout.held.get(k), there.get(id(part))
            if place is not None and into is not None:
                found.append((place, into))
        return found
