"""A fixed joint as a force sensor: what does the flange carry, with a payload and a process force?

The tool link hangs on the fixed joint `lbr_iiwa_joint_ee`. A payload that is not in the file is a
wrench on that link: its weight acts at its own centre, and turns with the link.
"""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

robot = mbd.load(Path(__file__).parents[1] / "urdf" / "kuka_iiwa.urdf")
TOOL, FLANGE = "lbr_iiwa_link_ee", "lbr_iiwa_joint_ee"

q = np.array([0.0, 0.5, 0.0, -1.6, 0.0, 1.04159265358979, 0.0])  # the flange looks down
still = np.zeros(robot.nv)

# Axes of the tool in the world: the load of a massless sensor would not tell, the model does.
bare = robot.joint_loads(q, still, still, [FLANGE])
down = -bare.force[0] / np.linalg.norm(bare.force[0])  # gravity's direction in the tool's axes
print("gravity in the tool's axes", down.round(6) + 0.0)

mass, centre = 3.0, np.array([0.0, 0.02, 0.10])  # kg, m in the tool's axes
weight = mass * 9.81 * down
push = np.array([0.0, 0.0, -40.0])  # N: the workpiece pushes back along the tool's axis
force, moment = weight + push, np.cross(centre, weight)
external = {TOOL: np.concatenate([force, moment])}

loaded = robot.joint_loads(q, still, still, [FLANGE, "lbr_iiwa_joint_4"], external=external)
print("the sensor reads, bare  ", bare.wrench[0].round(3) + 0.0, "N, N m")
print("with payload and process", loaded[FLANGE].force.round(3) + 0.0, "N")
print("                        ", loaded[FLANGE].moment.round(3) + 0.0, "N m")
print("actuation of joint 4        ", loaded["lbr_iiwa_joint_4"].actuation.round(3), "N m")
