"""What a `Mechanism` and a `Simulation` tell of a link cut free, and of sensors in its joint
(``entry_points.txt``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.free_body.free_body import FreeBody, free_body, joints_of
from mbd_bridge.base.arguments import an_instance, finite_numbers
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.base.options import with_options
from mbd_bridge.base.readable import instant, on_clock
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces, wrenches_at
from mbd_bridge.simulation import Simulation
from mbd_bridge.solve.prepared import in_link_axes


@with_options
def free_body_of(
    mechanism: Mechanism,
    link: str,
    q: ArrayLike | Motion,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    t: ArrayLike | None = None,
    threads: int = 1,
    check: bool = True,
    **options: Unpack[ActingOptions],
) -> FreeBody:
    """Return all that acts on a link: its joints, gravity, inertia; see `joint_loads`.

    Parameters
    ----------
    **options : of what acts

    Examples
    --------
    >>> robot.free_body("forearm", motion).at("peak").write("forearm.bdf")   # doctest: +SKIP
    """
    states: tuple[Any, Any, Any] = (q.q, q.v, q.a) if isinstance(q, Motion) else (q, v, a)
    times = q.time if isinstance(q, Motion) else t
    wrenches = wrenches_at(
        mechanism.model, options["external"], options["external_in"], times, *states[:2]
    )
    pushes = in_link_axes(mechanism.prepared, states[0], wrenches.by_link, wrenches.axes)
    names = joints_of(mechanism.model, link)
    options["external"], options["external_in"] = pushes, "link"
    loads = mechanism.joint_loads(*states, names, t=times, threads=threads, check=check, **options)
    if isinstance(q, Motion):
        loads = loads.along(q.time, q.v)
    outside = pushes.get(link) if pushes else None
    own_q, own_v, own_a = states
    pushed = mechanism.prepared.wrench_of(
        mechanism.elements(options["forces"]), link, own_q, own_v, times
    )
    outside = (
        pushed if outside is None else np.asarray(outside) + (0.0 if pushed is None else pushed)
    )
    rates = own_a if loads.a is None else loads.a
    body = free_body(mechanism.model, link, own_q, own_v, rates, loads, external=outside)
    if check and not np.isfinite(body.sum).all():
        raise StateError("q, v, a, external: so large that the forces on the link overflow")
    return body


def free_body_of_motion(run: Simulation, link: str, at: str | ArrayLike = "peak") -> FreeBody:
    """Return all that acts on a link at chosen records; see `FreeBody.at`.

    Parameters
    ----------
    link : its name
    at : "peak", a component such as "elbow.fx", or times, s
    """
    loads = run.joint_loads(joints_of(run.model, link))
    states = run.q, run.v, run.a
    return free_body(run.model, link, *states, loads, external=run.wrench_on(link)).at(at)


# Raw readings of force/torque sensors as forces of the environment.
#
# What a sensor in the joint before a link reads is the load of that joint: weight and inertia of
# all that hangs on the link, less what the environment exerts. With W the load of the joint
# without an environment (inverse dynamics along the motion), r the reading in the sign of the
# environment's force, and b its bias, all in the link's axes about its origin,
#
#     F = r + W - b,        b = mean (r + W) while nothing touches


def compensate_sensors(
    machine: Mechanism,
    readings: ExternalForces,
    motion: Motion,
    *,
    bias: Sequence[float] | None = None,
    untouched: tuple[float, float] | None = None,
) -> ExternalForces:
    """Return the forces of the environment that raw readings of force/torque sensors tell.

    Weight and inertia of the sensor's link and all beyond it, as the model has them, and the bias
    are taken away. Machines with loops are refused: there a joint's load is not that of what is
    beyond it.

    Parameters
    ----------
    readings : of `robot.read_external(path, sensors={"tool0": "wrench"}, reads=...)`, raw; in
        the link's axes about its origin. Their times are within those of the motion
    motion : of the machine meanwhile
    bias : (6,) N, N m that the readings have too much, in the sign of the environment's force
    untouched : (begin, end) s, while nothing touches: the mean there is the bias. Where the motion
        has stamps of a clock, two of them, or s after the first

    Examples
    --------
    >>> raw = robot.read_external(path, sensors={"tool0": "ft"})        # doctest: +SKIP
    >>> force = robot.compensate_sensors(raw, motion, untouched=(0, 2))  # doctest: +SKIP
    """
    an_instance("readings", readings, ExternalForces, "robot.read_external(..., sensors=...)")
    an_instance("motion", motion, Motion, "robot.read_motion(...)")
    if bias is not None and untouched is not None:
        raise StateError("bias, untouched: the bias is told twice; give one of them")
    if machine.model.has_loops:
        raise ModelError(
            "compensate_sensors: expected a machine without loops; in a loop the load before a "
            "link is not that of what hangs on it"
        )
    stated_bias = np.zeros(6) if bias is None else finite_numbers("bias", bias, (6,))
    if untouched is not None:
        begin, end = finite_numbers("untouched", untouched, (2,)).tolist()
        untouched = on_clock(begin, motion.time[0]), on_clock(end, motion.time[0])
    forces = []
    for force in readings.forces:
        where = f"readings on {force.link}"
        frame = (force.reference, tuple(force.point), force.abscissa.is_time)
        if frame != ("link", (0.0, 0.0, 0.0), True):
            raise StateError(f"{where}: expected the link's axes, its origin, rows over time")
        inside = (force.x >= motion.time[0]) & (force.x <= motion.time[-1])
        if not inside.all():
            ends = [instant(t) for t in (*motion.time[[0, -1]], *force.x[[0, -1]])]
            raise StateError(
                f"{where}: expected times within the motion's, {ends[0]} to {ends[1]} s, got "
                f"{ends[2]} to {ends[3]} s"
            )
        free = force.wrenches + _weight(machine, force.link, motion, force.x)
        force_bias = stated_bias if untouched is None else _mean(where, free, force.x, untouched)
        said = f"{force.source}, weight and inertia behind it taken away"
        if bias is not None or untouched is not None:
            said += f", bias ({', '.join(f'{x:.4g}' for x in force_bias)}) N, N m"
        forces.append(replace(force, wrenches=free - force_bias, source=said))
    return ExternalForces(readings.model, tuple(forces), readings.notes)


def _weight(mechanism: Mechanism, link: str, motion: Motion, time: Array) -> Array:
    """Return the load (n, 6) of the joint before a link, about the link's origin (which is not the
    joint's in all formats), with nothing touching, at times.
    """
    model = mechanism.model
    number = model.link_number(link)
    (joint,) = (joint.name for joint in model.joints if joint.child == number)
    wrench = mechanism.free_body(link, motion)[joint].about_origin()
    return np.stack([np.interp(time, motion.time, column) for column in wrench.T], axis=1)


def _mean(where: str, rows: Array, time: Array, interval: tuple[float, float]) -> Array:
    """Return the mean (6,) of rows (n, 6) in an interval of time."""
    begin, end = interval
    there = (time >= begin) & (time <= end)
    if not there.any():
        raise StateError(f"{where}: untouched: no row from {instant(begin)} to {instant(end)} s")
    return np.asarray(rows[there].mean(axis=0))
