"""Roads for tyres: heights and slopes over the ground, in the world's axes, z up."""

from mbd_bridge.forces.roads.grid import Grid
from mbd_bridge.forces.roads.profile import Profile, RandomRoad, enveloped
from mbd_bridge.forces.roads.shapes import (
    Bump,
    Flat,
    MovingRoad,
    Ramp,
    Road,
    RoadSurface,
    Sine,
    SumOfRoads,
    TwoTracks,
)

__all__ = [
    "Bump",
    "Flat",
    "Grid",
    "MovingRoad",
    "Profile",
    "Ramp",
    "RandomRoad",
    "Road",
    "RoadSurface",
    "Sine",
    "SumOfRoads",
    "TwoTracks",
    "enveloped",
]
