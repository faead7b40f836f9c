"""Whether a loop can be closed with coordinates held, found without the library's assembly.

Planar linkages: two circles meet, or a circle and a line do. A rod between balls: its length is
among a point's distances from a circle or a line. A Stewart platform, its legs held: they are those
of a pose. Others: SciPy's least squares from many starts. All positions of all shipped models:

    python -m tests.solve.closable --positions 1000
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

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


def _rod(point, centre, axis: int, radius: float, length: float) -> float:
    """Return how far (m) a rod from a point is from reaching a circle about a coordinate axis."""
    away = np.asarray(point) - centre
    height, across = away[axis], float(np.linalg.norm(np.delete(away, axis)))
    nearest = length - np.hypot(height, across - radius)
    return float(min(nearest, np.hypot(height, across + radius) - length))


def rssr():
    """Return the same of crank and rocker of 0.5 m, about y and x, and a rod of 1 m."""
    centre = np.array([0.2, 0.9, 0.1])

    def by_crank(angle: float) -> float:
        tip = 0.5 * np.sin(angle), 0.0, 0.5 * np.cos(angle)
        return _rod(tip, centre, 0, 0.5, 1.0)

    def by_rocker(angle: float) -> float:
        tip = centre + 0.5 * np.array([0.0, -np.sin(angle), np.cos(angle)])
        return _rod(tip, np.zeros(3), 1, 0.5, 1.0)

    return {"crank": by_crank, "rocker": by_rocker, "ball_y": _always}  # the rod's own spin


def spatial_slider_crank():
    """Return the same of a crank of 0.08 m about x and a slide along x, a rod of 0.3 m between."""
    centre = np.array([0.0, 0.1, 0.12])
    return {
        "crank": lambda x: 0.3 - np.hypot(0.1 - 0.08 * np.sin(x), 0.12 + 0.08 * np.cos(x)),
        "slide": lambda x: _rod((0.2 + x, 0.0, 0.0), centre, 0, 0.08, 0.3),
    }


def knee():
    """Return the same of the leg's knee: crank 0.06, rod 0.3, lever 0.05 and 0.3 m of thigh."""

    def by_knee(angle: float) -> float:
        reach = np.hypot(0.05 * np.cos(angle), 0.05 * np.sin(angle) - 0.3)
        return _circles(float(reach), 0.06, 0.3)

    def by_motor(angle: float) -> float:
        reach = np.hypot(0.06 * np.cos(angle), 0.3 + 0.06 * np.sin(angle))
        return _circles(float(reach), 0.3, 0.05)

    def by_rod(angle: float) -> float:  # the rod may be turned over, by its other joint
        ends = [0.06 + 0.3 * side * np.sin(angle) for side in (1.0, -1.0)]
        reaches = [float(np.hypot(end, 0.3 * np.cos(angle))) for end in ends]
        return max(_circles(0.3, reach, 0.05) for reach in reaches)

    others = ("hip_yaw", "hip_roll", "hip_pitch", "ankle_pitch", "ankle_roll")
    return {
        "knee": by_knee,
        "knee_motor": by_motor,
        "rod_pitch": by_rod,
        "rod_yaw": lambda angle: -0.3 * abs(np.sin(angle)),  # out of the plane of the linkage
        **dict.fromkeys(others, _always),
    }


def stewart():
    """Return the same of the platform, which goes wherever one joint of one leg asks it to."""
    kinds = ("swivel", "tilt", "leg")
    return {f"{kind}_{k}": _always for kind in kinds for k in range(1, 7)}


def _always(value: float) -> float:
    return np.inf


Margins = dict[str, Callable[[float], float]]

PLANAR: dict[str, Margins] = {
    "four_bar": four_bar(1.0, 1.0, 1.0, 1.0, np.pi / 2),
    "crank_rocker": four_bar(0.1, 0.45, 0.3, 0.4, np.pi / 2),
    "slider_crank": slider_crank(0.04, 0.14, 0.18),
}
SPATIAL: dict[str, Margins] = {
    "rssr": rssr(),
    "spatial_slider_crank": spatial_slider_crank(),
    "knee_linkage_leg": knee(),
    "stewart": stewart(),
}
MARGINS = PLANAR | SPATIAL


def by_scipy(robot: mbd.Mechanism, name: str, value: float) -> bool:
    """Return whether least squares from any of many starts close the loops with this value."""
    model = robot.model
    kernel = robot.compile("constraints")
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


