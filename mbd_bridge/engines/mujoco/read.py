"""MJCF to a description: bodies, joints, loops and couplings of the compiled model.

A body's joints move it one after the other, so a body with several has massless links between
them, named BODY.1, BODY.2, ... Coordinates are MuJoCo's own: a hinge or slide with a `ref` stands
at `ref` in the file's position. Quaternions are (x, y, z, w) here, (w, x, y, z) there; a free
joint's linear velocity is in the body's axes here, in the world's there.

Geoms of an MJCF as shapes for pictures and contact.
"""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.engines.mujoco.compiled import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    Compiled,
    Names,
    compile_mjcf,
    motion,
    place,
)
from mbd_bridge.engines.mujoco.elements import (
    actuated_joints,
    effort_limits,
    list_left_out,
    read_equalities,
    rotors,
    through_gears,
)
from mbd_bridge.engines.mujoco.twin import SIZES
from mbd_bridge.files.checks import check_couplings, check_loops, check_tree
from mbd_bridge.files.document import LARGEST, Document, LeftOut
from mbd_bridge.files.elements import UNPHYSICAL, inertia_at, unphysical
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.whole_file import note_input
from mbd_bridge.files.xml_reader import MAX_BYTES, MAX_ELEMENTS, Element, decode, parse, read_bytes
from mbd_bridge.model.description import Configurations, Description, Geometry, Joint, Limits, Link
from mbd_bridge.model.spatial import Frame, Inertia

# What an MJCF becomes with the files that it names, before MuJoCo reads and makes all of it.
#
# A short file can ask for any number of bodies (``<replicate>``, ``<composite>``, ``<flexcomp>``,
# ``<attach>`` of files that attach others), and MuJoCo opens whatever ``file=`` says.

FACTORS = {"replicate": True, "composite": False, "flexcomp": False}
"""Elements with a `count`: whether it is one of all that is inside."""

FOLDERS = ("assetdir", "meshdir", "texturedir")
"""Of ``<compiler>``: where files are."""

LARGEST_FILE = 2**28
"""Bytes of a mesh or an image."""

DEEPEST = 20
"""Files that include or attach each other."""

SIZE_ATTRIBUTES: dict[tuple[str, ...], int] = {
    ("hfield", "nrow", "ncol"): 2**25,
    ("texture", "width", "height"): 2**25,
    ("numeric", "size"): 2**20,
    ("size", "nkey"): 2**14,
    **{
        ("size", f"nuser_{kind}"): 2**10
        for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
    },
}
"""Element and attributes, and how large their product may be: so many numbers are made."""


class _Part(NamedTuple):
    """An element that is still to be looked at.

    Attributes
    ----------
    times : how many of it there will be
    file, model : in which it stands; the file of the model, which includes that one
    depth : of files in files
    """

    element: Element
    times: int
    file: str
    model: str
    depth: int


def check_contents(path: str, root: Element, max_bytes: int) -> None:
    """Refuse an MJCF that names what is no file, or becomes too large.

    Parameters
    ----------
    root : the file's outermost element
    max_bytes : largest size of the files that it includes or attaches
    """
    roots = {os.path.realpath(path): root}
    folders, models = {""}, dict[tuple[str, str], str]()
    waiting, elements = [_Part(root, 1, path, path, 0)], 0
    while waiting:
        part = waiting.pop()
        element, document = part.element, Document(part.file)
        tag, times = str(element.tag), part.times
        count = prod(_whole(text) for text in element.get("count", "").split())
        if FACTORS.get(tag):
            times *= count
        elements += times * (1 if tag not in FACTORS else count)
        if elements > MAX_ELEMENTS:
            raise document.error(
                element, f"the file becomes larger than {MAX_ELEMENTS} elements; ask for fewer"
            )
        _check_sizes(document, element, tag)
        if tag == "compiler":
            folders.update(element.get(folder, "") for folder in FOLDERS)
        named = [str(name) for key, name in element.items() if str(key).startswith("file")]
        for name in filter(None, named):
            candidates = _files(path, part.file, name, folders)
            if tag == "model":
                models.update(
                    ((part.model, element.get("name", name)), candidate)
                    for candidate in candidates[:1]
                )
        inside = candidates[:1] if tag == "include" and any(named) else []
        attached = models.get((part.model, element.get("model", "")))
        if tag == "attach" and attached is not None:
            inside = [attached]
        for file in inside:
            if part.depth == DEEPEST:
                message = f"files in files, deeper than {DEEPEST}; do they include each other?"
                raise document.error(element, message)
            real = os.path.realpath(file)
            if real not in roots:
                roots[real] = parse(decode(read_bytes(file, max_bytes), file), file, max_bytes)[0]
            model = file if tag == "attach" else part.model
            waiting.append(_Part(roots[real], times, file, model, part.depth + 1))
        waiting.extend(part._replace(element=kid, times=times) for kid in reversed(element))


