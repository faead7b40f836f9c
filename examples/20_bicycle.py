"""A bicycle balances itself: weave and capsize speed of the Whipple bicycle."""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

BICYCLE = Path(__file__).parents[1] / "urdf" / "whipple_bicycle.urdf"
REAR_RADIUS = 0.3
"""m"""

bicycle = mbd.load(BICYCLE)

# At rest, upright: what the wheels carry. A force along the normal, at the contact.
still = np.zeros(bicycle.nv)
wheels = bicycle.joint_loads(
    bicycle.neutral(),
    still,
    still,
    joints=["rear_contact", "front_contact"],
    actuated=[],
    at="parent",
    in_="world",
)
for name, force in zip(wheels.joints, wheels.force, strict=True):
    print(f"{name} carries {force[2]:.3f} N")

# Straight on at some speeds: is it stable, and how does it oscillate?
for speed in (3.0, 5.0, 7.0):
    steady = mbd.linear.steady_motion(bicycle, {"rear_wheel": speed / REAR_RADIUS})
    model = mbd.linear.linearise(bicycle, steady, coordinates=["frame.rx", "steer", "rear_wheel"])
    weave = next(mode for mode in model.modes if mode.oscillates)
    verdict = "stable" if model.stable else "unstable"
    print(
        f"{speed:g} m/s: {verdict}; the weave has {weave.frequency:.3f} Hz, "
        f"damping ratio {weave.damping_ratio:.3f}"
    )

# Given a push, it does so in the nonlinear run too.
start = bicycle.assemble(
    {"frame.qx": 0.01}, velocity={"rear_wheel": 5.0 / REAR_RADIUS}, fixed=["rear_wheel"]
)
run = bicycle.simulate(6.0, q=start.q, v=start.v, every=2000)
x, y, z, w = run.q[:, 3:7].T
lean = np.degrees(np.arcsin(2.0 * (y * z + x * w)))
for t, angle in zip(run.time, lean, strict=True):
    print(f"t = {t:g} s: lean {angle:.3f} deg")
