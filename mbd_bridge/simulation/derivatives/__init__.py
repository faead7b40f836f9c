"""Derivatives of a simulation by its start, by what acts, and by the machine's own numbers."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
