"""An MJCF as MuJoCo compiles it: defaults, includes, frames and angles are resolved there.

Meshes that are not there are left out, as pictures only lack them; where MuJoCo would take a body's
mass from one, there is an error.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.document import NO_MESH, Document
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
