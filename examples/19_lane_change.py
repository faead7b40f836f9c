"""A car changes lanes: MacPherson struts, rack and pinion, twist beam. KimYoo97, section 6."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.forces import SimpleTyre
from mbd_bridge.functions import clip, sin

# macpherson_car.loops.yaml closes its loops, macpherson_car.forces.yaml has springs and dampers
car = mbd.load(Path(__file__).parents[1] / "urdf" / "macpherson_car.urdf", floating=True)
print(car.loops.report(car.neutral()))

# Tyres hold the car in its lane; along the road they exert no force
WHEELS = [f"wheel_{row}_{side}" for row in ("front", "rear") for side in ("left", "right")]
RADIUS, STIFFNESS, SPEED = 0.3, 180e3, 40 / 3.6  # m, N/m, m/s
tyres = [
    SimpleTyre(wheel, RADIUS, STIFFNESS, 300.0, slip_stiffness=(0.0, 15.0), name=wheel)
    for wheel in WHEELS
]


def rack(t):
    """Return the rack's travel, m: 1 cm to one side and to the other between 4 and 8 s."""
    x = np.pi / 2 * clip(t - 4.0, 0.0, 4.0)
    return 0.01 / (0.75 * np.sqrt(3.0)) * (sin(x) - sin(2.0 * x) / 2.0)


q, v = car.neutral(), np.zeros(car.nv)
q[2], v[0] = 0.535, SPEED
v[[car.model.velocity_names.index(wheel) for wheel in WHEELS]] = SPEED / (RADIUS - 0.015)
system = mbd.System(car, forces=[*car.forces, *tyres], prescribed={"rack": rack})
run = system.simulate(10.0, q=q, v=v, every=10)
after = run.time >= 4.0  # it has settled on its springs
x, y = run.q[after, 0], run.q[after, 1]
yaw = 2.0 * np.arctan2(run.q[:, 5], run.q[:, 6])
aside = run.a[:, 1] + run.v[:, 5] * run.v[:, 0] - run.v[:, 3] * run.v[:, 2]
print(f"{run.steps} steps, loops closed to {run.closure.max():.0e}")
print(f"{np.ptp(x):.1f} m ahead, {np.ptp(y):.2f} m aside, {np.abs(aside[after]).max():.2f} m/s²")
roll = np.abs(run.v[after, 3]).max()
print(f"yaw {np.degrees(np.abs(yaw[after]).max()):.1f} degrees, roll rate {roll:.3f} rad/s")

# Tyres that grip along the road too are stiff: long steps must be implicit, with loops and all
gripping = [replace(tyre, slip_stiffness=(15.0, 15.0)) for tyre in tyres]
stiff = mbd.System(car, forces=[*car.forces, *gripping], prescribed={"rack": rack})
exact = stiff.simulate(10.0, q=q, v=v, every=20)
long = {"q": q, "v": v, "step": 0.02, "check": False}
implicit = stiff.simulate(10.0, integrator="newmark", **long)
off, closed = 1e3 * np.abs(implicit.q - exact.q)[:, :3].max(), implicit.closure.max()
print(f"implicit Newmark, 20 ms: {off:.2f} mm off, closed to {closed:.0e}")
print(f"RK4, 20 ms: {stiff.simulate(10.0, **long).status.partition(':')[0]}")
