"""Joints with a frame of their own on the child: loads are at points and in axes of the links.

One machine in three spellings. In the URDF each joint's frame is its child link's; in the MJCF and
the SDF links lie elsewhere, and joints have places and axes of their own in them.
"""

import itertools

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame
from tests.tolerances import ROUNDING

WAYS = tuple(
    {"on": on, "at": at, "in_": in_}
    for on, at, in_ in itertools.product(
        ("child", "parent"),
        ("joint", "parent", (0.3, -0.2, 0.5)),
        ("child", "parent", "world"),
    )
)

JOINTS = ("shoulder", "slide", "wrist")
KINDS = dict(zip(JOINTS, ("revolute", "prismatic", "revolute"), strict=True))
LINKS = ("base", "upper", "carriage", "hand")

PLACES = {
    "upper": Frame.from_rpy((0.1, 0.2, 0.3), (0.3, -0.4, 0.5)),
    "carriage": Frame.from_rpy((0.4, -0.1, 0.2), (-0.2, 0.6, 0.1)),
    "hand": Frame.from_rpy((0.2, 0.3, -0.1), (0.7, 0.2, -0.3)),
}
"""Of each link in the link that carries it, with all coordinates zero."""

ANCHORS = {"shoulder": (0.2, -0.1, 0.05), "slide": (0.0, 0.15, -0.2), "wrist": (-0.3, 0.1, 0.1)}
"""Of each joint on its child, m."""

AXES = {"shoulder": (0.0, 0.6, 0.8), "slide": (0.8, 0.0, -0.6), "wrist": (1.0, 0.0, 0.0)}
"""Of each joint in its child's axes."""

MASSES = {"upper": 2.0, "carriage": 1.5, "hand": 0.7}
CENTRE, MOMENTS = (0.05, -0.02, 0.1), (0.02, 0.03, 0.04)


def text(values) -> str:
    return " ".join(f"{x:.17g}" for x in values)


def inertial(form: str, mass: float) -> str:
    if form == "MJCF":
        return f'<inertial pos="{text(CENTRE)}" mass="{mass}" diaginertia="{text(MOMENTS)}"/>'
    xx, yy, zz = MOMENTS
    if form == "SDF":
        turn = f"<ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>"
        place = f"<pose>{text(CENTRE)} 0 0 0</pose>"
        return f"<inertial>{place}<mass>{mass}</mass><inertia>{turn}</inertia></inertial>"
    turn = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'
    return f'<inertial><origin xyz="{text(CENTRE)}"/><mass value="{mass}"/>{turn}</inertial>'


def mjcf() -> str:
    """Bodies in each other, joints with a `pos`."""
    body = ""
    for name, parent in zip(reversed(JOINTS), reversed(LINKS[1:]), strict=True):
        place = PLACES[parent]
        w, x, y, z = np.roll(pin.Quaternion(place.rotation).coeffs(), 1)
        kind = "slide" if KINDS[name] == "prismatic" else "hinge"
        joint = f'<joint name="{name}" type="{kind}" pos="{text(ANCHORS[name])}"'
        joint += f' axis="{text(AXES[name])}"/>'
        own = inertial("MJCF", MASSES[parent])
        at = f'pos="{text(place.translation)}" quat="{text((w, x, y, z))}"'
        body = f'<body name="{parent}" {at}>{joint}{own}{body}</body>'
    return (
        '<mujoco><compiler angle="radian"/><worldbody><body name="base">'
        f"{body}</body></worldbody></mujoco>"
    )


def sdf() -> str:
    """Links with poses in each other, joints with a pose on their child, turned there too."""
    turn = (0.4, -0.7, 0.9)
    R = Frame.from_rpy((0, 0, 0), turn).rotation
    parts = '<link name="base"/><joint name="foot" type="fixed"><parent>world</parent>'
    parts += "<child>base</child></joint>"
    for name, (parent, child) in zip(JOINTS, itertools.pairwise(LINKS), strict=True):
        place = PLACES[child]
        pose = f"{text(place.translation)} {text(place.rpy())}"
        own = inertial("SDF", MASSES[child])
        parts += f'<link name="{child}"><pose relative_to="{parent}">{pose}</pose>{own}</link>'
        axis = f"<axis><xyz>{text(R.T @ AXES[name])}</xyz></axis>"
        parts += (
            f'<joint name="{name}" type="{KINDS[name]}"><pose>{text(ANCHORS[name])} {text(turn)}'
            f"</pose><parent>{parent}</parent><child>{child}</child>{axis}</joint>"
        )
    return f'<sdf version="1.9"><model name="m">{parts}</model></sdf>'


