"""The public names of `mbd_bridge.forces.roads`, each with its module."""

from mbd_bridge.forces.roads.grid import Grid as Grid
from mbd_bridge.forces.roads.profile import (
    Profile as Profile,
    RandomRoad as RandomRoad,
    enveloped as enveloped,
)
from mbd_bridge.forces.roads.shapes import (
    Bump as Bump,
    Flat as Flat,
    MovingRoad as MovingRoad,
    Ramp as Ramp,
    Road as Road,
    RoadSurface as RoadSurface,
    Sine as Sine,
    SumOfRoads as SumOfRoads,
    TwoTracks as TwoTracks,
)
