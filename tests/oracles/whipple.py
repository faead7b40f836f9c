"""The Whipple bicycle, linear: Meijaard, Papadopoulos, Ruina, Schwab 2007, benchmark values.

M q'' + v C1 q' + (g K0 + v^2 K2) q = f,   q = (lean, steer)
"""

import numpy as np

G = 9.81
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])

AT_5 = np.array(
    [
        -0.32286642900409,
        -0.77534188219585 + 4.46486771378823j,
        -0.77534188219585 - 4.46486771378823j,
        -14.07838969279822,
    ]
)
"""Eigenvalues at 5 m/s, 1/s."""

WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837
"""m/s: between them the upright motion is stable."""


def eigenvalues(v):
    """Return the four eigenvalues at a speed, by the published matrices."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:] = -np.linalg.solve(M, np.hstack([G * K0 + v * v * K2, v * C1]))
    return np.linalg.eigvals(A)
