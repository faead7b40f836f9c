"""Loads inside flexible links, as their user asks for them."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import an_instance
from mbd_bridge.base.options import with_options
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.loads.sections import SectionLoads, SectionSolver


@with_options
def section_loads(
    mechanism: Mechanism,
    link: str,
    x: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    t: ArrayLike | None = None,
    check: bool = True,
    **options: Unpack[ActingOptions],
) -> SectionLoads:
    """Return axial force, shear, torsion and bending in cross sections of a flexible link.

    Parameters
    ----------
    link : that bends
    x : (K,) m along its beam. At a station the load is that just before it, on the root's side
    q, v, a : (nq,), (nv,), (nv,) or (N, ...)
    t, check : see `Mechanism.joint_loads`
    **options : of what acts
    """
    an_instance("mechanism", mechanism, Mechanism, 'mbd.load("robot.urdf")')
    solver = SectionSolver(mechanism.model, link, x)
    loads = mechanism.joint_loads(q, v, a, solver.stations, t=t, check=check, **options)
    return solver(q, v, a, loads.wrench)
