"""Dynamics of a mechanism as functions that can be traced, and as kernels."""

from mbd_bridge.solve.dynamics import FUNCTIONS, Dynamics, prepare
from mbd_bridge.solve.finite import explain
from mbd_bridge.solve.forward import ForwardDynamics

__all__ = ["FUNCTIONS", "Dynamics", "ForwardDynamics", "explain", "prepare"]
