"""Pools that are forked while a thread uses the library for the first time.

``python -m tests.forks 200``

Each is that of a new process, forked at a random time after the thread began. All must answer.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from typing import NoReturn

import numpy as np

import mbd_bridge as mbd
from tests.robots import OWN

LONGEST = 0.8
"""s, in which the thread uses the library for the first time, on a quiet machine."""
PATIENCE = 90.0
"""s, after which a pool hangs."""


def first_use(number: int) -> float:
    """Use what imports other packages: files, loops, a simulation, modes, a noisy recording."""
    rocker = mbd.load(OWN / "crank_rocker.urdf")
    start = rocker.assemble({"crank": 0.5})
    run = rocker.simulate(0.01, q=start.q)
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    motion = arm.read_motion(OWN / "kuka_iiwa_motion.csv")
    return float(np.abs(arm.joint_loads(motion).force).max() + run.q[-1, 0])


def one_pool(seed: int) -> NoReturn:
    """Fork a pool in the meantime; end this process with 0 if it answers."""
    threading.Thread(target=first_use, args=(0,), daemon=True).start()
    time.sleep(random.Random(seed).uniform(0.0, LONGEST))
    pool = multiprocessing.get_context("fork").Pool(2)
    try:
        code = 0 if len({*pool.map_async(first_use, range(2)).get(PATIENCE)}) == 1 else 1
    except multiprocessing.TimeoutError:
        code = 2
    for worker in multiprocessing.active_children():
        worker.kill()
    os._exit(code)  # the pool is never closed: who was killed may have held its lock


def main(words: list[str]) -> int:
    """Print how many pools of new processes gave no answer."""
    if words[0] == "--seed":
        one_pool(int(words[1]))
    number = int(words[0])
    codes = []
    for seed in range(number):
        done = subprocess.run(
            [sys.executable, "-m", "tests.forks", "--seed", str(seed)], check=False
        )
        codes.append(done.returncode)
        if done.returncode:
            print(f"seed {seed}: {done.returncode}", flush=True)
    print(f"{codes.count(0)} of {number} pools answered")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
