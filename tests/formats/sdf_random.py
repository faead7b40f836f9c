"""Random SDF models in models and in files, with poses and axes along any frames, and their oracle.

The generator knows where it puts everything, in the frame of the model that it writes; the rest is
the product of exponentials about axes in the world. `python -m tests.formats.sdf_random 200` draws
200 of them.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import mbd_bridge as mbd

Pose = np.ndarray
"""(4, 4)"""


def pose_of(numbers: np.ndarray) -> Pose:
    """Return x, y, z, roll, pitch, yaw as a pose."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(numbers[3:]), np.sin(numbers[3:])
    x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = z @ y @ x, numbers[:3]
    return out


def text(numbers: np.ndarray) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)


@dataclass(frozen=True)
class Link:
    place: Pose
    mass: float
    centre: Pose
    inertia: np.ndarray

    def moved(self, by: Pose) -> Link:
        return replace(self, place=by @ self.place)


@dataclass(frozen=True)
class Joint:
    kind: str
    parent: str
    child: str
    place: Pose
    axis: np.ndarray

    def moved(self, by: Pose, prefix: str) -> Joint:
        ends = prefix + self.parent, prefix + self.child
        return Joint(self.kind, *ends, by @ self.place, by[:3, :3] @ self.axis)

    def displaced(self, q: float) -> Pose:
        """Return the displacement of all that it carries, in the world."""
        out, p = np.eye(4), self.place[:3, 3]
        if self.kind == "prismatic":
            out[:3, 3] = self.axis * q
        elif self.kind == "revolute":
            K = np.cross(self.axis, np.eye(3)).T
            out[:3, :3] += np.sin(q) * K + (1 - np.cos(q)) * K @ K
            out[:3, 3] = p - out[:3, :3] @ p
        return out


@dataclass
class Model:
    """A model: what is in it, in its frame; links by the name under which it knows them."""

    known: dict[str, Pose] = field(default_factory=lambda: {"__model__": np.eye(4)})
    carrier: dict[str, str] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    canonical: str = ""
    attribute: str = ""
    content: str = ""

    @property
    def inside(self) -> list[str]:
        return [name for name in self.known if name != "__model__"]