class Tally:
    """What became of the positions of one model with one coordinate held: counts and faults."""

    def __init__(self, stem: str, name: str, count: int, scipy: int = SCIPY_STATES) -> None:
        self.robot = mbd.load(own_urdfs()[stem], flexible=())
        self.stem, self.name = stem, name
        values = positions(self.robot, name, count)
        found = self.robot.assemble_batch({name: values}, fixed=name, check=False)
        self.closed, self.asked = int(found.closed.sum()), 0
        self.faults = list(open_or_wound(self.robot, found, {name: values}))
        margin_of = MARGINS.get(stem, {}).get(name)
        for value, closed in zip(values, found.closed, strict=True):
            where = f"{stem}: {name}={value!r}"
            if margin_of is not None:
                margin = margin_of(value)
                if abs(margin) > MARGIN and closed != (margin > 0.0):
                    self.faults.append(f"{where}: closed {closed}, but the margin is {margin:.3g}")
            elif not closed and self.asked < scipy:
                self.asked += 1
                if by_scipy(self.robot, name, value):
                    self.faults.append(f"{where}: refused, but SciPy closes it")

    def __str__(self) -> str:
        oracle = "closed form" if self.name in MARGINS.get(self.stem, {}) else ""
        return (
            f"{self.stem} {self.name}: {self.closed} closed, "
            f"{oracle or f'{self.asked} refused asked of SciPy'}, {len(self.faults)} wrong"
        )


def open_or_wound(robot: mbd.Mechanism, found, held: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield positions called closed that are open, wound up, or moved what was held."""
    phi = robot.compile("constraints")(found.q, found.v)[0] / robot.model.row_scale
    residual = np.abs(phi).max(axis=1)
    angles = robot.model.velocity_scale == 1.0 if robot.nq == robot.nv else []
    for i in np.flatnonzero(found.closed):
        for name, values in held.items():
            now = found.q[i, robot.coordinate_names.index(name)]
            if now != values[i]:
                yield f"{name}={values[i]!r}: it was to stay, and is {now!r}"
        if residual[i] > 1e-12:
            yield f"{name}={values[i]!r}: open by {residual[i]}"
        if len(angles) and np.abs(found.q[i, angles]).max() > 2.0 * np.pi:
            yield f"{name}={values[i]!r}: wound up to {found.q[i]}"


def legs_of_poses(robot: mbd.Mechanism, count: int, far: float) -> dict[str, np.ndarray]:
    """Return the coordinates of a Stewart platform's legs at poses about the one at zero.

    A leg is as long as the way from its foot to the middle of its ball. Legs are equal at zero.

    Parameters
    ----------
    far : how far (m, rad) the poses go to each side
    """
    described, rng = robot.model.description, np.random.default_rng(2)
    joints = {joint.name: joint for joint in described.joints}
    steps = rng.uniform(-far, far, (count, 6))
    turns = Rotation.from_rotvec(steps[:, 3:])
    found = {}
    for k in range(1, 7):
        (loop,) = [loop for loop in described.loops if loop.name == f"ball_{k}"]
        (ball,) = [e.frame for e in (loop.predecessor, loop.successor) if e.link == "platform"]
        middle = (
            joints["platform"].origin.translation
            + steps[:, :3]
            + turns.apply(np.array(ball.translation))
        )
        foot, at_zero = (joints[f"{n}_{k}"].origin.translation for n in ("swivel", "leg"))
        found[f"leg_{k}"] = np.linalg.norm(middle - foot, axis=1) - np.linalg.norm(at_zero)
    return found


def leg_faults(count: int, far: float, apart: float = 0.0) -> list[str]:
    """Return what is wrong with a Stewart platform whose six legs are held.

    Parameters
    ----------
    far : of the poses that their lengths are taken from
    apart : m by which the first is longer: two legs differ in length by no more than their feet and
        their balls are apart, 3.4 m together
    """
    robot = mbd.load(own_urdfs()["stewart"])
    legs = legs_of_poses(robot, count, far)
    legs["leg_1"] = legs["leg_1"] + apart
    found = robot.assemble_batch(legs, fixed=list(legs), check=False)
    wrong = list(open_or_wound(robot, found, legs))
    for i in np.flatnonzero(found.closed == (apart > 0.0)):
        wrong.append(f"{[float(x[i]) for x in legs.values()]}: closed {found.closed[i]}")
    return wrong


def faults(stem: str, name: str, count: int) -> list[str]:
    """Return what is wrong with the positions of one model with one coordinate held."""
    return Tally(stem, name, count).faults


def main() -> int:
    """Try all coordinates of all shipped models with loops."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--models", nargs="*")
    options = parser.parse_args()
    wrong = 0
    for stem, path in own_urdfs().items():
        robot = mbd.load(path, flexible=())
        if not robot.model.has_loops or (options.models and stem not in options.models):
            continue
        for name in held_names(robot):
            start = time.perf_counter()
            tally = Tally(stem, name, options.positions)
            wrong += len(tally.faults)
            print(f"{tally}, {time.perf_counter() - start:.1f} s", flush=True)
            for text in tally.faults:
                print("   ", text, flush=True)
    if not options.models or "stewart" in options.models:
        for far, apart in ((0.2, 0.0), (0.4, 0.0), (0.2, 4.0)):
            count = options.positions // 20 if apart else options.positions  # a refusal: 2 s
            start, found = time.perf_counter(), leg_faults(count, far, apart)
            wrong += len(found)
            print(
                f"stewart, legs held of poses within {far} m and rad, the first {apart} m longer: "
                f"{len(found)} wrong, {time.perf_counter() - start:.1f} s",
                *found[:20],
                sep="\n    ",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
