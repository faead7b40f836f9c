"""Random states at which models are compared."""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import prepare
from mbd_bridge.solve.assembly import assemble_batch
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.tolerances import SINGULAR

TRIALS = 3
"""Guesses per state: some cannot be fulfilled, some end near a singular position."""

REGULAR = 0.05
"""Least singular value of the constraints at a position that is called regular, relative to the
largest: pybullet's solver relaxes row by row, and does not arrive nearer to a singular one."""


def random_states(model: Model, count: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return q (count, nq), v and a (count, nv).

    Angles and turns go all the way round, slides half a metre; rates are of order one.
    """
    steps = rng.uniform(-np.pi, np.pi, (count, model.nv))
    for body in model.bodies:
        if body.type.name == "prismatic" and not body.coupled:
            steps[:, body.v] = rng.uniform(-0.5, 0.5, (count, 1))
    neutral = model.neutral()
    q = np.array([model.integrate(neutral, step) for step in steps]).reshape(count, model.nq)
    return q, rng.normal(size=(count, model.nv)), rng.normal(size=(count, model.nv))


def closed_states(model: Model, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return q (K, nq) and v (K, nv) that satisfy the loops, K at most `count`.

    They are the nearest to random ones, singular positions and their neighbourhood left out.
    """
    constraints = prepare(model, "constraints")
    scale = model.velocity_scale
    guesses, rates, _ = random_states(model, TRIALS * count, rng)
    reached = assemble_batch(Prepared(model), guesses, check=False)
    found: list[tuple[int, Array, Array]] = []
    for q, v in zip(reached.q[reached.closed], rates[reached.closed], strict=True):
        J = model.scaled_jacobian(constraints(q, v)[1])
        sizes, basis = np.linalg.svd(J, full_matrices=False)[1:]
        rank = int(np.sum(sizes > SINGULAR * sizes[0]))
        if sizes[rank - 1] < REGULAR * sizes[0]:
            continue
        rows = basis[:rank]
        found.append((rank, q, v - scale * (rows.T @ (rows @ (v / scale)))))
    highest = max((rank for rank, *_ in found), default=0)
    kept = [(q, v) for rank, q, v in found if rank == highest][:count]
    return (
        np.array([q for q, _ in kept]).reshape(-1, model.nq),
        np.array([v for _, v in kept]).reshape(-1, model.nv),
    )
