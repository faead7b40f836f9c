"""Dynamics of a mechanism as functions that can be traced, and as kernels."""

from mbd_bridge.solve.dynamics import FUNCTIONS, Dynamics, prepare

__all__ = ["FUNCTIONS", "Dynamics", "prepare"]
