"""What a `Simulation` tells of a link cut free (``entry_points.txt``)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from mbd_bridge.applications.free_body.free_body import FreeBody, free_body, joints_of
from mbd_bridge.simulation import Simulation


def free_body_of(run: Simulation, link: str, at: str | ArrayLike = "peak") -> FreeBody:
    """Return all that acts on a link at chosen records; see `FreeBody.at`.

    Parameters
    ----------
    link : its name
    at : "peak", a component such as "elbow.fx", or times, s
    """
    loads = run.joint_loads(joints_of(run.model, link))
    states = run.q, run.v, run.a
    return free_body(run.model, link, *states, loads, external=run.wrench_on(link)).at(at)
