"""What actuators did in a simulation: torque inputs and the forces of prescribed motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from mbd_bridge.simulation.results.simulation import Simulation


def efforts(run: Simulation) -> Array:
    """Return the generalised forces (K, nv) of actuators at all records, N m or N.

    What force elements exert is not among them.
    """
    system = run.system
    own = tuple(part for part in system.torques if not part.of_element)
    tau = np.zeros_like(run.v)
    if len(own) == len(system.torques):
        tau += run.tau
    elif own:
        inputs = Trajectory(system.with_parts(torques=own), run.trajectory.number)
        tau += inputs.acting(run.time, run.q, run.v, None, run.z)[0]
    if system.prescribed:
        tau[:, list(system.prescribed_velocities)] += run.prescribed_forces.force
    return tau
