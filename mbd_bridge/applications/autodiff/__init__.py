"""Loads with their derivatives as functions of JAX, PyTorch and CasADi."""

from mbd_bridge.applications.autodiff.frameworks import LoadFunction, LoadParts

__all__ = ["LoadFunction", "LoadParts"]
