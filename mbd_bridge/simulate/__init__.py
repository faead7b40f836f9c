"""Motion in time: steps, the driver, results."""

from mbd_bridge.simulate.driver import simulate
from mbd_bridge.simulate.simulation import Simulation

__all__ = ["Simulation", "simulate"]
