"""The public names of `mbd_bridge.loads.poses`, each with its module."""

from mbd_bridge.loads.poses.worst import (
    PoseExtreme as PoseExtreme,
    WorstPoses as WorstPoses,
    worst_pose as worst_pose,
)
