"""Motion in time: steps, the driver, results."""

from mbd_bridge.simulation.batch.result import SimulationBatch
from mbd_bridge.simulation.batch.run import simulate
from mbd_bridge.simulation.results.simulation import Simulation
from mbd_bridge.simulation.right_hand_side import RightHandSide, right_hand_side

__all__ = ["RightHandSide", "Simulation", "SimulationBatch", "right_hand_side", "simulate"]
