"""Small machines with loops, of which a part is recorded: excavator, gripper and press."""

from __future__ import annotations

import numpy as np

import mbd_bridge as mbd

PIN = (0, 1, 0)
"""Axis of all pins."""


def _rod(parts, name, mass, length, across=0.02):
    bending = mass * length**2 / 12
    parts.link(name, mass, (length / 2, 0, 0), (across, bending, bending))


def _cylinder(parts, name, base, at, reach, to, there):
    """Add a barrel on one link and a rod that is pinned to another: from `at` to `there`."""
    parts.link(f"{name}_barrel", 30.0, (0.3, 0, 0), (0.3, 3.0, 3.0))
    parts.link(f"{name}_rod", 20.0, (-0.3, 0, 0), (0.1, 2.0, 2.0))
    parts.joint(f"{name}_foot", "revolute", base, f"{name}_barrel", at, axis=PIN)
    parts.joint(
        f"{name}_cylinder",
        "prismatic",
        f"{name}_barrel",
        f"{name}_rod",
        (reach, 0, 0),
        axis=(1, 0, 0),
    )
    parts.loop(f"{name}_head", "revolute", f"{name}_rod", to, axis=PIN, xyz2=there)


def excavator():
    """Return boom, stick and bucket, each moved by a cylinder: nine pins in one plane."""
    parts = mbd.Builder("excavator", root="carriage")
    _rod(parts, "boom", 900.0, 5.0, 40.0)
    _rod(parts, "stick", 450.0, 2.5, 15.0)
    _rod(parts, "bucket", 400.0, 1.2, 30.0)
    parts.joint("boom_pin", "revolute", "carriage", "boom", axis=PIN)
    parts.joint("stick_pin", "revolute", "boom", "stick", (5.0, 0, 0), axis=PIN)
    parts.joint("bucket_pin", "revolute", "stick", "bucket", (2.5, 0, 0), axis=PIN)
    _cylinder(parts, "boom", "carriage", (0.4, 0, -0.5), 1.6, "boom", (2.0, 0, 0.3))
    _cylinder(parts, "stick", "boom", (2.5, 0, 0.8), 2.1, "stick", (-0.3, 0, 0.7))
    _cylinder(parts, "bucket", "stick", (0.3, 0, 0.5), 2.4, "bucket", (0.3, 0, 0.45))
    actuated = ["boom_cylinder", "stick_cylinder", "bucket_cylinder"]
    return mbd.Mechanism.build(parts), actuated


def gripper():
    """Return two fingers on parallelograms; the right one's crank mimics the left one's."""
    parts = mbd.Builder("gripper", root="palm")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for bar in ("crank", "rocker"):
            parts.link(f"{side}_{bar}", 0.05, (0, 0, 0.03), (2e-5, 2e-5, 1e-6))
        parts.link(f"{side}_finger", 0.08, (0.01 * sign, 0, 0.02), (4e-5, 4e-5, 1e-5))
        more = {"mimic": "left_crank", "multiplier": -1.0} if side == "right" else {}
        place = (0.03 * sign, 0, 0)
        parts.joint(f"{side}_crank", "revolute", "palm", f"{side}_crank", place, axis=PIN, **more)
        parts.joint(
            f"{side}_finger", "revolute", f"{side}_crank", f"{side}_finger", (0, 0, 0.06), axis=PIN
        )
        place = (0.05 * sign, 0, 0)
        parts.joint(f"{side}_rocker", "revolute", "palm", f"{side}_rocker", place, axis=PIN)
        parts.loop(
            f"{side}_pin",
            "revolute",
            f"{side}_rocker",
            f"{side}_finger",
            axis=PIN,
            xyz=(0, 0, 0.06),
            xyz2=(0.02 * sign, 0, 0),
        )
    return mbd.Mechanism.build(parts), ["left_crank"]


def press():
    """Return a crank that moves a ram by a connecting rod and a toggle."""
    parts = mbd.Builder("press", root="frame")
    for name, mass, length in (
        ("crank", 20.0, 0.15),
        ("rod", 30.0, 0.8),
        ("upper", 25.0, 0.5),
        ("lower", 25.0, 0.5),
    ):
        _rod(parts, name, mass, length)
    parts.link("ram", 200.0, (0, 0, -0.2), (8.0, 8.0, 4.0))
    parts.joint("crank", "revolute", "frame", "crank", (0.9, 0, 0.5), (0, 0, np.pi), axis=PIN)
    parts.joint("rod", "revolute", "crank", "rod", (0.15, 0, 0), axis=PIN)
    parts.joint("top", "revolute", "frame", "upper", (0, 0, 1.0), (0, np.pi / 2, 0), axis=PIN)
    parts.joint("knee", "revolute", "upper", "lower", (0.5, 0, 0), axis=PIN)
    parts.joint("ram", "prismatic", "frame", "ram", axis=(0, 0, 1))
    parts.loop("rod_end", "revolute", "rod", "upper", axis=PIN, xyz=(0.8, 0, 0), xyz2=(0.5, 0, 0))
    parts.loop("ram_pin", "revolute", "lower", "ram", axis=PIN, xyz=(0.5, 0, 0))
    return mbd.Mechanism.build(parts), ["crank"]


def along(robot, actuated, amplitudes, *, near=None, rows=9, seconds=0.4):
    """Return time, q, v and a of a motion of the actuated joints, closed row by row by `assemble`.

    Parameters
    ----------
    amplitudes : of each actuated joint about `near`, rad or m
    """
    model = robot.model
    start = robot.assemble(near).q
    time = np.linspace(0.0, seconds, rows)
    found = []
    q = start
    for t in time:
        values, rates, changes = {}, {}, {}
        for k, (name, amplitude) in enumerate(zip(actuated, amplitudes, strict=True)):
            w, place = 3.0 + k, model.coordinate_names.index(name)
            values[name] = start[place] + amplitude * np.sin(w * t + 0.3 * k)
            rates[name] = amplitude * w * np.cos(w * t + 0.3 * k)
            changes[name] = -amplitude * w * w * np.sin(w * t + 0.3 * k)
        guess = q.copy()
        for name, value in values.items():
            guess[model.coordinate_names.index(name)] = value
        at = robot.assemble(guess, fixed=actuated, velocity=rates, acceleration=changes)
        q = at.q
        found.append((at.q, at.v, at.a))
    q, v, a = map(np.array, zip(*found, strict=True))
    return time, q, v, a
