"""SDF (sdformat.org) to a description: links and joints are a graph, so loops are ordinary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mbd_bridge.files.checks import (
    check_couplings,
    check_loops,
    check_mimics,
    check_tree,
    joint_error,
)
from mbd_bridge.files.document import (
    Document,
    LeftOut,
    quote,
    unknown,
)
from mbd_bridge.files.elements import (
    SIZES,
    inertia_at,
    mesh_path,
    read_colour,
    read_shapes,
    remark_unphysical,
)
from mbd_bridge.files.input_files import MeshFinder
from mbd_bridge.files.sdf_document import (
    Files,
    IncludedFile,
    flag,
    number,
    numbers,
    only_model,
    pose_of,
    text,
)
from mbd_bridge.files.sdf_joints import Gearbox, read_joint
from mbd_bridge.files.sdf_scopes import Scope, is_world
from mbd_bridge.files.xml_reader import MAX_BYTES, Element, line_of
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Geometry,
    Joint,
    Link,
    Vector3,
)
from mbd_bridge.model.spanning_tree import as_cut, turn_round
from mbd_bridge.model.spatial import Inertia

# An SDF file to a description: one model, with the models in it and those that it includes.
#
# A spanning tree of a graph of links and joints; the joints beside it close loops.
#
# Which joints carry the tree: first those that a cut could not be (screws, springs, gears,
# mimics), then those with the fewest degrees of freedom, then in the file's order. So a loop is
# cut at a ball rather than at a hinge, which leaves the fewest coordinates and constraints. A
# joint that the tree walks from its child to its parent is turned (`spanning_tree.turn_round`).
#
# ``<link>`` of SDF: inertia and shapes.

DEGREES = {"fixed": 0, "universal": 2, "spherical": 3}
"""Degrees of freedom of types that have not one."""


def spanning_tree(
    links: Sequence[str], joints: Sequence[Joint], kept: set[str], root: str
) -> tuple[list[Joint], list[Joint], list[str]]:
    """Return the joints of the tree as walked, those that close loops, and first links of parts.

    Parameters
    ----------
    links : names, in the file's order; `root` is one of them
    kept : names of joints that cannot be cut

    Returns
    -------
    Joints of the tree; the others, as described; and, of each part that no joint connects with the
    root, the link that the tree starts from.
    """
    group = {link: link for link in links}

    def top(link: str) -> str:
        while group[link] != link:
            group[link] = group[group[link]]
            link = group[link]
        return link

    def rank(index: int) -> tuple[bool, int, int]:
        joint = joints[index]
        return joint.name not in kept, DEGREES.get(joint.type, 1), index

    chosen = set()
    for index in sorted(range(len(joints)), key=rank):
        first, second = top(joints[index].parent), top(joints[index].child)
        if first != second:
            group[first] = second
            chosen.add(index)
    at: dict[str, list[int]] = {link: [] for link in links}
    for index in sorted(chosen):
        at[joints[index].parent].append(index)
        at[joints[index].child].append(index)
    carried = {joint.child for joint in joints}
    starts = [root, *(link for link in links if link not in carried), *links]
    reached: set[str] = set()
    walked: dict[int, Joint] = {}
    parts = []
    for start in starts:
        if start in reached:
            continue
        parts.append(start)
        reached.add(start)
        queue = [start]
        for link in queue:
            for index in at[link]:
                if index in walked:
                    continue
                joint = joints[index]
                walked[index] = joint if joint.parent == link else turn_round(joint)
                reached.add(walked[index].child)
                queue.append(walked[index].child)
    tree = [walked[index] for index in sorted(walked)]
    return tree, [joints[k] for k in range(len(joints)) if k not in chosen], parts[1:]


DEFAULT_MASS, DEFAULT_MOMENT = 1.0, 1.0
"""kg and kg m² of a link for which the file says nothing: SDF's own."""

NO_INERTIAL = "links without <inertial> have SDF's 1 kg and 1 kg m²"
"""A kind of remark."""

