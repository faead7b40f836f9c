"""What does the driver of a tracked vehicle feel on a bump? Lee94 7.1: 13 bodies."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.forces import Track
from mbd_bridge.forces.roads import Bump

# tracked_vehicle.forces.yaml has its torsion bars and hydropneumatic units
vehicle = mbd.load(Path(__file__).parents[1] / "urdf" / "tracked_vehicle.urdf", floating=True)

# The paper's bump is 20.8 m ahead and has a radius of 10 in. A wheel of 0.33 m, with the track
# under it, meets an arc of the sum of both radii. Chosen: what its rubber and the soil resist, and
# the band: its ends on the hull, tension and stiffness.
WHEEL, RADIUS, AT = 0.33, 0.254, 20.8
PADS = 800e3, 4e3  # N/m, N s/m
TENSION, BAND = 30e3, 5e6  # N, N/m
road = Bump(AT, 2 * np.sqrt((WHEEL + RADIUS) ** 2 - WHEEL**2), RADIUS, shape="arc")
loose, SEAT = [], np.array([1.3, 0.2, 0.1])
for side, sign in (("left", 1.0), ("right", -1.0)):
    wheels = [(f"arm_{side}_{k}", (-0.45, 0.3 * sign, -0.2)) for k in range(1, 7)]
    ends = [("hull", (x, 1.5 * sign, z)) for x, z in ((3.3, -0.1), (-3.3, -0.05))]
    loose.append(Track(wheels, WHEEL, *PADS, *ends, road=road, name=f"track_{side}"))


def felt_in(run: mbd.simulation.Simulation) -> np.ndarray:
    """Return the driver's acceleration along the hull's z, from those of the hull; m/s²."""
    turn, turning = run.v[:, 3:6], run.a[:, 3:6]
    swing = np.cross(turning, SEAT) + np.cross(turn, np.cross(turn, SEAT))
    return (run.a[:, :3] + np.cross(turn, run.v[:, :3]) + swing)[:, 2]


# From equilibrium with bands under tension, which couple the wheels
forces = [*vehicle.forces, *(replace(one, tension=TENSION, stiffness=BAND) for one in loose)]
weight = (44000 + 12 * 450) * 9.81
q, v = vehicle.neutral(), np.zeros(vehicle.nv)
q[2], v[0] = 0.55 + WHEEL - weight / 12 / PADS[0], 11.0
rest = mbd.linear.equilibrium(mbd.System(vehicle, forces=forces), near={"root_joint.z": q[2]})
moving = v.copy()
moving[:3] = vehicle.placement(rest.q, "hull")[:3, :3].T @ v[:3]
run = vehicle.simulate(3.5, step=5e-4, every=4, q=rest.q, v=moving, forces=forces)
felt, parts = felt_in(run), [run.force_elements[track.name] for track in loose]
load = np.array([part[f"normal_force_{k}"] for part in parts for k in range(1, 7)])
gas = [one["pressure"].max() for name, one in run.force_elements.items() if "unit" in name]
print(f"{vehicle.nq} coordinates, {len(vehicle.model.cuts)} loops")
print(f"driver: {felt.min():.2f} ... {felt.max():.2f} m/s²")
print(f"wheels: {load.max() / 1e3:.0f} kN at most; all twelve on the road: {(load > 0).all()}")
print(f"hull: {np.ptp(run.q[:, 2]):.3f} m up and down, {v[0] - run.v[-1, 0]:.2f} m/s slower")
print(f"bands: {parts[0]['tension'].max() / 1e3:.0f} kN; gas: {max(gas) / 1e5:.0f} bar at most")

# Without bands; angles are zero in equilibrium
bare = vehicle.simulate(3.5, step=5e-4, every=4, q=q, v=v, forces=[*vehicle.forces, *loose])
print(f"without bands the driver has up to {felt_in(bare).max():.2f} m/s²")
