"""Flexible links: beams, their modes and mass integrals, as pure functions of plain numbers."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
