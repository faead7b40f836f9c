"""The engines that are measured in loops: ours and, where they are installed, the peers."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import machine
from mbd_bridge.kernels.march import March, compile_march
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.runge_kutta import runge_kutta_step
from tests.benchmarks import peer_exudyn, peer_pinocchio
from tests.benchmarks.peer_exudyn import ExudynBodies, ExudynTree, quickest
from tests.benchmarks.peer_mujoco import DEFAULT, MuJoCo, stiff
from tests.benchmarks.peer_pinocchio import Pinocchio
from tests.benchmarks.planar import Engine, gap, seconds_of

H = 1e-3
"""s, of a step where steps are not what is varied."""


class Ours:
    """Our step, marched in machine code: one trajectory, or as many as the lanes take."""

    name = "ours, RK4 with projection"

    def __init__(self, model: Any, q: Any, v: Any, h: float, lanes: int = 1) -> None:
        self.model, self.start = model, (q, v, np.zeros(2), np.array([h]))
        step = runge_kutta_step(model, independent_rows(model, q), None)
        sizes = {"q": model.nq, "v": model.nv, "t": 2, "h": 1}
        self.march: March = compile_march(step, sizes, 3, lanes=lanes, name="benchmark")
        self.stage = self.march.start(*self.start)
        self.places = np.zeros((len(self.march.shapes), self.march.lanes), np.int64)  # none wanted

    def run(self, steps: int) -> float:
        """Take steps from the start; return the processor's seconds that they took."""
        self.march.put(self.stage, *self.start)
        return seconds_of(lambda: self.march.advance_into(self.stage, steps, 1, self.places))

    def q(self) -> np.ndarray:
        """Return the coordinates where the last run ended, those of the last lane."""
        return np.asarray(np.atleast_2d(self.march.state_of(self.stage)[0])[-1])

    def open(self) -> float:
        """Return how far the loops stood open there, m."""
        return gap(self.model, self.q())


class OurCall(Ours):
    """The whole call of `robot.simulate` with all its checks, every state kept."""

    name = "ours, whole simulate"

    def __init__(self, bar: mbd.Mechanism, q: Any, v: Any, h: float) -> None:
        self.bar, self.model, self.begin, self.h = bar, bar.model, {"q": q, "v": v}, h
        self.end = np.asarray(q)

    def run(self, steps: int) -> float:
        """Simulate so many steps from the start; return the processor's seconds."""

        def call() -> None:
            found = self.bar.simulate(steps * self.h, step=self.h, **self.begin)
            self.end = found.q[-1].copy()

        return seconds_of(call)

    def q(self) -> np.ndarray:
        """Return the coordinates where the last run ended."""
        return self.end


def peers(model: Any, q: Any, v: Any, h: float = H, *, default: bool = False) -> list[Engine]:
    """Return the peers that are installed, each with the settings that suit it best.

    Parameters
    ----------
    default : MuJoCo with its default softness too
    """
    found: list[Engine] = []
    if find_spec("mujoco"):
        for integrator in ("RK4", "Euler"):
            for setting, soft in (("default", DEFAULT), ("stiff", stiff(h))):
                if default or setting == "stiff":
                    found.append(MuJoCo(model, q, v, h, integrator, soft))
                    found[-1].name += f", {setting} loops"
    if find_spec("exudyn"):
        found += [quickest(kind, model, q, v, h) for kind in (ExudynBodies, ExudynTree)]
    found.append(Pinocchio(model, q, v, h))
    return found


def error_in(engine: Engine, exact: np.ndarray, wrap: Callable[..., np.ndarray]) -> float:
    """Return how far the worst joint's angle is off where the last run ended, rad."""
    return float(np.abs(wrap(engine.q() - exact)).max())


def settings() -> dict[str, Any]:
    """Print and return what was measured with what."""
    found: dict[str, Any] = {"python": platform.python_version(), "processor": processor()}
    for name in ("numpy", "llvmlite", "mujoco", "exudyn", "pin"):
        module = {"pin": "pinocchio"}.get(name, name)
        found[name] = version(name) if find_spec(module) else "not there"
    found["lanes"] = machine.host().lanes
    found["threads"] = "one, of each engine (MuJoCo's rollout too), in one process"
    found["times"] = "the processor's own seconds, the best of 5 to 200 turns, engines in turns"
    found["mujoco, default loops"], found["mujoco, stiff loops"] = DEFAULT, stiff(H)
    found["mujoco"] += "; contacts and refsafe off, Newton solver, Jacobian auto"
    proximal = peer_pinocchio.ACCURACY, peer_pinocchio.MU, peer_pinocchio.ITERATIONS
    found["pinocchio"] = (
        "CONTACT_3D, LOCAL; proximal accuracy {:g}, mu {:g}, at most {} iterations; it has no "
        "integrator: Runge-Kutta in Python, part of its times".format(*proximal)
    )
    found["exudyn's settings"] = (
        f"spectral radius {peer_exudyn.SPECTRAL_RADIUS:g}, Newton to {peer_exudyn.NEWTON:g} "
        f"relative; the quickest of {', '.join(peer_exudyn.SOLVERS)} (up to "
        f"{peer_exudyn.DENSE_UP_TO} coordinates, then the last), full or modified Newton; "
        "SolveSteps alone is timed, not its set-up"
    )
    for name, value in found.items():
        print(f"  {name}: {value}")
    return found


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} threads" if names else platform.processor()
