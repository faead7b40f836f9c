"""Simulate many motions of one mechanism: together in the lanes of vectors, and over threads.

Each trajectory has its own start and, if given so, its own forces and its own masses and lengths.
A trajectory that leaves the safe road (a singular position, numbers that end) stops in its lane
without stopping the others and is simulated again alone, as `simulate` does it: what comes out does
not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import SolveError, StateError, unknown_name
from mbd_bridge.kernels.layout import new_arrays
from mbd_bridge.kernels.march import MOST_LANES, March, compile_march
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.mechanism.parameters import Given, Parameters
from mbd_bridge.simulate.batch_result import SimulationBatch
from mbd_bridge.simulate.batch_start import MOVING_APART, NOT_FINITE, OPEN, sorted_starts
from mbd_bridge.simulate.driver import Drive, _number_of_steps, simulate
from mbd_bridge.simulate.lanes import Clock, Lanes
from mbd_bridge.simulate.rows import independent_rows
from mbd_bridge.simulate.start import weightless
from mbd_bridge.simulate.step import Torque, runge_kutta_step
from mbd_bridge.simulate.trouble import named
from mbd_bridge.simulate.watch import OPEN as STILL_CLOSED
from mbd_bridge.simulate.watch import coordinate_scale
from mbd_bridge.solve.closed import needs_support
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.spatial import Array

Constraints = Callable[[Array, Array, Any], tuple[Array, ...]]
"""Φ, Φ_q and γ of some trajectories: their q and v, and which ones they are."""

MOST_BYTES = 2**33
"""Records of more bytes are refused as a slip of the pen."""

REFUSED = {
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
    q, v : (N, nq), (N, nv), or one state for all; zero position and rest if not given
    torque : as for `simulate`, or (N, nv): constant forces of each trajectory
    parameters : masses, centres, inertias, places of joints, gravity by name, one value for all or
        N of them: ``{"coupler.mass": (N,), "elbow.xyz": (N, 3)}`` (see `mechanism.parameters`)
    threads : that share the trajectories
    progress : is called with the number of steps taken since the last call, over all trajectories
    prepared : holds the machine code from call to call

    Notes
    -----
    Trouble of one trajectory is not raised: see `SimulationBatch.status`.
    """
    steps = _number_of_steps(duration, step, every)
    if not isinstance(threads, int) or threads < 1:
        raise StateError(f"threads: expected a whole number from 1, got {threads!r}")
    prepared = Prepared(model) if prepared is None else prepared
    variants = Parameters.of(model, parameters) if parameters else None
    q0, v0, forces = _starts(model, q, v, torque, 1 if variants is None else len(variants))
    number = len(q0)
    variants = None if variants is None else variants.repeated(number)
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
    inputs = [q0, v0, np.array([start]), np.array([clock.h])]
    inputs += [forces] if isinstance(forces, np.ndarray) else []
    inputs += [] if variants is None else [variants.inputs]
    lanes = Lanes(clock, inputs, qs, vs, None, progress, coordinate_scale(model))
    constraints = _constraints(model, variants, prepared)
    kind, sets = sorted_starts(model, constraints, q0, v0)
    for rows, members in sets:
        first = model if variants is None else variants.variant(int(members[0]))
        if not _may_go(first, rows, q0[members[0]], v0[members[0]]):
            continue
        try:
            march = _compiled(model, rows, forces, variants, len(members) == 1, prepared)
        except SolveError:  # masses vanish: each one alone says which
            continue
        lanes.run(march, members, threads)
    if constraints is not None:
        ended = np.flatnonzero(lanes.done)
        phi = constraints(qs[ended, -1], vs[ended, -1], ended)[0]
        lanes.done[ended] = (np.abs(phi / model.row_scale) < STILL_CLOSED).all(axis=1)
    status = ["finished"] * number
    alone = np.flatnonzero(~lanes.done)
    qs[alone, 1:], vs[alone, 1:] = np.nan, np.nan
    for k in map(int, alone):
        if kind[k] in REFUSED:
            loops = _open_loops(model, kind[k], constraints, q0, v0, k)
            status[k] = f"not started: {REFUSED[kind[k]].format(loops)}"
            continue
        drive = forces[k] if isinstance(forces, np.ndarray) else forces
        one = model if variants is None else variants.variant(k)
        state = {"q": q0[k], "v": v0[k], "torque": drive}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the status says it
                run = simulate(
                    one, duration, step=step, every=every, start=start, check=False, **state
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
        clock.h,
        forces,
        variants,
    )


def _may_go(model: Model, rows: tuple[int, ...], q: Array, v: Array) -> bool:
    """Return whether rows chosen at q are those of the motion, and all of it moves mass.

    Alone a trajectory goes out of a singular position, or says why it cannot.
    """
    if needs_support(model) and weightless(model, q):
        return False
    return len(independent_rows(model, q, None, v)) == len(rows)


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


def _starts(
    model: Model, q: ArrayLike | None, v: ArrayLike | None, torque: Drive, number: int
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
    numbers = {array.shape[0] for _, array, _ in given if array.ndim == 2} | {number}
    number = max(numbers - {1}, default=1)
    for name, array, size in given:
        if array.shape not in ((size,), (1, size), (number, size)):
            raise StateError(
                f"{name}: expected ({size},) or (N, {size}) with the same N everywhere, got "
                f"{array.shape}"
            )
    full = [np.ascontiguousarray(np.broadcast_to(a, (number, size))) for _, a, size in given]
    return full[0], full[1], full[2] if len(full) == 3 else forces


def _constraints(
    model: Model, variants: Parameters | None, prepared: Prepared
) -> Constraints | None:
    """Return Φ, Φ_q and γ of some trajectories, each with its own parameters."""
    if not model.has_loops:
        return None
    if variants is None:
        kernel = prepared.kernel("constraints")
        return lambda q, v, part: kernel(q, v)
    own, inputs = prepared.variants(variants, "constraints"), variants.inputs
    return lambda q, v, part: own(q, v, inputs[part])


def _compiled(
    model: Model,
    rows: tuple[int, ...],
    forces: Array | Torque | None,
    variants: Parameters | None,
    single: bool,
    prepared: Prepared,
) -> March:
    inputs = {"q": model.nq, "v": model.nv, "t": 1, "h": 1}
    formula = None if isinstance(forces, np.ndarray) else forces
    constant = formula is not forces
    inputs |= {"tau": model.nv} if constant else {}
    inputs |= {} if variants is None else {"p": variants.size}

    def step_of(own: Model) -> Callable[..., tuple[Array, ...]]:
        if not constant:
            return runge_kutta_step(own, rows, formula)

        def step(q: Array, v: Array, t: Array, h: Array, tau: Array) -> tuple[Array, ...]:
            return runge_kutta_step(own, rows, lambda *_: tau)(q, v, t, h)

        return step

    step = step_of(model) if variants is None else variants.traced(step_of)
    what = f"rk4 {rows} {constant} {'' if variants is None else variants.identity}"

    def compiled() -> March:
        identity = f"{digest(model)} {what}" if formula is None else None
        return compile_march(step, inputs, 3, name="rk4", identity=identity, lanes=MOST_LANES)

    # a formula may be another one at the next call: it is traced each time
    return compiled() if callable(formula) else prepared.get(what, compiled)
