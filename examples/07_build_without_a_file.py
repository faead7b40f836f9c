"""A mechanism without a file: a gantry whose gripper has two fingers on one actuator."""

import numpy as np

import mbd_bridge as mbd

gantry = mbd.Builder("gantry", root="frame")
gantry.link("trolley", mass=40.0, centre=(0, 0, -0.1), inertia=(1.0, 1.5, 2.0))
gantry.link("mast", mass=12.0, centre=(0, 0, -0.5), inertia=(1.1, 1.1, 0.1))
gantry.link("left", mass=0.3, centre=(0, 0.01, -0.05))
gantry.link("right", mass=0.3, centre=(0, -0.01, -0.05))
gantry.joint("travel", "prismatic", "frame", "trolley", xyz=(0, 0, 2), axis=(1, 0, 0))
gantry.joint("turn", "revolute", "trolley", "mast", axis=(0, 0, 1))
gantry.joint("grip", "prismatic", "mast", "left", xyz=(0, 0, -1), axis=(0, 1, 0))
gantry.joint(
    "other_finger", "prismatic", "mast", "right", xyz=(0, 0, -1), axis=(0, -1, 0), mimic="grip"
)
robot = mbd.Mechanism.build(gantry)
print(robot)
print("coordinates:", ", ".join(robot.coordinate_names))

q, v, a = np.array([0.5, 0.3, 0.02]), np.zeros(3), np.array([1.5, 0.0, 0.0])
squeeze = {"left": (0, 80.0, 0, 0, 0, 0), "right": (0, -80.0, 0, 0, 0, 0)}  # N, from the workpiece
loads = robot.joint_loads(q, v, a, external=squeeze)
for name, actuation in zip(loads.actuation_names, loads.actuation, strict=True):
    print(f"{name:<14}{actuation:9.3f}")
print("generalised forces", robot.inverse_dynamics(q, v, a, squeeze).round(3))
print(f"agreement: {robot.crosscheck(pybullet=False).passed}")
