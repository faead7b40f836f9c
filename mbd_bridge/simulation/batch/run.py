"""Simulate a machine: one trajectory, or many at once.

Many go together in the lanes of vectors, and over threads. Each trajectory has its own start and,
if given so, its own forces and its own masses and lengths. One that leaves the safe road (a
singular position, numbers that end) stops in its lane without stopping the others and is simulated
again alone: what comes out does not depend on its neighbours. So does one whose loops, energy or
steps are off in a look back at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from mbd_bridge.base.arguments import as_floats, function_or_none
from mbd_bridge.base.errors import FunctionError, SolveError, StateError, whole_number
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.options import given, part, with_options
from mbd_bridge.kernels.layout import new_arrays
from mbd_bridge.kernels.march import MOST_LANES
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.batch.lanes import BatchMemory, Lanes
from mbd_bridge.simulation.batch.result import SimulationBatch
from mbd_bridge.simulation.guards.energy import keep_energy
from mbd_bridge.simulation.guards.loops import allowed_opening, opening, rows_open, spread
from mbd_bridge.simulation.guards.messages import named
from mbd_bridge.simulation.guards.step_length import coordinate_scale, grown, may_ring
from mbd_bridge.simulation.options import (
    AloneOptions,
    BatchOptions,
    GivenOptions,
    MethodOptions,
    SimulateOptions,
    SingleOptions,
    StateOptions,
)
from mbd_bridge.simulation.outcome import FINISHED, Outcome
from mbd_bridge.simulation.outputs import STATE, without_doubt
from mbd_bridge.simulation.results.simulation import Simulation
from mbd_bridge.simulation.run.problem import MOST_BYTES, Clock, check_start, number_of_steps
from mbd_bridge.simulation.run.single import simulate_one, simulate_single
from mbd_bridge.simulation.start import (
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
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.schemes import (
    ImplicitScheme,
    Scheme,
    compiled_scheme,
)
from mbd_bridge.simulation.steps.trusted_step import CARRIED, WORK, Now, carried
from mbd_bridge.simulation.system import HasModel, System, model_of, system_of
from mbd_bridge.simulation.trajectory import Trajectory, held
from mbd_bridge.solve.check_states import are_rotations, unit_quaternions
from mbd_bridge.solve.tolerances import STEP_RISK

LOOKS = 3
"""Records at which accelerations of a batch are looked at."""


class Starts(NamedTuple):
    """The constraints of trajectories, and the rows that are kept, with the trajectories."""

    constraints: Callable[..., tuple[Array, ...]] | None
    sets: Sequence[tuple[tuple[int, ...], Array]]


class LookBack:
    """Looks at motions that came from lanes.

    Parameters
    ----------
    motion : time (K,), q, v, z (N, K, ...), which lanes fill
    """

    def __init__(
        self,
        system: System,
        scheme: Scheme,
        h: float,
        motion: tuple[Array, Array, Array, Array],
        starts: Starts,
        lanes: Lanes,
    ) -> None:
        self.system, self.scheme, self.h, self.lanes = system, scheme, h, lanes
        self.time, self.qs, self.vs, self.zs = motion
        self.constraints, self.sets = starts

    def check(self) -> None:
        """Look at what ended: whether all loops are closed, and where its energy comes from."""
        system, lanes = self.system, self.lanes
        model, variants = system.model, system.parameters
        ended = np.flatnonzero(lanes.done)
        if self.constraints is not None:
            least = allowed_opening(model, system.prescribed_velocities)
            q, v = self.qs[ended, -1], self.vs[ended, -1]
            phi, phi_q, _ = self.constraints(q, v, ended)
            lanes.done[ended] = rows_open(model, phi, phi_q, v).max(axis=1) < least
            for rows, members in self.sets:
                if self.opens(rows, members[lanes.done[members]][:1], LOOKS):
                    lanes.done[members] = False
            ended = np.flatnonzero(lanes.done)
        if len(ended):
            q, v, work = self.qs[ended], self.vs[ended], lanes.ends[ended, WORK]
            p = None if variants is None else variants.inputs[ended]
            records = self.time, q, v, self.zs[ended]
            kept = keep_energy(system, self.scheme, records, work, p)
            lanes.done[ended] = kept & ~grown(self.zs[ended]) & ~self._rings(ended)

    def _rings(self, own: Array) -> Array:
        """Return which trajectories may end with velocities that ring."""
        if not isinstance(self.scheme.formula, ImplicitScheme):
            return np.zeros(len(own), dtype=bool)
        memory = carried(self.lanes.ends[own])[:, self.system.nz :]
        scale = self.system.model.velocity_scale
        a = SystemStep.of(self.system, (), self.scheme).memory.a(memory)
        change = self.h * a[:, : len(scale)]
        return may_ring(self.vs[own] / scale, change / scale)

    def opens(self, rows: tuple[int, ...], k: Array, looks: int) -> bool:
        """Return whether the accelerations of these steps lead off the loops.

        One trajectory, k (1,), tells it of all that go by the same machine code.
        """
        system, constraints = self.system, self.constraints
        if constraints is None or not len(k):
            return False
        step, trajectory = SystemStep.of(system, rows, self.scheme), Trajectory(system, int(k[0]))
        march, begin = step.march(MOST_LANES), Start(trajectory, step)

        def values(q: Array, v: Array) -> tuple[Array, ...]:
            return constraints(q, v, np.repeat(k, len(q)))

        for record in spread(len(self.time), looks):
            t, q, v = float(self.time[record]), self.qs[k[0], record], self.vs[k[0], record]
            now = begin.begun(Now(t, q, v, self.zs[k[0], record]))
            stage = march.start()
            given = q, v, now.fed_back, np.array([self.h])
            march.put(stage, *given, *trajectory.more(t, q, v))
            stream = trajectory.stream(np.array([t, t + self.h]), self.h)
            if stream is not None:
                stream = np.ascontiguousarray(np.repeat(stream, march.lanes, axis=2))
            taken, out = march.advance(stage, 1, 1, stream=stream)
            if not taken:  # its numbers end: the steps say so themselves
                continue
            a, risks = (np.reshape(out[j], (march.lanes, -1))[0] for j in (3, 4))
            if risks[0] < STEP_RISK and opening(system.model, values, rows, q, v, a):
                return True
        return False


REFUSED: dict[int, str] = {
    NOT_FINITE: "the state at the start is not finite",
    NOT_CLOSED: "the position at the start does not close the loops: {}. Start from "
    "assemble(near=...).q",
    MOVING_APART: "the velocity at the start does not keep the loops closed: {}. Start from "
    "assemble(near=..., velocity=...).v",
}


@with_options
def simulate_batch(
    machine: HasModel | Model | System, duration: float, **options: Unpack[BatchOptions]
) -> SimulationBatch:
    """Return the motions of a mechanism from N states, of one state as well; see `simulate`.

    Parameters
    ----------
    machine : a `Mechanism`, its model, or a `System`, which has what acts on it
    duration : s, the same for all trajectories
    **options : what acts, where they start, how they go
    """
    step = options["step"]
    steps, every = number_of_steps(duration, step), whole_number("every", options["every"])
    duration = float(duration)
    start = check_start(options["start"], duration / steps)
    progress = function_or_none("progress", options["progress"], "of the number of steps")
    state = (("q", options["q"]), ("v", options["v"]))
    q, v = (x if x is None else as_floats(name, x) for name, x in state)
    z, by = options["z"], (options["method"], options["coordinates"])
    scheme = compiled_scheme(options["integrator"], *by)
    threads = whole_number("threads", options["threads"])
    model_of(machine)
    system = system_of(machine, start, start + duration, options)
    system.warn_left_out()
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
        scheme: Scheme,
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
        self.constraints = constraints_of(model, system.parameters, system.prepared)
        self.kind, self.sets = sorted_starts(
            model, self.constraints, q, v, system.prescribed_velocities
        )
        room = max(
            SystemStep.of(system, rows, scheme).fed_back["t"]
            for rows in ((), *(rows for rows, _ in self.sets))
        )
        recorded = model.nq, model.nv, *([CARRIED + system.nz] if system.nz else [])
        self.qs, self.vs, *ts = new_arrays([(*shape, size) for size in recorded])
        self.ts = ts[0] if ts else None
        self.qs[:, 0], self.vs[:, 0] = q, v
        self.t0 = np.zeros((self.number, room))
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
        off = ~(turned & on_course(system, q, v, clock.start))
        self.kind[(self.kind == GOOD) & off] = OFF_COURSE
        starts = Starts(self.constraints, self.sets)
        motion = self.time, self.qs, self.vs, self.zs
        self.look_back = LookBack(system, scheme, clock.h, motion, starts, self.lanes)
        self.outcomes = [FINISHED] * self.number
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
            step = SystemStep.of(system, rows, self.scheme)
            try:
                march = step.march(MOST_LANES)
            except SolveError:  # masses vanish: each one alone says which
                continue
            if self.look_back.opens(rows, going[:1], 1):
                continue
            memory = BatchMemory(step)
            states = self.q0[going], self.v0[going], self.t0[going]
            begun = memory.begun(*states, going)
            self.t0[going, : begun.shape[1]] = begun
            self.lanes.run(march, going, threads, memory)

    def run_alone(self, duration: float, step: float) -> None:
        """Run what did not start in a lane, or stopped there, as `simulate` does it."""
        self.alone = tuple(map(int, np.flatnonzero(~self.lanes.done)))
        for k in self.alone:
            self.qs[k, 1:], self.vs[k, 1:], self.zs[k, 1:] = np.nan, np.nan, np.nan
            self.lanes.silence(k, slice(None))
            if self.kind[k] in REFUSED:
                self.outcomes[k] = Outcome.not_started(self._refusal(k))
                continue
            try:
                run = self._one(k, duration, step)
            except (StateError, SolveError, FunctionError) as problem:
                self.outcomes[k] = Outcome.not_started(problem)
                continue
            whole = len(self.time) if run.finished else run.steps // self.clock.every + 1
            self.qs[k, :whole], self.vs[k, :whole] = run.q[:whole], run.v[:whole]
            self.zs[k, :whole] = run.z[:whole]
            self._report(k, run, whole)
            self.outcomes[k] = run.outcome
            if self.progress is not None:
                self.progress(run.steps)

    def _report(self, k: int, run: Simulation, whole: int) -> None:
        """Keep what the steps of a trajectory that went alone reported."""
        outputs, reported = self.system.outputs, run.reported
        if outputs is None or reported is None:
            return
        for array, name in zip(self.lanes.reported, outputs.names[len(STATE) :], strict=False):
            array[k, :whole] = reported[name][:whole].reshape(whole, -1)

    def result(self) -> SimulationBatch:
        """Return the motions."""
        system, clock, reported = self.system, self.clock, None
        if system.outputs is not None and self.lanes.reported:
            names = system.outputs.names[len(STATE) :]
            reported = without_doubt(dict(zip(names, self.lanes.reported, strict=True)))
        ends = tuple(self.outcomes), self.alone
        arrays = self.time, self.qs, self.vs, self.zs
        return SimulationBatch(system, *arrays, *ends, clock.steps, clock.h, self.sets, reported)

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


OF_ALL = {"integrator", "method", "coordinates", "check"}
"""Options of one trajectory that a batch takes as well."""


@with_options
def simulate(
    machine: HasModel | Model | System, duration: float, **options: Unpack[SimulateOptions]
) -> Simulation | Any:
    """Return the motion of a machine from a state that satisfies its loops, or from N at once.

    Parameters
    ----------
    machine : a `Mechanism`, its model, or a `System`, which has what acts on it
    duration : s; the last step ends at start + duration
    **options : what acts, where it starts, how it goes

    Returns
    -------
    A `Simulation`; of N trajectories a `SimulationBatch`, all in the lanes of vectors and over
    `threads` (for type checkers: ``assert isinstance(batch, mbd.simulation.SimulationBatch)``).

    Notes
    -----
    What may differ from trajectory to trajectory has one more dimension in front, or is the same
    for all: states q (N, nq), v (N, nv), z (N, nz); numbers (N,) of torques, inputs and prescribed
    motions, a vector (N, nv), a wrench (N, 6), the values of a table (N, n), of one of wrenches
    (N, n, 6); and parameters, masses, centres, inertias, places of joints, gravity, numbers of
    force elements, by name: ``{"coupler.mass": (N,), "elbow.xyz": (N, 3), "spring.stiffness":
    (N,)}``. A batch of one has q (1, nq) or v (1, nv).

    Trouble of one trajectory of many is not raised: see `SimulationBatch.status`.

    See Also
    --------
    right_hand_side, assemble, joint_loads, study
    """
    start = check_start(options["start"], duration / number_of_steps(duration, options["step"]))
    model_of(machine)
    system = system_of(machine, start, start + float(duration), options)
    options = {**options, **part(GivenOptions, {})}  # the system has them now
    whole_number("threads", options["threads"])
    many = _given_for_many(system, options)
    if not many:
        return simulate_single(system, duration, **part(SingleOptions, options))
    for name in (*given(MethodOptions, options), *given(AloneOptions, options)):
        if name not in OF_ALL:
            raise StateError(
                f"{name}: of one trajectory, and {', '.join(many)} are given for many: leave it "
                f"out, or simulate them one after the other"
            )
    return simulate_batch(system, duration, **part(BatchOptions, options))


def _given_for_many(system: System, options: StateOptions) -> list[str]:
    """Return the names of what is given for several trajectories."""
    state = {"q": options["q"], "v": options["v"]}
    several = [
        name
        for name, value in state.items()
        if value is not None and as_floats(name, value).ndim == 2
    ]
    return [*several, *system.numbers_of, *system.states.numbers(options["z"])]
