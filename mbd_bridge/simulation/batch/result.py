"""The motions of a batch, as its user gets them.

Accelerations, multipliers and forces of prescribed motions of the states of a batch, in one
kernel.

Independent rows of all rows (prescribed motions among them) give q̈ and their multipliers
(`closed`), which are then spread over all (`minimum_norm`).

Joint loads along all motions of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mbd_bridge.base.arguments import known_name, place_among
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.table import Arrays, Series, Table, Tabular
from mbd_bridge.forces.base import named
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.loads.convention import Point
from mbd_bridge.loads.export import load_arrays
from mbd_bridge.loads.options import At, In, On
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.motion.table import motion_series, state_arrays
from mbd_bridge.simulation.guards.energy import kept_energy
from mbd_bridge.simulation.outcome import Outcome
from mbd_bridge.simulation.results.accelerations import Answer, near_singular
from mbd_bridge.simulation.results.recorded import (
    Recorded,
    determined_everywhere,
    notes_of,
    reported_loads,
    some_of,
)
from mbd_bridge.simulation.results.simulation import Simulation
from mbd_bridge.simulation.start import RowSets, constraints_of
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory, held, instants, nothing, prescribed
from mbd_bridge.solve.actuation import actuated_velocities
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.constrained import undetermined_multipliers
from mbd_bridge.solve.factor import minimum_norm_multipliers
from mbd_bridge.solve.model_kernel import variants_kernel
from mbd_bridge.solve.tolerances import DOUBTFUL_RISK


def dynamics_kernel(
    model: Model,
    rows: tuple[int, ...],
    prescribed_velocities: tuple[int, ...],
    parameters: Parameters | None = None,
) -> Kernel:
    """Return the kernel (q, v, tau, wanted) -> (a, lam, prescribed_forces, risk), and of
    parameters.

    ``wanted`` are the accelerations of the prescribed motions.
    """

    def answer_of(own: Model) -> Traceable:
        def answer(q: Array, v: Array, tau: Array, wanted: Array) -> tuple[Array, ...]:
            found = closed_acceleration(own, rows, q, v, tau, prescribed_velocities, wanted)
            lam = minimum_norm_multipliers(own, rows, prescribed_velocities, q, v, found.lam)
            risk = zeros(1, q)
            risk[0] = found.risk
            cut = len(own.row_scale)
            return found.a, lam[:cut], -lam[cut:], risk

        return answer

    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv, "wanted": len(prescribed_velocities)}
    outputs = ("a", "lam", "prescribed_forces", "risk")
    what = rows, prescribed_velocities
    name = "batch_dynamics"
    return variants_kernel(model, parameters, name, inputs, outputs, answer_of, what)


@dataclass(frozen=True, eq=False)
class BatchLoads(Tabular):
    """Loads of some joints along N motions.

    Attributes
    ----------
    joints : names, in the order asked for
    time : (K,) s
    force, moment : (N, K, J, 3) N, N m; nan after a trajectory stopped
    actuation : (N, K, F) along each degree of freedom of the joints, N m or N
    unique : (J, 6) whether rigid-body mechanics determines the component, in all that was looked at
    """

    joints: tuple[str, ...]
    time: Array
    force: Array
    moment: Array
    actuation: Array
    unique: Array
    _one: JointLoads
    _v: Array

    @property
    def actuation_of(self) -> tuple[slice, ...]:
        """The columns of `actuation` that belong to each joint."""
        return self._one.actuation_of

    @property
    def actuation_unique(self) -> Array:
        """(F,) whether rigid-body mechanics determines the actuation, in all that was looked at."""
        return np.asarray(self._one.actuation_unique.all(axis=(0, 1)))

    def __len__(self) -> int:
        return len(self.force)

    def __getitem__(self, number: int) -> JointLoads:
        """Return the loads along one motion, as far as it goes: to plot, to save, to count."""
        number = place_among("number", number, len(self))
        there = np.isfinite(self._v[number]).all(axis=-1)
        names = ("force", "moment", "actuation", "unique", "actuation_unique")
        columns = {name: getattr(self._one, name)[number, there] for name in names}
        return replace(self._one, **columns).along(self.time[there], self._v[number, there])

    def __iter__(self) -> Iterator[JointLoads]:
        return (self[number] for number in range(len(self)))

    def peaks(self, joint: str) -> tuple[Array, Array]:
        """Return the largest force (N,) N and moment (N,) N m that a joint sees in each motion.

        Components that are not determined do not count.
        """
        k = self.joints.index(known_name("joint in these loads", joint, self.joints))
        found = []
        for load, known in ((self.force, self.unique[k, :3]), (self.moment, self.unique[k, 3:])):
            sizes = np.linalg.norm(np.nan_to_num(load[:, :, k]) * known, axis=-1)
            found.append(sizes.max(axis=1, initial=0.0))
        return found[0], found[1]

    def tables(self) -> tuple[Table, ...]:
        """Return the largest force and moment of each joint, a trajectory each."""
        columns = [
            Series(f"{joint}.{what}", unit, values)
            for joint in self.joints
            for what, unit, values in zip(
                ("force", "moment"), ("N", "N m"), self.peaks(joint), strict=True
            )
        ]
        notes = ("largest sizes along each trajectory",)
        return (Table(repr(self), _trajectories(self), columns, notes=notes),)

    def _arrays(self) -> Arrays:
        return load_arrays(self._one, [_trajectories(self), Series("time", "s", self.time)])

    def __repr__(self) -> str:
        number, records = self.force.shape[:2]
        return f"BatchLoads({number} motions of {records} records; {', '.join(self.joints)})"


@dataclass(frozen=True, eq=False)
class SimulationBatch(Recorded, Tabular):
    """States of N trajectories of one mechanism, or of variants of it, along time.

    ``batch[k]`` is trajectory k as a `Simulation`. What follows from all the states together (`a`,
    `energy`, `joint_loads`, ...) is computed when it is first asked for, in kernels over all of
    them; it is nan where a trajectory has stopped.

    Attributes
    ----------
    system : the mechanism and what acted on it
    time : (K,) s
    q, v : (N, K, nq), (N, K, nv): rad or m, and their rates; nan after a trajectory stopped
    z : (N, K, nz) states of force elements; `states` has them by name
    outcomes : how each trajectory ended; `status` has the sentences
    alone : numbers of the trajectories that were simulated outside the lanes
    steps, step : of each trajectory; s
    row_sets : independent rows of the constraints, and who went by them
    reported : what the steps reported of the records (see `outputs`), nan where they did not
    """

    system: System
    time: Array
    q: Array
    v: Array
    z: Array
    outcomes: tuple[Outcome, ...]
    alone: tuple[int, ...]
    steps: int
    step: float
    row_sets: RowSets
    reported: dict[str, Array] | None = None

    @property
    def model(self) -> Model:
        """The mechanism; that of a trajectory is `model_of`."""
        return self.system.model

    @property
    def parameters(self) -> Parameters | None:
        """In which the trajectories' mechanisms differ, or none."""
        return self.system.parameters

    @property
    def finished(self) -> Array:
        """Which trajectories were simulated to the end (N,)."""
        return np.array([outcome.finished for outcome in self.outcomes])

    @property
    def status(self) -> tuple[str, ...]:
        """N times "finished", or why a trajectory ended before its time."""
        return tuple(map(str, self.outcomes))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What of the file has no part in the motions, and forces beyond its effort limits."""
        states = self.q, self.v, self.z
        return notes_of(self.system, self.time, states, np.arange(len(self)))

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[Simulation]:
        return (self[number] for number in range(len(self)))

    def model_of(self, number: int) -> Model:
        """Return the mechanism of one trajectory."""
        number = place_among("number", number, len(self))
        return self.model if self.parameters is None else self.parameters.variant(number)

    def __getitem__(self, number: int) -> Simulation:
        """Return one trajectory, as far as it goes."""
        number = place_among("number", number, len(self))
        there = np.isfinite(self.q[number]).all(axis=-1)
        time, q, v = self.time[there], self.q[number, there], self.v[number, there]
        z = self.z[number, there]
        taken = round(float(time[-1] - time[0]) / self.step) if len(time) else 0
        outcome = taken, self.step, self.outcomes[number], 0
        return Simulation(Trajectory(self.system, number), time, q, v, z, *outcome)

    @cached_property
    def _acting(self) -> tuple[Array, Array, Array]:
        """Torques (N, K, nv), wrenches (N, K, L, 6) in link axes, forces of these (N, K, nv)."""
        system, (number, count) = self.system, self.q.shape[:2]
        if not system.pushed:
            tau, wrenches, pushed = nothing(self.model.nv, number, count)
        elif system.sampled:
            runs = (Trajectory(system, k) for k in range(number))
            states = zip(runs, self.q, self.v, self.z, strict=False)
            each = [run.acting(self.time, q, v, z=z) for run, q, v, z in states]
            tau, wrenches, pushed = (np.array(column) for column in zip(*each, strict=True))
        else:
            members = np.arange(number)
            own = np.repeat(held(system, members)[:, None], count, axis=1)
            now = instants(system, self.time, members).transpose(1, 0, 2)
            time = np.broadcast_to(self.time[:, None], (number, count, 1))
            time = np.concatenate([time, self.z], axis=2)
            tau, packed, pushed = self._all(system.acting, self.q, self.v, time, own, now)
            wrenches = packed.reshape(number, count, len(system.links), 6)
        gone = np.isnan(self.q).any(axis=2)
        for array in (tau, wrenches, pushed):
            array[gone] = np.nan
        return tau, wrenches, pushed

    @cached_property
    def near_singular(self) -> Array:
        """Which records (N, K) are near a singular position; see `Simulation.near_singular`."""
        model, near = self.model, np.zeros(self.q.shape[:2], dtype=bool)
        if model.has_loops:
            kernel = self._kernel_of_constraints()
            for k in range(len(self)):
                phi_q = self._some(kernel, np.array([k]), self.q[k : k + 1], self.v[k : k + 1])[1]
                J = model.scaled_jacobian(phi_q[0])
                near[k] = near_singular(model, self.system.prescribed_velocities, J)
        return near

    @cached_property
    def energy(self) -> Array:
        """Kinetic and potential energy (N, K) J; zero potential at the world's origin."""
        found, _ = self._all(kept_energy(self.system), self.q, self.v)
        return np.asarray(found[:, :, 0])

    @cached_property
    def closure(self) -> Array:
        """Largest residual of the loops (N, K), relative to the mechanism's size."""
        if not self.model.has_loops:
            return np.zeros(self.q.shape[:2])
        kernel = self._kernel_of_constraints()
        phi = self._all(kernel, self.q, self.v)[0]
        return np.asarray(np.abs(phi / self.model.row_scale).max(axis=-1))

    def joint_loads(
        self,
        joints: Iterable[str] | str | None = None,
        *,
        on: On = "child",
        at: At | Point = "joint",
        in_: In = "child",
    ) -> BatchLoads:
        """Return the loads of joints, tree or cut, along all motions.

        Parameters
        ----------
        joints : names; None for all
        on, at, in_ : see `loads.Convention`

        Notes
        -----
        Which components are determined is found at some of the records; a component counts as
        determined if it is so at all of them.
        """
        model = self.model
        system = self.system
        prescribed_velocities, links = system.prescribed_joints, system.links
        request = LoadRequest.of(
            model, joints, on=on, at=at, in_=in_, links=links, actuated=prescribed_velocities
        )
        in_cuts = system.forces_in_cuts
        varies = any(part.signal.number > 1 for part in system.element_parts)
        if in_cuts and (system.elements is not None or varies):
            raise StateError(
                "a force element in a cut joint, and numbers of elements that differ: have the "
                "steps tell the loads, simulate(..., loads=[joints]), or ask each trajectory"
            )
        request = replace(request, known=Trajectory(system).forces_in_cuts)
        solver = LoadSolver(model, request, self.parameters)
        known = [self.lam] if model.has_loops else []
        known += [self._acting[1].reshape(*self.q.shape[:2], -1)] if system.links else []
        if "t" in solver.kernel.inputs:
            known.append(np.broadcast_to(self.time[:, None], (*self.q.shape[:2], 1)))
        if solver.point is not None:
            known.append(np.broadcast_to(solver.point, (*self.q.shape[:2], 3)))
        found = self._all(solver.kernel, self.q, self.v, self.a, *known)
        flags = self._determined(solver) if model.has_loops else None
        return self._batch_loads(solver.result(found, flags))

    @cached_property
    def loads(self) -> BatchLoads:
        """Loads of the joints asked for, as the steps reported them: ``simulate(loads=)``."""
        asked, model = self.system.outputs, self.model
        if asked is None or not asked.joints:
            raise StateError(
                "loads: none were asked for; robot.simulate(..., loads=[joints]) has the steps "
                "tell them, batch.joint_loads(joints) computes them afterwards"
            )
        names = asked.joint_names(model)
        if self.reported is None:
            return self.joint_loads(names)
        own = {
            name: self.reported[name].reshape(*self.q.shape[:2], *shape)
            for name, shape in asked.load_shapes(model).items()
        }
        there = np.asarray(np.isfinite(self.q).all(axis=2))
        silent = np.asarray(there & np.isnan(own["force"]).any(axis=(2, 3)))
        for k in map(int, np.flatnonzero(silent.any(axis=1))):
            found = self[k].part(silent[k, there[k]]).joint_loads(names)
            for name, array in own.items():
                array[k, silent[k]] = getattr(found, name)
        rows = min((rows for rows, _ in self.row_sets), key=len, default=())
        places = np.argwhere(there)
        q = np.array([self.q[n, k] for n, k in some_of(places)]).reshape(-1, model.nq)
        prescribed_joints = self.system.prescribed_joints
        request = LoadRequest.of(model, names)
        exact = partial(self._exact_loads, request) if self._planar else None
        found = reported_loads(model, asked, own, q, rows, prescribed_joints, exact)
        return self._batch_loads(found)

    def _batch_loads(self, loads: JointLoads) -> BatchLoads:
        arrays = loads.force, loads.moment, loads.actuation, loads.determined
        return BatchLoads(loads.joints, self.time, *arrays, loads, self.v)

    @property
    def _planar(self) -> bool:
        """Whether loads out of the plane are declared to be zero; not asked of variants, each of
        which would need machine code of its own.
        """
        return self.model.description.planar and self.parameters is None

    def _exact_loads(self, request: LoadRequest) -> list[JointLoads]:
        """Return the loads at some records, as of these trajectories alone."""
        there = np.argwhere(np.isfinite(self.v).all(axis=-1))
        parts = (self[n].part(slice(k, k + 1)) for n, k in some_of(there).tolist())
        return [part.exact_loads(request) for part in parts]

    def _determined(self, solver: LoadSolver) -> tuple[Array, ...] | None:
        """Return which components (J, 6) and prescribed motions (F,) are determined wherever it is
        looked.
        """
        there = np.argwhere(np.isfinite(self.v).all(axis=-1))
        if self._planar and len(there):
            return determined_everywhere(self._exact_loads(solver.request))
        constraints = constraints_of(self.model, self.parameters, self.system.prepared)
        assert constraints is not None, "there are loops"
        prescribed_velocities = actuated_velocities(self.model, self.system.prescribed_joints)
        flags: list[tuple[Array, ...]] = []
        for n, k in some_of(there):
            q, v = self.q[n, k], self.v[n, k]
            (phi_q,) = constraints(q[None], v[None], np.array([n]))[1]
            more = [] if self.parameters is None else [self.parameters.inputs[n]]
            flags.append(
                solver.flags(
                    q, undetermined_multipliers(self.model, phi_q, prescribed_velocities), *more
                )
            )
        if not flags:
            return None
        return tuple(np.logical_and.reduce(column) for column in zip(*flags, strict=True))

    @cached_property
    def _dynamics(self) -> Answer:
        """Accelerations, multipliers and forces of prescribed motions of all records."""
        model, prescribed_velocities, shape = (
            self.model,
            self.system.prescribed_velocities,
            self.q.shape[:2],
        )
        a = np.full((*shape, model.nv), np.nan)
        lam = np.full((*shape, len(model.row_scale)), np.nan)
        prescribed_forces = np.full((*shape, len(prescribed_velocities)), np.nan)
        there = np.asarray(np.isfinite(self.q).all(axis=2))
        doubtful, alone = there.copy(), set(self.alone)
        tau, _, pushed = self._acting
        for rows, members in self.row_sets:
            own = np.array([k for k in members if k not in alone], dtype=int)
            if not len(own):
                continue
            key = "batch dynamics", rows, prescribed_velocities, self._variant_key
            make = partial(dynamics_kernel, model, rows, prescribed_velocities, self.parameters)
            kernel = self.system.prepared.get(key, make)
            wanted = prescribed(self.system, self.time, own)[:, :, :, 2].transpose(1, 0, 2)
            states = self.q[own], self.v[own], tau[own] + pushed[own], wanted
            a[own], lam[own], prescribed_forces[own], risk = self._some(kernel, own, *states)
            doubtful[own] &= ~(risk[:, :, 0] < DOUBTFUL_RISK)
        recovered = np.zeros(shape, dtype=bool)
        for k in map(int, np.flatnonzero(doubtful.any(axis=1))):
            found = self[k].answer(np.flatnonzero(doubtful[k, there[k]]))
            a[k, doubtful[k]], lam[k, doubtful[k]] = found.a, found.lam
            prescribed_forces[k, doubtful[k]] = found.prescribed_forces
            if found.recovered is not None:
                recovered[k, doubtful[k]] = found.recovered
        return Answer(a, lam, prescribed_forces, recovered)

    @property
    def _variant_key(self) -> str:
        return "" if self.parameters is None else self.parameters.identity

    def _kernel_of_constraints(self) -> Kernel:
        if self.parameters is None:
            return self.system.prepared.kernel("constraints")
        return self.system.prepared.variants(self.parameters, "constraints")

    def _all(self, kernel: Kernel, *values: Array) -> tuple[Array, ...]:
        """Return a kernel's outputs (N, K, ...) at all records."""
        return self._some(kernel, np.arange(len(self)), *values)

    def _some(self, kernel: Kernel, own: Array, *values: Array) -> tuple[Array, ...]:
        """Return a kernel's outputs for the records (L, K, ...) of some trajectories."""
        records = len(self.time)
        flat = [value.reshape(len(own) * records, value.shape[-1]) for value in values]
        if self.parameters is not None:
            flat.append(np.repeat(self.parameters.inputs[own], records, axis=0))
        found = kernel(*flat)
        return tuple(array.reshape(len(own), records, *array.shape[1:]) for array in found)

    def tables(self) -> tuple[Table, ...]:
        """Return how each trajectory ended, when, and where: its last coordinates."""
        there = np.isfinite(self.q).all(axis=-1)
        last = np.maximum(there.sum(axis=1) - 1, 0)
        ends = motion_series(self.model, self.q[np.arange(len(self)), last])
        columns = [
            Series("status", "", self.status),
            Series("end", "s", self.time[last]),
            *(one._replace(name=f"{one.name} at the end") for one in ends),
        ]
        return (Table(repr(self), _trajectories(self), columns),)

    def _arrays(self) -> Arrays:
        states = {"q": self.q, "v": self.v, "z": self.z}
        found = state_arrays(self.model, self.time, states, self.state_units)
        status = Series("status", "", self.status, ("trajectory",))
        return Arrays([*found.variables, status], found.coordinates)

    def __repr__(self) -> str:
        own = named(self.system.forces)
        finished = "; ".join([f"{int(self.finished.sum())} finished", *own, *self.notes])
        return (
            f"SimulationBatch({self.model.name!r}: {len(self)} trajectories of {self.steps} steps "
            f"of {self.step:g} s, {len(self.time)} records, {finished})"
        )


def _trajectories(batch: BatchLoads | SimulationBatch) -> Series:
    return Series("trajectory", "", np.arange(len(batch)))
