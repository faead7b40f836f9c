"""The public names of `mbd_bridge.simulation.derivatives`, each with its module."""

from mbd_bridge.simulation.derivatives.solver import (
    SimulationDerivatives as SimulationDerivatives,
    SimulationDerivativeSolver as SimulationDerivativeSolver,
    SimulationGradient as SimulationGradient,
    SimulationGradientSolver as SimulationGradientSolver,
)
