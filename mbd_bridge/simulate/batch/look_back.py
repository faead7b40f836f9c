"""A look back at the trajectories of a batch: which of them have to be run again, alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.run.march import MOST_LANES, March
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.simulate.batch.lanes import Lanes
from mbd_bridge.simulate.carried import WORK, carried
from mbd_bridge.simulate.checks.balance import keep_energy
from mbd_bridge.simulate.checks.opening import opening
from mbd_bridge.simulate.checks.watch import grown, may_ring, openings, spread
from mbd_bridge.simulate.results.energy import energy_kernel
from mbd_bridge.simulate.singular.trust import Now
from mbd_bridge.simulate.steps.by_scheme import SchemeStep, Start
from mbd_bridge.simulate.steps.compiled import prepared_step
from mbd_bridge.simulate.steps.schemes import ImplicitScheme, Scheme
from mbd_bridge.simulate.system import System
from mbd_bridge.simulate.trajectory import Trajectory
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import OPEN_LOOP, STEP_RISK
from mbd_bridge.spatial import Array

LOOKS = 3
"""Records at which accelerations of a batch are looked at."""


class Starts(NamedTuple):
    """The constraints of trajectories, and the rows that are kept, with the trajectories."""

    constraints: Callable[..., tuple[Array, ...]] | None
    sets: Sequence[tuple[tuple[int, ...], Array]]


def batch_march(system: System, scheme: Scheme | None, rows: tuple[int, ...]) -> March:
    """Return the machine code of steps in lanes."""
    if scheme is None:
        return prepared_step(system, rows, MOST_LANES)
    return SchemeStep(system, rows, scheme).march(MOST_LANES)


class LookBack:
    """Looks at motions that came from lanes.

    Parameters
    ----------
    motion : time (K,), q, v, z (N, K, ...), which lanes fill
    """

    def __init__(
        self,
        system: System,
        scheme: Scheme | None,
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
            least = max(OPEN_LOOP, row_choice(model, system.prescribed_velocities).leeway)
            q, v = self.qs[ended, -1], self.vs[ended, -1]
            phi, phi_q, _ = self.constraints(q, v, ended)
            lanes.done[ended] = openings(model, phi, phi_q, v).max(axis=1) < least
            for rows, members in self.sets:
                if self.opens(rows, members[lanes.done[members]][:1], LOOKS):
                    lanes.done[members] = False
            ended = np.flatnonzero(lanes.done)
        if len(ended):
            energy = partial(_energy, energy_kernel(model, variants), variants, ended)
            q, v, work = self.qs[ended], self.vs[ended], lanes.ends[ended, WORK]
            p = None if variants is None else variants.inputs[ended]
            records = self.time, q, v, self.zs[ended]
            kept = keep_energy(system, self.scheme, energy, records, work, p)
            lanes.done[ended] = kept & ~grown(self.zs[ended]) & ~self._rings(ended)

    def _rings(self, own: Array) -> Array:
        """Return which trajectories may end with velocities that ring."""
        if not isinstance(self.scheme, ImplicitScheme):
            return np.zeros(len(own), dtype=bool)
        memory = carried(self.lanes.ends[own])[:, self.system.nz :]
        scale = self.system.model.velocity_scale
        change = self.h * SchemeStep(self.system, (), self.scheme).memory.a(memory)[:, : len(scale)]
        return may_ring(self.vs[own] / scale, change / scale)

    def opens(self, rows: tuple[int, ...], k: Array, looks: int) -> bool:
        """Return whether the accelerations of these steps lead off the loops.

        One trajectory, k (1,), tells it of all that go by the same machine code.
        """
        system, constraints = self.system, self.constraints
        if constraints is None or not len(k):
            return False
        march, trajectory = batch_march(system, self.scheme, rows), Trajectory(system, int(k[0]))
        begin = None
        if self.scheme is not None:
            begin = Start(trajectory, SchemeStep(system, rows, self.scheme))

        def values(q: Array, v: Array) -> tuple[Array, ...]:
            return constraints(q, v, np.repeat(k, len(q)))

        for record in spread(len(self.time), looks):
            t, q, v = float(self.time[record]), self.qs[k[0], record], self.vs[k[0], record]
            now = Now(t, q, v, self.zs[k[0], record])
            now = now if begin is None else begin.begun(now)
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


def _energy(
    kernel: Kernel, variants: Parameters | None, own: Array, q: Array, v: Array
) -> tuple[Array, Array]:
    """Return the energy (L, K) of some trajectories at records q, v (L, K, ...), and its potential
    part.
    """
    given = [q.reshape(-1, q.shape[2]), v.reshape(-1, v.shape[2])]
    if variants is not None:
        given.append(np.repeat(variants.inputs[own], q.shape[1], axis=0))
    whole, still = kernel(*given)
    return whole.reshape(q.shape[:2]), still.reshape(q.shape[:2])
