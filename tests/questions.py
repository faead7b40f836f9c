"""Ever new questions to mechanisms, and what they leave behind in the process."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mbd_bridge as mbd


class Left(NamedTuple):
    """What a process holds after so many questions."""

    questions: int
    maps: int
    MiB: float


def pendulum() -> mbd.Mechanism:
    """Return the least that has a load."""
    builder = mbd.Builder("pendulum").link("bob", 2.0, (0, 0, -1), (0.1, 0.2, 0.3))
    builder.joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0))
    return mbd.Mechanism.build(builder)


def held(questions: int) -> Left:
    """Return what this process holds now."""
    gc.collect()
    with open("/proc/self/maps") as file:
        maps = sum(1 for _ in file)
    status = Path("/proc/self/status").read_text()
    return Left(questions, maps, int(re.search(r"VmRSS:\s*(\d+) kB", status)[1]) / 1024)


def ask(number: int, every: int, mechanisms: int = 1) -> Iterator[Left]:
    """Ask for the load at ever new points; yield what is held, from time to time.

    Each point is a question of its own, with machine code of its own. An answer is m·g, and the
    moment about the point.
    """
    machines = [pendulum() for _ in range(mechanisms)]
    zero = np.zeros(1)
    for k in range(1, number + 1):
        x = 1e-5 * k
        loads = machines[k % mechanisms].joint_loads(zero, zero, zero, ["hinge"], at=(x, 0.0, 0.0))
        moment = np.asarray(loads.moment).ravel()
        assert np.isclose(abs(moment[1]), 2.0 * 9.81 * x, rtol=1e-9, atol=0.0)
        if k % every == 0:
            yield held(k)
