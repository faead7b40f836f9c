"""The tracked vehicle of Lee94 7.1 on a straight way, by plane equations written for it alone.

Both sides move alike, so that the coordinates are (x, z, θ, φ1 ... φ6): the hull's centre of mass,
its pitch (nose down), and the arms' angles. A point p of the hull and the middle of wheel k are at

    o + R(θ) p,      o + R(θ) p_k + R(θ + φ_k) r,      R turns x into -z

A band under tension T = T0 + k (L - L0), if there is one, goes from the idler through all wheels to
the sprocket. Lagrange's equations with the Jacobians of these points. Nothing of the package is
used.
"""

from __future__ import annotations

import numpy as np

G = 9.81
HULL, HULL_INERTIA = 44000.0, 220000.0
ARM, ARM_INERTIA = 450.0, 25.0
PIVOTS = [(x + 0.45, -0.35) for x in (2.0, 1.2, 0.4, -0.4, -1.2, -2.0)]
WHEEL = np.array([-0.45, -0.2])  # from the pivot: also the arm's centre of mass
IDLER, SPROCKET = np.array([3.3, -0.1]), np.array([-3.3, -0.05])
RADIUS, BUMP, AT = 0.33, 0.254, 20.8
TYRE, TYRE_DAMPING, FADE = 800e3, 4e3, 1e-3
STATIC = 0.45 * ((HULL + 12 * ARM) * G / 12 - ARM * G)
TOP, FOOT = np.array([-0.3, 0.365]), np.array([-0.3, -0.135])
"""Ends of a hydropneumatic unit, from the arm's pivot: on the hull, and on the arm."""
AREA, GAS, LENGTH, EXPONENT, AMBIENT = 0.005, 0.00121, 0.5, 1.3, 101_325.0
BUMP_THROTTLE, REBOUND = 120e3, 200e3


def turned(angle: float, point: object) -> np.ndarray:
    """Return R(angle) point."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]]) @ np.asarray(point)


def ahead(angle: float, point: object) -> np.ndarray:
    """Return the derivative of R(angle) point by the angle."""
    return turned(angle + np.pi / 2, point)


def spring(station: int, angle: float, rate: float) -> float:
    """Return the moment with which an arm's spring resists, N m."""
    if station in (3, 4, 5):
        return STATIC + 42e3 * angle + 4e3 * rate
    way = turned(angle, FOOT) - TOP
    length = np.sqrt(way @ way)
    lever = way @ ahead(angle, FOOT) / length  # of the length by the angle
    pressure = (STATIC / 0.3 / AREA + AMBIENT) * (
        GAS / (GAS + AREA * (length - LENGTH))
    ) ** EXPONENT
    throttle = (BUMP_THROTTLE if lever * rate < 0.0 else REBOUND) * lever * rate
    return -lever * (AREA * (pressure - AMBIENT) - throttle)


def tyre(place: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Return the road's force on a wheel (2,), N: along the normal of the arc that it meets."""
    u, reach = place[0] - AT, RADIUS + BUMP
    height = slope = 0.0
    if abs(u) < np.sqrt(reach**2 - RADIUS**2):
        height = np.sqrt(reach**2 - u**2) - RADIUS
        slope = -u / np.sqrt(reach**2 - u**2)
    press = max(height + RADIUS - place[1], 0.0)
    rate = slope * speed[0] - speed[1]
    push = max(TYRE * press + TYRE_DAMPING * min(press / FADE, 1.0) * rate, 0.0)
    return push * np.array([-slope, 1.0])


def band_forces(places: list[np.ndarray], band: tuple[float, float]) -> list[np.ndarray]:
    """Return the forces (2,), N, of a band (T0, k) on idler, wheels and sprocket.

    L0 is its length with all coordinates at zero.
    """
    level = [IDLER, *(np.add(pivot, WHEEL) for pivot in PIVOTS), SPROCKET]
    ways = np.diff(places, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    extension = lengths.sum() - np.linalg.norm(np.diff(level, axis=0), axis=1).sum()
    pulls = max(band[0] + band[1] * extension, 0.0) * ways / lengths[:, None]
    ahead, behind = [*pulls, np.zeros(2)], [np.zeros(2), *pulls]
    return [one - other for one, other in zip(ahead, behind, strict=True)]


def accelerations(
    q: np.ndarray, v: np.ndarray, band: tuple[float, float] | None = None
) -> np.ndarray:
    """Return q̈ (9,); `band` has T0, N, and k, N/m."""
    places, ways = [], []
    M = np.diag([HULL, HULL, HULL_INERTIA, *[0.0] * 6])
    Q = np.array([0.0, -HULL * G, *[0.0] * 7])
    for k, pivot in enumerate(PIVOTS):
        angle, rate = q[2] + q[3 + k], v[2] + v[3 + k]
        J = np.zeros((2, 9))
        J[:, :2] = np.eye(2)
        J[:, 2] = ahead(q[2], pivot) + ahead(angle, WHEEL)
        J[:, 3 + k] = ahead(angle, WHEEL)
        spin = np.zeros(9)
        spin[[2, 3 + k]] = 1.0
        drift = -turned(q[2], pivot) * v[2] ** 2 - turned(angle, WHEEL) * rate**2
        place = q[:2] + turned(q[2], pivot) + turned(angle, WHEEL)
        places, ways = [*places, place], [*ways, J]
        force = np.array([0.0, -ARM * G]) + tyre(place, J @ v) - ARM * drift
        M += 2 * (ARM * J.T @ J + ARM_INERTIA * np.outer(spin, spin))
        Q += 2 * J.T @ force
        Q[3 + k] -= 2 * spring(k + 1, q[3 + k], v[3 + k])
    if band is not None:
        for k, point in ((0, IDLER), (7, SPROCKET)):
            J = np.zeros((2, 9))
            J[:, :2], J[:, 2] = np.eye(2), ahead(q[2], point)
            places.insert(k, q[:2] + turned(q[2], point))
            ways.insert(k, J)
        for J, force in zip(ways, band_forces(places, band), strict=True):
            Q += 2 * J.T @ force
    return np.linalg.solve(M, Q)
