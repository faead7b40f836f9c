"""External forces of a process: tables over time, a coordinate or a link's position; sensors."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
