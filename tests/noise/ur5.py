"""The elbow of a UR5 from noisy recordings: its peak, interpolated and smoothed."""

from __future__ import annotations

import numpy as np

from mbd_bridge.motion.smoothing import OFF
from tests.noise.recordings import UR5_RATE, recorded, ur5, ur5_motion

KINDS = {
    "exact": (0.0, None, 0.0),
    "noise of 1e-5 rad": (1e-5, None, 0.0),
    "noise of 1e-4 rad": (1e-4, None, 0.0),
    "three decimals": (0.0, 3, 0.0),
    "stamps jitter by 0.5 ms": (0.0, None, 5e-4),
    "all of these": (1e-4, 3, 5e-4),
}
"""Noise, rad; decimals; jitter of the stamps, s."""
ROWS = 1250


def record(
    noise: float, decimals: int | None, jitter: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps and positions as a recorder gives them."""
    time = np.arange(ROWS) / UR5_RATE
    q = ur5_motion(time).q
    q = q + noise * rng.normal(size=q.shape)
    if decimals is not None:
        q = np.round(q, decimals)
    return time + jitter * rng.normal(size=ROWS), q


def table() -> list[tuple[str, float, float, float]]:
    """Return the recording; peaks, interpolated and smoothed, and the error at the worst sample,
    relative to the true peak.
    """
    arm, rng = ur5(), np.random.default_rng(5)
    truth = ur5_motion(np.arange(ROWS) / UR5_RATE)
    elbow = ["elbow_joint"]
    true = arm.joint_loads(truth.q, truth.v, truth.a, joints=elbow).actuation
    found = []
    for name, what in KINDS.items():
        stamps, q = record(*what, rng)
        plain, smooth = (
            arm.joint_loads(recorded(arm, stamps, q, smooth=how), joints=elbow).actuation
            for how in (OFF, None)
        )
        peaks = [float(np.abs(x).max()) for x in (plain, smooth)]
        found.append((name, *peaks, float(np.abs(smooth - true).max() / np.abs(true).max())))
    return found


def show() -> None:
    """Print the table."""
    print(f"{'recorded with':25s}{'interpolated':>14s}{'smoothed':>10s}{'worst sample':>14s}")
    for name, plain, smooth, worst in table():
        print(f"{name:25s}{plain:10.2f} N m{smooth:6.2f} N m{100 * worst:12.2f} %")
