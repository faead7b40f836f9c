"""What drives a joint of an arm, and what does its bearing carry? KimYou97, simulations 1 and 2."""

import tempfile
from pathlib import Path

import numpy as np

import mbd_bridge as mbd

ARM = Path(__file__).parents[1] / "urdf" / "rrc_arm.urdf"
LOCKED = dict.fromkeys(("joint_1", "joint_3", "joint_5", "joint_7"), 0.0)  # the roll joints

arm = mbd.load(ARM)
run = arm.simulate(
    5.0, every=10, prescribed={**LOCKED, "joint_2": "pi/3*sin(pi*t/5)"}, loads=["joint_2"]
)
force = run.joint_loads(["joint_2"], in_="world").force[:, 0, 0]
torque = run.prescribed_forces["joint_2"]
peaks = np.abs(torque).max(), np.abs(force).max()
print("joint 2 turned: at most {:.0f} N m, x reaction {:.0f} N".format(*peaks))
print(run.loads.assumptions["convention"][0].text.rpartition("; ")[2])

# The arm's end is tied to the ground: by a rod of an inch, and by the paper's stiff spring.
INCH, STIFFNESS, ANCHOR = 0.0254, 1.7513e7, (-0.0254, 0.0, 2.84)
moved = {**LOCKED, "joint_2": 0.0, "joint_4": "pi/30*sin(pi*t - pi)"}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tied.urdf"
    path.write_bytes(ARM.read_bytes())
    path.with_suffix(".loops.yaml").write_text(
        f"loops: [{{name: rod, type: distance, length: {INCH}, predecessor: {{link: tip}},"
        f" successor: {{link: base, xyz: {list(ANCHOR)}}}}}]\n"
    )
    tied = mbd.load(path)
exact = tied.simulate(1.0, step=1e-4, every=10, prescribed=moved)
spring = mbd.forces.PointSpring(("tip", "base"), ((0, 0, 0), ANCHOR), STIFFNESS, free_length=INCH)
sprung = arm.simulate(
    1.0, step=1e-5, every=100, v=exact.v[0], prescribed=moved, forces=[spring], loads=["joint_4"]
)
rod = exact.joint_loads(["rod"]).force[:, 0]
print(f"the rod pulls with at most {np.linalg.norm(rod, axis=1).max():.0f} N")
for name, one in (("rod", exact), ("spring", sprung)):
    force = one.joint_loads(["joint_4"], in_="world").force[:, 0, 0]
    peaks = np.abs(one.prescribed_forces["joint_4"]).max(), np.abs(force).max()
    print("{:<7}joint 4: {:.1f} N m, x reaction {:.1f} N".format(name, *peaks))
apart = np.abs(sprung.prescribed_forces["joint_4"] - exact.prescribed_forces["joint_4"]).max()
print(f"torques are apart by {apart:.1e} N m")
