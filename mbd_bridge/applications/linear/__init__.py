"""Small motions: static equilibrium, steady motion, linear models about both, modes."""

from mbd_bridge.applications.linear.linearise import linearise
from mbd_bridge.applications.linear.model import LinearModel, Mode, plot_eigenvalues
from mbd_bridge.applications.linear.steady import SteadyState, equilibrium, steady_motion

__all__ = [
    "LinearModel",
    "Mode",
    "SteadyState",
    "equilibrium",
    "linearise",
    "plot_eigenvalues",
    "steady_motion",
]
