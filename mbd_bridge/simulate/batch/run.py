"""Simulate many motions of one mechanism: together in the lanes of vectors, and over threads.

Each trajectory has its own start and, if given so, its own forces and its own masses and lengths.
A trajectory that leaves the safe road (a singular position, numbers that end) stops in its lane
without stopping the others and is simulated again alone, as `simulate` does it: what comes out does
not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import as_floats, by_name, function_or_none
from mbd_bridge.errors import SolveError, StateError, whole_number
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.run.layout import new_arrays
from mbd_bridge.kernels.run.march import MOST_LANES, March, compile_march
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.mechanism.parameters import Given, Parameters
from mbd_bridge.simulate.balance import keep_energy
from mbd_bridge.simulate.batch.alone import Road
from mbd_bridge.simulate.batch.lanes import Clock, Lanes
from mbd_bridge.simulate.batch.result import SimulationBatch
from mbd_bridge.simulate.batch.start import (
    GOOD,
    MOVING_APART,
    NOT_FINITE,
    OFF_COURSE,
    OPEN,
    Constraints,
    constraints_of,
    moves_inertia,
    on_course,
    sorted_starts,
    start_states,
)
from mbd_bridge.simulate.driver import Drive, check_start, number_of_steps, simulate
from mbd_bridge.simulate.energy import energy_kernel
from mbd_bridge.simulate.given.signals import Signals
from mbd_bridge.simulate.step import staged_step
from mbd_bridge.simulate.trouble import named
from mbd_bridge.simulate.watch import OPEN as STILL_CLOSED
from mbd_bridge.simulate.watch import coordinate_scale
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.quaternions import are_rotations, unit_quaternions
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.spatial import Array

MOST_BYTES = 2**33
"""Records of more bytes are refused as a slip of the pen."""

REFUSED: dict[int, str] = {
    NOT_FINITE: "the state at the start is not finite",
    OPEN: "the position at the start does not close the loops: {}. Start from assemble(near=...).q",
    MOVING_APART: "the velocity at the start does not keep the loops closed: {}. Start from "
    "assemble(near=..., velocity=...).v",
}


def simulate_batch(
    model: Model,
    duration: float,
    *,
    step: float = 1e-3,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    torque: Drive = None,
    drives: Mapping[str, Any] | None = None,
    parameters: Given | None = None,
    every: int = 1,
    start: float = 0.0,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
    prepared: Prepared | None = None,
) -> SimulationBatch:
    """Return the motions of a mechanism from N states that satisfy its loops.

    Parameters
    ----------
    duration, step, every, start : as for `simulate`, the same for all trajectories
    q, v : (N, nq), (N, nv), or one state for all. If not given, zero position and rest, or what the
        drives prescribe and the nearest to it that closes the loops
    torque : as for `simulate`; or (N, nv), constant forces of each trajectory; or by velocity name
        numbers, (N,) of them, or tables (times, values) with straight lines from row to row (a jump
        where a time stands twice), values (n,) for all or (N, n)
    drives : prescribed motions by coordinate name as for `simulate`; or (N,) numbers, or tables
        with values (N, n), one row for each trajectory
    parameters : masses, centres, inertias, places of joints, gravity by name, one value for all or
        N of them: ``{"coupler.mass": (N,), "elbow.xyz": (N, 3)}`` (see `mechanism.parameters`)
    threads : that share the trajectories
    progress : is called with the number of steps taken since the last call, over all trajectories
    prepared : holds the machine code from call to call

    Notes
    -----
    Trouble of one trajectory is not raised: see `SimulationBatch.status`.
    """
    steps, every = number_of_steps(duration, step), whole_number("every", every)
    duration = float(duration)
    start = check_start(start, duration / steps)
    progress = function_or_none("progress", progress, "of the number of steps")
    threads = whole_number("threads", threads)
    prepared = Prepared(model) if prepared is None else prepared
    signals = Signals.of(model, torque, drives, start, start + duration)
    parameters = by_name("parameters", parameters, "{'rod.mass': 2.0}")
    variants = Parameters.of(model, parameters) if parameters else None
    q, v = (x if x is None else as_floats(name, x) for name, x in (("q", q), ("v", v)))
    number = _number(model, q, v, signals, variants)
    variants = None if variants is None else variants.repeated(number)
    if signals.constant is not None:
        signals = replace(signals, constant=_rows(signals.constant, number, model.nv))
    q0, v0 = start_states(model, q, v, signals, variants, number, start, prepared)
    turned = are_rotations(model, q0)  # what is none goes alone, and is refused there
    q0[turned] = unit_quaternions(model, q0[turned])
    clock = Clock(start, duration / steps, steps, every)
    time = clock.times()
    needed = 8 * number * len(time) * (model.nq + model.nv)
    if needed > MOST_BYTES:
        raise StateError(
            f"{number} trajectories with {len(time)} records need {needed / 2**30:.1f} GiB, more "
            f"than {MOST_BYTES / 2**30:.0f}; record less often (every=) or simulate in parts"
        )
    qs, vs = new_arrays([(number, len(time), model.nq), (number, len(time), model.nv)])
    qs[:, 0], vs[:, 0] = q0, v0
    inputs = [q0, v0, np.array([start, 0.0]), np.array([clock.h])]
    inputs += [] if signals.constant is None else [signals.constant]
    inputs += [] if variants is None else [variants.inputs]
    stream = signals if signals.size else None
    lanes = Lanes(clock, inputs, qs, vs, stream, progress, coordinate_scale(model))
    constraints = constraints_of(model, variants, prepared)
    kind, sets = sorted_starts(model, constraints, q0, v0, signals.driven)
    kind[(kind == GOOD) & ~(turned & on_course(signals, q0, v0, start))] = OFF_COURSE
    for rows, members in sets:
        going = members[kind[members] == GOOD]
        if not len(going) or not moves_inertia(model, variants, signals, q0, int(going[0])):
            continue
        try:
            march = _compiled(model, rows, signals, variants, prepared)
        except SolveError:  # masses vanish: each one alone says which
            continue
        lanes.run(march, going, threads, partial(_road, model, rows, signals, variants, prepared))
    if constraints is not None:
        ended = np.flatnonzero(lanes.done)
        least = max(STILL_CLOSED, row_choice(model, signals.driven).leeway)
        phi = constraints(qs[ended, -1], vs[ended, -1], ended)[0]
        lanes.done[ended] = (np.abs(phi / model.row_scale) < least).all(axis=1)
    ended = np.flatnonzero(lanes.done)
    if len(ended):
        energy = partial(_energy, energy_kernel(model, variants), variants, ended)
        kept = keep_energy(model, energy, qs[ended], vs[ended], lanes.work[ended])
        lanes.done[ended] = kept
    status = ["finished"] * number
    alone = np.flatnonzero(~lanes.done)
    qs[alone, 1:], vs[alone, 1:] = np.nan, np.nan
    for k in map(int, alone):
        if kind[k] in REFUSED:
            loops = _open_loops(model, kind[k], constraints, q0, v0, k)
            status[k] = f"not started: {REFUSED[kind[k]].format(loops)}"
            continue
        one = model if variants is None else variants.variant(k)
        given: dict[str, Any] = {"torque": signals.torque_of(k), "drives": signals.drives_of(k)}
        given |= {"q": q0[k], "v": v0[k], "step": step, "every": every, "start": start}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the status says it
                run = simulate(one, duration, check=False, **given)
        except (StateError, SolveError) as problem:
            status[k] = f"not started: {problem}"
            continue
        whole = len(time) if run.finished else run.steps // every + 1
        qs[k, :whole], vs[k, :whole] = run.q[:whole], run.v[:whole]
        status[k] = run.status
        if progress is not None:
            progress(run.steps)
    told = tuple(status), tuple(map(int, alone)), steps, clock.h
    return SimulationBatch(model, time, qs, vs, *told, signals, variants, sets, prepared)


def _energy(kernel: Kernel, variants: Parameters | None, own: Array, q: Array, v: Array) -> Array:
    """Return the energy (L, K) of some trajectories at records q, v (L, K, ...)."""
    given = [q.reshape(-1, q.shape[2]), v.reshape(-1, v.shape[2])]
    if variants is not None:
        given.append(np.repeat(variants.inputs[own], q.shape[1], axis=0))
    return np.asarray(kernel(*given)[0].reshape(q.shape[:2]))


def _open_loops(
    model: Model, kind: int, constraints: Constraints | None, q: Array, v: Array, k: int
) -> str:
    """Return which loops are open, or moving apart, at the start of a trajectory."""
    if kind == NOT_FINITE or constraints is None:
        return ""
    part = slice(k, k + 1)
    phi, phi_q, _ = (array[0] for array in constraints(q[part], v[part], part))
    lack, per = (phi, "") if kind == OPEN else (phi_q @ v[k], "/s")
    return named(model, lack / model.row_scale, per)


def _number(
    model: Model,
    q: ArrayLike | None,
    v: ArrayLike | None,
    signals: Signals,
    variants: Parameters | None,
) -> int:
    """Return the number of trajectories that all that is given agrees on."""
    numbers = {} if variants is None else {"parameters": len(variants)}
    given = (("q", q, model.nq), ("v", v, model.nv), ("torque", signals.constant, model.nv))
    for name, value, size in given:
        if value is None:
            continue
        shape = np.shape(value)
        if shape[-1:] != (size,) or len(shape) > 2:
            raise StateError(
                f"{name}: expected ({size},) or (N, {size}) with the same N everywhere, got {shape}"
            )
        numbers |= {name: shape[0]} if len(shape) == 2 else {}
    numbers |= signals.numbers_of
    several = set(numbers.values()) - {1}
    if len(several) > 1:
        told = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        raise StateError(f"expected the same N everywhere, or one for all, got {told}")
    return max(several, default=1)


def _rows(array: Array, number: int, size: int) -> Array:
    return np.ascontiguousarray(np.broadcast_to(array, (number, size)))


def _compiled(
    model: Model,
    rows: tuple[int, ...],
    signals: Signals,
    variants: Parameters | None,
    prepared: Prepared,
    lanes: int = MOST_LANES,
) -> March:
    inputs = {"q": model.nq, "v": model.nv, "t": 2, "h": 1}
    constant = signals.constant is not None
    inputs |= {"tau": model.nv} if constant else {}
    inputs |= {} if variants is None else {"p": variants.size}
    inputs |= {"stream": signals.size} if signals.size else {}

    def step(q: Array, v: Array, t: Array, h: Array, *rest: Array) -> tuple[Array, ...]:
        more = dict(zip(list(inputs)[4:], rest, strict=True))
        own = model if variants is None else variants.model_with(more["p"])
        stages = signals.stages(more.get("tau"), more.get("stream", np.zeros(0)))
        return staged_step(own, rows, stages)(q, v, t, h)

    what = f"rk4 {lanes} {rows} {signals.identity} {'' if variants is None else variants.identity}"

    def compiled() -> March:
        identity = f"{digest(model)} {what}" if signals.formula is None else None
        streamed = "stream" in inputs
        return compile_march(
            step, inputs, 3, name="rk4", identity=identity, lanes=lanes, streamed=streamed
        )

    # a formula may be another one at the next call: it is traced each time
    return compiled() if signals.formula is not None else prepared.get(what, compiled)


def _road(
    model: Model,
    rows: tuple[int, ...],
    signals: Signals,
    variants: Parameters | None,
    prepared: Prepared,
) -> Road:
    march = _compiled(model, rows, signals, variants, prepared, lanes=1)
    key = "energy", "" if variants is None else variants.identity
    energy = prepared.get(key, lambda: energy_kernel(model, variants))
    return Road(model, march, energy, variants is not None)
