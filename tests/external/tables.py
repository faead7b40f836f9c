"""Small machines and tables of forces on them."""

from __future__ import annotations

import numpy as np

import mbd_bridge as mbd

COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


def write(path, columns, rows, **attributes):
    """Write a CSV table, and return its path."""
    lines = [f"# {key}: {value}" for key, value in attributes.items()]
    lines.append(",".join(columns))
    lines += [",".join(repr(float(x)) for x in row) for row in np.atleast_2d(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def press():
    """A ram of 3 kg on a vertical guide, and a massless load cell bolted below it."""
    b = mbd.Builder("press").link("ram", 3.0, (0, 0, 0.1), (0.1, 0.1, 0.1))
    b.link("cell", 0.0)
    b.joint("stroke", "prismatic", "base", "ram", (0, 0, 1), axis=(0, 0, 1))
    b.joint("bolts", "fixed", "ram", "cell", (0, 0, -0.2), (0.4, 0.0, 0.0))
    return mbd.Mechanism.build(b)


def arm():
    """Three joints, not in a plane, and a tip."""
    b = mbd.Builder("arm").link("upper", 2.0, (0.2, 0, 0.1), (0.1, 0.2, 0.15))
    b.link("fore", 1.0, (0.2, 0.05, 0), (0.05, 0.06, 0.07)).link("hand", 0.5, (0, 0.1, 0))
    b.joint("shoulder", "revolute", "base", "upper", (0, 0, 1), axis=(0, 1, 0))
    b.joint("elbow", "revolute", "upper", "fore", (0.5, 0, 0), (0.3, 0, 0), axis=(0, 0, 1))
    b.joint("slide", "prismatic", "fore", "hand", (0.4, 0, 0), (0, 0.5, 0.2), axis=(1, 0, 0))
    return mbd.Mechanism.build(b)


def wave(rows=41, end=1.0, seed=0):
    """Return times (n,) and a smooth table of wrenches (n, 6)."""
    time = np.linspace(0.0, end, rows)
    a, b, c = np.random.default_rng(seed).normal(size=(3, 6))
    return time, 5.0 * a + 3.0 * b * np.sin(4 * time[:, None] + c)


def motion_of(run):
    """Return a simulation as a motion."""
    robot = run.model
    names = robot.coordinate_names, robot.velocity_names
    return mbd.Motion(run.time, run.q, run.v, run.a, *names, model=robot)
