"""The bridge to pybullet: as a referee for trees of revolute and prismatic joints."""

from mbd_bridge.bridges.pybullet.referee import PybulletReferee

__all__ = ["PybulletReferee"]
