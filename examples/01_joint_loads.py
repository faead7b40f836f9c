"""What does each joint of an arm carry? Load the robot, give a state, read the loads."""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

robot = mbd.load(Path(__file__).parents[1] / "urdf" / "kuka_iiwa.urdf")
print(robot)

q = np.array([0.3, 0.6, -0.4, -1.2, 0.5, 0.9, 0.0])  # rad
v = np.array([0.5, -0.4, 0.3, 0.8, 0.0, -0.6, 1.0])  # rad/s
a = np.array([2.0, -1.0, 0.0, 3.0, 1.0, 0.0, -2.0])  # rad/s²

loads = robot.joint_loads(q, v, a)  # all joints, the fixed one too
print(f"\nload of the {loads.convention}")
print(f"{'joint':<20}{'force, N':<30}{'moment, N m':<30}actuation, N m")
for name in loads.joints:
    one = loads[name]
    actuation = f"{one.actuation[0]:8.3f}" if one.actuation.size else "     (none)"
    force, moment = (" ".join(f"{x:8.3f}" for x in xyz) for xyz in (one.force, one.moment))
    print(f"{name:<20}{force:<30}{moment:<30}{actuation}")
