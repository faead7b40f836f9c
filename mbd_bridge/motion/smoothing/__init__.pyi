"""The public names of `mbd_bridge.motion.smoothing`, each with its module."""

from mbd_bridge.motion.options import OFF as OFF, Smooth as Smooth, Smoothing as Smoothing
from mbd_bridge.motion.smoothing.plan import (
    JointToSmooth as JointToSmooth,
    Plan as Plan,
    States as States,
    blocks_of as blocks_of,
    coordinate_noise as coordinate_noise,
    make_plan as make_plan,
)
from mbd_bridge.motion.smoothing.records import (
    BAND as BAND,
    Channel as Channel,
    CoordinateNoise as CoordinateNoise,
    MotionNoise as MotionNoise,
    MotionUncertainty as MotionUncertainty,
)
