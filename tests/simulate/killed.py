"""Runs that other processes start and that are killed on the way."""

import numpy as np

from tests.machines import four_bar, turning

STEPS = 300_000


def run(checkpoint=None, **options):
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    wanted = {"step": 1e-4, "every": 100, "q": at.q, "v": at.v, "checkpoint": checkpoint}
    wanted |= {"checkpoint_every": 2000, "torque": friction} | options
    return bar.simulate(1e-4 * STEPS, **wanted)


def in_python(method, integrator, checkpoint=None, seconds=1.0, **options):
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    wanted = {"step": 1e-3, "every": 10, "q": at.q, "v": at.v, "checkpoint": checkpoint}
    wanted |= {"checkpoint_every": 100, "method": method, "integrator": integrator} | options
    return bar.simulate(seconds, **wanted)


def friction(t, q, v):
    out = np.zeros(3, dtype=np.asarray(q).dtype)
    out[0] = np.sin(t) - 0.05 * v[0]
    return out