def urdf() -> str:
    """Each link behind a massless one in the joint, whose frame is the joint's as a URDF has it."""
    parts = '<link name="base"/>'
    for name, (parent, child) in zip(JOINTS, itertools.pairwise(LINKS), strict=True):
        place, anchor = PLACES[child], Frame(np.eye(3), np.array(ANCHORS[name]))
        own, held = place @ anchor, anchor.inverse()
        parts += (
            f'<link name="{child}.joint"/><joint name="{name}" type="{KINDS[name]}">'
            f'<parent link="{parent}"/><child link="{child}.joint"/>'
            f'<axis xyz="{text(AXES[name])}"/>'
            f'<origin xyz="{text(own.translation)}" rpy="{text(own.rpy())}"/>'
            '<limit lower="-9" upper="9" effort="99" velocity="9"/></joint>'
            f'<link name="{child}">{inertial("URDF", MASSES[child])}</link>'
            f'<joint name="{child}.weld" type="fixed"><parent link="{child}.joint"/>'
            f'<child link="{child}"/><origin xyz="{text(held.translation)}"/></joint>'
        )
    return f'<robot name="m">{parts}</robot>'


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machines")
    found = {}
    for form, content, suffix in (
        ("URDF", urdf(), "urdf"),
        ("MJCF", mjcf(), "xml"),
        ("SDF", sdf(), "sdf"),
    ):
        path = folder / f"machine.{suffix}"
        path.write_text(content)
        found[form] = mbd.load(path)
    return found


STATE = np.random.default_rng(12).normal(size=(3, 3))


def expected(way) -> np.ndarray:
    """Return the loads (3, 6) of the joints by pinocchio and the geometry above.

    pinocchio reads the URDF; where links, joints and points are is computed here.
    """
    model = pin.buildModelFromXML(urdf())
    data = model.createData()
    pin.rnea(model, data, *STATE)
    pin.framesForwardKinematics(model, data, STATE[0])
    loads = []
    for name, (parent, child) in zip(JOINTS, itertools.pairwise(LINKS), strict=True):
        number = model.getJointId(name)
        world = data.oMi[number].act(data.f[number])  # about the world's origin, on the child
        links = [data.oMf[model.getFrameId(one, pin.FrameType.BODY)] for one in (parent, child)]
        on_parent = links[0].act(PLACES[child].translation + PLACES[child].rotation @ ANCHORS[name])
        point = {
            "joint": data.oMi[number].translation,
            "parent": on_parent,
        }.get(str(way["at"]))
        if point is None:
            point = links[1].act(np.array(way["at"]))
        turn = {"child": links[1].rotation.T, "parent": links[0].rotation.T, "world": np.eye(3)}
        force = turn[way["in_"]] @ world.linear
        moment = turn[way["in_"]] @ (world.angular - np.cross(point, world.linear))
        sign = 1.0 if way["on"] == "child" else -1.0
        loads.append(sign * np.r_[force, moment])
    return np.array(loads)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))
@pytest.mark.parametrize("form", ["MJCF", "SDF"])
def test_loads_are_at_points_and_in_axes_of_the_links(machines, form, way):
    loads = machines[form].joint_loads(*STATE, JOINTS, **way)
    there = expected(way)
    size = np.abs(there).max()
    assert np.abs(loads.wrench - there).max() <= 100 * ROUNDING * size


@pytest.mark.parametrize("on", ["child", "parent"])
@pytest.mark.parametrize("in_", ["child", "world"])
def test_a_weld_to_a_link_carries_what_a_joint_with_its_own_frame_does(machines, on, in_):
    way = {"on": on, "at": (0.3, -0.2, 0.5), "in_": in_}
    welds = [f"{link}.weld" for link in LINKS[1:]]
    there = machines["URDF"].joint_loads(*STATE, welds, **way).wrench
    for form in ("MJCF", "SDF"):
        here = machines[form].joint_loads(*STATE, JOINTS, **way).wrench
        assert np.abs(here - there).max() <= 100 * ROUNDING * np.abs(there).max(), form
