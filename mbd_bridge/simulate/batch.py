"""Simulate many motions of one mechanism: together in the lanes of vectors, and over threads.

Each trajectory has its own start and, if given so, its own forces. A trajectory that leaves the
safe road (a singular position, numbers that end) stops in its lane without stopping the others and
is simulated again alone, as `simulate` does it: what comes out does not depend on its neighbours.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import SolveError, StateError, unknown_name
from mbd_bridge.kernels import machine
from mbd_bridge.kernels import threads as pool
from mbd_bridge.kernels.march import March, compile_march
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.simulate.driver import RISK, Drive, _number_of_steps, simulate
from mbd_bridge.simulate.simulation import Simulation
from mbd_bridge.simulate.start import independent_rows
from mbd_bridge.simulate.step import Torque, runge_kutta_step
from mbd_bridge.solve import prepare
from mbd_bridge.solve.assembly import CLOSED
from mbd_bridge.solve.constrained import CONSISTENT
from mbd_bridge.solve.rank import TOLERANCE
from mbd_bridge.spatial import Array

MOST_BYTES = 2**33
"""Records of more bytes are refused as a slip of the pen."""

MOST_ROW_SETS = 8
"""Choices of independent rows for which code is made; trajectories that fit none go alone."""

WELL_APART = 1e-3
"""Least ratio of the singular values of rows that another start has chosen."""

AT_ONCE = 2**22
"""Entries of constraint Jacobians looked at together, so that memory is bounded."""

SMALL = 3_000
"""Operations of a step up to which two vectors side by side are quicker than one: each waits for
itself, and their values still fit the registers. Measured: a four-bar (1,370) 23.7 instead of
31.5 ns a step, ten four-bars in a row (11,000) 287 instead of 249."""

BLOCK_STEPS = 20_000
"""Steps of a march between two looks at the keyboard, at most; and so for its records."""
BLOCK_RECORDS = 1_000


@dataclass(frozen=True, eq=False)
class SimulationBatch:
    """States of N trajectories of one mechanism along time.

    Attributes
    ----------
    model : the mechanism
    time : (K,) s
    q, v : (N, K, nq), (N, K, nv): rad or m, and their rates; nan after a trajectory stopped
    status : N times "finished", or why a trajectory ended before its time
    alone : numbers of the trajectories that were simulated outside the lanes
    steps, step : of each trajectory; s
    forces : (N, nv) constant forces, a function of (t, q, v), or none
    """

    model: Model
    time: Array
    q: Array
    v: Array
    status: tuple[str, ...]
    alone: tuple[int, ...]
    steps: int
    step: float
    forces: Array | Torque | None

    @property
    def finished(self) -> Array:
        """Which trajectories were simulated to the end (N,)."""
        return np.array([status == "finished" for status in self.status])

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, number: int) -> Simulation:
        """Return one trajectory, as far as it goes: energies, accelerations, loads."""
        there = np.isfinite(self.q[number]).all(axis=-1)
        time, q, v = self.time[there], self.q[number, there], self.v[number, there]
        forces = self.forces
        tau = np.zeros_like(v)
        if isinstance(forces, np.ndarray):
            tau[:] = forces[number]
        elif forces is not None:
            tau[:] = [forces(*state) for state in zip(time, q, v, strict=True)]
        taken = round(float(time[-1] - time[0]) / self.step) if len(time) else 0
        status = self.status[number]
        return Simulation(self.model, time, q, v, tau, taken, self.step, status, 0)

    def __repr__(self) -> str:
        return (
            f"SimulationBatch({self.model.name!r}: {len(self)} trajectories of {self.steps} steps "
            f"of {self.step:g} s, {len(self.time)} records, {int(self.finished.sum())} finished)"
        )


def simulate_batch(
    model: Model,
    duration: float,
    *,
    step: float = 1e-3,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    torque: Drive = None,
    every: int = 1,
    start: float = 0.0,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> SimulationBatch:
    """Return the motions of a mechanism from N states that satisfy its loops.

    Parameters
    ----------
    duration, step, every, start : as for `simulate`, the same for all trajectories
    q, v : (N, nq), (N, nv), or one state for all; zero position and rest if not given
    torque : as for `simulate`, or (N, nv): constant forces of each trajectory
    threads : that share the trajectories
    progress : is called with the number of steps taken since the last call, over all trajectories

    Notes
    -----
    Trouble of one trajectory is not raised: see `SimulationBatch.status`.
    """
    steps = _number_of_steps(duration, step, every)
    if not isinstance(threads, int) or threads < 1:
        raise StateError(f"threads: expected a whole number from 1, got {threads!r}")
    q0, v0, forces = _starts(model, q, v, torque)
    number = len(q0)
    time = _times(start, duration / steps, steps, every)
    needed = 8 * number * len(time) * (model.nq + model.nv)
    if needed > MOST_BYTES:
        raise StateError(
            f"{number} trajectories with {len(time)} records need {needed / 2**30:.1f} GiB, more "
            f"than {MOST_BYTES / 2**30:.0f}; record less often (every=) or simulate in parts"
        )
    qs = np.full((number, len(time), model.nq), np.nan)
    vs = np.full((number, len(time), model.nv), np.nan)
    qs[:, 0], vs[:, 0] = q0, v0
    done = np.zeros(number, dtype=bool)
    lanes = _Lanes(start, duration / steps, steps, every, (q0, v0, forces), (qs, vs), done)
    lanes.report = progress
    for rows, members in _row_sets(model, q0, _consistent(model, q0, v0)):
        lanes.run(_compiled(model, rows, forces, len(members)), members, threads)
    status = ["finished"] * number
    alone = np.flatnonzero(~done)
    for k in alone:
        drive = forces[k] if isinstance(forces, np.ndarray) else forces
        qs[k, 1:], vs[k, 1:] = np.nan, np.nan
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the status says it
                run = simulate(
                    model,
                    duration,
                    step=step,
                    q=q0[k],
                    v=v0[k],
                    torque=drive,
                    every=every,
                    start=start,
                    check=False,
                )
        except (StateError, SolveError) as problem:
            status[k] = f"not started: {problem}"
            continue
        whole = len(time) if run.finished else run.steps // every + 1
        qs[k, :whole], vs[k, :whole] = run.q[:whole], run.v[:whole]
        status[k] = run.status
        if progress is not None:
            progress(run.steps)
    return SimulationBatch(
        model,
        time,
        qs,
        vs,
        tuple(status),
        tuple(map(int, alone)),
        steps,
        duration / steps,
        forces,
    )


class _Lanes:
    """Trajectories on their way, group by group; writes records of those that arrive."""

    report: Callable[[int], None] | None = None

    def __init__(
        self,
        start: float,
        h: float,
        steps: int,
        every: int,
        given: tuple[Array, Array, Array | Torque | None],
        records: tuple[Array, Array],
        done: Array,
    ) -> None:
        self.start, self.h, self.steps, self.every = np.array([start]), np.array([h]), steps, every
        self.q, self.v, self.forces = given
        self.qs, self.vs = records
        self.done = done
        self.block = every * max(1, min(BLOCK_RECORDS, BLOCK_STEPS // every))
        self.lock = threading.Lock()

    def run(self, march: March, members: Array, threads: int) -> None:
        """Advance trajectories, shared by threads in whole groups."""
        groups = -(-len(members) // march.lanes)
        shares = max(1, min(threads, groups))
        cuts = [groups * k // shares * march.lanes for k in range(shares + 1)]

        def work(first: int, last: int) -> None:
            for begin in range(first, min(last, len(members)), march.lanes):
                self.group(march, members[begin : begin + march.lanes])

        pool.run(work, list(itertools.pairwise(cuts)))

    def group(self, march: March, own: Array) -> None:
        """Advance as many trajectories as there are lanes; the last one fills lanes left over."""
        number = len(own)
        filled = np.pad(own, (0, march.lanes - number), mode="edge")
        values = [self.q[filled], self.v[filled], self.start, self.h]
        if isinstance(self.forces, np.ndarray):
            values.append(self.forces[filled])
        stage = march.start(*values)
        going = np.ones(number, dtype=bool)
        taken, record = 0, 1
        while taken < self.steps:
            wanted = min(self.block, self.steps - taken)
            _, (q, v, *_) = march.advance(stage, wanted, self.every, RISK)
            going &= march.steps_of(stage)[:number] == wanted
            if not going.any():
                return
            last = record + len(q)
            self.qs[own[going], record:last] = q[:, :number][:, going].transpose(1, 0, 2)
            self.vs[own[going], record:last] = v[:, :number][:, going].transpose(1, 0, 2)
            taken, record = taken + wanted, last
            if self.report is not None:
                with self.lock:
                    self.report(wanted * int(going.sum()))
        if record < self.qs.shape[1]:
            q_end, v_end, _ = march.state_of(stage)
            self.qs[own[going], -1], self.vs[own[going], -1] = (
                q_end[:number][going],
                v_end[:number][going],
            )
        self.done[own[going]] = True


def _starts(
    model: Model, q: ArrayLike | None, v: ArrayLike | None, torque: Drive
) -> tuple[Array, Array, Array | Torque | None]:
    """Return (N, nq), (N, nv) and (N, nv) forces (or a function, or none)."""
    q0 = model.neutral() if q is None else np.asarray(q, dtype=np.float64)
    v0 = np.zeros(model.nv) if v is None else np.asarray(v, dtype=np.float64)
    forces: Any = torque
    given = [("q", q0, model.nq), ("v", v0, model.nv)]
    if torque is not None and not callable(torque):
        if isinstance(torque, Mapping):
            unknown = [name for name in torque if name not in model.velocity_names]
            if unknown:
                raise StateError(unknown_name("velocity", unknown[0], model.velocity_names))
            torque = [torque.get(name, 0.0) for name in model.velocity_names]
        forces = np.asarray(torque, dtype=np.float64)
        given.append(("torque", forces, model.nv))
    numbers = {array.shape[0] for _, array, _ in given if array.ndim == 2}
    number = max(numbers, default=1)
    for name, array, size in given:
        if array.shape not in ((size,), (number, size)):
            raise StateError(
                f"{name}: expected ({size},) or (N, {size}) with the same N everywhere, got "
                f"{array.shape}"
            )
    full = [np.ascontiguousarray(np.broadcast_to(a, (number, size))) for _, a, size in given]
    return full[0], full[1], full[2] if len(full) == 3 else forces


def _times(start: float, h: float, steps: int, every: int) -> Array:
    """Return the times of the records, with the roundings of the steps that add them up."""
    times, block, done = [np.array([start])], every * max(1, BLOCK_STEPS // every), 0
    last = start
    while done < steps:
        count = min(block, steps - done)
        sums = np.add.accumulate(np.concatenate([[last], np.full(count, h)]))
        times.append(sums[every::every])
        last, done = float(sums[-1]), done + count
    if steps % every:
        times.append(np.array([last]))
    return np.concatenate(times)


def _consistent(model: Model, q: Array, v: Array) -> Array:
    """Return which starts are numbers and satisfy the loops (N,), as `simulate` asks."""
    good: Array = np.isfinite(np.hstack([q, v])).all(axis=1)
    if not model.has_loops:
        return good
    kernel, rows = prepare(model, "constraints"), model.row_scale
    share = _share(model)
    for k in range(0, len(q), share):
        part = slice(k, k + share)
        phi, phi_q, _ = kernel(q[part], v[part])
        speed = (np.abs(phi_q) @ np.abs(v[part])[..., None])[..., 0].max(axis=1)[:, None]
        lack = np.abs((phi_q @ v[part][..., None])[..., 0])
        with np.errstate(invalid="ignore"):
            good[part] &= (np.abs(phi) <= CONSISTENT * rows).all(axis=1)
            good[part] &= (lack <= CONSISTENT * np.maximum(speed, CLOSED * rows)).all(axis=1)
    return good


def _share(model: Model) -> int:
    """Return how many starts are looked at together."""
    return max(1, AT_ONCE // (len(model.row_scale) * model.nv))


def _row_sets(model: Model, q: Array, good: Array) -> list[tuple[tuple[int, ...], Array]]:
    """Return choices of independent rows, each with the trajectories that may use it."""
    if not model.has_loops:
        return [((), np.flatnonzero(good))]
    kernel, scale = prepare(model, "constraints"), model.velocity_scale / model.row_scale[:, None]
    sets: dict[tuple[int, ...], list[int]] = {}
    share = _share(model)
    for k in range(0, len(q), share):
        left = k + np.flatnonzero(good[k : k + share])
        if not len(left):
            continue
        phi_q = kernel(q[left], np.zeros((len(left), model.nv)))[1] * scale
        for rows in list(sets):
            fit = _spanned(phi_q, rows)
            sets[rows] += left[fit].tolist()
            left, phi_q = left[~fit], phi_q[~fit]
        while len(left) and len(sets) < MOST_ROW_SETS:
            rows = independent_rows(model, q[left[0]])
            fit = _spanned(phi_q, rows)
            fit[0] = True  # whose choice it is
            sets.setdefault(rows, []).extend(left[fit].tolist())
            left, phi_q = left[~fit], phi_q[~fit]
    return [(rows, np.array(members)) for rows, members in sets.items()]


def _spanned(phi_q: Array, rows: tuple[int, ...]) -> Array:
    """Return where some rows of Φ_q (N, m, nv) are well independent and contain the others."""
    if not rows or not len(phi_q):
        return np.asarray(np.abs(phi_q).max(axis=(1, 2), initial=0.0) == 0.0)
    _, sizes, basis = np.linalg.svd(phi_q[:, rows], full_matrices=False)
    rest = phi_q - (phi_q @ basis.transpose(0, 2, 1)) @ basis
    largest = np.abs(phi_q).max(axis=(1, 2))
    contained = np.abs(rest).max(axis=(1, 2)) <= TOLERANCE * largest
    return np.asarray(contained & (sizes[:, -1] > WELL_APART * sizes[:, 0]))


def _compiled(
    model: Model, rows: tuple[int, ...], forces: Array | Torque | None, number: int
) -> March:
    inputs = {"q": model.nq, "v": model.nv, "t": 1, "h": 1}
    identity: str | None = f"{digest(model)} rk4 {rows} None"
    step: Callable[..., tuple[Array, ...]]
    if isinstance(forces, np.ndarray):

        def step(q: Array, v: Array, t: Array, h: Array, tau: Array) -> tuple[Array, ...]:
            return runge_kutta_step(model, rows, lambda *_: tau)(q, v, t, h)

        identity, inputs["tau"] = f"{digest(model)} rk4 {rows} constant forces", model.nv
    else:
        step = runge_kutta_step(model, rows, forces)
        identity = None if callable(forces) else identity

    def compiled(lanes: int) -> March:
        return compile_march(step, inputs, 3, name="rk4", identity=identity, lanes=lanes)

    march = compiled(machine.host().lanes)
    if number > march.lanes and sum(march.counts.values()) <= SMALL:
        march = compiled(2 * march.lanes)
    return march
