"""Scripts as users write them for pybullet, run with it or with the drop-in under its names."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pybullet
import pybullet_data

PANDA, IIWA = "franka_panda/panda.urdf", "kuka_iiwa/model.urdf"
LAIKAGO = "laikago/laikago_toes.urdf"

START = {
    PANDA: [0.98, 0.458, 0.31, -2.24, -0.30, 2.66, 2.32, 0.02, 0.02],
    IIWA: [0.1, 0.3, 0.2, -0.8, 0.1, 0.5, 0.2],
}
GOAL = {
    PANDA: [0.5, 0.1, -0.2, -1.6, 0.3, 1.9, 1.5, 0.035, 0.035],
    IIWA: [0.6, -0.3, 0.4, -1.3, 0.5, 1.0, -0.4],
}


@contextmanager
def connected(p, h=1 / 240):
    """Yield the number of a world with gravity in which pybullet_data's files are found."""
    client = p.connect(p.DIRECT)
    try:
        p.setAdditionalSearchPath(pybullet_data.getDataPath(), physicsClientId=client)
        p.setGravity(0, 0, -9.81, physicsClientId=client)
        p.setTimeStep(h, physicsClientId=client)
        yield client
    finally:
        p.disconnect(client)


def load(p, client, path, **options):
    """Load a robot with its file's inertia and without resistance of the air; its moving joints."""
    flags = pybullet.URDF_USE_INERTIA_FROM_FILE
    body = p.loadURDF(str(path), flags=flags, physicsClientId=client, **options)
    count = p.getNumJoints(body, physicsClientId=client)
    rows = [p.getJointInfo(body, k, physicsClientId=client) for k in range(count)]
    for k in range(-1, count):
        p.changeDynamics(body, k, linearDamping=0, angularDamping=0, physicsClientId=client)
    return body, [row[0] for row in rows if row[2] != p.JOINT_FIXED]


def positions(p, client, body, joints):
    """Joint positions (J,)."""
    return np.array([row[0] for row in p.getJointStates(body, joints, physicsClientId=client)])


def move(p, path, seconds=2.0, step=lambda p, client: p.stepSimulation(client), **motor):
    """Positions (K, J) of an arm whose motors are set at each step, to a goal unless said else."""
    with connected(p) as client:
        body, joints = load(p, client, path, useFixedBase=True)
        for joint, start in zip(joints, START[path], strict=True):
            p.resetJointState(body, joint, start, physicsClientId=client)
        rows = []
        for _ in range(round(240 * seconds)):
            for joint, goal in zip(joints, GOAL[path], strict=True):
                if motor.get("controlMode") == p.VELOCITY_CONTROL:
                    own = {"targetVelocity": 0.2 if joint < 7 else 0.0} | motor
                else:
                    own = {"controlMode": p.POSITION_CONTROL, "targetPosition": goal} | motor
                p.setJointMotorControl2(body, joint, physicsClientId=client, **own)
            step(p, client)
            rows.append(positions(p, client, body, joints))
        return np.array(rows)
