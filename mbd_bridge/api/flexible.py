"""Links that bend, as methods: how far they are deflected, and the loads inside them."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.options import with_options
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.loads.sections import SectionLoads, SectionSolver
from mbd_bridge.motion import Motion
from mbd_bridge.motion.deflections import Deflections, deflections as of_states
from mbd_bridge.simulation import Simulation


def deflections(
    machine: Simulation | Mechanism,
    motion: Motion | None = None,
    *,
    link: str | None = None,
    x: float | None = None,
    q: ArrayLike | None = None,
) -> Deflections:
    """Return how far a flexible link is deflected, and each mode's share; `plot` draws both.

    Parameters
    ----------
    motion : of a mechanism, with its modal coordinates
    link : its name; may be left out where one link bends
    x : m along its beam (of a modal basis: number of the node); None: the far end
    q : (nq,) or (N, nq) states of a mechanism in place of a motion
    """
    if isinstance(machine, Simulation):
        if motion is not None or q is not None:
            raise StateError("a simulation has its own motion; leave out motion= and q=")
        return of_states(machine.model, machine.q, link, x, machine.time)
    if (motion is None) == (q is None):
        raise StateError("give the mechanism a motion or q=, one of them")
    if motion is None:
        assert q is not None
        return of_states(machine.model, q, link, x)
    if tuple(motion.coordinates) != machine.model.coordinate_names:
        raise StateError("the motion is one of other coordinates; load it for this mechanism")
    return of_states(machine.model, motion.q, link, x, motion.time)


@with_options
def section_loads(
    machine: Mechanism,
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
    solver = SectionSolver(machine.model, link, x)
    loads = machine.joint_loads(q, v, a, solver.stations, t=t, check=check, **options)
    return solver(q, v, a, loads.wrench)
