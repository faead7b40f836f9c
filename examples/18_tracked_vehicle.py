"""What does the driver of a tracked vehicle feel on a bump? Lee94 7.1: 13 bodies."""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.forces import SimpleTyre
from mbd_bridge.forces.roads import Bump

# tracked_vehicle.forces.yaml has its torsion bars and hydropneumatic units
vehicle = mbd.load(Path(__file__).parents[1] / "urdf" / "tracked_vehicle.urdf", floating=True)

# The paper's bump is 20.8 m ahead and has a radius of 10 in. A wheel of 0.33 m, with the track
# under it, meets an arc of the sum of both radii. Chosen: what its rubber and the soil resist.
WHEEL, RADIUS, AT = 0.33, 0.254, 20.8
STIFFNESS, DAMPING = 800e3, 4e3  # N/m, N s/m
road = Bump(AT, 2 * np.sqrt((WHEEL + RADIUS) ** 2 - WHEEL**2), RADIUS, shape="arc")
wheels = [
    SimpleTyre(
        f"arm_{side}_{k}",
        radius=WHEEL,
        stiffness=STIFFNESS,
        damping=DAMPING,
        friction=0.0,
        road=road,
        centre=(-0.45, 0.3 * sign, -0.2),
        name=f"wheel_{side}_{k}",
    )
    for side, sign in (("left", 1.0), ("right", -1.0))
    for k in range(1, 7)
]

q, v = vehicle.neutral(), np.zeros(vehicle.nv)
weight = (44000 + 12 * 450) * 9.81
q[2], v[0] = 0.55 + WHEEL - weight / 12 / STIFFNESS, 11.0  # in equilibrium, at 11 m/s
run = mbd.simulate(vehicle, 3.5, step=5e-4, every=4, q=q, v=v, forces=[*vehicle.forces, *wheels])

# The driver's acceleration along the hull's z, from those of the hull; m/s²
SEAT = np.array([1.3, 0.2, 0.1])
turn, turning = run.v[:, 3:6], run.a[:, 3:6]
swing = np.cross(turning, SEAT) + np.cross(turn, np.cross(turn, SEAT))
felt = (run.a[:, :3] + np.cross(turn, run.v[:, :3]) + swing)[:, 2]

parts = run.force_elements
load = np.array([parts[wheel.name]["normal_force"] for wheel in wheels])
print(f"{vehicle.nq} coordinates, {len(vehicle.model.cuts)} loops")
print(f"driver: {felt.min():.2f} ... {felt.max():.2f} m/s²")
print(f"wheels: {load.max() / 1e3:.0f} kN at most; all twelve on the road: {(load > 0).all()}")
print(f"hull: {np.ptp(run.q[:, 2]):.3f} m up and down, {v[0] - run.v[-1, 0]:.2f} m/s slower")
