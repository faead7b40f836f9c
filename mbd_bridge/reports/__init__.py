"""A page about a machine and a motion: what it carries, what its actuators need, who agrees."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
