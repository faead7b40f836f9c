"""Where do torques take RALF, LeeJoo90's arm that bends, which were made for a rigid one?"""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

FILE = Path(__file__).parents[1] / "urdf" / "ralf.urdf"
START = {"theta1": -0.3, "theta2": -0.2, "theta3": -0.2, "theta4": 0.2}
COURSE = {"theta1": "-0.3 + 0.15*(1 - cos(pi*t))", "theta3": "-0.2 - 0.15*(1 - cos(pi*t))"}

# What moves the rigid arm on the course
rigid = mbd.load(FILE, flexible=())
at = rigid.assemble(START, fixed=[*COURSE])
course = rigid.simulate(1.0, q=at.q, prescribed=COURSE, loads=["C"])
torques = {name: (course.time, course.prescribed_forces[name]) for name in COURSE}
most = {name: f"{np.abs(values).max():.0f} N m" for name, (_, values) in torques.items()}
print("torques of the rigid arm, at most:", *(f"{name} {text}" for name, text in most.items()))

# The same torques on the arm that bends, from where it stands still under its weight
arm = mbd.load(FILE)
held = mbd.System(arm, prescribed={name: str(START[name]) for name in COURSE})
rest = mbd.linear.equilibrium(held, near=START)
run = arm.simulate(1.0, step=2e-4, every=5, q=rest.q, torque=torques, loads=["C"])
for name in COURSE:
    k, of_rigid = (one.coordinate_names.index(name) for one in (arm, rigid))
    away = np.degrees(run.q[:, k] - course.q[:, of_rigid])
    print(f"{name}: up to {np.abs(away).max():.2f} degrees off the course")
for link in ("lower", "upper", "actuating"):
    bent = run.deflections(link=link, x=1.524 if link == "actuating" else None)
    print(f"{link:9s} bends by {1e3 * bent.deflection.max():.1f} mm")
for name, one in (("rigid", course), ("flexible", run)):
    force = np.linalg.norm(one.joint_loads(["C"]).force[:, 0], axis=1)
    print(f"{name:8s}: pin C carries {force.max():.0f} N, loop closed to {one.closure.max():.0e}")
