"""The 6x6 vehicle of Cho09 by the paper's own formulation, written for it alone.

Cartesian velocities y = (v, ω) of the 13 centres of mass, ẏ = B q̈ + Ḃ q̇; B as in equation (6):

    Bᵀ M B q̈ = Bᵀ (F - M Ḃ q̇ - h)                                                       (7)

in the chassis' axes, where joint axes are constant, or in the world's. With `Opaque` numbers its
products are carried out entry by entry, as by matrices of numbers; with plain ones zeros vanish, as
by symbols. Nothing of the package is used but its arrays for floats and symbols.

q = (position, quaternion (x, y, z, w), six arm angles, six wheel angles), in the order front,
middle, rear, left before right; v = (velocity and ω in the chassis' axes, rates).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

G = 9.81
CHASSIS = 2575.0, (242.0, 1170.0, 1270.0)
ARM = 227.38, (12.33, 23.10, 11.6)
WHEEL = 25.0, (0.54, 0.8, 0.54)
SIDES = 1.0, -1.0
PIVOTS = [(x, 0.45 * side, 0.0) for x in (0.7, 0.0, -0.7) for side in SIDES]
REACH = 0.5, 0.0, 0.0
OFFSETS = [(0.0, 0.15 * side, 0.0) for _ in range(3) for side in SIDES]
DOF = 18

Numbers = Callable[[Any], Any]


class Opaque:
    """Zeros and ones that are inputs, so that no product with them is left out."""

    def __init__(self, zeros: Any, ones: Any) -> None:
        self._zeros, self._ones, self._used = zeros, ones, 0

    def __call__(self, array: Any) -> Any:
        out = np.array(array, dtype=object)
        for place, value in np.ndenumerate(out):
            if isinstance(value, float | int) and value in (0.0, 1.0):
                kept = self._ones if value else self._zeros
                out[place] = kept[self._used % len(kept)]
                self._used += 1
        return out


def plain(array: Any) -> Any:
    """Numbers as they are: zeros and ones vanish from products."""
    return np.array(array, dtype=object)


def rotation(quaternion: Any) -> Any:
    """Return the chassis' rotation."""
    x, y, z, w = quaternion
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ], dtype=object)  # fmt: skip


def about_y(angle: Any, numbers: Numbers) -> Any:
    """Return a rotation about y."""
    c, s = np.cos(angle), np.sin(angle)
    return numbers([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def tilde(a: Any, numbers: Numbers) -> Any:
    """Return the matrix of the cross product a x."""
    x, y, z = a
    return numbers([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def equations(
    q: Any, v: Any, tau: Any, frame: Literal["chassis", "global"], numbers: Numbers
) -> tuple[Any, Any]:
    """Return Bᵀ M B and Bᵀ (F - M Ḃ q̇ - h) + (0, τ), for q̈ = (v̇, ω̇, accelerations of joints).

    v̇ and ω̇ are the chassis' accelerations, in the frame's axes; v̇ is no rate of components.
    """
    A = rotation(q[3:7])
    eye = numbers(np.eye(3))
    if frame == "chassis":
        base, omega, gravity = eye, v[3:6], A.T @ numbers([0.0, 0.0, -G])
    else:
        base, omega, gravity = A, A @ v[3:6], numbers([0.0, 0.0, -G])
    M, right = numbers(np.zeros((DOF, DOF))), numbers(np.zeros(DOF))
    u = base @ numbers([0.0, 1.0, 0.0])  # all joint axes are parallel
    U, W = tilde(u, numbers), tilde(omega, numbers)
    turning = W @ u  # what ω does to an axis

    def add(body: Any, R: Any, c: Any, w: Any, more: dict[int, Any], drift: Any) -> None:
        """Add a body at c with rotation R, rates w, columns `more` of B, and Ḃ q̇."""
        nonlocal M, right
        mass, inertia = body
        B = numbers(np.zeros((6, DOF)))
        B[:3, :3] = B[3:, 3:6] = eye
        B[:3, 3:6] = -tilde(c, numbers)
        for place, (linear, angular) in more.items():
            B[:3, place], B[3:, place] = linear, angular
        J = R @ numbers(np.diag(inertia)) @ R.T
        weight = numbers(np.zeros((6, 6)))
        weight[:3, :3], weight[3:, 3:] = mass * eye, J
        force = np.concatenate([mass * gravity, -(tilde(w, numbers) @ (J @ w))])  # F - h
        M = M + B.T @ (weight @ B)
        right = right + B.T @ (force - weight @ drift)

    still = numbers(np.zeros(3))
    add(CHASSIS, base, still, omega, {}, np.concatenate([still, still]))
    for k in range(6):
        arm, wheel = 6 + k, 12 + k
        R = base @ about_y(q[7 + k], numbers)
        s, d = base @ numbers(PIVOTS[k]), R @ numbers(REACH)
        e = R @ numbers(OFFSETS[k])
        w = omega + u * v[arm]
        spun = w + u * v[wheel]
        swing = turning * v[arm]  # Ḃ q̇ of the arm's turn
        inner = tilde(w, numbers)
        for reach, body, turn, rates, more in (
            (d, ARM, R, w, {}),
            (d + e, WHEEL, R @ about_y(q[13 + k], numbers), spun, {wheel: (still, u)}),
        ):
            drift = W @ (W @ s) + inner @ (inner @ reach) - tilde(reach, numbers) @ swing
            twist = swing if body is ARM else swing + turning * v[wheel]
            columns = {arm: (U @ reach, u), **more}
            add(body, turn, s + reach, rates, columns, np.concatenate([drift, twist]))
    right[6:] = right[6:] + tau
    return M, right
