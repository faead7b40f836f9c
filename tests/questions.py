"""Ever new questions to mechanisms, and what they leave behind in the process."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from itertools import islice, permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mbd_bridge as mbd

MASSES = {f"weld_{k}": 1.0 + 0.25 * k for k in range(15)}
"""kg on each of the welds of `star`."""

AT_A_TIME = 4
"""Welds of a question: 32,760 questions."""


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


def star() -> mbd.Mechanism:
    """Return masses that are welded to a plate on a slide."""
    builder = mbd.Builder("star").link("plate", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    builder.joint("slide", "prismatic", "base", "plate", axis=(0, 0, 1))
    for name, mass in MASSES.items():
        builder.link(f"{name}_mass", mass, (0, 0, 0), (0.1, 0.1, 0.1))
        builder.joint(name, "fixed", "plate", f"{name}_mass")
    return mbd.Mechanism.build(builder)


def held(questions: int) -> Left:
    """Return what this process holds now."""
    gc.collect()
    with open("/proc/self/maps") as file:
        maps = sum(1 for _ in file)
    status = Path("/proc/self/status").read_text()
    return Left(questions, maps, int(re.search(r"VmRSS:\s*(\d+) kB", status)[1]) / 1024)


def ask(number: int, every: int, mechanisms: int = 1) -> Iterator[Left]:
    """Ask for the loads of ever other selections of welds; yield what is held, from time to time.

    Each selection, in its order, is a question with machine code of its own. A load is m·g.
    """
    machines = [star() for _ in range(mechanisms)]
    zero = np.zeros(1)
    for k, names in enumerate(islice(permutations(MASSES, AT_A_TIME), number), 1):
        loads = machines[k % mechanisms].joint_loads(zero, zero, zero, names)
        weights = [9.81 * MASSES[name] for name in names]
        assert np.allclose(np.linalg.norm(loads.force.reshape(-1, 3), axis=1), weights, 1e-9, 0.0)
        if k % every == 0:
            yield held(k)
