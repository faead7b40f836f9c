"""Motions of many minutes past flat positions keep their energy: ``python -m tests.long_runs``.

The shipped four-bar, from rest at random positions, 1 ms: 400 runs of 100 s and one of a million
steps, alone and in a batch. Energy comes from textbook formulas, by the range that it has.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import mbd_bridge as mbd
from tests.robots import own_urdfs

TURN = np.array([1.0, -1.0, 1.0])
"""How crank, elbow and the rocker's joint turn together."""

KEPT = 1e-7
"""Change of energy, by the potential's range from the start to the lowest position."""


def lost(angle: float, q: np.ndarray, v: np.ndarray) -> float:
    """Return the largest change of energy of cranks at q, from rest at `angle`, by its range.

    Two cranks and a coupler of 1 m and 1 kg: ½ (5/3) θ'² + 2 g cos θ. All have to turn together.
    """
    theta, rate = q[..., 0], v[..., 0]
    apart = np.abs(q - theta[..., None] * TURN).max()
    if not apart < KEPT:
        return float(apart)
    energy = 0.5 * (5 / 3) * rate**2 + 2 * 9.81 * np.cos(theta)
    change = np.abs(energy - 2 * 9.81 * np.cos(angle)).max()
    return float(change / (2 * 9.81 * (1 + np.cos(angle))))


def angles(count: int) -> np.ndarray:
    """Return positions to start from: not so near to upright that rounding decides the way."""
    return np.random.default_rng(0).uniform(0.05, 3.0, count)


def alone(angle: float, seconds: float) -> tuple[float, str, int]:
    """Return the lost energy, the status, and how many steps were past a flat position."""
    run = mbd.load(own_urdfs()["four_bar"]).simulate(
        seconds, q=angle * TURN, every=100, check=False
    )
    return lost(angle, run.q, run.v), run.status, run.detours


def together(starts: np.ndarray, seconds: float) -> list[tuple[float, str]]:
    """Return lost energies and statuses of a batch."""
    bar = mbd.load(own_urdfs()["four_bar"])
    batch = bar.simulate(seconds, q=starts[:, None] * TURN, every=100)
    pairs = zip(starts, batch.q, batch.v, strict=True)
    return [(lost(*one), status) for one, status in zip(pairs, batch.status, strict=True)]


def main() -> int:
    """Print how much energy is lost at most."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_runs", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="of runs")
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--million", type=int, default=1, help="of runs of a million steps")
    options = parser.parse_args()
    starts, begun = angles(options.count), time.perf_counter()
    found = {f"{options.count} runs of {options.seconds} s": [], "the same in a batch": []}
    single, batch = found.values()
    for angle in starts:
        single.append(alone(angle, options.seconds)[:2])
    batch += together(starts, options.seconds)
    found["runs of a million steps"] = [alone(a, 1000.0)[:2] for a in angles(options.million)]
    wrong = 0
    for name, every in found.items():
        finished = np.array([change for change, status in every if status == "finished"])
        off = int((~(finished <= KEPT)).sum())
        wrong += off
        print(
            f"{name}: {len(every)}, {off} wrong, {len(every) - len(finished)} stopped, "
            f"the worst loses {finished.max(initial=0.0):.1e} of the range",
            flush=True,
        )
        print(*sorted({s for _, s in every if s != "finished"})[:5], sep="\n", flush=True)
    print(f"{time.perf_counter() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
