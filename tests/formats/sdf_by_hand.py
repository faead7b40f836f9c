"""An SDF 1.6 model as pinocchio's tree with constraints, read by a few lines that know no more.

All poses of links are in the model, those of joints in their child; axes in the model or the joint.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

REDUNDANT = 1e-5
"""Of the largest singular value: rows below say what others say but for the file's digits."""

GRAVITY = np.array([0.0, 0.0, -9.81])


def numbers(text: str | None, count: int) -> np.ndarray:
    return np.array([float(x) for x in (text or "0 " * count).split()])


def pose(element) -> pin.SE3:
    *xyz, roll, pitch, yaw = numbers(element.findtext("pose"), 6)
    return pin.SE3(pin.rpy.rpyToMatrix(roll, pitch, yaw), np.array(xyz))


class ByHand:
    """A tree of the joints that are named, from a root; the others close loops or are gears."""

    def __init__(self, path: Path, tree: list[str], root: str) -> None:
        model = ElementTree.parse(path).getroot().find("model")
        links = {one.get("name"): one for one in model.findall("link")}
        place = {name: pose(one) for name, one in links.items()} | {"world": pin.SE3.Identity()}
        joints = {one.get("name"): one for one in model.findall("joint")}
        here = {name: place[one.findtext("child")] * pose(one) for name, one in joints.items()}
        self.model = pin.Model()
        self.model.gravity.linear = GRAVITY
        self.frames: dict[str, tuple[int, pin.SE3]] = {root: (0, place[root])}
        zero = {0: pin.SE3.Identity()}
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
            name: (one, [(self.frames[end][0], zero[self.frames[end][0]].inverse() * here[name])
                         for end in (one.findtext("parent"), one.findtext("child"))])
            for name, one in joints.items() if name not in tree and one.get("type") != "gearbox"
        }  # fmt: skip
        self.gears = [
            self._gear(one, joints) for one in joints.values() if one.get("type") == "gearbox"
        ]
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

    def _gear(self, gearbox, joints) -> np.ndarray:
        """Return the row of theta_2 + ratio theta_1 = 0; all axes of these files are parallel."""
        row = np.zeros(self.model.nv)
        ratio = float(gearbox.findtext("gearbox_ratio"))
        reference = gearbox.findtext("gearbox_reference_body")
        for end, factor in (("parent", ratio), ("child", 1.0)):
            (turns,) = [
                name for name, one in joints.items() if one.get("type") == "revolute"
                and (one.findtext("parent"), one.findtext("child"))
                == (reference, gearbox.findtext(end))
            ]  # fmt: skip
            row[self.model.joints[self.model.getJointId(turns)].idx_v] = factor
        return row

    def gaps(self, q) -> dict[str, np.ndarray]:
        """Return by how much the loops are open, m and rad, and the gears, rad."""
        pin.forwardKinematics(self.model, self.data, q)
        found = {}
        for name, (one, ends) in self.loops.items():
            first, second = (self.data.oMi[joint] * offset for joint, offset in ends)
            apart = first.inverse() * second
            both = np.concatenate([apart.translation, pin.log3(apart.rotation)])
            found[name] = self._held(one) @ both
        return found | {f"gears {k}": row @ q for k, row in enumerate(self.gears)}

    @staticmethod
    def _held(joint) -> np.ndarray:
        """Return the directions that a cut joint holds, in its frame: linear, then angular."""
        if joint.get("type") == "ball":
            return np.eye(6)[:3]
        slide = numbers(joint.findtext("axis/xyz"), 3)
        across = np.linalg.svd(slide[None])[2][1:]
        return np.vstack([np.hstack([across, np.zeros((2, 3))]), np.eye(6)[3:]])

    def rows(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        """Return the Jacobian of loops and gears and its rate times v, at closed positions."""
        pin.computeJointJacobians(self.model, self.data, q)
        pin.forwardKinematics(self.model, self.data, q, v, np.zeros_like(v))
        J, drift = [*self.gears], [np.zeros(len(self.gears))]
        for one, ends in self.loops.values():
            (first, offset), (second, _) = ends
            inside = (self.data.oMi[first] * offset).inverse()
            held = self._held(one) @ inside.action
            both = [
                pin.getJointJacobian(self.model, self.data, joint, pin.ReferenceFrame.WORLD)
                if joint else np.zeros((6, self.model.nv)) for joint in (first, second)
            ]  # fmt: skip
            v1, v2 = (self.data.oMi[k].act(self.data.v[k]) for k in (first, second))
            a1, a2 = (self.data.oMi[k].act(self.data.a[k]) for k in (first, second))
            J.extend(held @ (both[1] - both[0]))
            drift.append(held @ (a2 - a1 - v1.cross(v2 - v1)).vector)
        return np.array(J), np.concatenate(drift)

    def closed(self, q, v) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return accelerations without actuation, and wrenches of parent on child in the world."""
        M, bias = self.terms(q, v)
        J, drift = self.rows(q, v)
        U, sizes, Vt = np.linalg.svd(J, full_matrices=False)
        U, sizes, Vt = (part[..., sizes > REDUNDANT * sizes[0]] for part in (U, sizes, Vt.T))
        inverse = np.linalg.inv(M)
        held = np.linalg.solve(Vt.T @ inverse @ Vt, Vt.T @ inverse @ bias - U.T @ drift / sizes)
        a, lam = inverse @ (Vt @ held - bias), U @ (held / sizes)
        pin.forwardKinematics(self.model, self.data, q, v)
        external = pin.StdVec_Force()
        for _ in range(self.model.njoints):
            external.append(pin.Force.Zero())
        row = len(self.gears)
        for one, ends in self.loops.values():
            held = self._held(one)
            wrench = pin.Force(held.T @ lam[row : row + len(held)])
            row += len(held)
            wrench = (self.data.oMi[ends[0][0]] * ends[0][1]).act(wrench)
            for sign, (joint, _) in zip((-1.0, 1.0), ends, strict=True):
                external[joint] += self.data.oMi[joint].actInv(sign * wrench)
        pin.rnea(self.model, self.data, q, v, a, external)
        forces = zip(self.model.names, self.data.oMi, self.data.f, strict=True)
        return a, {name: at.act(force).vector for name, at, force in forces}
