"""An SDF 1.6 model as pinocchio's tree with constraints, read by a few lines that know no more.

All poses of links are in the model, those of joints in their child; axes in the model or the joint.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

GRAVITY = np.array([0.0, 0.0, -9.81])


def numbers(text: str | None, count: int) -> np.ndarray:
    return np.array([float(x) for x in (text or "0 " * count).split()])


def pose(element) -> pin.SE3:
    *xyz, roll, pitch, yaw = numbers(element.findtext("pose"), 6)
    return pin.SE3(pin.rpy.rpyToMatrix(roll, pitch, yaw), np.array(xyz))


class ByHand:
    """A tree of the joints that are named, from a root; the others are balls that close loops."""

    def __init__(self, path: Path, tree: list[str], root: str) -> None:
        model = ElementTree.parse(path).getroot().find("model")
        links = {one.get("name"): one for one in model.findall("link")}
        place = {name: pose(one) for name, one in links.items()} | {"world": pin.SE3.Identity()}
        joints = {one.get("name"): one for one in model.findall("joint")}
        here = {name: place[one.findtext("child")] * pose(one) for name, one in joints.items()}
        self.model = pin.Model()
        self.model.gravity.linear = GRAVITY
        self.frames: dict[str, tuple[int, pin.SE3]] = {root: (0, pin.SE3.Identity())}
        zero = {0: place[root]}
        todo = list(tree)
        while todo:
            name = next(
                n for n in todo
                if {joints[n].findtext("parent"), joints[n].findtext("child")} & set(self.frames)
            )  # fmt: skip
            todo.remove(name)
            ends = joints[name].findtext("parent"), joints[name].findtext("child")
            sign = 1.0 if ends[0] in self.frames else -1.0
            near, far = ends if sign > 0 else ends[::-1]
            axis = numbers(joints[name].findtext("axis/xyz"), 3)
            if joints[name].findtext("axis/use_parent_model_frame") == "1":
                axis = here[name].rotation.T @ axis
            axis *= sign / np.linalg.norm(axis)
            kinds = {
                "revolute": pin.JointModelRevoluteUnaligned,
                "prismatic": pin.JointModelPrismaticUnaligned,
            }
            kind = kinds[joints[name].get("type")]
            carrier = self.frames[near][0]
            placed = zero[carrier].inverse() * here[name]
            index = self.model.addJoint(carrier, kind(*axis), placed, name)
            zero[index] = here[name]
            offset = here[name].inverse() * place[far]
            self.frames[far] = index, offset
            self.model.appendBodyToJoint(index, *self._inertia(links[far], offset))
        self.loops = {
            name: [(self.frames[end][0], zero[self.frames[end][0]].inverse() * here[name])
                   for end in (one.findtext("parent"), one.findtext("child"))]
            for name, one in joints.items() if name not in tree
        }  # fmt: skip
        self.data = self.model.createData()

    @staticmethod
    def _inertia(link, offset: pin.SE3) -> tuple[pin.Inertia, pin.SE3]:
        own = link.find("inertial")
        xx, yy, zz, xy, xz, yz = (
            float(own.findtext(f"inertia/{tag}"))
            for tag in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        )
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return pin.Inertia(float(own.findtext("mass")), np.zeros(3), matrix), offset * pose(own)

    def order(self, names: tuple[str, ...]) -> list[int]:
        """Return the place in pinocchio's q of each of our coordinates."""
        return [self.model.joints[self.model.getJointId(name)].idx_q for name in names]

    def terms(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        """Return M and bias."""
        M = pin.crba(self.model, self.data, q)
        M = np.triu(M) + np.triu(M, 1).T
        return M, pin.nle(self.model, self.data, q, v)

    def rows(self, q, v) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gaps, Jacobian and J̇ v of the balls, in world axes."""
        pin.computeJointJacobians(self.model, self.data, q)
        pin.forwardKinematics(self.model, self.data, q, v, np.zeros_like(v))
        gaps, J, drift = [], [], []
        for ends in self.loops.values():
            sides = [self._point(*end) for end in ends]
            for out, k in ((gaps, 0), (J, 1), (drift, 2)):
                out.append(sides[1][k] - sides[0][k])
        return np.concatenate(gaps), np.vstack(J), np.concatenate(drift)

    def _point(self, joint: int, offset: pin.SE3):
        at = self.data.oMi[joint]
        arm = at.rotation @ offset.translation
        J = pin.getJointJacobian(
            self.model, self.data, joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        J = J[:3] - pin.skew(arm) @ J[3:]
        v, a = self.data.v[joint], self.data.a[joint]
        omega, alpha = at.rotation @ v.angular, at.rotation @ a.angular
        linear = at.rotation @ (a.linear + np.cross(v.angular, v.linear))
        drift = linear + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        return at.translation + arm, J, drift

    def closed(self, q, v) -> tuple[np.ndarray, list[pin.Force]]:
        """Return accelerations without actuation, and the force of parent on child by joint."""
        M, bias = self.terms(q, v)
        _, J, drift = self.rows(q, v)
        rank = len(J)
        top = np.hstack([M, -J.T])
        bottom = np.hstack([J, np.zeros((rank, rank))])
        solved = np.linalg.lstsq(
            np.vstack([top, bottom]), np.concatenate([-bias, -drift]), rcond=1e-12
        )[0]
        a, lam = solved[: len(M)], solved[len(M) :]
        pin.forwardKinematics(self.model, self.data, q, v)
        external = pin.StdVec_Force()
        for _ in range(self.model.njoints):
            external.append(pin.Force.Zero())
        for k, ends in enumerate(self.loops.values()):
            for sign, (joint, offset) in zip((-1.0, 1.0), ends, strict=True):
                force = self.data.oMi[joint].rotation.T @ (sign * lam[3 * k : 3 * k + 3])
                external[joint] += pin.Force(force, np.cross(offset.translation, force))
        pin.rnea(self.model, self.data, q, v, a, external)
        return a, list(self.data.f)
