"""What files say: readers that turn URDF and loop descriptions into frozen descriptions."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
