"""The public names of `mbd_bridge.loads.derivatives`, each with its module."""

from mbd_bridge.loads.derivatives.gradient import (
    GradientSolver as GradientSolver,
    KnotMotion as KnotMotion,
    NumberGradient as NumberGradient,
    smallest_peak as smallest_peak,
)
from mbd_bridge.loads.derivatives.request import DerivativeRequest as DerivativeRequest
from mbd_bridge.loads.derivatives.result import LoadDerivatives as LoadDerivatives
from mbd_bridge.loads.derivatives.solver import DerivativeSolver as DerivativeSolver
