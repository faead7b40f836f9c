"""Carry a state from one model of a mechanism to another with other cuts, by poses of links."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors


def poses(model, q):
    """Rotation and position of every link in the world, by name."""
    state = state_vectors(model, q, np.zeros(model.nv), "world")
    found = {}
    for link in model.links:
        body = state.bodies[link.body]
        position = body.position + body.rotation @ link.frame.translation
        found[link.name] = body.rotation @ link.frame.rotation, position
    return found


def carry_state(source, target, q, v):
    """Coordinates and velocities of `target` at which its links are and move as in `source`."""
    at = poses(source, q)
    moving = state_vectors(source, q, v, "world")
    Y = {link.name: moving.bodies[link.body].Y for link in source.links}
    bodies = []
    for b, _ in enumerate(target.bodies):
        link = next(link for link in target.links if link.body == b)
        R, p = at[link.name]
        own = R @ link.frame.rotation.T
        bodies.append((own, p - own @ link.frame.translation, Y[link.name]))
    ground = np.eye(3), np.zeros(3), np.zeros(6)
    q_out, v_out = target.neutral(), np.zeros(target.nv)
    for body, (R, p, _) in zip(target.bodies, bodies, strict=True):
        if body.coupled or not body.type.nv:
            continue
        R0, p0, _ = bodies[body.parent] if body.parent >= 0 else ground
        R0, p0 = R0 @ body.placement.rotation, p0 + R0 @ body.placement.translation
        q_out[body.q] = coordinates(body.type, R0.T @ R, R0.T @ (p - p0))
    state = state_vectors(target, q_out, np.zeros(target.nv), "world")
    for body, at_body, (_, _, rate) in zip(target.bodies, state.bodies, bodies, strict=True):
        if body.type.nv and not body.coupled:
            below = bodies[body.parent][2] if body.parent >= 0 else np.zeros(6)
            v_out[body.v] = np.linalg.lstsq(at_body.B, rate - below, rcond=None)[0]
    return q_out, v_out


def coordinates(kind, R, p):
    """Coordinates of a joint whose child has the pose (R, p) in the joint's frame."""
    turn = np.arctan2(R[1, 0], R[0, 0])
    quaternion = Rotation.from_matrix(R).as_quat()
    if kind.name == "universal":
        u = np.array(kind.second)  # R u = Rz(q1) u, and Rᵀ z = Ru(q2)ᵀ z
        first = np.arctan2(*(R @ u)[[1, 0]]) - np.arctan2(u[1], u[0])
        z = np.array([0, 0, 1.0])
        across = z - u[2] * u
        there = R.T @ z
        return np.array([first, np.arctan2(-np.cross(u, z) @ there, across @ there)])
    return {
        "revolute": lambda: np.array([turn]),
        "continuous": lambda: np.array([turn]),
        "helical": lambda: np.array([turn]),
        "prismatic": lambda: p[2:],
        "cylindrical": lambda: np.array([turn, p[2]]),
        "spherical": lambda: quaternion,
        "planar": lambda: np.array([p[0], p[1], turn]),
        "floating": lambda: np.concatenate([p, quaternion]),
    }[kind.name]()


def link_accelerations(model, q, v, a):
    """Rate of the state vector (about the world's origin) of every link, by name."""
    state = state_vectors(model, q, v, "world")
    rates = state_accelerations(model, state, a)
    return {link.name: rates[link.body] for link in model.links}