def _files(path: str, naming: str, name: str, folders: set[str]) -> list[str]:
    """Return the files that MuJoCo may mean by a name, each checked."""
    files = []
    for file in dict.fromkeys((naming, path)):
        for folder in sorted(folders):
            candidate = os.path.join(os.path.dirname(file), folder, name)
            if file_beside(candidate, file) is None:
                continue
            if os.path.getsize(candidate) > LARGEST_FILE:
                raise FileError(f"the file has more than {LARGEST_FILE} bytes", candidate)
            note_input(candidate)
            files.append(candidate)
    return files


def _check_sizes(document: Document, element: Element, tag: str) -> None:
    for (kind, *keys), largest in SIZE_ATTRIBUTES.items():
        if kind == tag and prod(_whole(element.get(key, "")) for key in keys) > largest:
            what = " x ".join(keys)
            raise document.error(element, f"{what}: expected at most {largest}")


def _whole(text: str) -> int:
    """Return a number, 1 of what is none: that is for MuJoCo to refuse."""
    try:
        return max(int(float(text)), 1)
    except (ValueError, OverflowError):
        return 1


VISIBLE_GROUPS = 3
"""MuJoCo's viewers show geoms of the groups 0, 1 and 2."""

KINDS = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box", 7: "mesh"}
"""Geom types that pictures know, by MuJoCo's numbers."""

Shapes = tuple[Geometry, ...]


def read_shapes(compiled: Compiled, body: int) -> tuple[Shapes, Shapes]:
    """Return what of a body is seen, and what touches."""
    model = compiled.model
    seen, touching = list[Geometry](), list[Geometry]()
    first = int(model.body_geomadr[body])
    for geom in range(first, first + int(model.body_geomnum[body])):
        if int(model.geom_type[geom]) not in KINDS:
            continue
        shape = _shape(compiled, geom)
        if int(model.geom_group[geom]) < VISIBLE_GROUPS:
            seen.append(shape)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            touching.append(shape)
    return tuple(seen), tuple(touching)


def _shape(compiled: Compiled, geom: int) -> Geometry:
    model = compiled.model
    kind = KINDS[int(model.geom_type[geom])]
    origin = place(model.geom_pos[geom], model.geom_quat[geom])
    material = int(model.geom_matid[geom])
    rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    red, green, blue, alpha = np.clip(rgba, 0.0, 1.0).tolist()
    colour = red, green, blue, alpha
    a, b, c = model.geom_size[geom].tolist()
    if kind == "mesh":
        mesh = int(model.geom_dataid[geom])
        # MuJoCo moves a mesh's vertices to its centre of volume; the file's are not moved
        origin = origin @ place(model.mesh_pos[mesh], model.mesh_quat[mesh]).inverse()
        uri, path = compiled.meshes.get(compiled.name("mesh", mesh), (None, None))
        x, y, z = model.mesh_scale[mesh].tolist()
        return Geometry(kind, origin, (), uri, path, (x, y, z), colour)
    sizes = {
        "sphere": (a,),
        "box": (2.0 * a, 2.0 * b, 2.0 * c),
    }
    return Geometry(kind, origin, sizes.get(kind, (a, 2.0 * b)), colour=colour)


TYPES = ("floating", "spherical", "prismatic", "revolute")
"""MuJoCo's joint types by number: free, ball, slide, hinge."""

FINITE = (
    *("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia"),
    *("jnt_pos", "jnt_axis", "qpos0", "qpos_spring", "eq_data", "key_qpos"),
)
"""Arrays of a compiled model that make the mechanism."""


