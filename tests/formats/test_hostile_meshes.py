"""Meshes that are made to take all time and memory, or to mislead: `FileError`, and soon."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.mesh import read_mesh
from tests.bounds import bounded
from tests.formats.mutation import mutate_words
from tests.formats.texts import DAE, FACES

GOOD = DAE.format(faces=FACES["polylist"])
SCENE = '<visual_scene id="s">'
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
DOUBLING = (
    SCENE
    + "".join(
        f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>'
        for k in range(40)
    )
    + '<node id="n40"><instance_geometry url="#g"/></node>'
)
"""Forty nodes that instance the next one twice: 2^40 squares."""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


HOSTILE = {
    "instances of instances.dae": (changed(SCENE, DOUBLING), "nodes"),
    "empty instances.dae": (
        changed(SCENE, DOUBLING.replace('<instance_geometry url="#g"/>', "")),
        "nodes",
    ),
    "vcount.dae": (changed("<vcount>4<", "<vcount>2000000000<"), "vcount"),
    "many vcounts.dae": (changed("<vcount>4<", f"<vcount>{'4 ' * 100_000}<"), "vcount"),
    "negative vcount.dae": (changed("<vcount>4<", "<vcount>7 -3<"), "vcount"),
    "indices.dae": (changed("<p>0 1 2 3<", f"<p>0 1 2 {'9' * 30}<"), "COLLADA"),
    "float indices.dae": (changed("<p>0 1 2 3<", "<p>0 1 2 1e30<"), "COLLADA"),
    "offset.dae": (changed('offset="0"', 'offset="-1"'), "offset"),
    "stride.dae": (changed('stride="3"', 'stride="2"'), "stride"),
    "scale.dae": (changed("<scale>2 3 1<", f"<scale>{'1 ' * 60_000}<"), "<scale>"),
    "matrix.dae": (changed("<scale>2 3 1</scale>", "<matrix>1 0 0 0</matrix>"), "<matrix>"),
    "unit.dae": (changed('meter="0.01"', 'meter="nan"'), "meter"),
    "no unit.dae": (changed('meter="0.01"', 'meter="0"'), "meter"),
    "overflow.dae": (changed("2 3 1<", "1e200 3 1<").replace("0 0 0 1", "0 0 0 1e200"), "finite"),
    "elements.dae": (changed("<node>", "<a/>" * 2_000_000 + "<node>"), "elements"),
    "depth.dae": (changed("<node>", "<node>" * 100_000), "deep|depth|nodes"),
    "entities.dae": (
        '<!DOCTYPE c [<!ENTITY a "1 1 1 1 1 1 1 1 1 1">'
        + "".join(f'<!ENTITY a{k} "{("&a" + str(k - 1 or "") + ";") * 10}">' for k in range(1, 12))
        + "]>"
        + changed('meter="0.01"', 'meter="&a11;"').partition("?>")[2],
        "entities",
    ),
    "indices.obj": (OBJ + f"f 1 2 {'9' * 30}\n", "obj:4: expected"),
    "float indices.obj": (OBJ + "f 1 2 1e30\n", "obj:4: expected"),
    "negative indices.obj": (OBJ + f"f 1 2 -{'9' * 30}\n", "obj:4: expected"),
    "zero index.obj": (OBJ + "f 1 2 0\nv 1 1 1\n", "obj:4: .*from 1"),
    "a face in a line.obj": (OBJ + "f" + " 1" * 10_000_000 + "\n", "obj:4: .*long"),
    "a face of many corners.obj": (OBJ + ("f" + " 1" * 400_000 + "\n") * 9, "triangles"),
    "libraries.obj": ("".join(f"mtllib {k}.mtl\n" for k in range(1000)) + OBJ, "libraries"),
    "words.stl": ("solid s\n" + "1 " * 20_000_000, "triangle"),
    "vertices.stl": ("solid s\n" + "vertex\n" * 9_900_000, "triangles"),
    "half a vertex.stl": ("solid s\nvertex 1 1\nendsolid", "'vertex' and three numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_mesh_is_refused_soon_and_in_little_memory(tmp_path, name):
    text, told = HOSTILE[name]
    path = tmp_path / name
    path.write_text(text)
    warnings.simplefilter("error")  # pytest puts them back
    with bounded(seconds=10, megabytes=600), pytest.raises(FileError, match=told) as raised:
        read_mesh(str(path))
    assert str(path) in str(raised.value)
    assert len(str(raised.value)) < 600


def test_an_obj_that_names_one_library_forty_times_reads_it_once(tmp_path, monkeypatch):
    seen = []
    (tmp_path / "m.mtl").write_text("newmtl a\nKd 1 0 0\n")
    (tmp_path / "o.obj").write_text("mtllib m.mtl\n" * 40 + OBJ + "usemtl a\nf 1 2 3\n")
    from mbd_bridge.files import mesh

    real = mesh.read_bytes
    monkeypatch.setattr(mesh, "read_bytes", lambda *a: seen.append(a) or real(*a))
    (surface,) = read_mesh(str(tmp_path / "o.obj"))
    assert surface.colour == (1.0, 0.0, 0.0, 1.0)
    assert [Path(path).name for path, *_ in seen] == ["o.obj", "m.mtl"]


def test_many_instances_of_a_part_are_read_and_its_unused_vertices_are_not_kept(tmp_path):
    corners = " ".join(["0 0 0 1 0 0 1 1 0 0 1 0", *["9 9 9"] * 996])
    text, part = changed("0 0 0 1 0 0 1 1 0 0 1 0<", f"{corners}<"), '<instance_geometry url="#g"'
    text = text.replace(part, f"{part}/>" * 99 + part)
    (tmp_path / "d.dae").write_text(text)
    surfaces = read_mesh(str(tmp_path / "d.dae"))
    assert len(surfaces) == 100
    assert all(surface.vertices.shape == (4, 3) for surface in surfaces)
    assert np.abs(np.concatenate([s.vertices for s in surfaces])).max() < 0.2


@pytest.mark.parametrize("ending", [".dae", ".obj", ".stl"])
def test_however_the_numbers_of_a_mesh_are_forged_it_is_read_or_refused(tmp_path, ending):
    rng = np.random.default_rng(16)
    faces = "\n".join(FACES.values())
    good = {
        ".dae": DAE.format(faces=faces).replace("<", " <").replace(">", "> ").replace('"', ' " '),
        ".obj": OBJ.replace("\n", " \n ") + "f 1/1 2/2 3/3 \n usemtl a \n f -1 -2 -3 \n",
        ".stl": "solid s vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 vertex 1 1 1 vertex 2 0 0 vertex "
        "0 3 0 endsolid ",
    }[ending].replace(' " ', '"')
    warnings.simplefilter("error")
    path, seen = tmp_path / f"m{ending}", {"read": 0, "refused": 0}
    with bounded(seconds=30, megabytes=500):
        for _ in range(600):
            path.write_bytes(mutate_words(good.encode(), rng))
            try:
                surfaces = read_mesh(str(path))
            except FileError:
                seen["refused"] += 1
                continue
            seen["read"] += 1
            assert all(np.isfinite(s.vertices).all() for s in surfaces)
            assert all(
                0 <= s.triangles.min() <= s.triangles.max() < len(s.vertices) for s in surfaces
            )
    assert min(seen.values()) > 30, seen
