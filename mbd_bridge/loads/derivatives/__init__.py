"""Derivatives of joint loads by states, by what acts, and by the machine's own numbers."""

from mbd_bridge.loads.derivatives.gradient import (
    GradientSolver,
    KnotMotion,
    NumberGradient,
    smallest_peak,
)
from mbd_bridge.loads.derivatives.request import DerivativeRequest
from mbd_bridge.loads.derivatives.result import LoadDerivatives
from mbd_bridge.loads.derivatives.solver import DerivativeSolver

__all__ = [
    "DerivativeRequest",
    "DerivativeSolver",
    "GradientSolver",
    "KnotMotion",
    "LoadDerivatives",
    "NumberGradient",
    "smallest_peak",
]
