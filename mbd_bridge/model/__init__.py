"""The joint table, the graph, the spanning tree and the immutable model."""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
