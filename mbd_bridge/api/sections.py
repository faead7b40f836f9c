"""Loads inside flexible links, as their user asks for them."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import an_instance
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads.sections import SectionLoads, SectionSolver
from mbd_bridge.motion.external import ExternalGiven


def section_loads(
    mechanism: Mechanism,
    link: str,
    x: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    external: ExternalGiven | None = None,
    actuated: Iterable[str] | str | None = None,
    minimum_norm: bool = False,
    forces: Iterable[ForceElement] | None = None,
    t: ArrayLike | None = None,
    check: bool = True,
) -> SectionLoads:
    """Return axial force, shear, torsion and bending in cross sections of a flexible link.

    Parameters
    ----------
    link : that bends
    x : (K,) m along its beam. At a station the load is that just before it, on the root's side
    q, v, a : (nq,), (nv,), (nv,) or (N, ...)
    external, actuated, minimum_norm, forces, t, check : see `Mechanism.joint_loads`
    """
    an_instance("mechanism", mechanism, Mechanism, 'mbd.load("robot.urdf")')
    solver = SectionSolver(mechanism.model, link, x)
    loads = mechanism.joint_loads(
        q,
        v,
        a,
        solver.stations,
        external=external,
        actuated=actuated,
        minimum_norm=minimum_norm,
        forces=forces,
        t=t,
        check=check,
    )
    return solver(q, v, a, loads.wrench)
