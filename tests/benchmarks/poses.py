"""The worst of many poses at rest: time of a pose beside a call of pinocchio's rnea."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pinocchio as pin

import mbd_bridge as mbd
from tests.robots import OWN

POSES, CALLS, TURNS = 2**20, 20_000, 3


def run() -> dict[str, Any]:
    """Print and return microseconds a pose, and ratios."""
    robot = mbd.load(OWN / "kuka_iiwa.urdf")
    model = robot.to_pinocchio()
    data, still = model.createData(), np.zeros(model.nv)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (CALLS, model.nq))
    found: dict[str, float] = {}
    for joints, name in ((None, "all joints"), (["lbr_iiwa_joint_2"], "one joint")):
        robot.worst_pose(joints, samples=2**10)
        for _ in range(TURNS):
            start = time.perf_counter()
            robot.worst_pose(joints, samples=POSES, refine=False)
            ours = (time.perf_counter() - start) / POSES
            start = time.perf_counter()
            for row in q:
                pin.rnea(model, data, row, still, still)
            theirs = (time.perf_counter() - start) / CALLS
            found[f"{name}, us"] = min(found.get(f"{name}, us", np.inf), 1e6 * ours)
            found["rnea, us"] = min(found.get("rnea, us", np.inf), 1e6 * theirs)
    for name in ("all joints", "one joint"):
        found[f"{name}, ratio"] = found["rnea, us"] / found[f"{name}, us"]
    print(f"iiwa, {POSES} poses at rest, extremes of all components; pinocchio {pin.__version__}")
    for name, value in found.items():
        print(f"  {name}: {value:.3g}")
    return dict(found)
