"""Derivatives of a simulation by its start, by what acts, and by the machine's own numbers."""

from mbd_bridge.simulation.derivatives.solver import (
    SimulationDerivatives,
    SimulationDerivativeSolver,
    SimulationGradient,
    SimulationGradientSolver,
)

__all__ = [
    "SimulationDerivativeSolver",
    "SimulationDerivatives",
    "SimulationGradient",
    "SimulationGradientSolver",
]