class Writer:
    """Writes random models; included ones to files in a folder."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self.rng, self.folder, self.count = rng, folder, 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def pose(self, model: Model, default: str) -> tuple[str, Pose]:
        """Return a <pose> relative to anything, or none, and where it is in the model."""
        rng, relative, told = self.rng, default, ""
        if rng.random() < 0.15:
            return "", model.known[default]
        numbers = np.append(rng.normal(size=3), rng.uniform(-3, 3, 3))
        if rng.random() < 0.6:
            relative = str(rng.choice(list(model.known)))
            told = f' relative_to="{relative}"'
        place = model.known[relative] @ pose_of(numbers)
        if rng.random() < 0.2:
            numbers[3:] = np.degrees(numbers[3:])
            told += ' degrees="true"'
        return f"<pose{told}>{text(numbers)}</pose>", place

    def model(self, depth: int) -> Model:
        rng, model, parts = self.rng, Model(), list[str]()
        kinds = ["link"] * rng.integers(0, 3) + ["frame"] * rng.integers(0, 3)
        kinds += ["model"] * rng.integers(0, 3) * bool(depth)
        kinds = ["link", *rng.permutation(kinds).tolist()]
        own = []
        for kind in kinds:
            name = self.name(kind[0])
            part = getattr(self, f"_{kind}")(model, name, depth)
            own += [name] * (kind == "link")
            parts.insert(int(rng.integers(0, len(parts) + 1)), part)
        model.canonical = str(rng.choice(own))
        model.attribute = f' canonical_link="{model.canonical}"'
        for part in self._joints(model):
            parts.insert(int(rng.integers(0, len(parts) + 1)), part)
        model.content = "".join(parts)
        return model

    def _link(self, model: Model, name: str, depth: int) -> str:
        rng = self.rng
        told, place = self.pose(model, "__model__")
        own = np.append(0.3 * rng.normal(size=3), rng.uniform(-2, 2, 3))
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        inertia = turn @ np.diag(rng.uniform(0.1, 0.15, 3)) @ turn.T
        mass = rng.uniform(0.5, 2.0)
        entries = "".join(
            f"<i{'xyz'[i]}{'xyz'[j]}>{inertia[i, j]:.17g}</i{'xyz'[i]}{'xyz'[j]}>"
            for i in range(3)
            for j in range(i, 3)
        )
        model.known[name], model.carrier[name] = place, name
        model.links[name] = Link(place, mass, pose_of(own), inertia)
        return (
            f'<link name="{name}">{told}<inertial><pose>{text(own)}</pose><mass>{mass:.17g}</mass>'
            f"<inertia>{entries}</inertia></inertial></link>"
        )

    def _frame(self, model: Model, name: str, depth: int) -> str:
        carrier = str(self.rng.choice(model.inside))
        told, place = self.pose(model, carrier)
        model.known[name], model.carrier[name] = place, model.carrier[carrier]
        return f'<frame name="{name}" attached_to="{carrier}">{told}</frame>'

    def _model(self, model: Model, name: str, depth: int) -> str:
        """Return a model in the model, in its text, or in a file of its own, merged or not."""
        rng, inner = self.rng, self.model(depth - 1)
        held = str(rng.choice(inner.inside)) if rng.random() < 0.5 else ""
        told, place = self.pose(model, "__model__")
        place = place @ np.linalg.inv(inner.known[held]) if held else place
        how = str(rng.choice(["written out", "included", "merged"]))
        prefix = "" if how == "merged" else f"{name}::"
        model.known |= {prefix + one: place @ inner.known[one] for one in inner.inside}
        model.carrier |= {prefix + one: prefix + link for one, link in inner.carrier.items()}
        model.links |= {prefix + one: link.moved(place) for one, link in inner.links.items()}
        model.joints |= {prefix + n: one.moved(place, prefix) for n, one in inner.joints.items()}
        if prefix:
            model.known[name], model.carrier[name] = place, prefix + inner.canonical
        if how == "written out":
            frame = f' placement_frame="{held}"' if held else ""
            return f'<model name="{name}"{frame}{inner.attribute}>{told}{inner.content}</model>'
        other = f"<pose>{text(rng.normal(size=6))}</pose>" if told else ""  # the include's counts
        file = f'<model name="x"{inner.attribute}>{other}{inner.content}</model>'
        (self.folder / f"{name}.sdf").write_text(f'<sdf version="1.9">{file}</sdf>')
        frame = f"<placement_frame>{held}</placement_frame>" if held else ""
        told = told or "<pose>0 0 0 0 0 0</pose>"
        merge = ' merge="true"' if how == "merged" else ""
        return f"<include{merge}><uri>{name}.sdf</uri><name>{name}</name>{told}{frame}</include>"

    def _joints(self, model: Model) -> list[str]:
        """Return joints between all parts that are not connected yet."""
        rng, parts, found = self.rng, {link: link for link in model.links}, list[str]()

        def top(link: str) -> str:
            return link if parts[link] == link else top(parts[link])

        for one in model.joints.values():
            parts[top(one.parent)] = top(one.child)
        while len({top(link) for link in model.links}) > 1:
            ends = [str(one) for one in rng.choice(list(model.carrier), 2)]
            parent, child = (model.carrier[end] for end in ends)
            if top(parent) == top(child):
                continue
            name, kind = self.name("j"), str(rng.choice(["revolute", "prismatic", "fixed"]))
            told, place = self.pose(model, ends[1])
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            frame, seen = "", place
            if rng.random() < 0.5:
                other = str(rng.choice(list(model.known)))
                frame, seen = f' expressed_in="{other}"', model.known[other]
            along = f"<axis><xyz{frame}>{text(axis)}</xyz></axis>" if kind != "fixed" else ""
            lines = [f"<parent>{ends[0]}</parent>", f"<child>{ends[1]}</child>", told, along]
            lines = "".join(rng.permutation(lines))
            found.append(f'<joint name="{name}" type="{kind}">{lines}</joint>')
            model.joints[name] = Joint(kind, parent, child, place, seen[:3, :3] @ axis)
            model.known[name], model.carrier[name] = place, child
            parts[top(parent)] = top(child)
        return found


def difference(seed: int) -> float:
    """Return how far a random model is from its oracle: places, mass matrix, weight, relative."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", mbd.MbdWarning)
        own = Writer(rng, Path(folder)).model(2)
        numbers = rng.normal(size=6)
        path = Path(folder) / "outer.sdf"
        path.write_text(
            f'<sdf version="1.9"><model name="outer"{own.attribute}><pose>{text(numbers)}</pose>'
            f"{own.content}</model></sdf>"
        )
        robot = mbd.load(path)
    links = {name: link.moved(pose_of(numbers)) for name, link in own.links.items()}
    joints = {name: one.moved(pose_of(numbers), "") for name, one in own.joints.items()}
    q = rng.normal(size=robot.nq)
    values = dict(zip(robot.coordinate_names, q, strict=True))
    moved, columns = {own.canonical: np.eye(4)}, {own.canonical: np.zeros((6, robot.nv))}
    todo = [own.canonical]
    for near in todo:
        for name, joint in joints.items():
            if near not in (joint.parent, joint.child):
                continue
            sign, far = (1, joint.child) if near == joint.parent else (-1, joint.parent)
            if far in moved:
                continue
            turn, origin = moved[near][:3, :3], moved[near] @ joint.place[:, 3]
            axis = sign * turn @ joint.axis
            J = columns[near].copy()  # velocity of the world's origin, then angular
            if joint.kind == "prismatic":
                J[:3, robot.coordinate_names.index(name)] = axis
            elif joint.kind == "revolute":
                J[:, robot.coordinate_names.index(name)] = *np.cross(origin[:3], axis), *axis
            moved[far] = moved[near] @ joint.displaced(sign * values.get(name, 0.0))
            columns[far] = J
            todo.append(far)
    M, weight, far_off = np.zeros((robot.nv, robot.nv)), np.zeros(robot.nv), 0.0
    for name, link in links.items():
        place = moved[name] @ link.place
        far_off = max(far_off, np.abs(robot.placement(q, name) - place).max())
        centre = place @ link.centre
        linear = columns[name][:3] + np.cross(columns[name][3:].T, centre[:3, 3]).T
        spin = centre[:3, :3].T @ columns[name][3:]
        M += link.mass * linear.T @ linear + spin.T @ link.inertia @ spin
        weight -= link.mass * linear.T @ robot.model.gravity
    if not robot.nv:
        return far_off
    still = np.zeros(robot.nv)
    apart = np.abs(robot.mass_matrix(q) - M).max() / np.abs(M).max()
    pulled = np.abs(robot.inverse_dynamics(q, still, still) - weight).max()
    return max(far_off, apart, pulled / np.abs(weight).max())


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(f"largest difference of {count}: {max(map(difference, range(count))):.1e}")
