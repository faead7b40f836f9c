"""Every robot of pybullet_data under motors: how far our motion is from pybullet's, or why not.

python -m tests.bridges.every_body
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pybullet
import pybullet_data

import mbd_bridge.engines.pybullet as drop_in
from mbd_bridge.base.errors import MbdError
from mbd_bridge.engines.quiet import quiet
from tests.bridges.scripts import connected, load

DATA = Path(pybullet_data.getDataPath())


def robots():
    """Files with joints, which pybullet loads."""
    for path in sorted(DATA.rglob("*.urdf")):
        if not drop_in.MOVING.search(path.read_bytes()):
            continue
        with connected(pybullet) as client:
            try:
                with quiet():
                    body = pybullet.loadURDF(str(path), physicsClientId=client)
            except pybullet.error:
                continue
            count = pybullet.getNumJoints(body, client)
            rows = [pybullet.getJointInfo(body, k, client) for k in range(count)]
            if any(row[2] != pybullet.JOINT_FIXED for row in rows):
                yield path.relative_to(DATA).as_posix()


def course(p, path, steps):
    """Positions (steps, J) under motors that lead to goals within the limits; what was unread."""
    rng, found, unread = np.random.default_rng(0), [], 0
    with connected(p) as client:
        here = {"physicsClientId": client}
        body, joints = load(p, client, path, useFixedBase=True, basePosition=[0, 0, 2])
        for joint in joints:
            row = p.getJointInfo(body, joint, **here)
            share = rng.uniform(0.4, 0.6)
            if row[2] == p.JOINT_SPHERICAL:
                turn = p.getQuaternionFromEuler(rng.uniform(-0.3, 0.3, 3))
                p.setJointMotorControlMultiDof(
                    body, joint, p.POSITION_CONTROL, turn, force=[200] * 3, **here
                )
                continue
            limited = -10 < row[8] < row[9] < 10
            goal = row[8] + share * (row[9] - row[8]) if limited else share - 0.5
            p.setJointMotorControl2(
                body, joint, p.POSITION_CONTROL, goal, force=200, maxVelocity=0.5, **here
            )
        for _ in range(steps):
            p.stepSimulation(client)
            rows = p.getJointStatesMultiDof(body, joints, **here)
            found.append([x for row in rows for x in row[0]])
            unread += p is drop_in and bool(p.getStepper(body, client).unread)
    return np.array(found), unread


def compared(path, steps=120):
    """The largest difference of positions, rad or m; the largest way; steps with what is unread."""
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        ours, unread = course(drop_in, path, steps)
        theirs, _ = course(pybullet, path, steps)
    return np.abs(ours - theirs).max(), np.abs(theirs - theirs[0]).max(), unread


def main():
    """Print a line for each."""
    for path in robots():
        try:
            apart, way, unread = compared(path)
            said = f"{apart:.1e} of {way:.2f}, {unread} steps with unread forces"
        except MbdError as problem:
            said = f"{type(problem).__name__}: {str(problem).replace(str(DATA), '')[:150]}"
        sys.stdout.write(f"{path:50} {said}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
