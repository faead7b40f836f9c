"""Everything included: what a Python user waits for from a machine to its motion.

Each engine in a process of its own, started anew three times, the best of them: import; then
model, compilation (ours from nothing, and from the cache on disk) and the motion with every state
kept; then that motion once more in the same process. The start is given. One thread each.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from tests.benchmarks.planar import seconds_of

H = 1e-3
"""s."""
SECONDS = {"four_bar": 10.0, "forty": 0.5}
"""Of motion: forty in a row, before the position in which they are singular."""
TURNS = 3
NAMES = {
    "nothing": "ours, simulate, compiled from nothing",
    "disk": "ours, simulate, from the cache on disk",
    "mujoco_rk4": "MuJoCo RK4, stiff loops, mujoco.rollout of one",
    "mujoco_euler": "MuJoCo Euler, stiff loops, mujoco.rollout of one",
    "mujoco_python": "MuJoCo RK4, stiff loops, mj_step in a Python loop",
    "exudyn": "Exudyn bodies, generalized alpha, ends kept only",
    "pinocchio": "pinocchio constraintDynamics, RK4 in Python, ends kept only",
}


OURS = "nothing", "disk"


def machine(name: str) -> Any:
    """Return a mechanism."""
    from tests.machines import four_bar, n_four_bar

    return four_bar(1, 2, 2.5, 2.5) if name == "four_bar" else n_four_bar(40)


def start_of(name: str) -> dict[str, list[float]]:
    """Return positions and velocities at the start."""
    crank, angle, rate = ("crank", 0.5, 2.0) if name == "four_bar" else ("crank0", 0.0, 1.0)
    at = machine(name).assemble({crank: angle}, fixed=crank, velocity={crank: rate})
    return {"q": at.q.tolist(), "v": at.v.tolist()}


def peer(engine: str, bar: Any, start: dict[str, Any], steps: int) -> Callable[[], object]:
    """Return the motion of a peer, its model made."""
    given = bar.model, start["q"], start["v"], H
    if engine.startswith("mujoco"):
        from tests.benchmarks.peer_mujoco import MuJoCo, Rollout, stiff

        one = MuJoCo(*given, "Euler" if engine == "mujoco_euler" else "RK4", stiff(H))
        if engine == "mujoco_python":
            return lambda: one.in_python(steps)
        rolled = Rollout(one, 1, steps)
        return lambda: rolled.run(steps)
    if engine == "exudyn":
        from tests.benchmarks.peer_exudyn import DENSE_UP_TO, ExudynBodies

        small = bar.model.nv < DENSE_UP_TO
        bodies = ExudynBodies(*given, "EXUdense" if small else "EigenSparse", modified=not small)
        return lambda: bodies.run(steps)
    from tests.benchmarks.peer_pinocchio import Pinocchio

    one_more = Pinocchio(*given)
    return lambda: one_more.run(steps)


def child(engine: str, name: str, start: dict[str, Any]) -> dict[str, float]:
    """Measure one engine in this process: s of the processor."""
    start = {key: np.array(value) for key, value in start.items()}
    if engine in OURS:
        began = time.process_time()

        imported = time.process_time()
        bar = machine(name)

        def motion() -> object:
            return bar.simulate(SECONDS[name], step=H, **start)

    else:
        bar, package = machine(name), engine.split("_")[0]  # read by ours, so it is not counted
        began = time.process_time()
        importlib.import_module("mujoco.rollout" if package == "mujoco" else package)
        imported = time.process_time()
        motion = peer(engine, bar, start, round(SECONDS[name] / H))
    motion()
    first = time.process_time()
    again = min(seconds_of(motion) for _ in range(TURNS))
    return {"import": imported - began, "first": first - imported, "again": again}


def measure(name: str) -> list[dict[str, Any]]:
    """Measure all engines with one machine, in turns; print and return what they took."""
    engines = [e for e in NAMES if e in OURS or find_spec(e.split("_")[0])]
    start, found = json.dumps(start_of(name)), {engine: [] for engine in engines}
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as cache:
            for engine in engines:
                words = [sys.executable, "-m", "tests.benchmarks.everything", engine, name, start]
                environment = os.environ | {"MBD_BRIDGE_CACHE": cache}
                done = subprocess.run(
                    words, capture_output=True, text=True, check=True, env=environment
                )
                found[engine].append(json.loads(done.stdout))
    title = f"{name.replace('_', '-')}, {SECONDS[name]:g} s at 1 ms; ms"
    print(f"{title:<62}  import  model and first motion  same motion again")
    rows = []
    for engine, times in found.items():
        least = {key: min(time[key] for time in times) for key in times[0]}
        rows.append({"machine": name, "engine": NAMES[engine]} | least)
        imported, first, again = (1e3 * least[key] for key in ("import", "first", "again"))
        print(f"  {NAMES[engine]:<60}{imported:8.0f}  {first:22.1f}  {again:17.2f}")
    return rows


def run() -> list[dict[str, Any]]:
    return [row for name in SECONDS for row in measure(name)]


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
