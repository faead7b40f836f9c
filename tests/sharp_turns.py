"""Couplers of a wrong length: a parallelogram that just fails to be flat, and turns sharply there.

A coupler that is too short by e, nothing acting: with the crank at x and the rocker at x + y from
the ground's line, s = sin(y/2),

    s (s - sin(x + y/2)) = e (e - 2) / 4

and the time follows from the energy, which is constant.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame
from tests.roads import moved


def misfit(e):
    """A parallelogram whose coupler is shorter by e, without weight."""
    y, c = (0, 1, 0), 1.0 - e
    b = mbd.Builder("nearly a parallelogram", root="ground")
    b.link("crank", 1, (0, 0, 0.5), np.array([1, 1, 0]) / 12)
    b.link("coupler", 1, (c / 2, 0, 0), np.array([0, 1, 1]) * c**2 / 12)
    b.link("rocker", 1, (0, 0, -0.5), np.array([1, 1, 0]) / 12)
    b.joint("crank", "revolute", "ground", "crank", axis=y)
    b.joint("elbow", "revolute", "crank", "coupler", (0, 0, 1), axis=y)
    b.joint("wrist", "revolute", "coupler", "rocker", (c, 0, 0), axis=y)
    ends = ("rocker", Frame.from_rpy((0, 0, -1))), ("ground", Frame.from_rpy((1, 0, 0)))
    b.loop("pin", "revolute", *ends, axis=y)
    return mbd.Mechanism.build(b, gravity=(0, 0, 0))


def coordinates(x, y):
    """Return crank, elbow and wrist."""
    along = np.sin(x + y) - np.sin(x), 1 + np.cos(x + y) - np.cos(x)
    level = -np.arctan2(*along)
    crank, rocker = np.pi / 2 - x, np.pi / 2 - x - y
    return np.array([crank, level - crank, rocker - level])


def _slopes(x, y):
    s, c, between = np.sin(y / 2), np.cos(y / 2), x + y / 2
    return -s * np.cos(between), 0.5 * c * (s - np.sin(between)) + s * (c - np.cos(between)) / 2


def _kinetic(x, y, dx, dy):
    one = dx * np.array([-np.sin(x), np.cos(x)])
    two = (dx + dy) * np.array([-np.sin(x + y), np.cos(x + y)])
    both = (one + two) @ (one + two) / 8 + (two - one) @ (two - one) / 24
    return (dx**2 + (dx + dy) ** 2) / 6 + both


def _on_the_curve(x, e):
    def left(y):
        return np.sin(y / 2) * (np.sin(y / 2) - np.sin(x + y / 2)) - e * (e - 2) / 4

    return brentq(left, -x / 2, x / 2, xtol=1e-18, rtol=1e-15)


def start(e, x, speed):
    """Return the machine, its state with the crank at x, and how it is in x and y."""
    machine, y = misfit(e), _on_the_curve(x, e)
    dy, dx = _slopes(x, y)
    way = np.array([-1.0, dy / dx]) * speed
    ahead, behind = (coordinates(x + d * way[0], y + d * way[1]) for d in (1e-6, -1e-6))
    guess = dict(zip(machine.coordinate_names, coordinates(x, y), strict=True))
    rates = dict(zip(machine.model.velocity_names, (ahead - behind) / 2e-6, strict=True))
    at = machine.assemble(guess, velocity=rates)
    return machine, at.q, at.v, y


def after(e, x, y, energy, time):
    """Return the coordinates after a time, with this energy (J)."""

    def along(_, z):
        fy, fx = _slopes(z[0], z[1])
        tangent = np.array([fx, -fy]) / np.hypot(fx, fy)
        return [*tangent, np.sqrt(_kinetic(*z[:2], *tangent) / energy)]

    def arrived(_, z):
        return z[2] - time

    arrived.terminal = True
    accuracy = {"rtol": 1e-13, "atol": 1e-7 * abs(e), "method": "DOP853", "events": arrived}
    return coordinates(*solve_ivp(along, (0, 9), [x, y, 0.0], **accuracy).y[:2, -1])


def sharp_turn(e, step, x=0.0513, speed=4.0, time=0.04, **options):
    """Return by how much the angles are off after a time, and the run."""
    machine, q, v, y = start(e, x, speed)
    run = machine.simulate(time, step=step, q=q, v=v, check=False, **options)
    return angles_apart(run.q[-1], after(e, x, y, run.energy[0], run.time[-1])), run


def turned(e, step, road, x=0.0513, speed=4.0, steps=40):
    """Return by how much the angles are off after some steps of a road, and its status."""
    machine, q, v, y = start(e, x, speed)
    found, status = moved(machine, q, v, step, steps, road)
    exact = after(e, x, y, 0.5 * v @ machine.mass_matrix(q) @ v, steps * step)
    return angles_apart(found, exact), status


def angles_apart(one, other):
    """Return the largest difference of angles, up to whole turns."""
    return float(np.abs((one - other + np.pi) % (2 * np.pi) - np.pi).max())
