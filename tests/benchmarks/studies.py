"""Studies: variants a second with one and two processes, overhead of a part, peak memory."""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge import studies

FACTORS = {"coupler.mass": (0.5, 2.0), "crank.vel": (0.0, 5.0)}
MOTION: dict[str, Any] = {
    "duration": 0.1,
    "every": 10,
    "near": {"crank": 0.5},
    "outputs": ["peak coupler_pin.force", "final rocker"],
}
"""100 steps of 1 ms of a four-bar linkage, its pin's peak load and where it ends."""

PARTS = 500
"""Parts that do nothing, for the overhead."""


def nothing(factors: dict[str, Any]) -> dict[str, Any]:
    """Return a factor."""
    return {"same": factors["x"]}


def timed(executor: Any, number: int, **more: Any) -> tuple[float, studies.StudyResult]:
    """Return the seconds of a study, and its result."""
    rocker = mbd.load(mbd.models()["crank_rocker"])
    design = studies.sobol(FACTORS, number, seed=0)
    start = time.perf_counter()
    found = mbd.study(rocker, design, executor=executor, **MOTION, **more)
    return time.perf_counter() - start, found


def run(number: int = 2**17) -> list[dict[str, Any]]:
    """Print the table."""
    timed(None, 64)
    rows = []
    context = multiprocessing.get_context("spawn")
    first: studies.StudyResult | None = None
    with tempfile.TemporaryDirectory() as folder:
        for workers in (0, 1, 2):
            if workers == 0:
                seconds, found = timed(None, number, folder=folder)
            else:
                with ProcessPoolExecutor(workers, context) as pool:
                    timed(pool, 64 * workers, batch=64)
                    seconds, found = timed(pool, number)
            first = first or found
            equal = all(np.array_equal(found[k], first[k]) for k in found.outputs)
            name = "this process, parts kept" if workers == 0 else f"{workers} more"
            rows.append({"processes": name, "seconds": seconds, "a second": number / seconds})
            print(
                f"{name:26s} {number} variants {seconds:8.1f} s {number / seconds:8.0f} a second"
                f"   {'same bits' if equal else 'OTHER BITS'}",
                flush=True,
            )
        start = time.perf_counter()
        timed(None, number, folder=folder)
        print(f"read again from the folder {time.perf_counter() - start:8.2f} s")
    design = studies.table({"x": np.arange(float(PARTS))})
    with ProcessPoolExecutor(2, context) as pool:
        mbd.study(nothing, design, executor=pool, batch=100)
        start = time.perf_counter()
        mbd.study(nothing, design, executor=pool, batch=1)
        overhead = (time.perf_counter() - start) / PARTS
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"overhead of a part {1e3 * overhead:.2f} ms; peak memory {memory:.0f} MB here, ", end="")
    print(f"{workers:.0f} MB in a worker")
    rows.append({"overhead of a part": overhead, "MB here": memory, "MB in a worker": workers})
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=2**17, help="variants (131072)")
    run(parser.parse_args().number)
