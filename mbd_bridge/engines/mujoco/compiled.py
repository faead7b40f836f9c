"""An MJCF as MuJoCo compiles it: defaults, includes, frames and angles are resolved there.

Meshes that are not there are left out, as pictures only lack them; where MuJoCo would take a body's
mass from one, there is an error.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.document import NO_MESH, Document
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.whole_file import note_input
from mbd_bridge.files.xml_reader import MAX_ELEMENTS, Element, decode, parse, read_bytes
from mbd_bridge.model.spatial import Frame, axis_angle_matrix, quaternion_matrix

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's joint types; coordinates of the first two hold a quaternion, (w, x, y, z)."""

LONGEST = 500
"""How much of MuJoCo's messages is repeated, characters."""


class Compiled(NamedTuple):
    """A compiled model.

    Attributes
    ----------
    engine : the package
    model : ``mujoco.MjModel``; what the file's ``<flag>`` disables is zero or inactive there
    meshes : name of a mesh -> its file, where there is one
    """

    engine: Any
    model: Any
    meshes: dict[str, tuple[str, str | None]]

    def name(self, kind: str, index: int) -> str:
        """Return what the file calls a thing, such as ("joint", 3); "" if it has no name."""
        code = getattr(self.engine.mjtObj, f"mjOBJ_{kind.upper()}")
        name = self.engine.mj_id2name(self.model, code, index)
        return name or ""


def compile_mjcf(path: str, document: Document) -> Compiled:
    """Return the compiled model of an MJCF file.

    Raises
    ------
    MissingPackageError
        MuJoCo is not installed.
    FileError
        MuJoCo refuses the file, in its words.
    """
    why = f"{path}: this is an MJCF file, which MuJoCo's own compiler reads, and needs mujoco"
    engine = needed("mujoco", why, "mbd_bridge[mjcf]")
    spec = _spec(engine, path)
    meshes = _files(spec, path)
    try:
        return Compiled(engine, _compile(engine, spec, document), meshes)
    except (ValueError, engine.FatalError) as error:
        first = error
    missing = [file for file, file_path in meshes.values() if file_path is None]
    spec = _spec(engine, path)
    assets = _without_assets(engine, spec, path, missing)
    if not assets:
        raise _refused(path, first)
    try:
        model = _compile(engine, spec, document)
    except (ValueError, engine.FatalError):
        raise _refused(path, first) from None
    for file in missing:
        document.remark(NO_MESH, file)
    if not missing:
        document.remark("pictures lack what MuJoCo cannot read", _words(first))
    return Compiled(engine, model, meshes)


def _compile(engine: Any, spec: Any, document: Document) -> Any:
    """Return the compiled model; MuJoCo's own warnings become remarks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = spec.compile()
    for warning in caught:
        document.remark("MuJoCo warns", " ".join(str(warning.message).split())[:LONGEST])
    for array in _disabled(engine.mjtDisableBit, model):
        array[...] = 0
    return model


def _disabled(bits: Any, model: Any) -> Iterator[Any]:
    """Yield the arrays of what ``<flag>`` disables; limits stay, as they are compared only."""
    forces = {
        "GRAVITY": (model.opt.gravity,),
        "EQUALITY": (model.eq_active0,),
        "FRICTIONLOSS": (model.dof_frictionloss,),
        "CONTACT": (model.geom_contype, model.geom_conaffinity),
        "SPRING": (model.jnt_stiffness, model.tendon_stiffness),
        "DAMPER": (model.dof_damping, model.tendon_damping),
    }
    if hasattr(model, "actuator_damping"):  # since 4.0
        forces["DAMPER"] += (model.actuator_damping,)
    forces["CONSTRAINT"] = (*forces["EQUALITY"], *forces["FRICTIONLOSS"], *forces["CONTACT"])
    for name, arrays in forces.items():
        if model.opt.disableflags & int(getattr(bits, f"mjDSBL_{name}")):
            yield from arrays


def _spec(engine: Any, path: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler repeats what counts
            return engine.MjSpec.from_file(path)
    except TypeError:
        raise FileError("MuJoCo reads names in UTF-8 only; rename the file", path) from None
    except (ValueError, RuntimeError, UnicodeError, engine.FatalError) as error:
        raise _refused(path, error) from None


def _refused(path: str, error: Exception) -> FileError:
    return FileError(
        f"MuJoCo does not read this MJCF: {_words(error)}. Correct it, or see what "
        f"`python -m mujoco.viewer --mjcf={path}` says",
        path,
    )


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:LONGEST].rstrip(". ")


def _files(spec: Any, path: str) -> dict[str, tuple[str, str | None]]:
    """Return, of each mesh, what the file calls it and where it is, None if it is not there."""
    folder = Path(path).parent / str(spec.meshdir)
    files: dict[str, tuple[str, str | None]] = {}
    for mesh in spec.meshes:
        name = str(mesh.file)
        if not name:
            continue
        if spec.strippath:
            name = os.path.basename(name)
        file = folder / name
        known = mesh.name or Path(name).stem
        files[str(known)] = name, str(file) if file.is_file() else None
    return files


def _without_assets(engine: Any, spec: Any, path: str, missing: list[str]) -> bool:
    """Delete meshes, materials and textures; return whether there were any.

    Raises
    ------
    FileError
        A body's mass would come from a mesh that is not there.
    """
    always = spec.compiler.inertiafromgeom == engine.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    kinds = (engine.mjtGeom.mjGEOM_MESH, engine.mjtGeom.mjGEOM_SDF)
    for body in spec.bodies:
        for geom in [item for item in body.geoms if item.type in kinds]:
            weighs = not (geom.mass == 0.0 or geom.density == 0.0)
            if weighs and missing and (always or not body.explicitinertial) and body.id != 0:
                raise FileError(
                    f"the mass of body {body.name!r} comes from the mesh {geom.meshname!r}, which "
                    f"is not there; put the mesh in place, or write an <inertial>",
                    path,
                )
            spec.delete(geom)
    had = bool(list(spec.meshes) or list(spec.textures) or list(spec.materials))
    for geom in spec.geoms:
        geom.material = ""
    for site in spec.sites:
        site.material = ""
    for skin in list(spec.skins):
        spec.delete(skin)
    for group in (spec.meshes, spec.materials, spec.textures):
        for item in list(group):
            spec.delete(item)
    return had


# Names and frames of a compiled MJCF.


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
        stated = [compiled.name("body", i) for i in range(model.nbody)]
        self._links |= set(filter(None, stated))
        self.links = [name or self.unused_link(f"body{i}") for i, name in enumerate(stated)]
        stated = [compiled.name("joint", i) for i in range(model.njnt)]
        self._joints |= set(filter(None, stated))
        kinds = ("free", "ball", "slide", "hinge")
        self.joints = []
        for i, name in enumerate(stated):
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
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    taken.add(free)
    return free


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
            candidates = _candidates(path, part.file, name, folders)
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


def _candidates(path: str, naming: str, name: str, folders: set[str]) -> list[str]:
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
