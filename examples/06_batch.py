"""A hundred thousand states in one call, on one thread and on all of them."""

import os
import time
from pathlib import Path

import numpy as np

import mbd_bridge as mbd

robot = mbd.load(Path(__file__).parents[1] / "urdf" / "kuka_iiwa.urdf")
solver = robot.compile("joint_loads", ["lbr_iiwa_joint_3"])  # prepared once, for this one load

N = 100_000
rng = np.random.default_rng(0)
q, v, a = (rng.uniform(-1.0, 1.0, (N, robot.nv)) for _ in range(3))

for threads in (1, os.cpu_count() or 1):
    solver(q, v, a, threads=threads)  # the first call touches the memory
    start = time.perf_counter()
    loads = solver(q, v, a, threads=threads)
    took = time.perf_counter() - start
    print(f"{N} states, {threads} thread(s): {1e9 * took / N:.1f} ns a state")

bending = np.linalg.norm(loads.moment[:, 0, :2], axis=1)
worst = int(np.argmax(bending))
print(f"largest bending moment {bending[worst]:.3f} N m, at q = {q[worst].round(3)}")
