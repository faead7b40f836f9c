"""What a `Mechanism` tells of a link cut free (``entry_points.txt``)."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.free_body.free_body import FreeBody, free_body, joints_of
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.options import with_options
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import wrenches_at
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
    given = wrenches_at(
        mechanism.model, options["external"], options["external_in"], times, *states[:2]
    )
    pushes = in_link_axes(mechanism.prepared, states[0], given.by_link, given.axes)
    names = joints_of(mechanism.model, link)
    options["external"], options["external_in"] = pushes, "link"
    loads = mechanism.joint_loads(*states, names, t=times, threads=threads, check=check, **options)
    if isinstance(q, Motion):
        loads = loads.along(q.time, q.v)
    own = pushes.get(link) if pushes else None
    own_q, own_v, own_a = states
    pushed = mechanism.prepared.wrench_of(
        mechanism.elements(options["forces"]), link, own_q, own_v, times
    )
    own = pushed if own is None else np.asarray(own) + (0.0 if pushed is None else pushed)
    rates = own_a if loads.a is None else loads.a
    body = free_body(mechanism.model, link, own_q, own_v, rates, loads, external=own)
    if check and not np.isfinite(body.sum).all():
        raise StateError("q, v, a, external: so large that the forces on the link overflow")
    return body
