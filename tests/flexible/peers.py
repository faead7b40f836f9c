"""A flexible pendulum with a mass at its end beside Exudyn: ``python -m tests.flexible.peers``.

Exudyn (the extra `bench`) gets our modes, masses and stiffness, and is run in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model.flexible.basis import basis
from mbd_bridge.model.flexible.finite_element import gauss
from tests.flexible.models import bar

SECONDS, SPEED, FORCE, LOAD = 0.5, 3.0, -5.0, 0.5
"""s; rad/s at the start; N on the mass at the end, along y; kg."""
STEP = 1e-4
"""s, of ours (RK4) and of Exudyn (generalised alpha)."""


def main() -> None:
    """Print differences and times a step for two and four modes."""
    for count in (2, 4):
        beam = bar(1.0, E=7e8)
        link = mbd.flexible.FlexibleLink("rod", beam, mbd.flexible.Modes("clamped-free", count))
        parts = mbd.Builder("pendulum").joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1))
        parts.link("bob", LOAD).joint("screw", "fixed", "rod", "bob", xyz=(1, 0, 0))
        machine = mbd.Mechanism.build(parts.flexible(link), gravity=(0, 0, 0))
        v = np.zeros(machine.nv)
        v[0] = SPEED
        push = {"rod.tip": [0, FORCE, 0, 0, 0, 0]}

        def run(machine=machine, v=v, push=push):
            return machine.simulate(SECONDS, step=STEP, v=v, external=push, external_in="world")

        run()
        start = time.perf_counter()
        ours = run()
        spent = time.perf_counter() - start
        along, up = 1.0, ours.q[:, 1:].sum(axis=1)
        cos, sin = np.cos(ours.q[:, 0]), np.sin(ours.q[:, 0])
        tip = np.column_stack([cos * along - sin * up - 1.0, sin * along + cos * up])
        theirs, other = exudyn(machine, link, beam)
        places = np.searchsorted(ours.time, theirs[:, 0] - 0.1 * STEP)
        apart = np.abs(theirs[:, 1:3] - tip[places]).max()
        steps = SECONDS / STEP
        print(
            f"{count} modes: end moves {np.abs(tip).max():.3f} m, "
            f"deflects {np.abs(up).max():.4f} m; apart by {apart:.1e} m; "
            f"a step {1e6 * spent / steps:.2f} us, "
            f"Exudyn {1e6 * other / steps:.0f} us: {other / spent:.0f} times"
        )


def exudyn(
    machine: mbd.Mechanism, link: mbd.flexible.FlexibleLink, beam: mbd.flexible.Beam
) -> tuple[np.ndarray, float]:
    """Return Exudyn's times and displacements of the end, and the seconds it took."""
    x, weight = gauss(np.linspace(0.0, beam.length, 3))
    shapes = [
        mode.displacement(np.append(x, beam.length)) for mode in basis(link, beam, 0.0, [1.0])
    ]
    places = np.append(x, beam.length)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(
            given,
            nodes=np.column_stack([places, 0 * places, 0 * places]),
            masses=np.append(weight * beam.at(x).mass, 0.0),
            modes=np.stack(shapes, axis=-1).reshape(-1, len(shapes)),
            stiffness=machine.model.flexible[0].stiffness,
            load=LOAD,
            speed=SPEED,
            force=FORCE,
            seconds=SECONDS,
            steps=round(SECONDS / STEP),
        )
        script = Path(__file__).with_name("exudyn_pendulum.py")
        subprocess.run(
            [sys.executable, "-W", "ignore", str(script), str(given), str(found)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        result = np.load(found)
        return result["motion"], float(result["seconds"])


if __name__ == "__main__":
    main()
