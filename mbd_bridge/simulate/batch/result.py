"""The motions of a batch, as its user gets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mbd_bridge.arguments import place_among
from mbd_bridge.kernels import Kernel
from mbd_bridge.lazy import cached_property
from mbd_bridge.loads import JointLoads, LoadSolver
from mbd_bridge.loads.oddities import motion_notes
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.simulate.accelerations import Answer
from mbd_bridge.simulate.batch.dynamics import dynamics_kernel
from mbd_bridge.simulate.batch.loads import BatchLoads
from mbd_bridge.simulate.batch.start import RowSets, constraints_of
from mbd_bridge.simulate.energy import energy_kernel
from mbd_bridge.simulate.given.motions import prescribe
from mbd_bridge.simulate.given.signals import Signals
from mbd_bridge.simulate.right_hand_side import RISK
from mbd_bridge.simulate.simulation import Simulation
from mbd_bridge.solve.actuation import driven_velocities
from mbd_bridge.solve.constrained import left_open
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.spatial import Array

SAMPLES = 9
"""Records at which is looked which load components are determined."""


@dataclass(frozen=True, eq=False)
class SimulationBatch:
    """States of N trajectories of one mechanism, or of variants of it, along time.

    ``batch[k]`` is trajectory k as a `Simulation`. What follows from all the states together (`a`,
    `energy`, `joint_loads`, ...) is computed when it is first asked for, in kernels over all of
    them; it is nan where a trajectory has stopped.

    Attributes
    ----------
    model : the mechanism
    time : (K,) s
    q, v : (N, K, nq), (N, K, nv): rad or m, and their rates; nan after a trajectory stopped
    status : N times "finished", or why a trajectory ended before its time
    alone : numbers of the trajectories that were simulated outside the lanes
    steps, step : of each trajectory; s
    signals : forces and prescribed motions
    parameters : in which the trajectories' mechanisms differ, or none
    row_sets : independent rows of the constraints, and who went by them
    prepared : holds the machine code of the mechanism
    """

    model: Model
    time: Array
    q: Array
    v: Array
    status: tuple[str, ...]
    alone: tuple[int, ...]
    steps: int
    step: float
    signals: Signals
    parameters: Parameters | None
    row_sets: RowSets
    prepared: Prepared

    @property
    def finished(self) -> Array:
        """Which trajectories were simulated to the end (N,)."""
        return np.array([status == "finished" for status in self.status])

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the file says that has no part in the motions: damping, friction, limits passed."""
        return motion_notes(
            self.model, np.tile(self.time, len(self)), self.q.reshape(-1, self.model.nq)
        )

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
        model, signals = self.model_of(number), self.signals
        (tau,) = signals.tau(time, q[None], v[None], np.array([number]))
        drives, motions = signals.drives_of(number), None
        if drives is not None:
            motions = prescribe(model, drives, float(self.time[0]), float(self.time[-1]))
        taken = round(float(time[-1] - time[0]) / self.step) if len(time) else 0
        told = taken, self.step, self.status[number], 0
        return Simulation(model, time, q, v, tau, *told, motions=motions)

    @cached_property
    def tau(self) -> Array:
        """Generalised forces (N, K, nv) that drove them, N m or N, without those of drives."""
        found = self.signals.tau(self.time, self.q, self.v, np.arange(len(self)))
        found[np.isnan(self.q).any(axis=2)] = np.nan
        return found

    @property
    def a(self) -> Array:
        """Accelerations (N, K, nv)."""
        return self._dynamics.a

    @property
    def lam(self) -> Array:
        """Multipliers of the cut joints' rows (N, K, m), the smallest where not unique."""
        return self._dynamics.lam

    @property
    def drives(self) -> dict[str, Array]:
        """Forces of the prescribed motions by coordinate, (N, K) N m or N, beside `tau`."""
        return {name: self._dynamics.drive[:, :, d] for d, name in enumerate(self.signals.drives)}

    @cached_property
    def energy(self) -> Array:
        """Kinetic and potential energy (N, K) J; zero potential at the world's origin."""
        (found,) = self._all(energy_kernel(self.model, self.parameters), self.q, self.v)
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
        on: str = "child",
        at: str | Sequence[float] = "joint",
        in_: str = "child",
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
        driven, parameters = self.signals.driven_joints, self.parameters
        solver = LoadSolver(
            model, joints, on=on, at=at, in_=in_, actuated=driven, parameters=parameters
        )
        known = (self.lam,) if model.has_loops else ()
        found = self._all(solver.kernel, self.q, self.v, self.a, *known)
        flags = self._determined(solver) if model.has_loops else None
        return self._batch_loads(solver.result(found, flags))

    def _batch_loads(self, loads: JointLoads) -> BatchLoads:
        arrays = loads.force, loads.moment, loads.drive, loads.determined
        return BatchLoads(loads.joints, self.time, *arrays, loads, self.v)

    def _determined(self, solver: LoadSolver) -> tuple[Array, ...] | None:
        """Return which components (J, 6) and drives (F,) are determined wherever it is looked."""
        there = np.argwhere(np.isfinite(self.v).all(axis=-1))
        some = there[np.linspace(0, len(there) - 1, min(SAMPLES, len(there))).astype(int)]
        constraints = constraints_of(self.model, self.parameters, self.prepared)
        assert constraints is not None, "there are loops"
        driven = driven_velocities(self.model, self.signals.driven_joints)
        flags: list[tuple[Array, ...]] = []
        for n, k in some:
            q, v = self.q[n, k], self.v[n, k]
            (phi_q,) = constraints(q[None], v[None], np.array([n]))[1]
            more = [] if self.parameters is None else [self.parameters.inputs[n]]
            flags.append(solver.flags(q, left_open(self.model, phi_q, driven), *more))
        if not flags:
            return None
        return tuple(np.logical_and.reduce(column) for column in zip(*flags, strict=True))

    @cached_property
    def _dynamics(self) -> Answer:
        """Accelerations, multipliers and driving forces of all records."""
        model, motions, shape = self.model, self.signals.motions, self.q.shape[:2]
        a = np.full((*shape, model.nv), np.nan)
        lam = np.full((*shape, len(model.row_scale)), np.nan)
        drive = np.full((*shape, len(self.signals.drives)), np.nan)
        slow = set(self.alone)
        for rows, members in self.row_sets:
            own = np.array([k for k in members if k not in slow], dtype=int)
            if not len(own):
                continue
            key = "batch dynamics", rows, self.signals.driven, self._variant_key
            make = partial(dynamics_kernel, model, rows, motions, self.parameters)
            kernel = self.prepared.get(key, make)
            wanted = self.signals.accelerations(self.time, own)
            states = self.q[own], self.v[own], self.tau[own], wanted
            a[own], lam[own], drive[own], risk = self._some(kernel, own, *states)
            slow |= set(own[~(risk < RISK).all(axis=(1, 2))].tolist())
        for k in slow:
            run = self[k]
            if len(run.time):
                there = np.isfinite(self.q[k]).all(axis=-1)
                a[k, there], lam[k, there] = run.a, run.lam
                drive[k, there] = run.drives.force
        return Answer(a, lam, drive)

    @property
    def _variant_key(self) -> str:
        return "" if self.parameters is None else self.parameters.identity

    def _kernel_of_constraints(self) -> Kernel:
        if self.parameters is None:
            return self.prepared.kernel("constraints")
        return self.prepared.variants(self.parameters, "constraints")

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

    def __repr__(self) -> str:
        finished = "; ".join([f"{int(self.finished.sum())} finished", *self.notes])
        return (
            f"SimulationBatch({self.model.name!r}: {len(self)} trajectories of {self.steps} steps "
            f"of {self.step:g} s, {len(self.time)} records, {finished})"
        )
