"""Every URDF that pinocchio reads: rnea, aba, crba and derivatives with forces, beside pinocchio's.

python -m tests.bridges.every_urdf
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin

from mbd_bridge.engines import pinocchio as bridge
from tests.robots import random_objects, wheel_urdfs


def readable() -> dict[str, Path]:
    """URDFs of the installed wheels, the thousand objects of one joint left out."""
    objects = random_objects()
    return {name: path for name, path in wheel_urdfs().items() if name not in objects}


def difference(model: pin.Model) -> float:
    """Largest difference of torques, accelerations and M, of the largest number of each."""
    if not model.nv:
        return 0.0
    rng = np.random.default_rng(1)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, a = rng.normal(size=(2, model.nv))
    forces = [pin.Force(rng.normal(size=6)) for _ in range(model.njoints)]
    data, ready = model.createData(), bridge.prepare(model)
    M = pin.crba(model, data, q)
    pairs = [
        (bridge.rnea(ready, None, q, v, a, forces), pin.rnea(model, data, q, v, a, forces).copy()),
        (bridge.crba(ready, None, q), np.triu(M) + np.triu(M, 1).T),
    ]
    if np.linalg.cond(pairs[1][1]) < 1e6:  # the rest has links without inertia
        expected = pin.aba(model, data, q, v, a, forces).copy()
        pairs.append((bridge.aba(ready, None, q, v, a, forces), expected))
    return max(np.abs(x - y).max() / max(1.0, np.abs(y).max()) for x, y in pairs)


def derivatives_difference(model: pin.Model, *, forward: bool = True) -> float:
    """Largest difference of the derivatives with forces on all joints, of the largest number."""
    if not model.nv:
        return 0.0
    rng = np.random.default_rng(2)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, a = rng.normal(size=(2, model.nv))
    forces = [pin.Force(rng.normal(size=6)) for _ in range(model.njoints)]
    data, ready = model.createData(), bridge.prepare(model)
    pairs = [(bridge.computeRNEADerivatives, pin.computeRNEADerivatives)]
    M = bridge.crba(ready, None, q)
    if forward and np.linalg.cond(M) < 1e6:
        pairs.append((bridge.computeABADerivatives, pin.computeABADerivatives))
    worst = 0.0
    for ours, theirs in pairs:
        expected = [x.copy() for x in theirs(model, data, q, v, a, forces)]
        expected[2] = np.triu(expected[2]) + np.triu(expected[2], 1).T
        for x, y in zip(ours(ready, None, q, v, a, forces), expected, strict=True):
            worst = max(worst, np.abs(x - y).max() / max(1.0, np.abs(y).max()))
    return worst


def main() -> None:
    warnings.simplefilter("ignore")
    count, refused, worst = 0, 0, 0.0
    for name, path in readable().items():
        try:
            model = pin.buildModelFromUrdf(str(path))
        except (ValueError, RuntimeError):
            refused += 1
            continue
        found = max(difference(model), derivatives_difference(model))
        count, worst = count + 1, max(worst, found)
        if found > 1e-11:
            print(f"{name}: {found:.1e}")
    print(f"{count} files agree to {worst:.1e} of the largest number; pinocchio refuses {refused}")


if __name__ == "__main__":
    main()
