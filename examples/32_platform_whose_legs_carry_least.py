"""Where must the legs of a platform stand, so that the worst of them carries least?"""

import sys
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import differential_evolution
from scipy.spatial.transform import Rotation

import mbd_bridge as mbd
from mbd_bridge.loads.derivatives import smallest_peak

platform = mbd.load(Path(__file__).parents[1] / "urdf" / "stewart.urdf")
model, legs = platform.model, [f"leg_{k}" for k in range(1, 7)]
held = {"along": "platform", "actuated": legs, "links": ["platform"]}
solver = platform.compile_derivatives(legs, [f"swivel_{k}.xyz" for k in range(1, 7)], **held)
feet = [platform.placement(model.neutral(), f"cross_{k}") for k in range(1, 7)]
rods = [platform.placement(model.neutral(), f"rod_{k}") for k in range(1, 7)]
length = np.linalg.norm(rods[0][:3, 3] - feet[0][:3, 3])

shifts = product((-0.15, 0.15), (-0.15, 0.15), (-0.1, 0.1), (-0.15, 0.15), (-0.15, 0.15))
cases = [(*x, *push) for x in shifts for push in ((1500, 0), (-1500, 0), (0, 1500), (0, -1500))]
x, y, z, roll, pitch, fx, fy = np.array(cases).T  # m, rad, N
centres, turns = np.stack([x, y, z], 1), Rotation.from_euler("xy", np.stack([roll, pitch], 1))
wrenches = np.pad(turns.inv().apply(np.stack([fx, fy, 0 * fx], 1)), ((0, 0), (0, 3)))[:, None]
still, side, up = np.zeros((len(cases), model.nv)), np.array([-1, 1] * 3), np.array([0, 0, 1.1])


def rows(numbers):  # all legs' forces in all cases, by radius and half the angle of a pair
    radius, half = numbers
    angle = np.radians([0, 0, 120, 120, -120, -120]) + side * half
    out = np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    across = radius * side[:, None] * np.stack([-np.sin(angle), np.cos(angle), 0 * angle], 1)
    q = [centres, turns.as_quat()]
    for place, foot, rod in zip(radius * out, feet, rods, strict=True):  # the loops close anew
        ball = centres + up + turns.apply(rod[:3, 3] - up)
        a, b, c = ((ball - place) @ foot[:3, :3]).T
        far = np.sqrt(a**2 + b**2 + c**2)
        q.append(np.stack([np.arctan2(a, c), -np.arcsin(b / far), far - length], 1))
    found = solver(np.hstack(q), still, still, wrenches, parameters=(radius * out).ravel())
    slopes = found.actuation.reshape(-1, 18) @ np.stack([out.ravel(), across.ravel()], 1)
    return found.loads.actuation.ravel(), slopes


bounds = [(0.8, 1.6), (np.radians(4), np.radians(30))]
best = smallest_peak(rows, [1.0, np.radians(12)], bounds)
other = differential_evolution(lambda x: abs(rows(x)[0]).max(), bounds, seed=0, polish=False)
print(f"{best.fun:.2f} N in {best.nit} steps, {other.fun:.2f} N in {other.nfev} tries by chance")
radius, half = (np.linspace(*bound, 17) for bound in bounds)
peaks = [[abs(rows((r, h))[0]).max() for r in radius] for h in half]
lines = plt.contour(radius, np.degrees(half), peaks, levels=range(1350, 3000, 150))
plt.clabel(lines, fmt="%d N")
plt.plot(1.0, 12, "o", best.x[0], np.degrees(best.x[1]), "*", markersize=12, clip_on=False)
plt.gca().set(xlabel="radius of the feet, m", ylabel="half the angle of a pair, °")
plt.title("largest force of a leg: start (o) and best (*)")
for folder in sys.argv[1:]:
    plt.savefig(Path(folder) / "least_legs.png", dpi=100)
