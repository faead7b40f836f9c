"""How much does the tool of an industrial arm shake when the arm stops, as its forearm bends?"""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

FILE = Path(__file__).parents[1] / "urdf" / "flexible_robot_arm.urdf"
STOP, SECONDS = 0.5, 0.7  # s

arm = mbd.load(FILE)  # flexible_robot_arm.flex.yaml says that the forearm bends and twists
names = list(arm.coordinate_names)
side = [names.index(f"forearm.mode{k}") for k in (1, 2)]  # along y, each 1 m at the end
down = [names.index(f"forearm.mode{k}") for k in (3, 4)]  # along z

# Joint 1 turns by 60 degrees and stops, the others stay where they are
smooth = f"(min(t, {STOP})/{STOP} - sin(2*pi*min(t, {STOP})/{STOP})/(2*pi))"
course = {f"joint_{k}": "0" for k in range(2, 7)} | {"joint_1": f"pi/3*{smooth}"}

still = mbd.System(arm, prescribed=dict.fromkeys(course, "0"))
rest = mbd.linear.equilibrium(still)  # the forearm hangs by its own weight, wrist and tool
print(f"at rest the forearm hangs by {-1e3 * rest.q[down].sum():.2f} mm")

run = arm.simulate(SECONDS, step=1e-4, q=rest.q, prescribed=course)
tip = 1e3 * run.q[:, side].sum(axis=1)
moving, after = run.time <= STOP, run.time > STOP
print(f"it bends by {np.abs(tip[moving]).max():.2f} mm while it turns")
print(f"and by {np.abs(tip[after]).max():.3f} mm after the stop")
loads = run.joint_loads(["joint_1", "joint_4"])
for k, name in enumerate(loads.joints):
    print(f"{name}: {np.abs(loads.moment[:, k]).max(axis=0).round(0)} N m at most, about x, y, z")
