"""Claims: textures are drawn where files put them, in pictures and pages; faulty ones are told."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning
from mbd_bridge.files.mesh import read_mesh
from mbd_bridge.files.surface import Texture
from mbd_bridge.view import solids
from mbd_bridge.view.bending import sliced
from mbd_bridge.view.picture import Sampler
from mbd_bridge.view.scene import PLAIN, scene, wrapped
from mbd_bridge.view.web.description import clustered, embedded
from tests.bounds import bounded
from tests.view.browser import WIDE, Page, seen_at

RED, GREEN, BLUE, WHITE = (220, 20, 20), (20, 200, 20), (20, 20, 220), (240, 240, 240)
QUARTERS = {(-1, 1): RED, (1, 1): GREEN, (-1, -1): BLUE, (1, -1): WHITE}
"""Colours to the left and right (-1, 1), above and below (1, -1) of the image's middle."""

QUAD = """\
mtllib quad.mtl
v -0.5 0 -0.5\nv 0.5 0 -0.5\nv 0.5 0 0.5\nv -0.5 0 0.5
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
usemtl checker
f {corners}
"""
"""A square of 1 m in the plane of x and z, seen along y; the image stands upright on it."""

FACE = "1/1 2/2 3/3 4/4"

ROBOT = """\
<robot name="r"><link name="plate"><visual><geometry><mesh filename="quad.{ending}"/></geometry>
{material}</visual></link></robot>
"""

DAE = """\
<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<library_images><image id="i"><init_from>check%20er.png</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="p"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="t"><lambert><diffuse><texture texture="{texture}" texcoord="UV"/></diffuse>
</lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="a"><float_array id="aa">-0.5 0 -0.5 0.5 0 -0.5 0.5 0 0.5 -0.5 0 0.5
</float_array></source>
<source id="b"><float_array id="bb">1 1 7 0 1 7 0 0 7 1 0 7</float_array>
<technique_common><accessor source="#bb" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#a"/></vertices>
<polylist material="k" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#b" offset="1" set="0"/>
<vcount>4</vcount><p>0 2 1 3 2 0 3 1</p></polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="k" target="#m"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>
"""


def checker(path, edge=64):
    image = np.zeros((edge, edge, 3), dtype=np.uint8)
    for (side, level), colour in QUARTERS.items():
        rows = slice(0, edge // 2) if level > 0 else slice(edge // 2, edge)
        image[rows, slice(0, edge // 2) if side < 0 else slice(edge // 2, edge)] = colour
    Image.fromarray(image).save(path)


def plate(folder, *, mtl="map_Kd check er.png", face=FACE, dae=None, material=""):
    (folder / "quad.mtl").write_text(f"newmtl checker\nKd 0.1 0.9 0.9\n{mtl}\n")
    (folder / "quad.obj").write_text(QUAD.format(corners=face))
    if dae is not None:
        (folder / "quad.dae").write_text(DAE.format(texture=dae))
    ending = "obj" if dae is None else "dae"
    (folder / "r.urdf").write_text(ROBOT.format(ending=ending, material=material))
    return mbd.load(folder / "r.urdf")


def hue(pixel):
    """A pixel's colour without its light."""
    return np.asarray(pixel, dtype=float) / max(np.max(pixel), 1)


def assert_quarters(picture, centre, half):
    """Each quarter of the plate shows its own quarter of the image, at three places each."""
    for (side, level), colour in QUARTERS.items():
        for part in (0.15, 0.5, 0.85):
            x, y = centre + part * half * np.array([side, -level])
            assert hue(picture[int(y), int(x)]) == pytest.approx(hue(colour), abs=0.06), (x, y)


@pytest.fixture
def image(tmp_path):
    checker(tmp_path / "check er.png")
    return tmp_path / "check er.png"


@pytest.mark.parametrize(
    ("dae", "mtl"),
    [
        (None, "map_Kd check er.png"),
        (None, "map_Kd -clamp on -s 1 1 1 -mm 0 1 .\\check er.png"),
        ("p", ""),
        ("i", ""),
    ],
)
def test_a_picture_shows_each_quarter_of_the_image_on_its_quarter_of_the_plate(
    tmp_path, image, dae, mtl
):
    machine = plate(tmp_path, mtl=mtl, dae=dae)
    picture = machine.render(size=(240, 240), view=(0.0, 0.0), ground=False)
    rows, columns = np.nonzero(np.ptp(picture, axis=2) > 60)
    left, right, top, bottom = columns.min(), columns.max(), rows.min(), rows.max()
    assert right - left == pytest.approx(bottom - top, abs=2) and right - left > 90
    centre = 0.5 * np.array([left + right, top + bottom])
    assert_quarters(picture, np.array([119.5, 119.5]), 0.5 * (right - left))
    assert centre == pytest.approx([119.5, 119.5], abs=2)


def test_a_page_shows_the_image_there_too_and_asks_for_nothing(tmp_path, image, browser):
    machine = plate(tmp_path)
    path = tmp_path / "plate.html"
    view = machine.web_view(view=(0.0, 0.0), ground=False)
    view.save(path)
    shown = Page(browser, path.as_uri(), WIDE)
    picture = shown.pixels(tmp_path / "page.png")
    size = picture.shape[1], picture.shape[0]
    corners = np.array([[-0.5, 0.0, 0.5], [0.5, 0.0, -0.5]])
    first, last = seen_at(view.scene, corners, size)
    assert_quarters(picture, 0.5 * (first + last), 0.5 * (last[0] - first[0]))
    assert shown.asked == [path.as_uri()]
    assert shown.errors == []


def test_an_image_is_in_a_page_once_and_small(tmp_path):
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (1500, 700, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "check er.png")
    checker(tmp_path / "other.png")
    body = (
        '<link name="{0}"><visual><geometry><mesh filename="{1}.obj"/></geometry></visual></link>'
    )
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.obj").write_text(
            QUAD.format(corners=FACE).replace("quad.mtl", "m.mtl")
        )
    (tmp_path / "m.mtl").write_text("newmtl checker\nmap_Kd ./check er.png\n")
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="a"/><child link="{k}"/></joint>'
        for k in ("b", "c")
    )
    links = "".join(body.format(name, name) for name in ("a", "b", "c"))
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joints}</robot>')
    page = mbd.load(tmp_path / "r.urdf").web_view().scene
    assert len(page["textures"]) == 1 and len(page["meshes"]) == 3
    assert {mesh["texture"] for mesh in page["meshes"]} == {0}
    texture = Texture(str(tmp_path / "check er.png"))
    assert texture.pixels.shape == (1024, 512, 3)  # powers of two, as pages need them
    assert len(page["textures"][0]) < 500_000  # of noise, which is the worst
    many = [Texture(texture.path) for _ in range(20)]
    assert sum(map(len, embedded(many))) < 1_500_000


