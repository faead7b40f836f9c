"""The bridge to pybullet: steps of ours in its worlds; and it as a referee for trees.

    import mbd_bridge.engines.pybullet as p      # instead of: import pybullet as p

has all names of pybullet (`drop_in`), and moves the machines of a script by our equations.
"""

from importlib import import_module
from typing import Any

from mbd_bridge.engines.pybullet.referee import PybulletReferee
from mbd_bridge.engines.pybullet.stepper import Stepper

__all__ = ["PybulletReferee", "Stepper"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # here, since it imports pybullet
    return getattr(import_module("mbd_bridge.engines.pybullet.drop_in"), name)
