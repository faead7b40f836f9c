"""Random states at which models are compared."""

from __future__ import annotations

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array


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