def faulty(folder):
    """Files under the name of an image that are none, by what is said of them."""
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk
    bomb += struct.pack(">I", zlib.crc32(chunk)) + struct.pack(">I", 99) + b"IDAT" + bytes(99)
    checker(folder / "whole.png")
    whole = (folder / "whole.png").read_bytes()
    wide = Image.new("1", (2**13, 2**12 + 8))
    wide.save(folder / "wide.png")
    return {
        "no such file": None,
        "cannot be read": b"no image",
        "image cannot be read": whole[: len(whole) // 2],
        "pixels|bomb": bomb,
        "make it smaller": (folder / "wide.png").read_bytes(),
    }


@pytest.mark.parametrize("told", ["no such file", "cannot be read", "image cannot be read",
                                  "pixels|bomb", "make it smaller"])  # fmt: skip
def test_an_image_that_cannot_be_drawn_is_told_and_gives_way_to_the_colour(tmp_path, told):
    data = faulty(tmp_path)[told]
    if data is not None:
        (tmp_path / "check er.png").write_bytes(data)
    machine = plate(tmp_path)
    with bounded(seconds=5, megabytes=400), pytest.raises(FileError, match=told):
        _ = Texture(str(tmp_path / "check er.png")).pixels
    (part,) = scene(machine.model).parts
    assert part.colour == (0.1, 0.9, 0.9, 1.0) and part.surface.texture is None
    with pytest.warns(MbdWarning, match=r"1 texture not drawn, plain colours.*check er\.png"):
        machine.render(size=(32, 24))
    with pytest.warns(MbdWarning, match="1 texture not drawn"):
        assert machine.web_view().scene["textures"] == []


@pytest.mark.parametrize(
    ("face", "coordinates"),
    [
        (FACE, "1e30 -1e30"),
        (FACE, "nan inf"),
        ("1/1 2/2 3/900 4/-900", "0 0"),
        ("1/1 2 3//1 4/4", "-7.5 3000.25"),
    ],
)
def test_texture_coordinates_out_of_reach_are_drawn_somehow(tmp_path, image, face, coordinates):
    machine = plate(tmp_path, face=face)
    mesh = tmp_path / "quad.obj"
    mesh.write_text(mesh.read_text().replace("vt 0 0", f"vt {coordinates}"))
    (surface,) = read_mesh(str(mesh))
    assert np.isfinite(surface.uv).all()
    machine.render(size=(48, 48), view=(0.0, 0.0))
    assert len(machine.web_view().scene["textures"]) == 1


def test_a_mesh_without_texture_coordinates_has_its_colour_and_a_warning(tmp_path, image):
    machine = plate(tmp_path, face="1 2 3 4")
    with pytest.warns(MbdWarning, match="the mesh does not say where"):
        machine.render(size=(32, 24))


def test_the_texture_of_a_urdf_is_on_solids_and_on_meshes_without_a_look_of_their_own(
    tmp_path, image
):
    material = '<material name="m"><texture filename="check er.png"/></material>'
    (own,) = scene(plate(tmp_path, mtl="", material=material).model).parts
    assert own.surface.texture is None and own.colour == (0.1, 0.9, 0.9, 1.0)
    bare = tmp_path / "quad.obj"
    bare.write_text(bare.read_text().replace("mtllib quad.mtl\n", ""))
    (part,) = scene(mbd.load(tmp_path / "r.urdf").model).parts
    assert part.surface.texture.path == str(image)
    assert part.colour[:3] == pytest.approx(np.mean([RED, WHITE], axis=0) / 255, abs=1e-3)
    text = ROBOT.format(ending="obj", material=material)
    named = text.replace('<mesh filename="quad.obj"/>', '<box size="1 1 1"/>')
    (tmp_path / "b.urdf").write_text(named)
    box = mbd.load(tmp_path / "b.urdf")
    picture = box.render(size=(240, 240), view=(0.0, 0.0), ground=False)
    columns = np.nonzero(np.ptp(picture, axis=2) > 60)[1]
    assert_quarters(picture, np.array([119.5, 119.5]), 0.5 * np.ptp(columns))
    mbd.load(tmp_path / "b.urdf").convert(tmp_path / "again.urdf")
    (shape,) = mbd.load(tmp_path / "again.urdf").model.description.links[0].visuals
    assert shape.texture == str(image)
    (tmp_path / "b.urdf").write_text(named.replace("check er.png", "package://no/where.png"))
    with pytest.warns(MbdWarning, match="package://no/where.png"):
        mbd.load(tmp_path / "b.urdf").render(size=(32, 24))


@pytest.mark.parametrize("solid", [solids.box(1, 2, 3), solids.sphere(0.5), solids.cylinder(0.2, 1),
                                   solids.capsule(0.2, 1)])  # fmt: skip
def test_images_on_solids_are_not_mirrored(solid):
    surface = wrapped(solid)
    a, b, c = np.moveaxis(surface.uv.astype(float), 1, 0)
    (ab, ac) = b - a, c - a
    turn = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    assert (turn > -1e-6).all() and np.median(turn) > 1e-6
    assert surface.uv.min() >= -1e-6 and np.ptp(surface.uv[..., 1]) == pytest.approx(1.0)


def test_sliced_scaled_and_simplified_surfaces_keep_their_image_in_place(tmp_path, image):
    plate(tmp_path)
    (quad,) = read_mesh(str(tmp_path / "quad.obj"))
    there = lambda s: s.vertices[s.triangles][..., [0, 2]] + 0.5  # noqa: E731
    assert quad.uv == pytest.approx(there(quad))
    for _, piece in sliced(quad, np.array([1.0, 0, 0]), np.array([-0.5, 0.0, 0.3, 0.5])):
        middle = 0.5 * (piece.uv[..., 0].min() + piece.uv[..., 0].max())
        assert piece.uv[..., 0] - middle == pytest.approx(
            (there(piece)[..., 0] - middle) / 1.06, abs=1e-6
        )
        assert piece.uv[..., 1] == pytest.approx(there(piece)[..., 1])
    mirrored = quad.scaled((-1.0, 1.0, 2.0))
    again = mirrored.scaled((-1.0, 1.0, 0.5))
    assert mirrored.triangles.tolist() != quad.triangles.tolist()
    assert again.uv == pytest.approx(there(again))
    x = np.linspace(0.0, 1.0, 41)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    k = np.arange(41 * 41).reshape(41, 41)
    corners = np.concatenate(
        [np.stack(t, axis=-1).reshape(-1, 3)
         for t in ((k[:-1, :-1], k[1:, :-1], k[1:, 1:]), (k[:-1, :-1], k[1:, 1:], k[:-1, 1:]))]
    )  # fmt: skip
    corners[::3] = np.roll(corners[::3], 1, axis=1)
    points = np.column_stack([grid, np.zeros(len(grid))])
    fine = replace(quad, vertices=points, triangles=corners, uv=grid.astype("f4")[corners])
    few = clustered(fine, 10)
    assert len(few.triangles) < 250
    assert few.uv == pytest.approx(few.vertices[few.triangles][..., :2], abs=1e-6)


def test_a_far_texture_is_its_mean_and_a_near_one_is_sharp(tmp_path, image):
    sampler = Sampler(Texture(str(image)))
    uv = np.array([[0.25, 0.75], [0.75, 0.75], [1.25, -0.75], [-0.25, 2.25]])
    near = sampler.at(uv, np.zeros(4))
    assert near == pytest.approx(np.array([RED, GREEN, BLUE, WHITE]))
    mean = np.mean(list(QUARTERS.values()), axis=0)
    assert sampler.at(uv, np.full(4, 1.0)) == pytest.approx(np.tile(mean, (4, 1)))
    assert PLAIN[0] != pytest.approx(mean[0] / 255)
