"""The load in cross sections of a flexible beam, from the equilibrium of the part beyond each.

What the side of the root exerts on the part beyond the section at x is what the mass of that part
needs for its motion, and what hangs on its stations passes on:

    W(x) = ∫_beyond (rate of momentum) + Σ_stations beyond (what the beam exerts there)

The first is `flexible.flexible_loads` with the mass integrals of that part alone, the second are
joint loads. This has the loads' jumps at stations and no error of derivatives of modes, unlike
E I w''.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.equations.flexible import flexible_loads
from mbd_bridge.equations.newton_euler import body_rates
from mbd_bridge.model import FlexibleBody, Model
from mbd_bridge.model.joint_table import Deflection
from mbd_bridge.model.spatial import Array, Frame, cross, zeros


@dataclass(frozen=True, eq=False)
class SectionCut:
    """A cross section of a flexible link.

    Attributes
    ----------
    beyond : the link with the mass integrals of the part beyond the section, in its body's frame
    motion : of the section, as a station
    frame : of the section when it is not deformed, x along the beam, in the link
    stations : bodies of the stations beyond
    """

    beyond: FlexibleBody
    motion: Deflection
    frame: Frame
    stations: tuple[int, ...]


def section_loads(
    model: Model,
    cuts: list[SectionCut],
    q: Array,
    v: Array,
    a: Array,
    at_stations: dict[int, Array],
) -> Array:
    """Return force and moment (cuts, 6) of the root's side on the part beyond, in section axes.

    Parameters
    ----------
    at_stations : by body of a station, (6,) what the beam exerts there on what hangs on it, at the
        station's origin, in its axes
    """
    rates = body_rates(model, q, v, a)
    out = zeros((len(cuts), 6), q, v, a, *at_stations.values())
    for number, cut in enumerate(cuts):
        part = cut.beyond
        wrench = flexible_loads(part, q, v, a, *rates[part.body]).wrench
        for body in cut.stations:
            own = model.bodies[body]
            motion = own.type.motion(q[part.q], v[part.v])
            turn = own.placement.rotation @ motion.rotation
            place = own.placement.translation + own.placement.rotation @ motion.position
            force, moment = turn @ at_stations[body][:3], turn @ at_stations[body][3:]
            wrench = wrench + np.concatenate([force, moment + cross(place, force)])
        link = model.links[part.link].frame
        motion = cut.motion.motion(q[part.q], v[part.v])
        place = link.translation + link.rotation @ (cut.frame.translation + motion.position)
        turn = link.rotation @ motion.rotation @ cut.frame.rotation
        out[number, :3] = turn.T @ wrench[:3]
        out[number, 3:] = turn.T @ (wrench[3:] - cross(place, wrench[:3]))
    return out
