"""Dynamics of a mechanism as functions that can be traced, and as kernels."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
