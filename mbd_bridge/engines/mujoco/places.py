"""Names and frames of a compiled MJCF."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.engines.mujoco.compiled import Compiled
from mbd_bridge.model.spatial import Frame, axis_angle_matrix, quaternion_matrix


def place(position: Any, quaternion: Any) -> Frame:
    """Return the frame of MuJoCo's position (m) and quaternion (w, x, y, z)."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64) / np.linalg.norm(quaternion)
    return Frame(quaternion_matrix(np.array([x, y, z, w])), np.array(position, dtype=np.float64))


def motion(type: str, axis: np.ndarray, q: float) -> Frame:
    """Return how a hinge ("revolute") or slide ("prismatic") moves its child."""
    if type == "prismatic":
        return Frame(np.eye(3), axis * q)
    return Frame(axis_angle_matrix(axis, np.cos(q), np.sin(q)), np.zeros(3))


class Names:
    """A name for every body, joint and equality: the file's, or one made of its place.

    Attributes
    ----------
    links, joints : by MuJoCo's indices
    """

    def __init__(self, compiled: Compiled) -> None:
        model = compiled.model
        self._links: set[str] = set()
        self._joints: set[str] = {"root_joint"}
        given = [compiled.name("body", i) for i in range(model.nbody)]
        self._links |= set(filter(None, given))
        self.links = [name or self.unused_link(f"body{i}") for i, name in enumerate(given)]
        given = [compiled.name("joint", i) for i in range(model.njnt)]
        self._joints |= set(filter(None, given))
        kinds = ("free", "ball", "slide", "hinge")
        self.joints = []
        for i, name in enumerate(given):
            body = self.links[int(model.jnt_bodyid[i])]
            made = f"{body}.{kinds[int(model.jnt_type[i])]}"
            kept = name and name != "root_joint"
            self.joints.append(name if kept else self.unused(name or made))

    def unused(self, name: str) -> str:
        """Return the name, with a number if a joint, loop or coupling has it already."""
        return _unused(name, self._joints)

    def unused_link(self, name: str) -> str:
        """Return the name, with a number if a link has it already."""
        return _unused(name, self._links)


def _unused(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name}{number}", number + 1
    taken.add(found)
    return found
