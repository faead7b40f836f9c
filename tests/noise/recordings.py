"""Motions that are known exactly, and what a recorder makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.motion import Motion
from mbd_bridge.motion.motion import motion_from_table
from mbd_bridge.motion.smoothing import Smoothing
from tests.robots import robot

UR5 = "erd/ur/ur5_robot"
UR5_RATE = 125.0
"""Hz, at which a UR5's controller tells its joints."""


@dataclass(frozen=True)
class Truth:
    """States (N, n) of a mechanism at times (N,)."""

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def ur5_motion(time: np.ndarray) -> Truth:
    """Return sines of all six joints; the elbow's torque goes up to 11.6 N m."""
    middle = np.array([0.0, -0.9, 2.2, -1.0, 0.5, 0.0])
    size = 0.919 * np.array([0.8, 0.5, 0.7, 0.6, 0.8, 1.0])
    omega = 2.0 * np.pi * np.array([0.25, 0.2, 0.4, 0.35, 0.5, 0.45])
    angle = omega * time[:, None] + np.arange(6.0)
    return Truth(
        time,
        middle + size * np.sin(angle),
        size * omega * np.cos(angle),
        -size * omega**2 * np.sin(angle),
    )


def ur5() -> mbd.Mechanism:
    """Return the robot."""
    return mbd.load(robot(UR5))


def recorded(
    mechanism: mbd.Mechanism,
    time: np.ndarray,
    q: np.ndarray,
    v: np.ndarray | None = None,
    smooth: Smoothing | None = None,
) -> Motion:
    """Return the motion that is read from a table with these numbers."""
    columns = [Column("time"), *map(Column, mechanism.coordinate_names)]
    parts = [time, q]
    if v is not None:
        columns += [Column(f"{name}.vel") for name in mechanism.model.velocity_names]
        parts.append(v)
    table = ColumnTable(tuple(columns), np.column_stack(parts), None, "recording")
    return motion_from_table(table, mechanism.model, smoothing=smooth)
