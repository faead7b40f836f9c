"""Meshes: what a file says, in every way that files say it; nonsense crashes nothing."""

import contextlib
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files import read
from mbd_bridge.files.mesh import read_mesh
from mbd_bridge.files.surface import fans
from tests.formats.mutation import mutate_bytes
from tests.formats.texts import DAE, FACES
from tests.robots import robots

CORNERS = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 0, 1], [0, 2, 1]]], "<f4")


def area(surface):
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    return 0.5 * np.cross(b - a, c - a).sum(axis=0)


def test_stl_as_bytes_and_as_text(tmp_path):
    records = b"".join(struct.pack("<3f", 0, 0, 1) + t.tobytes() + b"\0\0" for t in CORNERS)
    (tmp_path / "b.stl").write_bytes(
        b"solid but not text".ljust(80) + struct.pack("<I", 2) + records
    )
    lines = ["solid s"]
    for triangle in CORNERS:
        lines += ["facet normal 0 0 1", "outer loop"]
        lines += [f"vertex {x} {y} {z}" for x, y, z in triangle]
        lines += ["endloop", "endfacet"]
    (tmp_path / "t.STL").write_text("\n".join([*lines, "endsolid s"]))
    for name in ("b.stl", "t.STL"):
        (surface,) = read_mesh(str(tmp_path / name))
        assert surface.vertices[surface.triangles] == pytest.approx(CORNERS)


def test_obj_with_polygons_negative_numbers_and_materials(tmp_path):
    (tmp_path / "c.mtl").write_text("newmtl red\nKd 0.9 0.1 0\nnewmtl other\nKa 1 1 1\n")
    (tmp_path / "o.obj").write_text(
        "mtllib c.mtl\nv 0 0 0 1\nv 1 0 0\nv 1 1 0\nv 0 1 0\nusemtl red\nf 1/1/1 2//2 3 4/5\n"
        "usemtl other\nf -4 -3 -2\n"
    )
    square, triangle = read_mesh(str(tmp_path / "o.obj"))
    assert area(square) == pytest.approx([0, 0, 1])
    assert square.colour == (0.9, 0.1, 0.0, 1.0)
    assert area(triangle) == pytest.approx([0, 0, 0.5])
    assert triangle.colour is None


@pytest.mark.parametrize("kind", FACES)
def test_dae_with_its_unit_its_nodes_and_its_colours(tmp_path, kind):
    (tmp_path / "d.dae").write_text(DAE.format(faces=FACES[kind]))
    (surface,) = read_mesh(str(tmp_path / "d.dae"))
    assert surface.colour == (0.1, 0.2, 0.3, 1.0)
    # first stretched to 2 x 3, then turned by 90 degrees, then lifted by 10; all in cm
    assert surface.vertices.min(axis=0) == pytest.approx([-0.03, 0.0, 0.1], abs=1e-12)
    assert surface.vertices.max(axis=0) == pytest.approx([0.0, 0.02, 0.1], abs=1e-12)
    assert area(surface) == pytest.approx([0, 0, 6e-4])


def test_comments_in_a_dae_are_passed_over(tmp_path):
    text = DAE.format(faces=FACES["triangles"])
    said = text.replace("<node>", "<node><!-- a part --><?tool x?>").replace(
        "0 0 0 1 0 0 1 1 0", "0 0 0 <!-- first -->1 0 0 1 1 0"
    )
    assert said.count("<!--") == 2
    for name, content in (("plain.dae", text), ("said.dae", said)):
        (tmp_path / name).write_text(content)
    (plain,), (found,) = (read_mesh(str(tmp_path / name)) for name in ("plain.dae", "said.dae"))
    assert np.array_equal(found.vertices, plain.vertices)
    assert np.array_equal(found.triangles, plain.triangles)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('source="#v"', 'source="#w"', "<input> has the source '#w', which no element has as its"),
        ('source="#p"', 'source="#q"', "<input> has the source '#q', which no element has as its"),
        ('semantic="POSITION"', 'semantic="NORMAL"', "<vertices> has no <input"),
        ('semantic="VERTEX"', 'semantic="NORMAL"', "<triangles> has no <input"),
    ],
)
def test_a_dae_that_refers_to_nothing_says_what(tmp_path, old, new, told):
    text = DAE.format(faces=FACES["triangles"])
    assert old in text
    (tmp_path / "d.dae").write_text(text.replace(old, new))
    with pytest.raises(FileError, match=f"d.dae: cannot be understood as COLLADA .{told}"):
        read_mesh(str(tmp_path / "d.dae"))


