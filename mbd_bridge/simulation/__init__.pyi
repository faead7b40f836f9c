"""The public names of `mbd_bridge.simulation`, each with its module."""

from mbd_bridge.simulation.batch.result import SimulationBatch as SimulationBatch
from mbd_bridge.simulation.batch.run import simulate as simulate
from mbd_bridge.simulation.rates import (
    RightHandSide as RightHandSide,
    right_hand_side as right_hand_side,
)
from mbd_bridge.simulation.results.simulation import Simulation as Simulation
