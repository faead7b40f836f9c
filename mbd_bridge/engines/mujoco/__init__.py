"""The bridge to MuJoCo: its compiler reads MJCF."""

from mbd_bridge.engines.mujoco.read import read_mjcf

__all__ = ["read_mjcf"]
