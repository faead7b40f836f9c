"""One state, several providers, a table of relative errors and a verdict."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
