"""What of the file has no part in motions, and whether given forces were beyond its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.warnings import motion_notes
from mbd_bridge.simulation.acting import given_kernel
from mbd_bridge.simulation.inputs.effort import EffortLimits
from mbd_bridge.simulation.trajectory import held, instants

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System


def notes_of(
    system: System,
    time: Array,
    states: tuple[Array, Array, Array],
    members: Sequence[int] | Array,
    samples: Array | None = None,
) -> tuple[str, ...]:
    """Return sentences about damping, friction, limits and efforts of the file.

    Parameters
    ----------
    time, states : (K,) s; q, v, z (N, K, ...) of N trajectories; nan where there is none
    members : (N,) numbers of these trajectories
    samples : (K, H) what one trajectory held, where Python was called; without them nothing is said
        of efforts
    """
    q, v, _ = states
    times = np.tile(time, len(q))
    flat = q.reshape(-1, q.shape[2]), v.reshape(-1, v.shape[2])
    said = motion_notes(system.model, times, *flat, system.replaced)
    return (*said, *_efforts(system, time, states, members, samples))


def limits_of(system: System) -> EffortLimits | None:
    """Return the effort limits of the joints along which forces are given; None of none."""
    given = {k for part in system.torques if not part.of_element for k in part.places}
    found = EffortLimits.of(system.model) if given else None
    return found if found is not None and given.intersection(found.places) else None


def _efforts(
    system: System,
    time: Array,
    states: tuple[Array, Array, Array],
    members: Sequence[int] | Array,
    samples: Array | None,
) -> tuple[str, ...]:
    """Return a sentence about given forces beyond the effort limits of the file, if some were."""
    limits = limits_of(system)
    if limits is None or (system.sampled and samples is None):
        return ()
    count, members = states[0].shape[1], np.asarray(members)
    own = (
        np.repeat(held(system, members)[:, None], count, axis=1)
        if samples is None
        else samples[None]
    )
    now = instants(system, time, members).transpose(1, 0, 2)
    times = np.broadcast_to(time[:, None], (len(members), count, 1))
    q, v, z = states
    rows = [q, v, np.concatenate([times, z], axis=2), own, now]
    if system.parameters is not None:
        p = system.parameters.inputs[members]
        rows.append(np.repeat(p[:, None], count, axis=1))
    there = np.asarray(np.isfinite(q).all(axis=2))
    try:
        kernel = given_kernel(system)
    except StateError:  # methods in Python take functions that cannot be traced
        return ()
    (given,) = kernel(*(np.ascontiguousarray(row[there]) for row in rows))
    return limits.note(system.effort is not None, times[there][:, 0], given)
