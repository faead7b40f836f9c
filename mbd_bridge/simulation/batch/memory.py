"""Memories of the trajectories of a batch: where motions begin, and where forces have jumped."""

from __future__ import annotations

import numpy as np

from mbd_bridge.kernels.run.march import March
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.carried import CARRIED
from mbd_bridge.simulation.steps.by_scheme import SchemeStep
from mbd_bridge.simulation.trajectory import held, instants


class BatchMemory:
    """The memories of many trajectories of a system."""

    def __init__(self, step: SchemeStep) -> None:
        self._step, self._kernel = step, step.start_kernel()

    def begun(self, q: Array, v: Array, t: Array, own: Array) -> Array:
        """Return t (L, ...) with the memories of motions that begin at states.

        Parameters
        ----------
        q, v, t : (L, nq), (L, nv), (L, size) states; a memory in t does not matter
        own : (L,) the numbers of the trajectories
        """
        system, behind = self._step.system, CARRIED + self._step.system.nz
        time = np.concatenate([t[:, :1], t[:, CARRIED:behind]], axis=1)
        now = instants(system, t[:1, 0], own)[0]
        more = [] if system.parameters is None else [system.parameters.inputs[own]]
        (memory,) = self._kernel(q, v, time, held(system, own), now, *more)
        return np.concatenate([t[:, :behind], memory], axis=1)

    def renew(self, march: March, stage: Array, own: Array) -> None:
        """Renew the memories in a stage, after a jump of forces."""
        q, v, t = (part.reshape(march.lanes, -1) for part in march.state_of(stage))
        march.put(stage, q, v, self.begun(q, v, t, own))
