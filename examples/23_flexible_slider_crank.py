"""How far does a connecting rod bend at 1,430 turns a minute, and what does its bearing carry?"""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

FILE = Path(__file__).parents[1] / "urdf" / "flexible_slider_crank.urdf"
SPEED = 150.0  # rad/s
TURN = 2.0 * np.pi / SPEED
STEP = 1e-5  # s

# flexible_slider_crank.flex.yaml has the rod's beam, its modes and their damping
bending = mbd.load(FILE, gravity=(0, 0, 0))
rigid = mbd.load(FILE, gravity=(0, 0, 0), flexible=())
modes = ["rod.mode1", "rod.mode2"]


def turned(machine, still=()):
    """Return two turns at a constant speed that begin straight, without a jerk of the rod."""
    begin = {"crank": 0.0} | dict.fromkeys(still, 0.0)
    rates = {"crank": SPEED} | dict.fromkeys(still, 0.0)
    at = machine.assemble(begin, fixed=list(begin), velocity=rates)
    return machine.simulate(2 * TURN, step=STEP, q=at.q, v=at.v, prescribed={"crank": f"{SPEED}*t"})


run, stiff = turned(bending, modes), turned(rigid)
middle = run.q[:, bending.coordinate_names.index(modes[0])]  # there the second mode is 0
print(f"middle of the rod: {1e3 * np.abs(middle).max():.2f} mm from the line between its pins")
for name, motion in (("bending", run), ("rigid", stiff)):
    force = np.linalg.norm(motion.joint_loads(["wrist"]).force[:, 0], axis=-1)
    print(f"{name:8s} rod: the wrist pin carries {force.max():.1f} N")

# Stress at the worst instant, from the balance of the part beyond each section
k = int(np.abs(middle).argmax())
loads = bending.section_loads("rod", [0.075, 0.15, 0.225], run.q[k], run.v[k], run.a[k])
print("bending", loads.bending.round(2), "N m, stress", (loads.largest_stress / 1e6).round(), "MPa")
