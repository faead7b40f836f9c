"""Noise in measured motions: estimated, kept out of rates, and what is left of it as a band."""

from mbd_bridge.motion.options import OFF, Smooth, Smoothing
from mbd_bridge.motion.smoothing.plan import (
    JointToSmooth,
    Plan,
    States,
    blocks_of,
    coordinate_noise,
    make_plan,
)
from mbd_bridge.motion.smoothing.records import (
    BAND,
    Channel,
    CoordinateNoise,
    MotionNoise,
    MotionUncertainty,
)

__all__ = [
    "BAND",
    "OFF",
    "Channel",
    "CoordinateNoise",
    "JointToSmooth",
    "MotionNoise",
    "MotionUncertainty",
    "Plan",
    "Smooth",
    "Smoothing",
    "States",
    "blocks_of",
    "coordinate_noise",
    "make_plan",
]
