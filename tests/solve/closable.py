"""Whether a loop can be closed with one coordinate held, found without the library's assembly.

Planar four-bars and slider-cranks: two circles meet, or a circle and a line do. Others: SciPy's
least squares from many starts. All positions of all shipped models:

    python -m tests.solve.closable --positions 1000
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import least_squares

import mbd_bridge as mbd
from tests.robots import own_urdfs

MARGIN = 1e-6
"""Positions nearer than this (m) to the end of what can be closed are left out: there the closed
form itself has lost its digits."""

SCIPY_CLOSED = 1e-10
SCIPY_STARTS = 60
SCIPY_STATES = 25
"""Refused positions of one coordinate that SciPy is asked about: a second each."""


def _circles(distance: float, one: float, other: float) -> float:
    """Return how far (m) two circles are from not meeting; negative: they do not."""
    return min(distance - abs(one - other), one + other - distance)


def four_bar(crank: float, coupler: float, rocker: float, ground: float, elbow_at_right: float):
    """Return the margin of a coordinate's value, by name; the crank turns from z towards x."""

    def by_crank(angle: float) -> float:
        tip = crank * np.sin(angle), crank * np.cos(angle)
        return _circles(float(np.hypot(tip[0] - ground, tip[1])), coupler, rocker)

    def by_rocker(angle: float) -> float:
        tip = ground + rocker * np.sin(angle), rocker * np.cos(angle)
        return _circles(float(np.hypot(*tip)), crank, coupler)

    def by_elbow(angle: float) -> float:
        inner = elbow_at_right + angle  # from the crank's direction to the coupler's
        reach = np.sqrt(crank**2 + coupler**2 + 2 * crank * coupler * np.cos(inner))
        return _circles(float(reach), ground, rocker)

    return {"crank": by_crank, "rocker": by_rocker, "elbow": by_elbow}


def slider_crank(crank: float, rod: float, at_zero: float):
    """Return the same of a crank whose rod's end slides along z, through the crank's axis."""
    return {
        "crank": lambda angle: rod - abs(crank * np.sin(angle)),
        "bore": lambda place: _circles(abs(at_zero + place), crank, rod),
        "big_end": lambda angle: np.inf,  # the triangle's third side is what it must be
    }


PLANAR: dict[str, dict[str, Callable[[float], float]]] = {
    "four_bar": four_bar(1.0, 1.0, 1.0, 1.0, np.pi / 2),
    "crank_rocker": four_bar(0.1, 0.45, 0.3, 0.4, np.pi / 2),
    "slider_crank": slider_crank(0.04, 0.14, 0.18),
}


def by_scipy(robot: mbd.Mechanism, name: str, value: float) -> bool:
    """Return whether least squares from any of many starts close the loops with this value."""
    model = robot.model
    kernel = robot.kernel("constraints")
    held = model.velocity_names.index(name)
    free = np.delete(np.arange(model.nv), held)
    base = model.neutral()
    base[model.coordinate_names.index(name)] = value
    still = np.zeros(model.nv)

    def place(x):
        step = np.zeros(model.nv)
        step[free] = x * model.velocity_scale[free]
        return model.integrate(base, step)

    def residual(x):
        return kernel(place(x), still)[0] / model.row_scale

    rng = np.random.default_rng(1)
    for k in range(SCIPY_STARTS):
        start = rng.uniform(-np.pi, np.pi, len(free)) * min(1.0, (k + 1) / 20)
        found = least_squares(residual, start, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200)
        if np.abs(found.fun).max() < SCIPY_CLOSED:
            return True
    return False


def positions(robot: mbd.Mechanism, name: str, count: int) -> np.ndarray:
    """Return values of a coordinate: all round, or two sizes of the mechanism to both sides."""
    scale = robot.model.velocity_scale[robot.model.velocity_names.index(name)]
    reach = np.pi if scale == 1.0 else 2.0 * scale
    return np.random.default_rng(0).uniform(-reach, reach, count)


def held_names(robot: mbd.Mechanism) -> list[str]:
    """Return coordinates that can be held alone: those that are velocities' too."""
    return [name for name in robot.coordinate_names if name in robot.model.velocity_names]


def faults(stem: str, name: str, count: int) -> Iterator[str]:
    """Yield what is wrong with the positions of one model with one coordinate held."""
    robot = mbd.load(own_urdfs()[stem])
    values = positions(robot, name, count)
    found = mbd.assemble_batch(robot, {name: values}, fixed=name, check=False)
    k = robot.coordinate_names.index(name)
    phi = robot.kernel("constraints")(found.q, found.v)[0] / robot.model.row_scale
    refused = 0
    for i, value in enumerate(values):
        where = f"{stem}: {name}={value!r}"
        if found.closed[i]:
            if found.q[i, k] != value:
                yield f"{where}: it was to stay, and is {found.q[i, k]!r}"
            if np.abs(phi[i]).max() > 1e-12:
                yield f"{where}: open by {np.abs(phi[i]).max()}"
            angles = robot.model.velocity_scale == 1.0
            if robot.nq == robot.nv and np.abs(found.q[i, angles]).max() > 2.0 * np.pi:
                yield f"{where}: wound up to {found.q[i]}"
        margin = PLANAR[stem][name](value) if stem in PLANAR else None
        if margin is not None and abs(margin) > MARGIN and found.closed[i] != (margin > 0.0):
            yield f"{where}: closed {found.closed[i]}, but the circles' margin is {margin:.3g} m"
        refused += margin is None and not found.closed[i]
        asked = margin is None and not found.closed[i] and refused <= SCIPY_STATES
        if asked and by_scipy(robot, name, value):
            yield f"{where}: refused, but SciPy closes it"


def main() -> int:
    """Try all coordinates of all shipped models with loops."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--models", nargs="*")
    options = parser.parse_args()
    wrong = 0
    for stem, path in own_urdfs().items():
        robot = mbd.load(path)
        if not robot.model.has_loops or (options.models and stem not in options.models):
            continue
        for name in held_names(robot):
            found = list(faults(stem, name, options.positions))
            wrong += len(found)
            print(f"{stem} {name}: {len(found)} of {options.positions} wrong", flush=True)
            for text in found:
                print("   ", text, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
