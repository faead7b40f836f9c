"""Two planar machines with one degree of freedom each, whose motion needs no multibody code.

Links are uniform rods of 1 kg, their length in m, gravity 9.81 m/s² down; hinges about y, which
turn z towards x.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

GRAVITY = 9.81
TIGHT = 1e-13
"""Tolerances, relative and absolute (rad, rad/s), of the one differential equation."""


def row_of_parallelograms(windows: int, rate: float, t: float) -> float:
    """Return the angle of the cranks of `tests.machines.n_four_bar` from upright after t s, rad.

    All cranks turn alike and all bars are carried without turning, so that the row is a pendulum:
    I θ'' = V sin θ with I = (n + 1)/3 + n, V = g ((n + 1)/2 + n). It starts upright and goes round.

    Parameters
    ----------
    rate : of the cranks when they stand upright, rad/s, not zero
    """
    inertia, weight = (windows + 1) / 3 + windows, GRAVITY * ((windows + 1) / 2 + windows)
    lowest = np.sqrt(rate**2 + 4 * weight / inertia)  # rad/s, where it hangs down
    m = 4 * weight / inertia / lowest**2
    return float(np.pi + 2 * ellipj(lowest * t / 2 - ellipk(m), m)[3])


class FourBar:
    """`tests.machines.four_bar` with a crank that goes round: its motion by one scalar ODE.

    I(θ) θ'' + I'(θ) θ'²/2 + V'(θ) = 0, where coupler β and rocker γ follow from θ by two circles.
    """

    def __init__(self, crank: float, coupler: float, rocker: float, ground: float) -> None:
        self.lengths = crank, coupler, rocker, ground

    def angles(self, theta: float, side: float) -> tuple[float, float]:
        """Return the angles of coupler and rocker, rad, on one of two sides (1 or -1)."""
        a, b, c, g = self.lengths
        tip = np.array([a * np.sin(theta), a * np.cos(theta)])  # x, z
        to_pin = np.array([g, 0.0]) - tip
        d = np.hypot(*to_pin)
        along = (b**2 - c**2 + d**2) / (2 * d)
        across = side * np.sqrt(b**2 - along**2)
        arm = (along * to_pin + across * np.array([-to_pin[1], to_pin[0]])) / d
        end = tip + arm - np.array([g, 0.0])
        return float(np.arctan2(-arm[1], arm[0])), float(np.arctan2(end[0], end[1]))

    def acceleration(self, theta: float, rate: float, side: float) -> float:
        """Return θ'', rad/s²."""
        a, b, c, _ = self.lengths
        beta, gamma = self.angles(theta, side)
        matrix = np.array([[-b * np.sin(beta), -c * np.cos(gamma)]])
        matrix = np.vstack([matrix, [-b * np.cos(beta), c * np.sin(gamma)]])
        first = np.linalg.solve(matrix, [-a * np.cos(theta), a * np.sin(theta)])
        bent = [
            a * np.sin(theta)
            + b * np.cos(beta) * first[0] ** 2
            - c * np.sin(gamma) * first[1] ** 2,
            a * np.cos(theta)
            - b * np.sin(beta) * first[0] ** 2
            - c * np.cos(gamma) * first[1] ** 2,
        ]
        second = np.linalg.solve(matrix, bent)
        between = theta - beta
        inertia = 4 / 3 * a**2 + b**2 / 3 * first[0] ** 2 + c**2 / 3 * first[1] ** 2
        inertia += a * b * first[0] * np.sin(between)
        change = 2 / 3 * (b**2 * first[0] * second[0] + c**2 * first[1] * second[1])
        change += a * b * second[0] * np.sin(between)
        change += a * b * first[0] * np.cos(between) * (1 - first[0])
        slope = -1.5 * a * np.sin(theta) - b / 2 * np.cos(beta) * first[0]
        slope -= c / 2 * np.sin(gamma) * first[1]
        return float(-(change * rate**2 / 2 + GRAVITY * slope) / inertia)

    def after(self, t: float, q: np.ndarray, rate: float) -> np.ndarray:
        """Return the coordinates (crank, elbow, wrist) after t s, rad, each within half a turn.

        Parameters
        ----------
        q : where it starts
        rate : of the crank at the start, rad/s
        """
        sides = [self.angles(q[0], side)[0] - (q[0] + q[1]) for side in (1.0, -1.0)]
        side = 1.0 if abs(wrapped(sides[0])) < abs(wrapped(sides[1])) else -1.0
        end = solve_ivp(
            lambda _, y: [y[1], self.acceleration(y[0], y[1], side)],
            (0, t),
            [q[0], rate],
            method="DOP853",
            rtol=TIGHT,
            atol=TIGHT,
        ).y[:, -1]
        beta, gamma = self.angles(end[0], side)
        return wrapped(np.array([end[0], beta - end[0], gamma - beta]))


def wrapped(angle: np.ndarray | float) -> np.ndarray:
    """Return angles within half a turn of zero, rad."""
    return np.asarray((np.asarray(angle) + np.pi) % (2 * np.pi) - np.pi)
