"""Deflections of flexible links, as their user asks for them."""

from __future__ import annotations

from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.motion import Motion
from mbd_bridge.motion.deflections import Deflections, deflections as of_states
from mbd_bridge.simulation import Simulation


def deflections(
    what: Simulation | Mechanism,
    motion: Motion | None = None,
    *,
    link: str | None = None,
    x: float | None = None,
    q: ArrayLike | None = None,
) -> Deflections:
    """Return how far a flexible link is deflected, and each mode's share; `plot` draws both.

    Parameters
    ----------
    what : a `Simulation`, or a `Mechanism` along `motion` or at `q`
    motion : of the mechanism, with its modal coordinates
    link : its name; may be left out where one link bends
    x : m along its beam (of a modal basis: number of the node); None: the far end
    q : (nq,) or (N, nq) states in place of a motion
    """
    if isinstance(what, Simulation):
        if motion is not None or q is not None:
            raise StateError("a simulation has its own motion; leave out motion= and q=")
        return of_states(what.model, what.q, link, x, what.time)
    if not isinstance(what, Mechanism):
        raise ModelError(
            f"expected a Simulation or a Mechanism, got {type(what).__name__}; load a file first: "
            f'mbd.load("robot.urdf")'
        )
    if (motion is None) == (q is None):
        raise StateError("give the mechanism a motion or q=, one of them")
    if motion is None:
        assert q is not None
        return of_states(what.model, q, link, x)
    if tuple(motion.coordinates) != what.model.coordinate_names:
        raise StateError("the motion is one of other coordinates; load it for this mechanism")
    return of_states(what.model, motion.q, link, x, motion.time)
