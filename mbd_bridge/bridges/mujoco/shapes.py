"""Geoms of an MJCF as shapes for pictures and contact."""

from __future__ import annotations

import numpy as np

from mbd_bridge.bridges.mujoco.compiled import Compiled
from mbd_bridge.bridges.mujoco.places import place
from mbd_bridge.formats.description import Geometry

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
