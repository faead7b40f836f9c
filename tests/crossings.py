"""Motions past positions in which a linkage is flat: ``python -m tests.crossings --count 10000``.

Rows of parallelograms, all cranks at the angle θ from upright, axes tilted by R against the world:

    ((N+1)/3 + N) θ'' = ((N+1)/2 + N) g · R (cos θ, 0, -sin θ)

A coupler that is too short by e, nothing acting: with the crank at x and the rocker at x + y from
the ground's line, s = sin(y/2),

    s (s - sin(x + y/2)) = e (e - 2) / 4

and the time follows from the energy, which is constant.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import mbd_bridge as mbd
from mbd_bridge.simulate.coupled_step import CoupledStep
from mbd_bridge.spatial import Frame

GRAVITY = np.array([0.0, 0.0, -9.81])
TILT = (0.4, 0.3, -0.7)
ROADS = ("run", "batch", "svd", "stepper")


def row(windows, tilt=(0.0, 0.0, 0.0), cut="revolute"):
    """Parallelograms side by side, links of 1 m and 1 kg, in a tilted plane."""
    b, y = mbd.Builder(f"{windows} windows", root="world"), (0, 1, 0)
    b.link("ground", 1).joint("foot", "fixed", "world", "ground", (0.3, -0.2, 0.5), tilt)
    for k in range(windows + 1):
        b.link(f"crank{k}", 1, (0, 0, 0.5), (1 / 12, 1 / 12, 0))
        b.joint(f"crank{k}", "revolute", "ground", f"crank{k}", (k, 0, 0), axis=y)
    for k in range(windows):
        b.link(f"bar{k}", 1, (0.5, 0, 0), (0, 1 / 12, 1 / 12))
        b.joint(f"bar{k}", "revolute", f"crank{k}", f"bar{k}", (0, 0, 1), axis=y)
        ends = (f"bar{k}", Frame.from_rpy((1, 0, 0))), (f"crank{k + 1}", Frame.from_rpy((0, 0, 1)))
        b.loop(f"pin{k}", cut, *ends, axis=y)
    return mbd.Mechanism.build(b)


MACHINES = {
    "parallelogram": (row(1), 1, (0.0, 0.0, 0.0)),
    "three windows": (row(3), 3, (0.0, 0.0, 0.0)),
    "tilted, with a ball": (row(1, TILT, "spherical"), 1, TILT),
}


def turn(machine):
    """Return how the coordinates turn together."""
    return np.array([1.0 if "crank" in name else -1.0 for name in machine.coordinate_names])


def angle(windows, tilt, start, rate, time):
    """Return θ and θ' after a time (it may be negative), from the closed form."""
    down = Frame.from_rpy((0, 0, 0), tilt).rotation.T @ GRAVITY
    factor = ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)

    def rates(_, y):
        return [y[1], factor * (down[0] * np.cos(y[0]) - down[2] * np.sin(y[0]))]

    options = {"rtol": 1e-13, "atol": 1e-13, "method": "DOP853"}
    return solve_ivp(rates, (0.0, time), [start, rate], **options).y[:, -1]


def crossing(name, distance, before, rate, step, steps=80, road="run"):
    """Return by how much the angle is off in the end, and the status.

    The step that follows `before` others ends at this distance from the flat position.
    """
    machine, windows, tilt = MACHINES[name]
    start, speed = angle(windows, tilt, np.pi / 2 + distance, rate, -before * step)
    exact = angle(windows, tilt, start, speed, steps * step)[0] * turn(machine)
    q, v = start * turn(machine), speed * turn(machine)
    found, status = moved(machine, q, v, step, steps, road)
    return np.abs(found - exact).max(), status


def moved(machine, q, v, step, steps, road):
    """Return the position in the end, and the status."""
    options = {"step": step, "every": steps}
    if road == "batch":
        many = mbd.simulate_batch(machine, steps * step, q=[q] * 3, v=[v] * 3, **options)
        return many.q[1, -1], many.status[1]
    if road == "stepper":
        core, none = CoupledStep(machine.model, q, v), np.zeros((len(machine.model.bodies), 6))
        for _ in range(steps):
            q, v = core(q, v, np.zeros(machine.nv), none, step)
        return q, "finished"
    method = {} if road == "run" else {"method": road}
    run = mbd.simulate(machine, steps * step, q=q, v=v, check=False, **options, **method)
    return run.q[-1], run.status


# -- couplers of a wrong length -------------------------------------------------------------------


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


def sharp_turn(e, step, x=0.0513, speed=4.0, time=0.04, **options):
    """Return by how much the angles are off after a time, and the run."""
    machine, y = misfit(e), _on_the_curve(x, e)
    dy, dx = _slopes(x, y)
    way = np.array([-1.0, dy / dx]) * speed
    ahead, behind = (coordinates(x + d * way[0], y + d * way[1]) for d in (1e-6, -1e-6))
    wish = dict(zip(machine.coordinate_names, coordinates(x, y), strict=True))
    rates = dict(zip(machine.model.velocity_names, (ahead - behind) / 2e-6, strict=True))
    at = machine.assemble(wish, velocity=rates)
    run = mbd.simulate(machine, time, step=step, q=at.q, v=at.v, check=False, **options)
    energy = run.energy[0]

    def along(_, z):
        fy, fx = _slopes(z[0], z[1])
        tangent = np.array([fx, -fy]) / np.hypot(fx, fy)
        return [*tangent, np.sqrt(_kinetic(*z[:2], *tangent) / energy)]

    def arrived(_, z):
        return z[2] - run.time[-1]

    arrived.terminal = True
    accuracy = {"rtol": 1e-13, "atol": 1e-7 * abs(e), "method": "DOP853", "events": arrived}
    exact = coordinates(*solve_ivp(along, (0, 9), [x, y, 0.0], **accuracy).y[:2, -1])
    apart = (run.q[-1] - exact + np.pi) % (2 * np.pi) - np.pi
    return np.abs(apart).max(), run


def main():
    """Print how many motions are right to 1e-7, were stopped with a status, or are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crossings", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="of crossings, for each road")
    parser.add_argument("--roads", nargs="*", choices=ROADS, default=["run"])
    options = parser.parse_args()
    for road in options.roads:
        for name in MACHINES:
            rng, found = np.random.default_rng(0), []
            for _ in range(options.count // len(MACHINES)):
                place = 10.0 ** rng.uniform(-13, -2) * rng.choice([-1, 1])
                rate = rng.choice([-1, 1]) * rng.uniform(0.5, 5.0)
                before, step = int(rng.integers(5, 40)), 10.0 ** rng.uniform(-4, -2.7)
                found.append(crossing(name, place, before, rate, step, road=road))
            stopped = sum(status != "finished" for _, status in found)
            errors = np.array([error for error, status in found if status == "finished"])
            print(
                f"{road:8s} {name:20s} {len(found)} crossings: {int((errors > 1e-7).sum())} wrong, "
                f"{stopped} stopped, the worst off by {errors.max():.1e} rad",
                flush=True,
            )
    for sign in (1, -1):
        for power in range(3, 11):
            error, run = sharp_turn(sign * 10.0**-power, 1e-3)
            print(f"coupler off by {sign * 10.0**-power:6.0e} m: {error:.1e} rad, {run.status}")


if __name__ == "__main__":
    main()
