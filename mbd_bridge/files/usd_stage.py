"""A stage of OpenUSD opened: what its files say now, what of it we do not read; its meshes."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.input_files import file_beside, regular_file
from mbd_bridge.files.surface import Budget, Material, Surface, fans
from mbd_bridge.files.table import reading
from mbd_bridge.model.spatial import Array, quaternion_matrix

OURS = "mbd:"
"""Namespace of what UsdPhysics has no attribute for, or only one of 32 bits."""
NAME = f"{OURS}name"
ELSEWHERE = re.compile(
    r"(physx|newton|mjc)\w*:.*(armature|friction|damping|gearing|springref)", re.I
)
"""Numbers of other programs that change a machine's loads."""


def modules(file: str) -> tuple[Any, Any, Any, Any]:
    """Return Usd, UsdGeom, UsdPhysics and Gf of usd-core."""
    why = f"{file}: OpenUSD needs usd-core"
    usd, geom, physics, gf = (
        needed(f"pxr.{name}", why, "mbd_bridge[usd]")
        for name in ("Usd", "UsdGeom", "UsdPhysics", "Gf")
    )
    return usd, geom, physics, gf


def opened(usd: Any, file: str) -> Any:
    """Return a stage; say where a text is wrong, which is not the first that pxr says."""
    try:
        layers = needed("pxr.Sdf", file, "mbd_bridge[usd]").Layer
        _check_files(layers, layers.FindOrOpen(file), {file})
        stage = usd.Stage.Open(file)
        for layer in stage.GetUsedLayers():  # pxr keeps what it has read while anyone has it open
            if layer.dirty:
                raise FileError(f"{layer.identifier}: has changes that are not saved", file)
            layer.Reload()
        return stage
    except RuntimeError as error:
        words = [getattr(one, "commentary", "").strip() for one in error.args]
        raise FileError(
            f"cannot be read: {next(filter(None, words), error)!s:.300}", file
        ) from error


@functools.lru_cache(maxsize=1)
def _kept(file: str, changed: int) -> Any:
    """Return the stage from which several meshes are read, one after another."""
    return opened(modules(file)[0], file)


def read_stage_mesh(place: str) -> list[Surface]:
    """Return the surface of a mesh in a stage, ``machine.usda[/arm/shape]``, in its own unit."""
    file, _, path = place.removesuffix("]").rpartition("[")
    _, geom, _, _ = modules(regular_file(file))
    with reading(file, (Exception,), "a USD stage with meshes"):
        mesh = geom.Mesh(_kept(file, os.stat(file).st_mtime_ns).GetPrimAtPath(path))
        points, counts, corners, colours = (
            np.array(() if (value := first_value(attribute)) is None else value)
            for attribute in (
                mesh.GetPointsAttr(),
                mesh.GetFaceVertexCountsAttr(),
                mesh.GetFaceVertexIndicesAttr(),
                mesh.GetDisplayColorAttr(),
            )
        )
        if counts.size and (counts.min() < 0 or counts.sum() != len(corners)):
            raise FileError(
                f"{path}: {counts.sum()} corners of faces, {len(corners)} indices", file
            )
        budget = Budget(place)
        budget.take_numbers(points.size + counts.size + corners.size)
        triangles = corners[fans(counts)].astype(np.int64)
        if mesh.GetOrientationAttr().Get() == "leftHanded":
            triangles = triangles[:, ::-1]
        colour = (*colours[0].tolist(), 1.0) if len(colours) == 1 else None
        return [budget.surface(points, triangles, Material(colour))]


def _check_files(layers: Any, layer: Any, seen: set[str]) -> None:
    """Refuse devices, pipes and links out of the folder among files that a layer brings in."""
    for asset in layer.GetCompositionAssetDependencies():
        path = layer.ComputeAbsolutePath(asset).partition("[")[0]
        if path in seen or file_beside(path, layer.realPath.partition("[")[0]) is None:
            continue  # one that is not there is told by the stage
        seen.add(path)
        with contextlib.suppress(RuntimeError):  # as above
            if below := layers.FindOrOpen(path):
                _check_files(layers, below, seen)


