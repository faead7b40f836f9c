"""The bridge to pybullet: steps of ours in its worlds; and it as a referee for trees."""

from mbd_bridge.engines.pybullet.referee import PybulletReferee
from mbd_bridge.engines.pybullet.stepper import Stepper

__all__ = ["PybulletReferee", "Stepper"]
