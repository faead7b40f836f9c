"""Whether force elements that store and lose energy gave some, by steps too long for them.

    H = E + Σ U,   dH/dt = -Σ D,   D >= 0

A machine on which nothing else acts cannot gain H. Implicit steps sum up work as displacement times
the mean of the forces at both ends; for the trapezoidal rule that is the gain of kinetic energy,
however wrong the forces are. So their balance does not tell of an impact within a step. This does.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.simulate.checks.diagnosis import step_too_long
from mbd_bridge.simulate.checks.watch import spread
from mbd_bridge.simulate.inputs.element_forces import ElementForces
from mbd_bridge.simulate.results.energy import energy_kernel
from mbd_bridge.simulate.results.force_elements import force_elements
from mbd_bridge.simulate.system import System
from mbd_bridge.simulate.trajectory import Trajectory
from mbd_bridge.solve.tolerances import ACTIVE_POWER, GAINED_ENERGY
from mbd_bridge.spatial import Array

LIBRARY = "mbd_bridge.forces."
"""Where elements are whose energy and dissipation are tested."""


def only_elements(system: System) -> bool:
    """Return whether nothing but the library's force elements acts: users' may tell no energy."""
    signals = [part.signal for part in system.parts]
    own = all(type(element).__module__.startswith(LIBRARY) for element in system.forces)
    return own and bool(signals) and all(isinstance(one, ElementForces) for one in signals)


def gained(
    trajectory: Trajectory, time: Array, q: Array, v: Array, z: Array, h: float, most: int
) -> tuple[int, str] | None:
    """Return the last record before H has grown, and what is to be said; None if it has not.

    Parameters
    ----------
    time, q, v, z : (K,), (K, nq), (K, nv), (K, nz) of the records, `most` of which are looked at
    """
    looks = spread(len(time), most)
    state = q[looks], v[looks]
    found = force_elements(trajectory, time[looks], *state, z[looks])
    if (found.dissipation < -ACTIVE_POWER * np.abs(found.dissipation).max(initial=0.0)).any():
        return None
    whole, still = (x[:, 0] for x in energy_kernel(trajectory.model)(*state))
    stored = still + found.energy
    scale = max(float((whole - still).max()), float(np.ptp(stored)))
    total = whole + found.energy
    gain = total - np.minimum.accumulate(total)
    bad = np.flatnonzero(~(gain <= GAINED_ENERGY * scale))
    if not scale > 0.0 or not len(bad):
        return None
    first = int(bad[0])
    return int(looks[max(0, first - 1)]), (
        f"force elements that only store and lose energy gave {gain[first]:.3g} J where "
        f"{scale:.3g} J move, by t = {time[looks[first]]:.6g} s; {step_too_long(h)}"
    )
