"""Size the motors for a motion: peak and RMS torque, top speed, peak power of each joint."""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

URDF = Path(__file__).parents[1] / "urdf"
robot = mbd.load(URDF / "kuka_iiwa.urdf")
motion = mbd.load_motion(URDF / "kuka_iiwa_motion.csv", robot)
for note in motion.notes:
    print("note:", note)

torque = robot.inverse_dynamics(motion.q, motion.v, motion.a)
power = torque * motion.v
limits = {joint.name: joint.limits for joint in robot.model.description.joints}

print(f"{'':<18}{'peak':>9}{'RMS':>9}{'allowed':>9}{'speed':>9}{'power':>9}")
print(f"{'joint':<18}{'N m':>9}{'N m':>9}{'N m':>9}{'rad/s':>9}{'W':>9}")
for k, name in enumerate(robot.coordinate_names):
    peak = np.abs(torque[:, k]).max()
    rms = np.sqrt(np.mean(torque[:, k] ** 2))
    speed = np.abs(motion.v[:, k]).max()
    allowed = limits[name].effort or np.inf
    row = (peak, rms, allowed, speed, np.abs(power[:, k]).max())
    print(f"{name:<18}" + "".join(f"{x:9.2f}" for x in row), "TOO MUCH" if peak > allowed else "")
