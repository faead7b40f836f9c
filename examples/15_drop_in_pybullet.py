"""A box falls on the tray of an arm: pybullet moves the box, we the arm. What do joints carry?"""

import tempfile
from pathlib import Path

import numpy as np
import pybullet

import mbd_bridge as mbd
from mbd_bridge.engines.pybullet import Stepper


def link(name, mass, length, shape=""):
    across = mass * length**2 / 12
    return f"""<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>
      <inertia ixx="0.002" iyy="{across}" izz="{across}" ixy="0" ixz="0" iyz="0"/></inertial>
      {shape}</link>"""


def joint(name, kind, parent, child, x):
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{x} 0 0"/><axis xyz="0 1 0"/></joint>"""


TRAY = """<collision><origin xyz="0.15 0 0"/><geometry><box size="0.3 0.3 0.02"/></geometry>
  </collision>"""
ARM = f"""<robot name="arm"><link name="ground"/>
  {joint("shoulder", "continuous", "ground", "upper", 0)} {link("upper", 3, 0.6)}
  {joint("elbow", "continuous", "upper", "fore", 0.6)} {link("fore", 2, 0.5)}
  {joint("mount", "fixed", "fore", "tray", 0.5)} {link("tray", 0.5, 0.3, TRAY)} </robot>"""

client = pybullet.connect(pybullet.DIRECT)  # GUI shows it
pybullet.setGravity(0, 0, -9.81)
pybullet.setTimeStep(1e-3)
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "arm.urdf").write_text(ARM)
    stepper = Stepper.load(Path(folder) / "arm.urdf", client)  # in place of loadURDF
shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.1, 0.1, 0.1])
box = pybullet.createMultiBody(2.0, shape, basePosition=[1.25, 0, 0.3])

arm = mbd.Mechanism(stepper.model)
rows = []


def hold(t, q, v):
    return arm.bias_forces(q, 0 * v) - [4000, 1500] * q - [250, 60] * v


for _ in range(1500):
    stepper.step(hold)  # in place of stepSimulation
    loads = stepper.joint_loads(["shoulder", "mount"])
    rows.append([loads["mount"].force[2], loads["mount"].moment[1], loads["shoulder"].actuation[0]])
print("                mount fz, N   mount my, N m   shoulder actuation, N m")
worst = np.abs(rows).max(axis=0)  # an impact lasts as long as a step: its force is impulse / step
for name, row in (("before", rows[50]), ("at the worst", worst), ("after", rows[-1])):
    print(f"{name:<14}" + "".join(f"{value:14.3f}" for value in row))
print(f"the box rests at z = {pybullet.getBasePositionAndOrientation(box)[0][2]:.3f} m")
weight = (rows[-1][0] - rows[50][0]) / np.cos(stepper.q.sum())
print(f"the mount's sensor says that it weighs {weight:.2f} N, and it does: {2 * 9.81:.2f} N")
