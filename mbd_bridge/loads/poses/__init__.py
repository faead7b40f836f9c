"""Loads of a machine at rest over all poses that it can take."""

from mbd_bridge.loads.poses.worst import PoseExtreme, WorstPoses, worst_pose

__all__ = ["PoseExtreme", "WorstPoses", "worst_pose"]