def read_mjcf(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Description:
    """Return what an MJCF file says, as MuJoCo compiles it.

    Parameters
    ----------
    path : of the file
    max_bytes : largest size that is read

    Raises
    ------
    MissingPackageError
        MuJoCo is not installed.
    FileError
        The file cannot be read, or says something that no mechanism can be.
    """
    file = os.fsdecode(path)
    root, _ = parse(decode(read_bytes(file, max_bytes), file), file, max_bytes)
    check_contents(file, root, max_bytes)
    document, left_out = Document(file), LeftOut(file, "MJCF")
    _refuse_nan(document, root)
    compiled = compile_mjcf(file, document)
    _check_finite(compiled.model, file)
    names = Names(compiled)
    links, joints = _bodies(compiled, names, document, left_out)
    loops, couplings = read_equalities(compiled, names, left_out, file)
    list_left_out(compiled, names, left_out)
    check_tree(links, joints, file)
    check_loops(loops, links, joints, file)
    check_couplings(couplings, loops, joints, file)
    x, y, z = compiled.model.opt.gravity.tolist()
    return Description(
        name=compiled.model.names.split(b"\0", 1)[0].decode() or Path(file).stem,
        links=links,
        joints=joints,
        loops=loops,
        couplings=couplings,
        source=file,
        notes=(*document.warn(), *left_out.warn()),
        actuated=actuated_joints(compiled, names),
        transmissions=rotors(compiled, names),
        format="MJCF",
        gravity=(x, y, z),
        configurations=_keyframes(compiled, names),
        joint_dynamics=True,
    )


def _keyframes(compiled: Compiled, names: Names) -> Configurations:
    """Return coordinates by joint of each keyframe; those without a name are called by number."""
    model = compiled.model
    configurations = {}
    for key in range(model.nkey):
        values: dict[str, tuple[float, ...]] = {}
        for index in range(model.njnt):
            kind, start = int(model.jnt_type[index]), int(model.jnt_qposadr[index])
            q = model.key_qpos[key][start : start + SIZES[kind]].tolist()
            if kind in (FREE, BALL):
                w, *vector = q[-4:]
                q = [*q[:-4], *vector, w]
            values[names.joints[index]] = tuple(q)
        configurations[compiled.name("key", key) or f"keyframe {key}"] = values
    return configurations


def _refuse_nan(document: Document, root: Element) -> None:
    """Refuse nan, which MuJoCo takes for a number and computes with."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if key != "name" and "nan" in str(value).lower().split():
                raise document.error(element, f"{key!s}: expected a finite number, got nan")


def _check_finite(model: Any, file: str) -> None:
    """Refuse numbers whose products overflow (from included files, too)."""
    for name in FINITE:
        values = np.asarray(getattr(model, name), dtype=np.float64)
        if not (np.abs(values) < LARGEST).all():
            message = f"numbers of the compiled model ({name}) are not below {LARGEST:g}"
            raise FileError(f"{message}; check units and digits", file)


def _bodies(
    compiled: Compiled, names: Names, document: Document, left_out: LeftOut
) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """Return the links and joints, each body's joints in MuJoCo's order."""
    model = compiled.model
    efforts = effort_limits(compiled)
    links, joints = [Link(names.links[0], None, *read_shapes(compiled, 0))], list[Joint]()
    for body in range(1, model.nbody):
        name = names.links[body]
        parent = names.links[int(model.body_parentid[body])]
        first, number = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        origin = place(model.body_pos[body], model.body_quat[body])
        if not number:
            joints.append(Joint(names.unused(f"{name}.weld"), "fixed", parent, name, origin))
        for k, index in enumerate(range(first, first + number)):
            child = name if k == number - 1 else names.unused_link(f"{name}.{k + 1}")
            joints.append(
                _joint(compiled, names, index, (parent, child), origin, left_out, efforts)
            )
            if child != name:
                links.append(Link(child))
            parent, origin = child, Frame.identity()
        inertia = _inertia(model, body)
        if inertia is not None and (why := unphysical(inertia.mass, inertia.central)):
            document.remark(UNPHYSICAL, f"{name}: {why}")
        links.append(Link(name, inertia, *read_shapes(compiled, body)))
    return tuple(links), tuple(joints)


def _inertia(model: Any, body: int) -> Inertia | None:
    mass, moments = float(model.body_mass[body]), np.array(model.body_inertia[body])
    if not mass and not moments.any():
        return None
    frame = place(model.body_ipos[body], model.body_iquat[body])
    return inertia_at(frame, mass, np.diag(moments))


def _joint(
    compiled: Compiled,
    names: Names,
    index: int,
    ends: tuple[str, str],
    origin: Frame,
    left_out: LeftOut,
    efforts: dict[int, float],
) -> Joint:
    """Return one joint; `origin` is the body's frame in the parent before it moves.

    The body turns about the anchor p: X = origin T(p) motion(q - ref) T(-p).
    """
    model, name = compiled.model, names.joints[index]
    kind = int(model.jnt_type[index])
    dof, at = int(model.jnt_dofadr[index]), int(model.jnt_qposadr[index])
    stiffness = float(model.jnt_stiffness[index])
    damping, friction = float(model.dof_damping[dof]), float(model.dof_frictionloss[dof])
    damping += through_gears(compiled, "actuator_damping").get(index, 0.0)
    if kind == FREE:
        origin = anchor = Frame.identity()  # its coordinates are the pose in the world
    else:
        anchor = Frame(np.eye(3), np.array(model.jnt_pos[index]))
        origin = origin @ anchor
    axis = np.array(model.jnt_axis[index])
    rest, limits = 0.0, Limits()
    if kind in (SLIDE, HINGE):
        origin = origin @ motion(TYPES[kind], axis, -float(model.qpos0[at]))
        rest = float(model.qpos_spring[at])
        limits = _limits(model, index, efforts)
    elif stiffness:
        left_out.add("springs of ball and free joints", name)
        stiffness = 0.0
    if kind in (FREE, BALL):
        damping = friction = 0.0  # listed as left out
    if kind == BALL and model.jnt_limited[index]:
        left_out.add("limits of ball joints", name)
    x, y, z = axis.tolist() if kind in (SLIDE, HINGE) else (1.0, 0.0, 0.0)
    return Joint(
        name,
        TYPES[kind],
        *ends,
        origin,
        (x, y, z),
        limits=limits,
        damping=damping,
        friction=friction,
        stiffness=stiffness,
        rest=rest if stiffness else 0.0,
        child_frame=anchor,
    )


def _limits(model: Any, index: int, efforts: dict[int, float]) -> Limits:
    effort = efforts.get(index)
    if not model.jnt_limited[index]:
        return Limits(effort=effort)
    lower, upper = (float(x) for x in model.jnt_range[index])
    return Limits(lower, upper, effort)
