"""What is drawn: a file's shapes where they are, and a skeleton where there are none."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning
from mbd_bridge.model.spatial import Frame
from mbd_bridge.view.draw_loads import Take
from mbd_bridge.view.marks import CUT, Marks, centre_of_mass
from mbd_bridge.view.scene import scene, tell_missing
from mbd_bridge.view.source import Rest
from tests.machines import rssr
from tests.robots import installed, own_urdfs, robot
from tests.trees import random_state, random_tree

FILE = """\
<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="a"><visual><origin xyz="1 2 3"/><geometry><box size="1 2 3"/></geometry>
<material name="blue"/></visual></link>
<link name="b"><visual><origin xyz="0.3 0.1 0" rpy="0 0.2 1"/>
<geometry><mesh filename="{mesh}" scale="2 2 2"/></geometry>
<material name="own"><color rgba="1 0 0 0.5"/></material></visual></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
<origin xyz="0 0 5"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>
"""

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def written(folder, mesh="t.obj", text=TRIANGLE):
    (folder / "r.urdf").write_text(FILE.format(mesh=mesh))
    (folder / mesh).write_text(text)
    return mbd.load(folder / "r.urdf")


def test_shapes_stand_where_the_file_says_in_its_colours(tmp_path):
    found = scene(written(tmp_path).model)
    box, mesh = found.parts
    assert not found.missing
    assert box.colour == (0.0, 0.0, 1.0, 1.0)
    assert mesh.colour == (1.0, 0.0, 0.0, 0.5)
    assert np.ptp(box.surface.vertices, axis=0) == pytest.approx([1, 2, 3])
    assert box.pose[:3, 3] == pytest.approx([1, 2, 3])
    assert np.ptp(mesh.surface.vertices, axis=0) == pytest.approx([2, 2, 0])
    machine = mbd.load(tmp_path / "r.urdf")
    take = Take(Rest(machine.model).start([0.5]))
    _, placed = take.scene.pieces(take.bodies(np.array([[0.5]]))[0])
    own = Frame.from_rpy((0.3, 0.1, 0.0), (0.0, 0.2, 1.0)).matrix()
    assert placed.pose == pytest.approx(machine.placement([0.5], "b") @ own)


@pytest.mark.parametrize(
    ("mesh", "text", "told"),
    [
        ("t.stl", "solid x\nfacet\nvertex 1 2\nendfacet", "three numbers"),
        ("t.obj", "v 1 2 3\nf 1 2 9\n", "names vertex 8 of 1"),
        ("t.dae", "<COLLADA><a", "not well-formed XML"),
        ("t.obj", "v 1 2 3\n", "no triangle"),
        ("t.step", "x", "no mesh reader for '.step'"),
    ],
)
def test_what_cannot_be_drawn_is_told_and_gets_a_skeleton(tmp_path, mesh, text, told):
    machine = written(tmp_path, mesh, text)
    found = scene(machine.model)
    assert len(found.missing) == 1
    assert found.missing[0].startswith("b: ")
    assert told in found.missing[0]
    assert {part.body for part in found.parts} == {0, 1}
    with pytest.warns(MbdWarning, match="1 shape not drawn"):
        machine.render(size=(64, 48))


def test_a_mesh_that_is_nowhere_is_told_with_advice(tmp_path):
    (tmp_path / "r.urdf").write_text(FILE.format(mesh="package://nowhere/b.stl"))
    with pytest.warns(MbdWarning):
        machine = mbd.load(tmp_path / "r.urdf")
    found = scene(machine.model)
    assert "package://nowhere/b.stl not found" in found.missing[0]
    with pytest.warns(MbdWarning, match="1 shape not drawn.*package_path"):
        tell_missing(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_skeleton_joins_the_joints_of_each_link(seed):
    """Of links without shapes: both ends of a rod are joints, wherever the machine stands."""
    rng = np.random.default_rng(seed)
    tree = mbd.Mechanism.build(random_tree(rng, 7))
    q = random_state(tree.model, rng)[0]
    take = Take(Rest(tree.model).start(q))
    bodies = take.bodies(q[None])[0]
    assert {part.body for part in take.scene.parts} == set(range(len(tree.model.bodies)))
    joints = [tree.placement(q, link.name)[:3, 3] for link in tree.model.links]
    for joint in tree.model.joints[1:]:
        carrier = tree.placement(q, tree.model.links[joint.parent].name)
        joints.append((carrier @ np.append(joint.parent_frame.translation, 1.0))[:3])
    rods = 0
    for part in take.scene.parts:
        low, high = part.surface.vertices.min(axis=0), part.surface.vertices.max(axis=0)
        size = high - low
        if not (size[2] > 1.01 * size[0] and size[0] == pytest.approx(size[1])):
            continue
        half = 0.5 * (size[2] - size[0])
        pose = bodies[part.body] @ part.pose
        for end in (half, -half):
            point = pose[:3, 3] + end * pose[:3, 2]
            rods += min(np.linalg.norm(point - joint) for joint in joints) < 1e-9
    assert rods >= 6


def test_the_inertia_of_a_bare_link_is_a_box_with_its_moments():
    builder = mbd.Builder("brick", root="brick")
    builder.link("brick", 12.0, (0.1, 0.2, 0.3), np.array([4 + 9, 1 + 9, 1 + 4]) * 1.0)
    found = scene(mbd.Mechanism.build(builder).model)
    boxes = [part for part in found.parts if len(part.surface.vertices) == 8]
    assert boxes == []  # 3 m long in a machine of 0.4 m: left out
    builder = mbd.Builder("brick", root="brick")
    moments = np.array([4 + 9, 1 + 9, 1 + 4]) * 1e-2
    builder.link("brick", 12.0, (0.1, 0.2, 0.3), moments)
    (box,) = (p for p in scene(mbd.Mechanism.build(builder).model).parts
              if len(p.surface.vertices) == 8)  # fmt: skip
    corners = box.surface.vertices @ box.pose[:3, :3].T + box.pose[:3, 3]
    assert np.ptp(corners, axis=0) == pytest.approx([0.1, 0.2, 0.3])
    assert corners.mean(axis=0) == pytest.approx([0.1, 0.2, 0.3])


def test_marks_of_a_closed_loop_coincide_and_of_an_open_one_do_not():
    link = rssr()
    closed = link.assemble().q
    for q, gap in ((closed, 0.0), (link.neutral(), 0.1)):
        take = Take(Rest(link.model).start(q))
        bodies = take.bodies(q[None])[0]
        pieces = [mark.on(bodies) for mark in Marks(link.model, 0.01).joints()]
        ring = next(k for k, piece in enumerate(pieces) if piece.colour == CUT)
        apart = np.linalg.norm(pieces[ring].pose[:3, 3] - pieces[ring - 1].pose[:3, 3])
        assert (apart < 1e-9) if gap == 0.0 else (apart > gap)


def test_the_centre_of_mass_moves_as_gravity_does_work():
    """Potential energy's gradient: the generalised force of gravity is M g times the centre's."""
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    rng = np.random.default_rng(0)
    q, still = rng.uniform(-1, 1, 7), np.zeros(7)
    take = Take(Rest(arm.model).start(q))
    mass = sum(body.inertia.mass for body in arm.model.bodies)
    height = [
        [centre_of_mass(arm.model, take.bodies((q + s * d)[None])[0])[2] for s in (1e-5, -1e-5)]
        for d in np.eye(7)
    ]
    slope = mass * 9.81 * (np.array(height) @ [1.0, -1.0]) / 2e-5
    assert slope == pytest.approx(arm.bias_forces(q, still), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_all_bodies_stand_where_each_link_does(seed):
    rng = np.random.default_rng(seed)
    tree = mbd.Mechanism.build(random_tree(rng, 8, mimics=0.3), floating=seed == 1)
    q = np.array([random_state(tree.model, rng)[0] for _ in range(3)])
    bodies = Take(Rest(tree.model).start()).bodies(q)
    for link in tree.model.links:
        placed = bodies[:, link.body] @ link.frame.matrix()
        assert placed == pytest.approx(tree.placement(q, link.name), abs=1e-12)


@pytest.mark.parametrize(
    "name", installed("erd/ur/ur5_robot", "erd/panda/panda", "pb/kuka_iiwa/model")
)
def test_real_robots_are_drawn_whole(name):
    found = scene(mbd.load(robot(name)).model)
    assert not found.missing
    assert sum(len(part.surface.triangles) for part in found.parts) > 5000
