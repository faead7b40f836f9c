"""A description as MJCF: bodies in bodies, loops as equality constraints between sites.

Links without mass between joints become several joints of one body. A hinge that closes a loop is
two points on its axis; MuJoCo's constraints are soft.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from lxml import etree

from mbd_bridge.base.errors import ModelError
from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.elements import unphysical
from mbd_bridge.files.write.values import (
    cannot,
    child,
    is_world,
    number,
    numbers,
    quaternion,
    text_of,
    weightless,
)
from mbd_bridge.files.xml_reader import Element
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Geometry,
    Joint,
    Link,
    Loop,
    second_axis,
)
from mbd_bridge.model.spatial import Frame, rotation_that_takes_z_to

TYPES = (
    *("revolute", "continuous", "prismatic", "spherical", "fixed", "floating"),
    *("universal", "planar", "cylindrical"),
)

ARM = 0.1
"""m, between the two points that make a hinge of a loop."""

LEAST_MOMENT = 1e-12
"""kg m²: MuJoCo refuses bodies with smaller principal moments, such as ideal rods."""

MESHES = (".stl", ".obj", ".msh")
"""Mesh files that MuJoCo reads."""


@dataclass(eq=False)
class _Writer:
    """A file as far as it is written."""

    description: Description
    left_out: LeftOut
    root: Element = field(default_factory=lambda: etree.Element("mujoco"))
    bodies: dict[str, tuple[Element, Frame]] = field(default_factory=dict)
    meshes: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = self.description.root
        self.links = {link.name: link for link in self.description.links}
        self.outward: dict[str, list[Joint]] = {name: [] for name in self.links}
        for joint in self.description.joints:
            self.outward[joint.parent].append(joint)
        loops = self.description.loops
        self.held = {end.link for loop in loops for end in (loop.predecessor, loop.successor)}

    def text(self) -> str:
        """Return the MJCF."""
        description, left_out = self.description, self.left_out
        self.root.set("model", description.name)
        child(self.root, "compiler", angle="radian", autolimits="true")
        if description.gravity is not None:
            child(self.root, "option", gravity=numbers(description.gravity))
        asset = child(self.root, "asset")
        self.world = world = child(self.root, "worldbody")
        base = self.base
        if is_world(base):
            self.bodies[base.name] = world, Frame.identity()
            for shape in base.visuals:
                self._shape(world, shape)
            self._below(base.name, world)
        else:
            body = child(world, "body", name=base.name)
            self._fill(body, base, Frame.identity())
        for (file, scale), name in self.meshes.items():
            child(asset, "mesh", name=name, file=file, scale=numbers(scale))
        equalities = child(self.root, "equality")
        for loop in description.loops:
            self._loop(equalities, loop)
        for coupling in description.couplings:
            self._coupling(equalities, coupling)
        for joint in description.joints:
            if joint.mimic is not None:
                left_out.add("mimics, written as couplings that keep both coordinates", joint.name)
                mimic = joint.mimic
                follows = ((mimic.joint, mimic.multiplier),)
                gears = Coupling(f"{joint.name}.mimic", joint.name, follows, mimic.offset)
                self._coupling(equalities, gears)
            if joint.limits.velocity is not None:
                left_out.add("limits of velocities")
            if (
                replace(joint.limits, acceleration=None, deceleration=None, jerk=None)
                != joint.limits
            ):
                left_out.add("limits of accelerations and jerks", joint.name)
            if joint.turned:
                left_out.add("the described sense of joints walked backwards", joint.name)
        actuators = child(self.root, "actuator")
        moving = {joint.name: joint for joint in description.joints}
        for name in description.actuated or ():
            if name in moving:
                child(actuators, "motor", name=name, joint=name)
            else:
                left_out.add("actuators of loop joints", name)
        for part in (asset, equalities, actuators):
            if not len(part):
                self.root.remove(part)
        return text_of(self.root)

    def _below(self, name: str, body: Element) -> None:
        for joint in self.outward[name]:
            self._body(body, joint)

    def _body(self, parent: Element, first: Joint) -> None:
        """Write the body that a joint carries, with all joints up to the next link with mass."""
        chain = [first]
        while self._is_between(chain[-1].child):
            chain += self.outward[chain[-1].child]
        link = self.links[chain[-1].child]
        pose = Frame.identity()
        for joint in chain:
            pose = pose @ joint.origin @ joint.child_frame.inverse()
        if first.type == "floating":
            parent = self.world
        body = child(parent, "body", name=link.name)
        if not pose.is_identity():
            body.set("pos", numbers(pose.translation))
            body.set("quat", numbers(quaternion(pose.rotation)))
        for k, joint in enumerate(chain):
            seen = joint.child_frame  # of the joint, in the link of the body, at zero
            for later in chain[k + 1 :]:
                step = later.origin @ later.child_frame.inverse()
                seen = step.inverse() @ seen
            self._joint(body, joint, seen)
        welded = any(joint.type == "fixed" for joint in self.outward[link.name])
        if weightless(link) and chain[-1].type != "fixed" and not welded:
            self.left_out.add("massless links that move, which MuJoCo refuses", link.name)
        self._fill(body, link, pose)

    def _is_between(self, name: str) -> bool:
        link, beyond = self.links[name], self.outward[name]
        bare = weightless(link) and not link.visuals and name not in self.held
        return bare and len(beyond) == 1 and beyond[0].type not in ("fixed", "floating")

    def _fill(self, body: Element, link: Link, pose: Frame) -> None:
        self.bodies[link.name] = body, pose
        inertia = link.inertia
        if inertia is not None and not weightless(link):
            J = inertia.central
            least = float(np.linalg.eigvalsh(J)[0])
            if least < LEAST_MOMENT:
                words = f"moments of inertia below {LEAST_MOMENT:g} kg m², which are raised to it"
                self.left_out.add(words, link.name)
                J = J + (LEAST_MOMENT - least) * np.eye(3)
            if unphysical(inertia.mass, J):
                self.left_out.add("moments that no body has, which MuJoCo refuses", link.name)
            entries = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
            child(
                body,
                "inertial",
                pos=numbers(inertia.centre),
                mass=number(inertia.mass),
                fullinertia=numbers(entries),
            )
        for shape in link.visuals:
            self._shape(body, shape)
        self._below(link.name, body)

    def _shape(self, body: Element, shape: Geometry) -> None:
        attributes = {"contype": "0", "conaffinity": "0", "mass": "0"}
        if shape.kind == "mesh":
            if shape.path is None or not shape.path.lower().endswith(MESHES):
                self.left_out.add("meshes that MuJoCo does not read", shape.uri or "")
                return
            key = (shape.path, tuple(shape.scale))
            attributes["mesh"] = self.meshes.setdefault(key, f"mesh{len(self.meshes) + 1}")
        elif shape.kind == "box":
            attributes["size"] = numbers(size / 2.0 for size in shape.size)
        elif shape.kind in ("cylinder", "capsule"):
            attributes["size"] = numbers((shape.size[0], shape.size[1] / 2.0))
        elif shape.kind == "sphere":
            attributes["size"] = numbers(shape.size)
        else:
            self.left_out.add("shapes of other kinds", shape.kind)
            return
        geom = child(body, "geom", type=shape.kind, **attributes)
        if not shape.origin.is_identity():
            geom.set("pos", numbers(shape.origin.translation))
            geom.set("quat", numbers(quaternion(shape.origin.rotation)))
        if shape.colour is not None:
            geom.set("rgba", numbers(shape.colour))

    def _joint(self, body: Element, joint: Joint, at: Frame) -> None:
        """Write a joint; `at` is its frame in the body, with all joints at zero."""
        kind = joint.type
        if kind not in TYPES:
            raise cannot("MJCF", joint, TYPES)
        if kind == "fixed":
            self.left_out.add("names of fixed joints")
            return
        if kind == "floating":
            if joint.parent != self.base.name:
                raise ModelError(
                    f"MJCF has free joints on the ground only, not {joint.name!r} on "
                    f"{joint.parent!r}; write another format"
                )
            if not joint.origin.is_identity():
                words = "where free joints count from: the world's origin"
                self.left_out.add(words, joint.name)
            child(body, "freejoint", name=joint.name)
            return
        axis = np.array(joint.axis)
        turn = rotation_that_takes_z_to(axis) if abs(axis[2] - 1.0) > 0.0 else np.eye(3)
        parts: list[tuple[str, str, np.ndarray]] = {
            "spherical": [("", "ball", axis)],
            "prismatic": [("", "slide", axis)],
            "planar": [
                (".x", "slide", turn[:, 0]),
                (".y", "slide", turn[:, 1]),
                (".angle", "hinge", axis),
            ],
            "cylindrical": [(".angle", "hinge", axis), (".displacement", "slide", axis)],
            "universal": [
                (".first", "hinge", axis),
                (".second", "hinge", np.array(second_axis(joint))),
            ],
        }.get(kind, [("", "hinge", axis)])
        if len(parts) > 1:
            self.left_out.add(f"{kind} joints as such: they become joints in series", joint.name)
        for suffix, type_, direction in parts:
            element = child(
                body,
                "joint",
                name=joint.name + suffix,
                type=type_,
                pos=numbers(at.translation),
            )
            if type_ != "ball":
                element.set("axis", numbers(at.rotation @ direction))
            self._numbers(element, joint, single=len(parts) == 1 and type_ != "ball")

    def _numbers(self, element: Element, joint: Joint, *, single: bool) -> None:
        values = {"damping": joint.damping, "frictionloss": joint.friction}
        values["armature"] = self.description.rotors.get(joint.name, 0.0)
        if single:
            values |= {"stiffness": joint.stiffness, "springref": joint.rest}
            limits = joint.limits
            if limits.lower is not None and limits.upper is not None:
                if limits.lower < limits.upper:
                    element.set("range", numbers((limits.lower, limits.upper)))
            elif limits.lower is not None or limits.upper is not None:
                self.left_out.add("limits on one side only", joint.name)
            if limits.effort:
                element.set("actuatorfrcrange", numbers((-limits.effort, limits.effort)))
        for name, value in values.items():
            if value:
                element.set(name, number(value))

    def _loop(self, equalities: Element, loop: Loop) -> None:
        if loop.type not in ("spherical", "fixed", "revolute"):
            self.left_out.add(f"{loop.type} loops", loop.name)
            return
        kind = "weld" if loop.type == "fixed" else "connect"
        arms = [np.zeros(3)]
        if loop.type == "revolute":
            self.left_out.add("hinges of loops, written as two points on the axis", loop.name)
            arms = [sign * ARM / 2.0 * np.array(loop.axis) for sign in (1.0, -1.0)]
        for k, arm in enumerate(arms):
            name = loop.name if len(arms) == 1 else f"{loop.name}.{k + 1}"
            for side, end in ((1, loop.predecessor), (2, loop.successor)):
                body, _ = self.bodies[end.link]
                at = end.frame @ Frame(np.eye(3), arm)
                site = child(body, "site", name=f"{name}.{side}", pos=numbers(at.translation))
                if kind == "weld":
                    site.set("quat", numbers(quaternion(at.rotation)))
            child(equalities, kind, name=name, site1=f"{name}.1", site2=f"{name}.2")

    def _coupling(self, equalities: Element, coupling: Coupling) -> None:
        if len(coupling.follows) > 1:
            tendons = self.root.find("tendon")
            sums = child(self.root, "tendon") if tendons is None else tendons
            total = child(sums, "fixed", name=coupling.name)
            for name, value in ((coupling.joint, -1.0), *coupling.follows):
                child(total, "joint", joint=name, coef=number(-value))
            offset = numbers((coupling.offset, 0.0, 0.0, 0.0, 0.0))
            child(equalities, "tendon", name=coupling.name, tendon1=coupling.name, polycoef=offset)
            return
        leader, ratio = coupling.follows[0] if coupling.follows else ("", 0.0)
        element = child(equalities, "joint", name=coupling.name, joint1=coupling.joint)
        if leader:
            element.set("joint2", leader)
        element.set("polycoef", numbers((coupling.offset, ratio, 0.0, 0.0, 0.0)))


def mjcf_text(description: Description, left_out: LeftOut) -> str:
    """Return the MJCF."""
    return _Writer(description, left_out).text()
