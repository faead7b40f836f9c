"""Roads of every kind."""

import numpy as np

from mbd_bridge.forces.roads import (
    Bump,
    Flat,
    Grid,
    MovingRoad,
    Profile,
    Ramp,
    RandomRoad,
    Sine,
    TwoTracks,
    enveloped,
)

PLACES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])

HEIGHTS = np.array([0.0, 0.03, -0.02, 0.05, 0.04, 0.01])

GRID_X, GRID_Y = np.linspace(0.3, 2.7, 13), np.array([-1.1, -0.4, 0.3, 1.0])

GRID_Z = 0.05 * np.sin(3 * GRID_X[:, None] + GRID_Y) * (1 + GRID_Y**2)

ROADS = {
    "flat": Flat(0.2),
    "ellipse": Bump(1.5, 1.0, 0.1),
    "arc": Bump(1.5, 1.0, 0.1, "arc"),
    "pothole": Bump(1.5, 1.0, -0.1, "arc"),
    "sine bump": Bump(1.5, 1.0, 0.1, "sine"),
    "versine": Bump(1.5, 1.0, 0.1, "versine"),
    "ramp": Ramp(1.0, 0.5, 0.2),
    "step": Ramp(1.0, 0.05, 0.1, smooth=True),
    "waves": Sine(0.02, 0.7, 0.1),
    "lines": Profile(PLACES, HEIGHTS),
    "spline": Profile(PLACES, HEIGHTS, "cubic"),
    "random": RandomRoad("E", seed=4, length=20.0, coherence="isotropic"),
    "grid": Grid(GRID_X, GRID_Y, GRID_Z),
    "smooth grid": Grid(GRID_X, GRID_Y, GRID_Z, "cubic"),
    "tracks": TwoTracks(Sine(0.02, 0.7), Bump(1.5, 1.0, 0.1, "sine")),
    "sum": Sine(0.02, 0.7) + Ramp(1.0, 0.5, 0.2),
    "belt": MovingRoad(Sine(0.02, 0.7), (-3.0, 0.5)),
    "enveloped": enveloped(Bump(1.5, 1.0, 0.1), 0.3, 0.0, 3.0, 0.02),
}
