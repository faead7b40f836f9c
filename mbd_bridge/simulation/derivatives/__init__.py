"""Derivatives of a simulation by its start, by what acts, and by the machine's own numbers."""

from mbd_bridge.simulation.derivatives.gradient import SimulationGradient, SimulationGradientSolver
from mbd_bridge.simulation.derivatives.result import SimulationDerivatives
from mbd_bridge.simulation.derivatives.solver import SimulationDerivativeSolver

__all__ = [
    "SimulationDerivativeSolver",
    "SimulationDerivatives",
    "SimulationGradient",
    "SimulationGradientSolver",
]
