"""KUKA iiwa and Talos: our kernels beside pinocchio's algorithms."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import mbd_bridge as mbd
from mbd_bridge.engines.crosscheck.bench import bench
from mbd_bridge.kernels import Cache
from mbd_bridge.solve.dynamics import prepare
from tests.robots import robot

ROBOTS = {"iiwa": "pb/kuka_iiwa/model", "talos": "erd/talos/talos_reduced"}


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore", mbd.MbdWarning)
    results: dict[str, Any] = {}
    for name, path in ROBOTS.items():
        found = bench(mbd.load(robot(path)).model)
        results[name] = found.as_json()
        print(f"{name}, {found.dof} degrees of freedom, {found.states} states; {found.facts}")
        for row in found.rows:
            print(f"  {row.what:<75} {row.ours * 1e9:9.1f} ns", end="")
            print(f"  {row.peer} {row.theirs * 1e9:.0f} ns: {row.ratio:.1f} times")
        for row in found.compilations:
            print(f"  {row.what:<75} {row.ours * 1e3:9.1f} ms")
    results["compile"] = compilations()
    results["import"] = start_up()
    return results


def compilations() -> dict[str, dict[str, float]]:
    """Time every kernel from nothing and from the cache, Talos with a floating base too."""
    results: dict[str, dict[str, float]] = {}
    for name, floating in (("iiwa", False), ("talos", False), ("talos", True)):
        model = mbd.load(robot(ROBOTS[name]), floating=floating).model
        with tempfile.TemporaryDirectory() as folder:
            cache = Cache(Path(folder))
            for what in ("inverse_dynamics", "forward_dynamics"):
                times = []
                for _ in range(2):
                    start = time.perf_counter()
                    prepare(model, what, cache=cache)
                    times.append(time.perf_counter() - start)
                title = f"{name}{' floating' if floating else ''} {what}"
                results[title] = {"compile": times[0], "cache": times[1]}
                print(f"  {title:<40} compile {times[0]:.3f} s, from the cache {times[1]:.4f} s")
    return results


def start_up() -> float:
    """Return the time of ``import mbd_bridge`` in a new process, the best of five."""
    code = "import time; t = time.perf_counter(); import mbd_bridge; print(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    print(f"  import mbd_bridge {min(times):.3f} s")
    return min(times)
