"""How does a driver ride over a bump? The vehicle of Lee94 7.3: five degrees of freedom."""

from functools import partial
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.functions import clip, cos, sin

TYRE = 262690.2529, 875.6341762  # N/m, N s/m: 1500 lb/in and 5 lb s/in
WEIGHT = {"front_wheel": 14746.887144, "rear_wheel": 7427.062953}  # N on each tyre
LATER = {"front_wheel": 0.0, "rear_wheel": 120 / 450}  # s; the wheelbase is 120 in, 450 in/s
BUMP, RISE, FALL = 0.127, 360 / 450, 144 / 450  # 5 in high, 360 in up, 144 in down: chosen


def road(t):
    """Return height and its rate where the front wheel is."""
    up, down = np.pi * clip(t / RISE, 0, 1), np.pi * clip((t - RISE) / FALL, 0, 1)
    height = BUMP / 2 * (cos(down) - cos(up))
    return height, BUMP / 2 * np.pi * (sin(up) / RISE - sin(down) / FALL)


def tyre(wheel, t, q, v):
    """Return the force of a tyre on its wheel: a spring and a damper over the road."""
    height, rate = road(t - LATER[wheel])
    press = height - (vehicle.placement(q, wheel)[2, 3] - 0.4)
    pressing = rate - vehicle.velocity(q, v, wheel)[2]
    return np.array([0, 0, WEIGHT[wheel] + TYRE[0] * press + TYRE[1] * pressing, 0, 0, 0])


def height(link, t, q, v):
    """Return how high a link is, m."""
    return vehicle.placement(q, link)[2, 3]


# five_dof_vehicle.forces.yaml has springs and dampers; they carry the weight at zero coordinates
vehicle = mbd.load(Path(__file__).parents[1] / "urdf" / "five_dof_vehicle.urdf")
run = vehicle.simulate(
    2.5,
    step=1 / 6000,
    every=60,
    external={wheel: partial(tyre, wheel) for wheel in WEIGHT},
    external_in="world",
    outputs={link: partial(height, link) for link in ("seat", "chassis", *WEIGHT)},
)
for name, curve in (run.outputs | {"pitch": run.q[:, 1]}).items():
    rise, unit = curve - curve[0], "rad" if name == "pitch" else "m"
    print(f"{name:<12} {rise.min():8.4f} ... {rise.max():.4f} {unit}")
