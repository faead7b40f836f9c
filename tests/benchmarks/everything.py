"""Everything included: what a Python user waits for from a machine to its motion.

Each engine in a process of its own, started anew three times, the best of them: import; then
model (ours from a file), compilation (from nothing, in processes that count, and from the cache on
disk) and the motion with every state kept; then that motion once more in the same process. The
start is given. One thread each.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.planar import seconds_of, spent

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


def start_of(name: str, bar: Any) -> dict[str, list[float]]:
    """Return positions and velocities at the start."""
    crank, angle, rate = ("crank", 0.5, 2.0) if name == "four_bar" else ("crank0", 0.0, 1.0)
    at = bar.assemble({crank: angle}, fixed=crank, velocity={crank: rate})
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


def child(engine: str, name: str, file: str, start: dict[str, Any]) -> dict[str, float]:
    """Measure one engine in this process: s of the processor."""
    start = {key: np.array(value) for key, value in start.items()}
    if engine in OURS:
        assert "mbd_bridge" not in sys.modules
        began = spent()
        import mbd_bridge as mbd

        imported = spent()
        bar = mbd.load(file)

        def motion() -> object:
            return bar.simulate(SECONDS[name], step=H, **start)

    else:
        bar, package = machine(name), engine.split("_")[0]  # read by ours, so it is not counted
        began = spent()
        importlib.import_module("mujoco.rollout" if package == "mujoco" else package)
        imported = spent()
        motion = peer(engine, bar, start, round(SECONDS[name] / H))
    motion()
    first = spent()
    again = min(seconds_of(motion) for _ in range(TURNS))
    return {"import": imported - began, "first": first - imported, "again": again}


def measure(name: str) -> list[dict[str, Any]]:
    """Measure all engines with one machine, in turns; print and return what they took."""
    engines = [e for e in NAMES if e in OURS or find_spec(e.split("_")[0])]
    bar = machine(name)
    start, found = json.dumps(start_of(name, bar)), {engine: [] for engine in engines}
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as cache:
            file = str(Path(cache) / f"{name}.urdf")
            bar.convert(file)
            for engine in engines:
                module = "tests.benchmarks.everything"
                words = [sys.executable, "-m", module, engine, name, file, start]
                environment = os.environ | {"MBD_BRIDGE_CACHE": cache}
                environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, too
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
    print(json.dumps(child(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))))