def remark(stage: Any, prims: Sequence[Any], told: Sequence[Any], left_out: LeftOut) -> None:
    """List what changes a machine and is not read: missing files, other programs' numbers.

    Parameters
    ----------
    prims : all of the stage
    told : bodies and joints
    """
    _, _, physics, _ = modules(left_out.file)
    for error in stage.GetCompositionErrors():
        asset = getattr(error, "assetPath", "") or str(error)
        left_out.add("files that were not found", asset)
    for prim in prims:
        ends = (prim.GetRelationship(f"physics:body{side}") for side in (0, 1))
        if any(ends) and not prim.IsA(physics.Joint):
            left_out.add("joints of other programs", prim.GetName())
        density = said(prim, "physics:density") if prim.HasAPI(physics.MaterialAPI) else 0
        if density:
            left_out.add("densities of materials", prim.GetName())
    for prim in told:
        for name in prim.GetAppliedSchemas() + _listed_schemas(prim):
            if "mimic" in name.lower():
                left_out.add("mimics of other programs", prim.GetName())
        for attribute in prim.GetAuthoredAttributes():
            name = attribute.GetName()
            if attribute.GetNumTimeSamples():
                left_out.add("values over time, but for the first", prim.GetName())
            if ELSEWHERE.match(name) and said(prim, name):
                left_out.add("numbers of other programs", f"{prim.GetName()}.{name}")


def said(prim: Any, name: str) -> Any:
    """Return what an attribute of a prim says, None where it has none."""
    attribute = prim.GetAttribute(name)
    return first_value(attribute) if attribute and attribute.IsValid() else None


def first_value(attribute: Any) -> Any:
    """Return the value of an attribute, the first of one that changes over time."""
    samples = attribute.GetTimeSamples()
    return attribute.Get(samples[0]) if samples else attribute.Get()


def _listed_schemas(prim: Any) -> list[str]:
    """Return the schemas that a prim says it has, those of other programs too."""
    listed = prim.GetMetadata("apiSchemas")
    return [] if listed is None else list(listed.GetAddedOrExplicitItems())


def own_number(prim: Any, name: str) -> float | None:
    """Return a number that only we write, None where there is none."""
    value = said(prim, OURS + name)
    return None if value is None else float(value)


def text_of(prim: Any, name: str) -> str:
    """Return the text of an attribute, "" where there is none."""
    value = said(prim, name)
    return "" if value is None else str(value)


def number_of(prim: Any, name: str) -> Any:
    """Return a number or vector; with all its digits where they stand beside it."""
    short, long = first_value(prim.GetAttribute(name)), said(prim, OURS + name)
    if long is None or short is None:
        return 0.0 if short is None else short
    same = np.array_equal(entries_of(short), entries_of(long).astype(np.float32))
    return long if same else short


def entries_of(value: Any) -> Array:
    """Return the numbers of a vector or quaternion, w first."""
    if hasattr(value, "GetImaginary"):
        return np.array([value.GetReal(), *value.GetImaginary()])
    return np.asarray(value, dtype=np.float64)


def rotation_of(quaternion: Any) -> Array:
    """Return the rotation of a quaternion, which need not have unit length; of zeros, none."""
    w, x, y, z = entries_of(quaternion)
    length = np.linalg.norm([x, y, z, w])
    return quaternion_matrix(np.array([x, y, z, w]) / length) if length else np.eye(3)


def names_of(prims: Sequence[Any], taken: set[str]) -> dict[str, str]:
    """Return a name for each prim, by its path; its path where another has its name."""
    names = {}
    for prim in prims:
        path = str(prim.GetPath())
        name = text_of(prim, NAME) or prim.GetName()
        names[path] = path.strip("/") if name in taken else name
        taken.add(names[path])
    return names
