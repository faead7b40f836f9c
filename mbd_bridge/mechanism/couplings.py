"""Gears: a coordinate that follows others by a constraint row, with a load of its own.

    q_j - Σ ratio q_i - offset = 0

A ``<mimic>`` takes the coordinate out of the mechanism; a coupling keeps both and has a multiplier,
which is the load of the transmission. So it may join coordinates that loops hold too, and of
joints with several. Without leaders it locks its coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence

from mbd_bridge.errors import ModelError, unknown_name
from mbd_bridge.formats.description import Coupling
from mbd_bridge.mechanism.cut_table import Coupled, Cut, Place
from mbd_bridge.mechanism.joint_table import JointType
from mbd_bridge.spatial import Frame


def coupling_cuts(
    couplings: Sequence[Coupling],
    names: Sequence[str],
    bodies: Sequence[tuple[tuple[int, int], int, JointType]],
    reserved: set[str],
) -> list[Cut]:
    """Return the couplings as constraint rows.

    Parameters
    ----------
    names : of the joint that moves each body
    bodies : of each body the indices of its joint's two links, that of the parent body, and its
        joint's type
    reserved : names of joints and loops
    """
    places = {
        name + suffix: Place(b, k)
        for b, (name, (*_, kind)) in enumerate(zip(names, bodies, strict=True))
        if kind.nq == kind.nv  # the rates of the others' coordinates are not their velocities
        for k, suffix in enumerate(kind.coordinates)
    }
    cuts = []
    for coupling in couplings:
        where = f"coupling {coupling.name!r}: "
        if coupling.name in reserved:
            raise ModelError(f"{where}a joint has this name; choose another one")
        for name in (coupling.joint, *(leader for leader, _ in coupling.follows)):
            if name not in places:
                raise ModelError(
                    where + unknown_name("coordinate of the tree that can follow", name, places)
                )
        own = places[coupling.joint]
        leaders = tuple((places[leader], ratio) for leader, ratio in coupling.follows)
        if own in (leader for leader, _ in leaders):
            raise ModelError(f"{where}{coupling.joint!r} follows itself; name two coordinates")
        row = Coupled(own, leaders, coupling.offset)
        (parent, child), before, _ = bodies[own.body]
        if leaders:
            before = leaders[0][0].body
            (_, parent), *_ = bodies[before]
        ends, links = (before, own.body), (parent, child)
        here = Frame.identity()
        cuts.append(Cut(coupling.name, "coupling", *ends, links, here, here, (row,), here))
    return cuts
