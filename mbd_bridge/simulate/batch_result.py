"""The motions of a batch, as its user gets them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.simulate.batch_start import RowSets
from mbd_bridge.simulate.motions import prescribe
from mbd_bridge.simulate.signals import Signals
from mbd_bridge.simulate.simulation import Simulation
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.spatial import Array


@dataclass(frozen=True, eq=False)
class SimulationBatch:
    """States of N trajectories of one mechanism along time.

    Attributes
    ----------
    model : the mechanism
    time : (K,) s
    q, v : (N, K, nq), (N, K, nv): rad or m, and their rates; nan after a trajectory stopped
    status : N times "finished", or why a trajectory ended before its time
    alone : numbers of the trajectories that were simulated outside the lanes
    steps, step : of each trajectory; s
    signals : forces and prescribed motions
    parameters : in which the trajectories' mechanisms differ, or none
    row_sets : independent rows of the constraints, and who went by them
    prepared : holds the machine code of the mechanism
    """

    model: Model
    time: Array
    q: Array
    v: Array
    status: tuple[str, ...]
    alone: tuple[int, ...]
    steps: int
    step: float
    signals: Signals
    parameters: Parameters | None
    row_sets: RowSets
    prepared: Prepared

    @property
    def finished(self) -> Array:
        """Which trajectories were simulated to the end (N,)."""
        return np.array([status == "finished" for status in self.status])

    def __len__(self) -> int:
        return len(self.q)

    def model_of(self, number: int) -> Model:
        """Return the mechanism of one trajectory."""
        return self.model if self.parameters is None else self.parameters.variant(number)

    def __getitem__(self, number: int) -> Simulation:
        """Return one trajectory, as far as it goes: energies, accelerations, loads."""
        there = np.isfinite(self.q[number]).all(axis=-1)
        time, q, v = self.time[there], self.q[number, there], self.v[number, there]
        model, signals = self.model_of(number), self.signals
        (tau,) = signals.tau(time, q[None], v[None], np.array([number]))
        drives, motions = signals.drives_of(number), None
        if drives is not None:
            motions = prescribe(model, drives, float(self.time[0]), float(self.time[-1]))
        taken = round(float(time[-1] - time[0]) / self.step) if len(time) else 0
        told = taken, self.step, self.status[number], 0
        return Simulation(model, time, q, v, tau, *told, motions=motions)

    def __repr__(self) -> str:
        return (
            f"SimulationBatch({self.model.name!r}: {len(self)} trajectories of {self.steps} steps "
            f"of {self.step:g} s, {len(self.time)} records, {int(self.finished.sum())} finished)"
        )
