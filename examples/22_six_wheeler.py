"""Can a 6x6 vehicle be simulated at steps of 20 ms? Cho09, over bumps: implicit beside explicit."""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.forces import SimpleTyre
from mbd_bridge.forces.roads import Bump, TwoTracks, enveloped

# six_wheeler.forces.yaml has its rotary springs and dampers
vehicle = mbd.load(Path(__file__).parents[1] / "urdf" / "six_wheeler.urdf", floating=True)

# Half-elliptic bumps under the left and the right wheels, one after the other; their size and what
# tyres resist along the road are chosen: the paper's figure is lost. Wheels of 0.2 m meet a bump
# before they are above it, which `enveloped` counts in.
RADIUS, STIFFNESS, DAMPING = 0.2, 175e3, 2000.0
bumps = TwoTracks(left=Bump(8.0, 1.0, 0.1, "ellipse"), right=Bump(8.7, 1.0, 0.1, "ellipse"))
road = enveloped(bumps, RADIUS, 6.0, 11.0)
ROWS = {"front": -0.0515297329, "middle": 0.0, "rear": 0.0515297329}  # rad, arms in equilibrium
SIDES = "left", "right"
tyres = [
    SimpleTyre(
        f"wheel_{row}_{side}", radius=RADIUS, stiffness=STIFFNESS, damping=DAMPING,
        slip_stiffness=(4.0, 4.0), friction=0.9, direction="vertical",
        road=road, name=f"tyre_{row}_{side}",
    )
    for row in ROWS
    for side in SIDES
]  # fmt: skip

SPEED, HEIGHT = 5.0, 0.1617944411  # m/s, m
q, v = vehicle.neutral(), np.zeros(vehicle.nv)
q[2], v[0] = HEIGHT, SPEED
for row, angle in ROWS.items():
    for side in SIDES:
        q[vehicle.coordinate_names.index(f"arm_{row}_{side}")] = angle
        rolling = SPEED / (HEIGHT - 0.5 * np.sin(angle))  # the loaded radius
        v[vehicle.model.velocity_names.index(f"wheel_{row}_{side}")] = rolling

system = mbd.System(vehicle, forces=[*vehicle.forces, *tyres])
exact = system.simulate(5.5, step=5e-4, every=20, q=q, v=v)  # a record every 10 ms
peaks = np.abs(exact.a[:, [2, 4]]).max(axis=0)
print(f"peaks: heave {peaks[0]:.2f} m/s², pitch {peaks[1]:.2f} rad/s²; away from them (RMS):")
runs = {}
for integrator in ("newmark", "rk4", "explicit_newmark"):
    for h in (0.01, 0.02):
        run = system.simulate(5.5, step=h, q=q, v=v, integrator=integrator, check=False)
        runs[integrator, h] = run
        said = f"given up at {run.time[-1]:.2f} s"
        if run.finished:
            away = run.a[:, [2, 4]] - exact.a[:: round(h / 0.01), [2, 4]]
            heave, pitch = np.sqrt(np.mean(away**2, axis=0))
            said = f"{heave:.3f} m/s², {pitch:.3f} rad/s²"
        print(f"{integrator:<17}{1e3 * h:3.0f} ms: {said}")
