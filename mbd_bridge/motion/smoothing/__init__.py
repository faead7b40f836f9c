"""Noise in measured motions: estimated, kept out of rates, and what is left of it as a band."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
