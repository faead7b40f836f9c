"""The five-degree-of-freedom vehicle of Lee94 7.3 by equations written for it alone.

Coordinates (z, θ, s, f, r): height and pitch (nose down) of the chassis, and what seat and
wheels move along the chassis' own upward axis. A point mass at a distance a ahead, moved by s:

    x = a cos θ + s sin θ,   z_p = z - a sin θ + s cos θ

Nonlinear, by Lagrange's equations with the Jacobians of these points; and linear, the equations of
Haug and Arora (1979). Nothing of the package is used. SI from US units.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

POUND, INCH, G = 0.45359237, 0.0254, 9.81
PER_INCH = POUND * 9.80665 / INCH  # lb/in in N/m, and lb s/in in N s/m

CHASSIS, INERTIA = 4500 * POUND, 41000 * POUND * 9.80665 * INCH
MASS = np.array([290, 96.6, 96.6]) * POUND
AHEAD = np.array([10, 40, -80]) * INCH
K, C = PER_INCH * np.array([100, 300, 300]), PER_INCH * np.array([10, 25, 25])
TYRE_K, TYRE_C = 1500 * PER_INCH, 5 * PER_INCH
BUMP, SPEED, UP, DOWN = 5 * INCH, 450 * INCH, 360 * INCH, 144 * INCH
KINKS = tuple((d + delay) * INCH / SPEED for d in (0, 360, 504) for delay in (0, 120))
"""s, where the road's curvature jumps under a wheel."""


def road(t: float, bump: float) -> tuple[np.ndarray, np.ndarray]:
    """Return height and rate under both wheels, m and m/s."""
    heights, rates = np.zeros(2), np.zeros(2)
    for k, delay in enumerate((0.0, 120 * INCH)):
        s = SPEED * t - delay
        if 0 < s < UP:
            heights[k] = bump / 2 * (1 - np.cos(np.pi * s / UP))
            rates[k] = bump / 2 * np.pi * SPEED / UP * np.sin(np.pi * s / UP)
        elif UP <= s < UP + DOWN:
            heights[k] = bump / 2 * (1 + np.cos(np.pi * (s - UP) / DOWN))
            rates[k] = -bump / 2 * np.pi * SPEED / DOWN * np.sin(np.pi * (s - UP) / DOWN)
    return heights, rates


def static() -> tuple[np.ndarray, np.ndarray]:
    """Return what the three springs and the two tyres carry at rest, N."""
    sprung = (CHASSIS + MASS[0]) * G
    axles = np.linalg.solve([[1, 1], AHEAD[1:]], [sprung, AHEAD[0] * MASS[0] * G])
    return np.array([-MASS[0] * G, *axles]), axles + MASS[1:] * G


def nonlinear(t: float, y: np.ndarray, bump: float) -> np.ndarray:
    """Return the rate of (q, q')."""
    q, v = np.split(y, 2)
    preload, load = static()
    sin, cos, theta_dot = np.sin(q[1]), np.cos(q[1]), v[1]
    height, rate = road(t, bump)
    M = np.diag([CHASSIS, INERTIA, 0.0, 0.0, 0.0])
    Q = np.zeros(5)
    Q[0] = -CHASSIS * G
    Q[2:] -= preload + K * q[2:] + C * v[2:]
    for k, (m, a) in enumerate(zip(MASS, AHEAD, strict=True)):
        s, s_dot = q[2 + k], v[2 + k]
        J = np.zeros((2, 5))
        J[1, 0] = 1.0
        J[:, 1] = -a * sin + s * cos, -a * cos - s * sin
        J[:, 2 + k] = sin, cos
        coriolis = np.array([
            -(theta_dot**2) * (a * cos + s * sin) + 2 * s_dot * theta_dot * cos,
            theta_dot**2 * (a * sin - s * cos) - 2 * s_dot * theta_dot * sin,
        ])  # fmt: skip
        up = -m * G
        if k:
            z, z_dot = q[0] - a * sin + s * cos, J[1] @ v
            up += load[k - 1] + TYRE_K * (height[k - 1] - z) + TYRE_C * (rate[k - 1] - z_dot)
        M += m * J.T @ J
        Q += J.T @ (np.array([0.0, up]) - m * coriolis)
    return np.concatenate([v, np.linalg.solve(M, Q)])


def linear(t: float, y: np.ndarray, bump: float) -> np.ndarray:
    """Return the rate of (q, q') by Haug and Arora's equations, in heights above equilibrium.

    Coordinates: (seat, chassis, pitch, front wheel, rear wheel), pitch nose up as in their book.
    """
    x, v = np.split(y, 2)
    height, rate = road(t, bump)
    across = np.zeros((3, 5))  # what is between chassis and seat, front, rear
    across[:, 1], across[:, 2] = 1.0, AHEAD
    across[[0, 1, 2], [0, 3, 4]] = -1.0
    force = -across.T @ (K * (across @ x) + C * (across @ v))
    force[3:] += TYRE_K * (height - x[3:]) + TYRE_C * (rate - v[3:])
    return np.concatenate([v, force / [MASS[0], CHASSIS, INERTIA, MASS[1], MASS[2]]])


def solve(equations, times: np.ndarray, bump: float = BUMP) -> np.ndarray:
    """Return (q, q') (K, 10) at times, from rest; the integration stops at the road's kinks."""
    ends = sorted({*(t for t in KINKS if 0 < t < times[-1]), times[-1]})
    found, y, start = [], np.zeros(10), 0.0
    for end in ends:
        mine = times[(times >= start) & ((times < end) | (end == times[-1]))]
        at = np.unique([*mine, end])
        piece = solve_ivp(
            equations, (start, end), y, "DOP853", at, args=(bump,), rtol=1e-12, atol=1e-13
        )
        found.append(piece.y[:, : len(mine)].T)
        y, start = piece.y[:, -1], end
    return np.concatenate(found)
