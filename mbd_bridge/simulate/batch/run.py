"""Simulate many motions of one mechanism: together in the lanes of vectors, and over threads.

Each trajectory has its own start and, if given so, its own forces and its own masses and lengths.
A trajectory that leaves the safe road (a singular position, numbers that end) stops in its lane
without stopping the others and is simulated again alone, as `simulate` does it: what comes out does
not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import as_floats, function_or_none
from mbd_bridge.errors import FunctionError, SolveError, StateError, whole_number
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.states import StartStates
from mbd_bridge.kernels.run.layout import new_arrays
from mbd_bridge.lazy import cached_property
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import ParameterValues
from mbd_bridge.motions.warnings import warn_left_out
from mbd_bridge.simulate.batch.clock import Clock
from mbd_bridge.simulate.batch.lane_passage import Road
from mbd_bridge.simulate.batch.lanes import Lanes
from mbd_bridge.simulate.batch.look_back import LookBack, Starts, batch_march
from mbd_bridge.simulate.batch.memory import BatchMemory
from mbd_bridge.simulate.batch.result import SimulationBatch
from mbd_bridge.simulate.batch.start import (
    GOOD,
    MOVING_APART,
    NOT_CLOSED,
    NOT_FINITE,
    OFF_COURSE,
    constraints_of,
    moves_inertia,
    number_of,
    on_course,
    sorted_starts,
    start_states,
)
from mbd_bridge.simulate.carried import CARRIED, carried
from mbd_bridge.simulate.checks.diagnosis import named
from mbd_bridge.simulate.checks.watch import coordinate_scale
from mbd_bridge.simulate.given import system_of
from mbd_bridge.simulate.inputs.motions import Prescribed
from mbd_bridge.simulate.inputs.signal import StateFunction
from mbd_bridge.simulate.inputs.torques import Torque
from mbd_bridge.simulate.inputs.wrenches import External
from mbd_bridge.simulate.machine import HasModel, model_of
from mbd_bridge.simulate.outputs import STATE, without_doubt
from mbd_bridge.simulate.results.energy import energy_kernel
from mbd_bridge.simulate.results.simulation import Simulation
from mbd_bridge.simulate.run.driver import simulate_one
from mbd_bridge.simulate.run.grid import check_start, number_of_steps
from mbd_bridge.simulate.run.problem import MOST_BYTES
from mbd_bridge.simulate.steps.by_scheme import SchemeStep
from mbd_bridge.simulate.steps.compiled import prepared_step
from mbd_bridge.simulate.steps.schemes import (
    CompiledIntegrator,
    Scheme,
    compiled_scheme,
)
from mbd_bridge.simulate.system import System
from mbd_bridge.simulate.trajectory import Trajectory, held
from mbd_bridge.solve.quaternions import are_rotations, unit_quaternions
from mbd_bridge.solve.wrenches import Axes
from mbd_bridge.spatial import Array

REFUSED: dict[int, str] = {
    NOT_FINITE: "the state at the start is not finite",
    NOT_CLOSED: "the position at the start does not close the loops: {}. Start from "
    "assemble(near=...).q",
    MOVING_APART: "the velocity at the start does not keep the loops closed: {}. Start from "
    "assemble(near=..., velocity=...).v",
}


def simulate_batch(
    machine: HasModel | Model | System,
    duration: float,
    *,
    step: float = 1e-3,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    z: StartStates | None = None,
    torque: Torque = None,
    effort_limits: bool = False,
    external: External | None = None,
    external_in: Axes = "link",
    forces: Iterable[ForceElement] | None = None,
    prescribed: Mapping[str, Prescribed] | None = None,
    parameters: ParameterValues | None = None,
    inputs: Mapping[str, Any] | None = None,
    loads: Sequence[str] | str | None = None,
    outputs: Mapping[str, StateFunction] | None = None,
    integrator: CompiledIntegrator | Scheme = "rk4",
    every: int = 1,
    start: float = 0.0,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> SimulationBatch:
    """Return the motions of a mechanism from N states that satisfy its loops.

    Parameters
    ----------
    duration, step, every, start : as for `simulate`, the same for all trajectories
    q, v : (N, nq), (N, nv), or one state for all. If not given, zero position and rest, or what is
        prescribed and the nearest to it that closes the loops
    z : states of force elements at the start, (N, nz) or (nz,), or by name
    torque, inputs : as for `simulate`; numbers may be (N,), a vector (N, nv), the values of a table
        (N, n): one for each trajectory
    effort_limits, loads, outputs : as for `simulate`
    forces : force elements as for `simulate`; their numbers may differ as `parameters`
    external, external_in : as for `simulate`; wrenches may be (N, 6), those of a table (N, n, 6)
    prescribed : prescribed motions by coordinate name as for `simulate`; or (N,) numbers, or tables
        with values (N, n), one row for each trajectory
    parameters : masses, centres, inertias, places of joints, gravity by name, one value for all or
        N of them: ``{"coupler.mass": (N,), "elbow.xyz": (N, 3)}`` (see `mechanism.parameters`);
        numbers of force elements too: ``{"spring.stiffness": (N,)}``
    integrator : "rk4", or an implicit one as for `simulate`, with steps of fixed length
    threads : that share the trajectories
    progress : is called with the number of steps taken since the last call, over all trajectories

    Notes
    -----
    Trouble of one trajectory is not raised: see `SimulationBatch.status`.
    """
    steps, every = number_of_steps(duration, step), whole_number("every", every)
    duration = float(duration)
    start = check_start(start, duration / steps)
    progress = function_or_none("progress", progress, "of the number of steps")
    q, v = (x if x is None else as_floats(name, x) for name, x in (("q", q), ("v", v)))
    threads, scheme = whole_number("threads", threads), compiled_scheme(integrator)
    model_of(machine, "simulate_batch")
    system = system_of(
        machine,
        start,
        start + duration,
        torque=torque,
        effort_limits=effort_limits,
        external=external,
        external_in=external_in,
        forces=forces,
        prescribed=prescribed,
        parameters=parameters,
        inputs=inputs,
        loads=loads,
        outputs=outputs,
    )
    warn_left_out(system.model, system.replaced)
    number = number_of(system, q, v, z)
    if system.parameters is not None:
        system = system.with_parts(parameters=system.parameters.repeated(number))
    clock = Clock(start, duration / steps, steps, every)
    _check_size(system, number, clock)
    states = *start_states(system, q, v, number, start), system.states.start(z, number)
    batch = _Batch(system, scheme, clock, *states, progress)
    batch.run_together(threads)
    batch.look_back.check()
    batch.run_alone(duration, step)
    return batch.result()


def _check_size(system: System, number: int, clock: Clock) -> None:
    """Refuse more records than fit into memory, before the first step."""
    records = len(clock.times())
    needed = 8 * number * records * sum(system.fed_back.values())
    if needed > MOST_BYTES:
        raise StateError(
            f"{number} trajectories with {records} records need {needed / 2**30:.1f} GiB, more "
            f"than {MOST_BYTES / 2**30:.0f}; record less often (every=) or simulate in parts"
        )


class _Batch:
    """The trajectories of a system on their way: in lanes first, alone where these stop.

    Parameters
    ----------
    q, v, z : (N, nq), (N, nv), (N, nz) at the start
    """

    def __init__(
        self,
        system: System,
        scheme: Scheme | None,
        clock: Clock,
        q: Array,
        v: Array,
        z: Array,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.system, self.clock, self.progress = system, clock, progress
        self.scheme = scheme
        self.q0, self.v0, self.z0, self.number = q, v, z, len(q)
        model, self.time = system.model, clock.times()
        turned = are_rotations(model, q)  # what is none goes alone, and is refused there
        q[turned] = unit_quaternions(model, q[turned])
        Trajectory(system).try_at(clock.start, q[0], v[0], z[0])
        shape = self.number, len(self.time)
        sizes = system.fed_back if scheme is None else SchemeStep(system, (), scheme).fed_back
        recorded = model.nq, model.nv, *([CARRIED + system.nz] if system.nz else [])
        self.qs, self.vs, *ts = new_arrays([(*shape, size) for size in recorded])
        self.ts = ts[0] if ts else None
        self.qs[:, 0], self.vs[:, 0] = q, v
        self.t0 = np.zeros((self.number, sizes["t"]))
        self.t0[:, 0], self.t0[:, CARRIED : CARRIED + system.nz] = clock.start, z
        if self.ts is not None:
            self.ts[:, 0] = self.t0[:, : CARRIED + system.nz]
        inputs = [q, v, self.t0, np.array([clock.h])]
        inputs += [held(system, np.arange(self.number))] if "held" in system.more else []
        if system.parameters is not None and "p" in system.more:
            inputs.append(system.parameters.inputs)
        scale = coordinate_scale(model)
        places = self.qs, self.vs, self.ts
        self.lanes = Lanes(system, clock, inputs, *places, progress, scale)
        self.constraints = constraints_of(model, system.parameters, system.prepared)
        self.kind, self.sets = sorted_starts(
            model, self.constraints, q, v, system.prescribed_velocities
        )
        off = ~(turned & on_course(system, q, v, clock.start))
        self.kind[(self.kind == GOOD) & off] = OFF_COURSE
        starts = Starts(self.constraints, self.sets)
        motion = self.time, self.qs, self.vs, self.zs
        self.look_back = LookBack(system, scheme, clock.h, motion, starts, self.lanes)
        self.status = ["finished"] * self.number
        self.alone: tuple[int, ...] = ()

    @cached_property
    def zs(self) -> Array:
        """States (N, K, nz) of force elements at the records, in place."""
        if self.ts is None:
            return np.zeros((*self.qs.shape[:2], 0))
        return carried(self.ts)[..., : self.system.nz]

    def run_together(self, threads: int) -> None:
        """Run what starts well, all of the same rows side by side."""
        system = self.system
        for rows, members in self.sets:
            going = members[self.kind[members] == GOOD]
            if not len(going) or not moves_inertia(system, self.q0, int(going[0])):
                continue
            try:
                march = batch_march(system, self.scheme, rows)
            except SolveError:  # masses vanish: each one alone says which
                continue
            if self.look_back.opens(rows, going[:1], 1):
                continue
            if self.scheme is None:
                self.lanes.run(march, going, threads, partial(_road, system, rows))
                continue
            memory = BatchMemory(SchemeStep(system, rows, self.scheme))
            states = self.q0[going], self.v0[going], self.t0[going]
            self.t0[going] = memory.begun(*states, going)
            self.lanes.run(march, going, threads, None, memory)

    def run_alone(self, duration: float, step: float) -> None:
        """Run what did not start in a lane, or stopped there, as `simulate` does it."""
        self.alone = tuple(map(int, np.flatnonzero(~self.lanes.done)))
        for k in self.alone:
            self.qs[k, 1:], self.vs[k, 1:], self.zs[k, 1:] = np.nan, np.nan, np.nan
            self.lanes.silence(k, slice(None))
            if self.kind[k] in REFUSED:
                self.status[k] = f"not started: {self._refusal(k)}"
                continue
            try:
                run = self._one(k, duration, step)
            except (StateError, SolveError, FunctionError) as problem:
                self.status[k] = f"not started: {problem}"
                continue
            whole = len(self.time) if run.finished else run.steps // self.clock.every + 1
            self.qs[k, :whole], self.vs[k, :whole] = run.q[:whole], run.v[:whole]
            self.zs[k, :whole] = run.z[:whole]
            self.status[k] = run.status
            if self.progress is not None:
                self.progress(run.steps)

    def result(self) -> SimulationBatch:
        """Return the motions."""
        system, clock, reported = self.system, self.clock, None
        if system.outputs is not None and self.lanes.reported:
            names = system.outputs.names[len(STATE) :]
            reported = without_doubt(dict(zip(names, self.lanes.reported, strict=True)))
        status = tuple(self.status), self.alone
        arrays = self.time, self.qs, self.vs, self.zs
        return SimulationBatch(system, *arrays, *status, clock.steps, clock.h, self.sets, reported)

    def _one(self, k: int, duration: float, step: float) -> Simulation:
        state, clock = (self.q0[k], self.v0[k], self.z0[k]), self.clock
        with np.errstate(over="ignore", invalid="ignore"):  # the status says it
            trajectory = Trajectory(self.system, k)
            times = clock.start, step, clock.every
            return simulate_one(trajectory, duration, state, *times, self.scheme)

    def _refusal(self, k: int) -> str:
        """Return why a trajectory does not start, with the loops that are open."""
        kind = self.kind[k]
        if kind == NOT_FINITE or self.constraints is None:
            return REFUSED[kind].format("")
        one = slice(k, k + 1)
        phi, phi_q, _ = (array[0] for array in self.constraints(self.q0[one], self.v0[one], one))
        residual, per = (phi, "") if kind == NOT_CLOSED else (phi_q @ self.v0[k], "/s")
        model = self.system.model
        return REFUSED[kind].format(named(model, residual / model.row_scale, per))


def _road(system: System, rows: tuple[int, ...]) -> Road:
    model, variants = system.model, system.parameters
    key = "energy", "" if variants is None else variants.identity
    energy = system.prepared.get(key, lambda: energy_kernel(model, variants))
    return Road(system, prepared_step(system, rows), energy)
