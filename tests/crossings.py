"""Motions past positions in which a linkage is flat: ``python -m tests.crossings --count 10000``.

Steps end at distances from 1e-2 to 1e-13 rad from flat, in both directions; machines and branches
are those of `tests.curves`. Couplers off by 1e-3 to 1e-10 m, which turn sharply: `sharp_turns`.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import cache

import numpy as np

from tests.curves import MACHINES, Curve
from tests.roads import METHODS, ROADS, moved
from tests.sharp_turns import turned

RIGHT = 1e-7
"""rad: motions that finish are right to this."""

STEPS = 80

COARSE, ORDER = 1e-6, 4.0
"""rad, and how much smaller the error of half the step is: an error of the method itself, which has
nothing to do with the flat position. Reference methods with 2 ms at 4 rad/s come to 2e-7."""


@cache
def curve(name: str) -> Curve:
    """Return a machine on a branch, made once."""
    make, given = MACHINES[name]
    return make(*given)


def crossing(name, distance, before, rate, step, steps=STEPS, road="run", flat=0):
    """Return by how much an angle is off in the end, and the status.

    The step that follows `before` others ends at this distance from the flat position.
    """
    way = curve(name)
    start, speed = way.motion(way.flat[flat] + distance, rate, -before * step)
    q, v = way.state(start, speed)
    found, status = moved(way.machine, q, v, step, steps, road)
    return way.apart(found, way.motion(start, speed, steps * step)[0]), status


def crossings(name: str, count: int, road: str, seed: int = 0) -> list[tuple[float, str]]:
    """Return errors and statuses of crossings at random distances, speeds and steps."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        place = 10.0 ** rng.uniform(-13, -2) * rng.choice([-1, 1])
        rate = rng.choice([-1, 1]) * rng.uniform(0.5, 5.0)
        before, step = int(rng.integers(5, 40)), 10.0 ** rng.uniform(-4, -2.7)
        flat = int(rng.integers(2))
        error, status = crossing(name, place, before, rate, step, STEPS, road, flat)
        if status == "finished" and not error < RIGHT:
            half = name, place, 2 * before, rate, step / 2, 2 * STEPS, road, flat
            finer, _ = crossing(*half)
            status = "coarse" if error < COARSE and finer < error / ORDER else "wrong"
            given = tuple(x if isinstance(x, str) else float(x) for x in half)
            print(f"    {status}: {error}, and {finer} at half the step: {given}")
        found.append((error, status))
    return found


def main() -> int:
    """Print how many motions are right to 1e-7, were stopped with a status, or are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crossings", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="of crossings, for each road")
    parser.add_argument("--roads", nargs="*", choices=[*ROADS, *METHODS[1:]], default=["run"])
    parser.add_argument("--machines", nargs="*", choices=list(MACHINES), default=list(MACHINES))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    for road in options.roads:
        for name in options.machines:
            begun = time.perf_counter()
            count = -(-options.count // len(options.machines))
            found = crossings(name, count, road, options.seed)
            kinds = dict.fromkeys(("wrong", "coarse", "finished"), 0)
            worst = 0.0
            for error, status in found:
                if status in kinds:
                    kinds[status] += 1
                    worst = max(worst, error)
            wrong += kinds["wrong"]
            print(
                f"{road:8s} {name:22s} {len(found)} crossings: {kinds['wrong']} wrong, "
                f"{len(found) - sum(kinds.values())} stopped, "
                f"{kinds['coarse']} with too coarse a step, the worst off by "
                f"{worst:.1e} rad, {time.perf_counter() - begun:.0f} s",
                flush=True,
            )
        for sign in (1, -1):
            for power in range(3, 11):
                error, status = turned(sign * 10.0**-power, 1e-3, road)
                wrong += status == "finished" and not error < RIGHT
                print(
                    f"{road:8s} coupler off by {sign * 10.0**-power:6.0e} m: "
                    f"{error:.1e} rad, {status}",
                    flush=True,
                )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
