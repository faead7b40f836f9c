"""Bring a long beam up to speed: Simo and Vu-Quoc's spin-up, with stiffening."""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

FILE = Path(__file__).parents[1] / "urdf" / "rotating_beam.urdf"
SPEED, RISE = 6.0, 15.0  # rad/s, and s until it is reached

beam = mbd.load(FILE, gravity=(0, 0, 0))
angle = f"({SPEED}/{RISE})*(t^2/2 + ({RISE}/(2*pi))^2*(cos(2*pi*t/{RISE}) - 1))"
run = beam.simulate(RISE, step=5e-3, prescribed={"hub": angle})
tip = run.q[:, 1:].sum(axis=1)  # all modes are 1 m at the end
k = int(tip.argmin())
print(
    f"deflection of the tip: {tip[k]:.4f} m at {run.time[k]:.2f} s (published -0.5738 m at 6.76 s)"
)
print(f"at full speed: within {1e3 * np.abs(tip[-100:]).max():.1f} mm")

root = run.joint_loads(["hub"])
print(f"pull at the hub: {root.force[-1, 0, 0]:.2f} N; m r w^2 is {12 * 5 * SPEED**2:g} N")
