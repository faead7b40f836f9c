"""Motion in time: steps, the driver, results."""

from mbd_bridge.simulate.driver import simulate
from mbd_bridge.simulate.right_hand_side import RightHandSide, right_hand_side
from mbd_bridge.simulate.simulation import Simulation

__all__ = ["RightHandSide", "Simulation", "right_hand_side", "simulate"]
