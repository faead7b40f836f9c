"""Studies: variants a second with one and two processes, overhead of a part, peak memory.

A hundred workers are not here to be had. What they would give is measured with a hundred Dask
workers that wait, for as long as a part was measured to take, and return as many numbers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.applications import studies

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

HUNDRED = 100
"""Workers that wait."""

WAIT = 10.0
"""About how long each of them waits in all, s."""


def nothing(factors: dict[str, Any]) -> dict[str, Any]:
    """Return a factor."""
    return {"same": factors["x"]}


def waiting(seconds: float, factors: dict[str, Any]) -> dict[str, Any]:
    """Return two factors and their sum after a while, as a part that was computed elsewhere."""
    time.sleep(seconds)
    x, y = factors["x"], factors["y"]
    return {"first": x, "second": y, "finished": x + y}


def timed(executor: Any, number: int, **more: Any) -> tuple[float, studies.StudyResult]:
    """Return the seconds of a study, and its result."""
    rocker = mbd.load(mbd.models()["crank_rocker"])
    design = studies.sobol(FACTORS, number, seed=0)
    start = time.perf_counter()
    found = rocker.study(design, executor=executor, **MOTION, **more)
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
    rows += overheads(context)
    rows.append(hundred_workers(studies.run.BATCH * rows[0]["seconds"] / number))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory {memory:.0f} MB here, {workers:.0f} MB in a worker")
    rows.append({"MB here": memory, "MB in a worker": workers})
    return rows


def overheads(context: Any) -> list[dict[str, Any]]:
    """Print what a part costs that does nothing: threads, processes, a Dask cluster."""
    from distributed import Client, LocalCluster

    rows = []
    design = studies.table({"x": np.arange(float(PARTS))})
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(2, context) as pool,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for name, executor in {"threads": threads, "processes": pool, "Dask": client}.items():
            mbd.studies.study(nothing, design, executor=executor, batch=100)
            start = time.perf_counter()
            mbd.studies.study(nothing, design, executor=executor, batch=1)
            overhead = (time.perf_counter() - start) / PARTS
            print(f"overhead of a part, two {name}: {1e3 * overhead:.2f} ms")
            rows.append({"executor": name, "overhead of a part": overhead})
    return rows


def hundred_workers(seconds: float) -> dict[str, Any]:
    """Print how much of their time a hundred workers compute whose parts take so long."""
    from distributed import Client, LocalCluster

    parts = round(WAIT / seconds) * HUNDRED
    size = studies.run.BATCH
    design = studies.sobol({"x": (0.0, 1.0), "y": (0.0, 1.0)}, parts * size, seed=0)
    with (
        LocalCluster(n_workers=2, threads_per_worker=HUNDRED // 2, dashboard_address=None) as one,
        Client(one) as client,
    ):
        mbd.studies.study(partial(waiting, seconds), design, executor=client)
        start = time.perf_counter()
        mbd.studies.study(partial(waiting, seconds), design, executor=client)
        taken = time.perf_counter() - start
    busy = parts * seconds / HUNDRED / taken
    print(
        f"a hundred workers, {parts} parts of {size} variants and {seconds:.2f} s: {taken:.1f} s, "
        f"{100 * busy:.0f} % of the time at work, {parts * size / taken:.0f} variants a second"
    )
    return {"workers": HUNDRED, "at work": busy, "a second": parts * size / taken}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=2**17, help="variants (131072)")
    run(parser.parse_args().number)
