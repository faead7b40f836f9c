"""What balances a machine? Counterweights of a four-bar and the spring of an arm, by gradient."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import differential_evolution, minimize

import mbd_bridge as mbd
from mbd_bridge.loads.derivatives import smallest_peak

URDF = Path(__file__).parents[1] / "urdf"
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")

linkage = mbd.load(URDF / "crank_rocker.urdf", gravity=(0, 0, 0))
time = np.linspace(0, 2 * np.pi / 30, 121)
turn = linkage.complete({"crank": 30 * time, "crank.vel": 0 * time + 30}, time)
weights = ["crank.inertial.mz", "rocker.inertial.mz"]
solver = linkage.compile_derivatives(["root_joint"], weights, actuated="crank")
shaking = solver.gradient(lambda loads: loads["root_joint"].force @ loads["root_joint"].force)


def mean_square(x):
    found = shaking(turn.q, turn.v, turn.a, parameters=x)
    return found.value.mean(), found.gradient.mean(axis=0)


own = np.array([column.value for column in solver.columns])
best = minimize(mean_square, own, jac=True)
print("counterweights", (best.x - own).round(5), "kg m; closed form", [-0.08635, -0.35325])
for name, x in (("as it is", own), ("half way", (own + best.x) / 2), ("balanced", best.x)):
    force = shaking(turn.q, turn.v, turn.a, parameters=x).loads["root_joint"].force
    left.plot(force[:, 0], force[:, 2], "o" if name == "balanced" else "-", label=name)
left.set(title="a four-bar's shaking force", xlabel="fx, N", ylabel="fz, N", aspect="equal")

arm, J = mbd.load(URDF / "kuka_iiwa.urdf"), "lbr_iiwa_joint_2"
motion = arm.read_motion(URDF / "kuka_iiwa_motion.csv")
links, points = ("lbr_iiwa_link_1", "lbr_iiwa_link_3"), ((0.3, 0, 0.2), (0, 0, 0))
spring = mbd.forces.PointSpring(links, points, stiffness=500, free_length=0.3, name="spring")
numbers = ["spring.stiffness", "spring.free_length"]
holding = arm.compile_derivatives([J], numbers, forces=[spring]).gradient(f"{J}.actuation")


def torque(x):
    found = holding(motion.q, motion.v, motion.a, parameters=x)
    return found.value, found.gradient


bounds = [(0.0, 5000.0), (0.0, 0.6)]
best = smallest_peak(torque, [500.0, 0.3], bounds)
other = differential_evolution(lambda x: abs(torque(x)[0]).max(), bounds, seed=0, maxiter=40)
print("spring", best.x.round(3), f"{best.fun:.3f} N m; by chance {other.fun:.3f} N m")
for name, x in (("without", [0.0, 0.3]), ("with the spring", best.x)):
    right.plot(motion.time, torque(x)[0], label=name)
right.set(title="torque of an arm's joint 2", xlabel="t, s", ylabel="N m")
left.legend(), right.legend(), left.grid(), right.grid()
for folder in sys.argv[1:]:
    figure.savefig(Path(folder) / "balanced.png", dpi=100)