def test_a_mirror_turns_triangles_round(tmp_path):
    (tmp_path / "o.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (surface,) = read_mesh(str(tmp_path / "o.obj"))
    assert area(surface.scaled((-1, 1, 1))) == pytest.approx([0, 0, 0.5])
    assert area(surface.scaled((-1, -1, 1))) == pytest.approx([0, 0, 0.5])
    assert area(surface.scaled((1, 1, -1))) == pytest.approx([0, 0, -0.5])


def test_polygons_fall_into_fans():
    assert fans([3, 5, 2, 4]).tolist() == [
        [0, 1, 2], [3, 4, 5], [3, 5, 6], [3, 6, 7], [10, 11, 12], [10, 12, 13],
    ]  # fmt: skip


def test_nonsense_is_a_file_error_and_never_another(tmp_path):
    """Bytes changed, cut off and doubled: a mesh is read, or a FileError tells why not."""
    rng = np.random.default_rng(0)
    records = b"".join(struct.pack("<3f", 0, 0, 1) + t.tobytes() + b"\0\0" for t in CORNERS)
    good = {
        ".stl": b"x".ljust(80) + struct.pack("<I", 2) + records,
        ".obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\nf 1/2 2 3\n",
        ".dae": DAE.format(faces=FACES["polylist"]).encode(),
    }
    read, told = 0, []
    for ending, data in good.items():
        for _ in range(250):
            path = tmp_path / f"m{ending}"
            path.write_bytes(mutate_bytes(data, rng))
            try:
                surfaces = read_mesh(str(path))
            except FileError as error:
                told.append(str(error))
                continue
            read += 1
            assert all(np.isfinite(s.vertices).all() for s in surfaces)
            assert all(s.triangles.max() < len(s.vertices) for s in surfaces)
    assert 30 < read < 700
    assert all(str(tmp_path) in text for text in told)


def test_a_file_that_refers_to_itself_ends(tmp_path):
    text = DAE.format(faces=FACES["triangles"]).replace(
        "<node>", '<node id="n"><instance_node url="#n"/>'
    )
    (tmp_path / "d.dae").write_text(text)
    with pytest.raises(FileError, match="nodes inside nodes"):
        read_mesh(str(tmp_path / "d.dae"))


def in_metres(path):
    """Whether a file's unit is m: assimp leaves others to who asked."""
    unit = re.search(rb'<unit[^>]*meter="([^"]*)"', path.read_bytes()[:5000])
    return unit is None or float(unit[1]) == 1.0


def meshes():
    """Some meshes of every kind, of both wheels."""
    wanted = ("ur5", "panda", "kuka", "talos", "laikago")
    chosen = [path for name, path in robots().items() if any(part in name for part in wanted)]
    folders = {path.parents[1] for path in chosen}
    files = [f for folder in folders for f in sorted(folder.rglob("*"))]
    found: list[Path] = []
    for ending in (".dae", ".stl", ".obj"):
        own = [
            f
            for f in files
            if f.suffix.lower() == ending and f.stat().st_size < 3e6 and in_metres(f)
        ]
        found += own[:: max(1, len(own) // 6)]
    return found


def test_meshes_are_those_that_assimp_reads():
    """How far corners reach, by another reader: coal's, which is assimp."""
    coal = pytest.importorskip("coal")
    compared = 0
    for path in meshes():
        theirs = coal.MeshLoader().load(str(path), np.ones(3))
        points = np.asarray(theirs.vertices())
        ours = np.concatenate([s.vertices[np.unique(s.triangles)] for s in read_mesh(str(path))])
        size = np.abs(points).max()
        assert ours.min(axis=0) == pytest.approx(points.min(axis=0), abs=2e-6 * size), path
        assert ours.max(axis=0) == pytest.approx(points.max(axis=0), abs=2e-6 * size), path
        compared += 1
    assert compared >= 10 or not meshes()


@pytest.mark.filterwarnings("ignore")
def test_meshes_of_the_wheels_robots_are_read():
    """Of every eighth robot; those of all take some seconds, and are read as well."""
    paths = set()
    for robot in list(robots().values())[::8]:
        with contextlib.suppress(FileError):
            links = read(robot).links
            paths |= {v.path for link in links for v in link.visuals if v.path is not None}
    for path in paths:
        assert sum(len(surface.triangles) for surface in read_mesh(path)) > 0
    assert len(paths) > 50 or not robots()
