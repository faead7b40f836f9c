"""MJCF files of a folder, ours against MuJoCo: ``python -m tests.formats.mjcf_files FOLDER``.

Of each file that MuJoCo compiles, at a random state: M, bias, the space of the rows of equalities.
Packages that bring many: dm_control, gymnasium-robotics, metaworld, robosuite.
"""

from __future__ import annotations

import argparse
import collections
import sys
import warnings
from pathlib import Path

import mujoco
import numpy as np

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from tests.formats.mjcf_models import twin
from tests.formats.mjcf_random import compare

EXACT = 1e-9
"""Largest relative difference that is not shown."""


def differences(path: Path) -> dict[str, float]:
    """Return what differs between both programs, relative to the largest entry; MuJoCo takes it."""
    robot = mbd.load(path)
    pair = twin(path, robot.model)
    rng = np.random.default_rng(0)
    q = pair.q_of(pair.theirs.qpos0)
    for body in robot.model.bodies:
        step = rng.normal(0.0, 0.2, body.v.stop - body.v.start)
        q[body.q] = body.type.integrate(q[body.q], step)
    found = compare(*pair.at(q, rng.normal(0.0, 1.0, robot.nv)))
    found.pop("open", None)  # away from closed loops both measure it in their own ways
    return found


def has_joints(path: Path) -> bool | None:
    """Return whether something moves; None where MuJoCo refuses the file, such as a part of one."""
    try:
        return bool(mujoco.MjModel.from_xml_path(str(path)).nv)
    except (ValueError, mujoco.FatalError):
        return None


def main(arguments: list[str] | None = None) -> int:
    """Compare and print; 1 where something differs or is refused here only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    told: collections.Counter[str] = collections.Counter()
    worst: dict[str, float] = collections.defaultdict(float)
    warnings.simplefilter("ignore")  # what is left out is not compared
    for path in sorted(options.folder.rglob("*.xml")):
        if b"<mujoco" not in path.read_bytes():
            continue
        moves = has_joints(path)
        if not moves:
            told["refused by MuJoCo" if moves is None else "without joints"] += 1
            continue
        try:
            found = differences(path)
        except MbdError as error:
            told["refused here"] += 1
            print(error)
            continue
        told["compared"] += 1
        for name, value in found.items():
            worst[name] = max(worst[name], value)
        if max(found.values()) > EXACT:
            told["differ"] += 1
            print(path, found)
    print(dict(told), {name: f"{value:.1e}" for name, value in worst.items()})
    return int(bool(told["differ"] or told["refused here"]))


if __name__ == "__main__":
    sys.exit(main())
