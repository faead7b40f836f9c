"""Dynamics of a mechanism as functions that can be traced, and as kernels."""

from mbd_bridge.solve.assembly import Assembly, assemble
from mbd_bridge.solve.check_states import explain
from mbd_bridge.solve.constrained import ConstrainedDynamics
from mbd_bridge.solve.dynamics import FUNCTIONS, Dynamics, ForwardDynamics, prepare
from mbd_bridge.solve.loops import LoopReport, report

__all__ = [
    "FUNCTIONS",
    "Assembly",
    "ConstrainedDynamics",
    "Dynamics",
    "ForwardDynamics",
    "LoopReport",
    "assemble",
    "explain",
    "prepare",
    "report",
]
