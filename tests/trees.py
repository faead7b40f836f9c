"""Random trees of bodies, for hypothesis and for seeds."""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Builder

TYPES = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "spherical",
    "universal",
    "cylindrical",
    "planar",
    "floating",
    "helical",
)


def random_tree(
    rng: np.random.Generator,
    joints: int,
    types: tuple[str, ...] = TYPES,
    *,
    aligned: float = 0.5,
    massless: float = 0.0,
    mimics: float = 0.0,
) -> Builder:
    """Return a tree whose joints are drawn from `types`.

    `aligned` is the share of axes along x, y or z; `massless` that of links without inertia;
    `mimics` that of one-axis joints that follow an earlier one.
    """
    builder = Builder("random tree", root="link0")
    builder.link("link0", *_inertia(rng))
    single: list[str] = []
    for k in range(1, joints + 1):
        kind = str(rng.choice(types))
        if not (rng.uniform() < massless and kind == "fixed"):
            builder.link(f"link{k}", *_inertia(rng))
        axis = rng.normal(size=3)
        if rng.uniform() < aligned:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        options = {}
        if kind == "universal":
            helper = np.eye(3)[np.argmin(np.abs(axis))]
            options["axis2"] = np.cross(axis, helper)
        if kind == "helical":
            options["pitch"] = float(rng.uniform(-0.2, 0.2))
        if kind in ("revolute", "prismatic", "continuous"):
            if single and rng.uniform() < mimics:
                options |= {
                    "mimic": str(rng.choice(single)),
                    "multiplier": float(rng.uniform(-2, 2)),
                    "offset": float(rng.uniform(-1, 1)),
                }
            single.append(f"joint{k}")
        builder.joint(
            f"joint{k}",
            kind,
            f"link{rng.integers(max(0, k - 4), k)}",
            f"link{k}",
            rng.uniform(-1, 1, 3),
            rng.uniform(-np.pi, np.pi, 3) if rng.uniform() < 0.5 else (0, 0, 0),
            axis,
            **options,
        )
    return builder


def _inertia(rng: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray]:
    points = rng.normal(size=(4, 3)) * 0.3
    spread = sum(np.dot(p, p) * np.eye(3) - np.outer(p, p) for p in points)
    return float(rng.uniform(0.2, 3.0)), rng.uniform(-0.3, 0.3, 3), (spread + spread.T) / 2


def random_state(model, rng: np.random.Generator):
    """Return q, v and a of a model, one state."""
    q = model.integrate(model.neutral(), rng.uniform(-2, 2, model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)
