"""What a step of RALF costs by the number of modes: ``python -m tests.flexible.cost_of_modes``."""

from __future__ import annotations

import time
from dataclasses import replace

import mbd_bridge as mbd
from mbd_bridge.files.modal import read_flexible
from tests.flexible.ralf import COMMAND, GUESS
from tests.robots import OWN

STEP, STEPS = 1e-4, 10_000
"""s; number."""


def main() -> None:
    """Print coordinates, operations and time of a step, rigid and with 1, 2 and 4 modes a link."""
    links = read_flexible(OWN / "ralf.flex.yaml")
    for count in (0, 1, 2, 4):
        bent = [replace(one, modes=replace(one.modes, bending_y=count)) for one in links if count]
        arm = mbd.load(OWN / "ralf.urdf", flexible=bent)
        at = arm.assemble(GUESS, fixed=("theta1", "theta3"))

        def run(arm=arm, at=at):
            return arm.simulate(
                STEP * STEPS, step=STEP, q=at.q, prescribed=COMMAND, every=STEPS // 10
            )

        operations, best = run().facts["operations"], float("inf")
        for _ in range(5):
            start = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - start)
        print(
            f"{count} modes a link: {arm.nv:2d} velocities, {operations} operations, "
            f"{1e6 * best / STEPS:.2f} us a step, {STEP * STEPS / best:.0f} times real time"
        )


if __name__ == "__main__":
    main()
