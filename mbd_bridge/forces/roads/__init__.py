"""Roads for tyres: heights and slopes over the ground, in the world's axes, z up."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