ENTRIES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def read_link(scope: Scope, element: Element, left_out: LeftOut) -> Link:
    """Return what a link says."""
    document, meshes = scope.document, scope.source.meshes
    name = scope.prefix + document.attribute(element, "name")
    if element.find("sensor") is not None:
        left_out.add("sensors", name)
    if not flag(document, element, "gravity", default=True):
        left_out.add("links without gravity, which have it here", name)
    if flag(document, element, "kinematic"):
        left_out.add("links that forces do not move (<kinematic>)", name)
    decay = document.child(element, "velocity_decay")
    if decay is not None and any(
        number(document, decay, tag, 0.0) for tag in ("linear", "angular")
    ):
        left_out.add("drag of links (<velocity_decay>)", name)
    visuals, collisions = (
        read_shapes(document, element, tag, partial(_shape, document, meshes))
        for tag in ("visual", "collision")
    )
    return Link(
        name,
        _inertia(document, element, left_out, name),
        visuals,
        collisions,
        line_of(element),
    )


def _inertia(document: Document, link: Element, left_out: LeftOut, name: str) -> Inertia:
    element = document.child(link, "inertial")
    if element is None:
        document.remark_at(NO_INERTIAL, link)
        return Inertia(DEFAULT_MASS, np.zeros(3), DEFAULT_MOMENT * np.eye(3))
    if (element.get("auto") or "false").lower() in ("1", "true"):
        raise document.error(
            element, "an inertia from shapes (auto) is not computed; write <mass> and <inertia>"
        )
    if element.find("fluid_added_mass") is not None:
        left_out.add("added mass of fluids", name)
    mass = number(document, element, "mass", DEFAULT_MASS)
    if mass < 0.0:
        raise document.error(element, f"expected a mass of at least 0 kg, got {mass:g}")
    moments = document.child(element, "inertia")
    values = dict.fromkeys(ENTRIES, 0.0) | dict.fromkeys(ENTRIES[:3], DEFAULT_MOMENT)
    if moments is not None:
        values = {tag: number(document, moments, tag, values[tag]) for tag in ENTRIES}
    xx, yy, zz, xy, xz, yz = values.values()
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    remark_unphysical(document, element, mass, central)
    frame, relative = pose_of(document, element)
    if relative:
        raise document.error(element, "the pose of an inertia is in its link; remove relative_to")
    return inertia_at(frame, mass, central)


def _shape(document: Document, meshes: MeshFinder, element: Element) -> Geometry:
    geometry = document.child(element, "geometry")
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        raise document.error(element, "expected a <geometry> with a shape in it")
    origin, relative = pose_of(document, element)
    if relative and relative != (element.getparent() or element).get("name"):
        raise document.error(element, f"its pose is relative to {relative!r:.80}, not to its link")
    kind = str(shape.tag)
    colour = read_colour(element.findtext("material/diffuse") or "", 3, 4)
    if kind == "mesh":
        uri = text(document, shape, "uri")
        path = mesh_path(document, uri, meshes)
        return Geometry(kind, origin, (), uri, path, _vector(document, shape, "scale"), colour)
    if kind == "box":
        return Geometry(kind, origin, _vector(document, shape, "size"), colour=colour)
    sizes = tuple(number(document, shape, size, 0.0) for size in SIZES.get(kind, ()))
    return Geometry(kind, origin, sizes, colour=colour)


def _vector(document: Document, element: Element, tag: str) -> Vector3:
    child = document.child(element, tag)
    if child is None:
        return 1.0, 1.0, 1.0
    x, y, z = numbers(document, child, 3)
    return x, y, z


WORLD = "world"

PLACED = "base_placement"
"""Name of the joint that puts a model where its pose says."""

ALIGNED = 1e-6
"""Sine of the angle between two axes below which gears turn about the same."""


