"""Joint reactions computed with ADAMS, from Project Chrono's published validation data.

One body of 1 kg, its centre at +2 m along the joint frame's x, central inertia diag(0.04, 0.1,
0.1) kg m², from rest, g = 9.80665 m/s² along -z. The joint's axis is its frame's z. Wrench on
the ground, at the joint, along the world's axes, at t = 1 s; good to about 5e-6, but for the
force of revolute 2, which is 2.4e-5 off the exact pendulum (`pendulum_force`).
"""

import numpy as np
from scipy.integrate import solve_ivp

MASS, CENTRE, INERTIA, GRAVITY = 1.0, (2.0, 0.0, 0.0), (0.04, 0.1, 0.1), (0.0, 0.0, -9.80665)

CASES = {
    # name: joint type, place, roll, force, moment
    "revolute 1": (
        "revolute",
        (0, 0, 0),
        -np.pi / 2,
        (-11.4612, 0, -23.2273),
        (0, 0, 0),
    ),
    "revolute 2": (
        "revolute",
        (1, 2, 3),
        -np.pi / 4,
        (0.427164, 9.56081, -19.3673),
        (-13.8654, 0.206446, -0.206446),
    ),
    "prismatic 2": (
        "prismatic",
        (1, 2, 3),
        -np.pi / 4,
        (0, 4.90332, -4.90332),
        (24.0426, 9.80665, 9.80665),
    ),
    "spherical 2": (
        "spherical",
        (1, 2, 3),
        -np.pi / 4,
        (-11.4613, 0, -23.2273),
        (0, 0, 0),
    ),
}

SPRINGS = {
    # name: centre at the start; point on the ground, on the body; law; time -> centre, force
    "T2": (
        (0, 2, 0),
        ((0, 0, 0), (0, 0, 0)),
        (100.0, 5.0),
        {
            1: ((0, -0.5973274, -2.189069), (0, -6.947310, -25.46030)),
            5: ((0, -1.945198, -0.7674010), (0, -6.493260, -2.561659)),
        },
    ),
    "T3": (
        (-1, 4, 3),
        ((1, 2, 3), (2, 0, 0)),
        ((50.0, 10.0), 5.0),
        {
            1: ((-0.5266615, 3.486916, -1.046425), (-15.52339, 13.82865, -29.16117)),
            5: ((-1.444917, 4.419559, 1.322425), (-1.556888, 1.060104, -0.3315315)),
        },
    ),
}
"""A free body on a spring between two points, free at the start; force on the ground."""


def pendulum_force(roll: float) -> np.ndarray:
    """Return the exact force on the ground at t = 1 s of the revolute cases, by one scalar ODE.

    The axis is tilted by `roll` about x, so that gravity along the plane of motion is g times
    the cosine c of that plane's slope, and J θ'' = m l g c cos θ from rest.
    """
    length, g = CENTRE[0], -GRAVITY[2]
    steep = abs(np.sin(roll))
    rate = MASS * length * g * steep / (INERTIA[2] + MASS * length**2)
    end = solve_ivp(
        lambda t, y: [y[1], rate * np.cos(y[0])],
        (0, 1),
        [0, 0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    ).y[:, -1]
    theta, omega = end
    alpha = rate * np.cos(theta)
    along = length * np.array([-np.sin(theta), np.cos(theta)])
    centre = alpha * along - omega**2 * length * np.array([np.cos(theta), np.sin(theta)])
    down_slope = np.array([0.0, np.cos(roll), np.sin(roll)])
    normal = np.array([0.0, -np.sin(roll), np.cos(roll)])
    gravity = np.array(GRAVITY)
    x = MASS * (centre[0] - gravity[0])
    y = MASS * (centre[1] - gravity @ down_slope)
    n = -MASS * gravity @ normal
    return -(np.array([x, 0.0, 0.0]) + y * down_slope + n * normal)
