"""Swing a rod with SciPy's integrator; compare its period with the one in closed form."""

from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import mbd_bridge as mbd

robot = mbd.load(Path(__file__).parents[1] / "urdf" / "pendulum.urdf")
START = 0.05  # rad
f = robot.right_hand_side(q=[START])


def passes(_t: float, y: np.ndarray) -> float:
    return y[0]


swing = solve_ivp(f, (0.0, 10.0), f.start, events=passes, rtol=1e-10, atol=1e-12)
period = 2.0 * np.mean(np.diff(swing.t_events[0]))
# uniform rod of length 1 m: omega² = 3 g / (2 L); the amplitude adds START² / 16
closed_form = 2.0 * np.pi / np.sqrt(1.5 * 9.81) * (1.0 + START**2 / 16.0)
print(f"period {period:.6f} s, closed form {closed_form:.6f} s")

q, v = f.split(swing.y.T)
a = robot.forward_dynamics(q, v, np.zeros_like(v))
hinge = robot.joint_loads(q, v, a, ["hinge"], in_="world")
largest = np.linalg.norm(hinge.force[:, 0], axis=1).max()
print(f"the hinge carries up to {largest:.4f} N; the weight is {9.81:.4f} N")