def read_sdf(
    path: str | os.PathLike[str],
    *,
    package_path: Iterable[str | os.PathLike[str]] = (),
    max_bytes: int = MAX_BYTES,
) -> Description:
    """Return what the one machine in an SDF file says.

    Parameters
    ----------
    path : of the file
    package_path : where packages or meshes are, besides the file's surroundings
    max_bytes : largest size that is read

    Raises
    ------
    FileError
        The file cannot be read, or says something that no mechanism can be.
    """
    file = os.fsdecode(path)
    files, left_out = Files(package_path, max_bytes), LeftOut(file, "SDF")
    source = files.open(file)
    document = source.document
    scope, gravity = _model(source, left_out)
    links, joints, gears = list[Link](), list[Joint](), list[Gearbox]()
    for inner in scope.scopes():
        for element in inner.model.findall("link"):
            if is_world(element):
                continue
            links.append(read_link(inner, element, left_out))
        for element in inner.model.findall("joint"):
            part = read_joint(inner, element, left_out)
            if isinstance(part, Gearbox):
                gears.append(part)
            else:
                joints.append(part)
        plugins = inner.model.findall("plugin")
        if inner.include is not None:
            plugins += inner.include[1].findall("plugin")
        for element in plugins:
            left_out.add("plugins", element.get("name") or "")
    described = _assembled(document, scope, links, joints, gears, left_out)
    check_tree(described.links, described.joints, file)
    check_mimics(described.joints, file)
    check_loops(described.loops, described.links, described.joints, file)
    check_couplings(described.couplings, described.loops, described.joints, file)
    return replace(described, source=file, gravity=gravity, notes=(*files.warn(), *left_out.warn()))


def _model(source: IncludedFile, left_out: LeftOut) -> tuple[Scope, Vector3 | None]:
    """Return the one machine of the file, and the gravity of its world."""
    document, root = source.document, source.root
    worlds = root.findall("world")
    scopes: list[Scope] = []
    for holder in (root, *worlds):
        scopes += [Scope(source, model) for model in holder.findall("model")]
        for include in holder.findall("include"):
            if holder is not root and source.files.find(source, include) is None:
                left_out.add("models that are not found", text(document, include, "uri"))
                continue
            other = source.files.include(source, include, [source])
            if not other.root.findall("model") and len(other.root):
                left_out.add("lights, actors and worlds that are included", other.document.file)
                continue
            model = only_model(other, include, source)
            scopes.append(Scope(other, model, include=(source, include)))
    machines = [scope for scope in scopes if not _is_scenery(scope)] if len(scopes) > 1 else scopes
    if len(machines) != 1:
        names = ", ".join(quote(scope.name) for scope in (machines or scopes)[:10]) or "none"
        missing = left_out.kinds.get("models that are not found", [])
        hint = f"; not found: {', '.join(missing[:10])} (package_path)" if missing else ""
        raise document.error(
            root,
            f"expected one model that moves, got {len(machines)} (models: {names}){hint}; load a "
            f"file with one of them, or make the others models inside it",
        )
    for scope in scopes:
        if scope is not machines[0]:
            left_out.add("scenery: static models without joints", scope.name)
    gravity = worlds[0].find("gravity") if worlds else None
    if gravity is None:
        return machines[0], None
    x, y, z = numbers(document, gravity, 3)
    return machines[0], (x, y, z)


def _is_scenery(scope: Scope) -> bool:
    return scope.static and all(inner.model.find("joint") is None for inner in scope.scopes())


def _assembled(
    document: Document,
    scope: Scope,
    links: list[Link],
    joints: list[Joint],
    gears: Sequence[Gearbox],
    left_out: LeftOut,
) -> Description:
    """Return the description: a tree from the world or the model's first link, loops, gears."""
    names = [link.name for link in links]
    if not names:
        raise document.error(scope.model, "the model has no <link>; add one")
    _check_mimics(document.file, joints)
    to_world = any(WORLD in (joint.parent, joint.child) for joint in joints)
    base = WORLD if to_world else scope.canonical(scope.model)
    couplings = _couplings(scope, joints, gears, left_out)
    followed = {joint.mimic.joint for joint in joints if joint.mimic is not None}
    geared = {name for coupling in couplings for name in (coupling.joint, coupling.follows[0][0])}
    kept = {
        joint.name
        for joint in joints
        if joint.type == "helical" or joint.stiffness or joint.mimic is not None
    }
    kept |= followed | geared
    if to_world:
        links, names = [Link(WORLD), *links], [WORLD, *names]
    tree, cut, parts = spanning_tree(names, joints, kept, base)
    for joint in cut:
        if joint.name in kept:
            raise joint_error(
                joint,
                "it closes a loop of joints that are screws, springs, gears or mimics, and one of "
                "them has to be cut, which they cannot be",
                document.file,
            )
    placed = scope.frame(base, scope.model)
    if not to_world and (parts or not placed.is_identity()):
        links = [Link(WORLD), *links]
        tree.append(Joint(PLACED, "fixed", WORLD, base, placed))
    fixed = {
        inner.prefix + (coupling.get("name") or "")
        for inner in scope.scopes()
        for coupling in inner.model.findall("link")
        if inner.static
    }
    for part in parts:
        here = scope.frame(part, scope.model)
        if part in fixed:
            tree.append(Joint(f"{part}.static", "fixed", WORLD, part, here))
            continue
        tree.append(Joint(f"{part}.free", "floating", WORLD, part, here))
        document.remark("parts that no joint connects float freely", part)
    if fixed and any(joint.type != "fixed" for joint in joints):
        left_out.add("that all joints of static models stand still", scope.name)
    return Description(
        name=scope.name or "model",
        links=tuple(links),
        joints=tuple(tree),
        loops=tuple(as_cut(joint) for joint in cut),
        couplings=couplings,
        format="SDF",
        joint_dynamics=True,
    )


def _check_mimics(file: str, joints: Sequence[Joint]) -> None:
    known = {joint.name for joint in joints}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in known:
            raise joint_error(joint, unknown("joint", joint.mimic.joint, known), file)


def _couplings(
    scope: Scope,
    joints: Sequence[Joint],
    gears: Sequence[Gearbox],
    left_out: LeftOut,
) -> tuple[Coupling, ...]:
    """Return gearboxes as couplings of the two joints at their reference body.

    theta_2 = -ratio theta_1, the turns of child and parent against the reference about two axes.
    """
    couplings = []
    for gearbox in gears:
        sides = [
            _turn_about(scope, joints, gearbox.reference, link, axis)
            for link, axis in zip(gearbox.links, gearbox.axes, strict=True)
        ]
        if sides[0] is None or sides[1] is None:
            left_out.add(
                "gearboxes whose links do not both turn at the reference body", gearbox.name
            )
            continue
        (first, sign1), (second, sign2) = sides[0], sides[1]
        ratio = -gearbox.ratio * sign1 / sign2
        couplings.append(
            Coupling(gearbox.name, second, ((first, ratio),), 0.0, gearbox.line, gearbox.source)
        )
    return tuple(couplings)


def _turn_about(
    scope: Scope, joints: Sequence[Joint], reference: str, link: str, axis: np.ndarray
) -> tuple[str, float] | None:
    """Return the hinge between two links, and +1 or -1: its sense about an axis in the world."""
    for joint in joints:
        ends = joint.parent, joint.child
        if joint.type not in ("revolute", "continuous") or set(ends) != {reference, link}:
            continue
        carrier = scope.frame(joint.parent, scope.model).rotation @ joint.origin.rotation
        joint_axis = carrier @ np.array(joint.axis)
        if np.linalg.norm(np.cross(joint_axis, axis)) > ALIGNED:
            continue
        return joint.name, float(np.sign(joint_axis @ axis)) * (
            1.0 if ends[0] == reference else -1.0
        )
    return None


__all__ = ["read_sdf"]
