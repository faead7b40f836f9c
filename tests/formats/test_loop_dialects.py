"""Loops as other programs write them: the machine of our own sidecar, and of pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning

BODY = '<inertial><origin xyz="{}"/><mass value="2"/><inertia ixx=".3" iyy=".4" izz=".5" ixy="0" ixz="0" iyz="0"/></inertial>'  # noqa: E501
FOUR_BAR = """<robot name="bars">
  <link name="base"/>
  <link name="crank">{crank}</link>
  <link name="coupler">{coupler}</link>
  <link name="rocker">{rocker}</link>
  <joint name="hip" type="continuous"><parent link="base"/><child link="crank"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous"><parent link="crank"/><child link="coupler"/>
    <origin xyz="0 0 1" rpy="0 0.3 0"/><axis xyz="0 1 0"/></joint>
  <joint name="rocker" type="continuous"><parent link="base"/><child link="rocker"/>
    <origin xyz="{foot} 0 0"/><axis xyz="0 1 0"/></joint>
  {more}
</robot>""".format  # noqa: E501
C, S = np.cos(0.3), np.sin(0.3)
FOOT = f"{2 * C:.17g}"  # the coupler, 2 m long, ends above the rocker's joint at zero coordinates
HEIGHT = f"{1 - 2 * S:.17g}"


def frame(name: str, link: str, xyz: str, rpy: str = "0 0 0") -> str:
    """Return a massless link, fixed to another one."""
    return (
        f'<link name="{name}"/><joint name="{name}_fix" type="fixed"><parent link="{link}"/>'
        f'<child link="{name}"/><origin xyz="{xyz}" rpy="{rpy}"/></joint>'
    )


def hinge(name: str, child: str, link: str, xyz: str, kind: str = "continuous") -> str:
    return (
        f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{link}"/>'
        f'<child link="{child}"/><origin xyz="{xyz}"/><axis xyz="0 1 0"/></joint>'
    )


END = "0 0 -1.5707963267948966", "0 0 1"
OURS = f"""loops:
  - name: pin
    type: revolute
    predecessor: {{link: coupler, xyz: [2, 0, 0]}}
    successor: {{link: rocker, xyz: [0, 0, {HEIGHT}], rpy: [0, 0.3, 0]}}
    axis: [0, 1, 0]
"""
URDF_PLUS = f"""<loop name="pin" type="continuous">
    <predecessor link="coupler"><origin xyz="2 0 0"/></predecessor>
    <successor link="rocker"><origin xyz="0 0 {HEIGHT}" rpy="0 0.3 0"/></successor>
    <axis xyz="0 2 0"/></loop>"""
QUARTER = "-1.5707963267948966 0 0"
ONSHAPE = (
    frame("closing_pin_1", "coupler", "2 0 0", QUARTER)
    + frame("closing_pin_2", "rocker", f"0 0 {HEIGHT}", QUARTER)
    + frame("closing_pin_1_z", "coupler", "2 0.1 0")
    + frame("closing_pin_2_z", "rocker", f"0 0.1 {HEIGHT}")
)
SW2ROBOT = f"""closures:
- link_a: coupler
  link_b: rocker
  point: [{FOOT}, 0, {HEIGHT}]
  axis: [0, 1, 0]
dependent: [elbow, rocker]
independent: [hip]
"""
GEPETTO = """closed_loop: [['tip', 'cup']]
type: ['6d']
name_mot: [hip]
joint_name: []
joint_type: []
"""
WITH_TIP = hinge("pin", "tip", "coupler", "2 0 0") + frame("cup", "rocker", f"0 0 {HEIGHT}")


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., mbd.Mechanism]:
    def made(more: str = "", **beside: str) -> mbd.Mechanism:
        text = FOUR_BAR(
            crank=BODY.format("0 0 .5"), coupler=BODY.format("1 0 0"),
            rocker=BODY.format("0 0 .2"), foot=FOOT, more=more,
        )  # fmt: skip
        folder = tmp_path / "package" / "urdf"
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in beside.items():
            where = {"ours": "bars.loops.yaml", "gepetto": "bars.yaml"}.get(name)
            place = folder / where if where else folder.parent / "loop_closures.yaml"
            place.write_text(content)
        (folder / "bars.urdf").write_text(text)
        return mbd.load(folder / "bars.urdf")

    return made


def accelerations(found: mbd.Mechanism) -> np.ndarray:
    """Return those of hip, elbow and rocker where the machine falls, and the load of the hip."""
    joints = found.model.velocity_names
    near = found.assemble({"hip": 0.2}, fixed="hip", velocity={"hip": 1.5})
    a, _ = found.constrained_dynamics().forward(near.q, near.v, np.zeros(found.model.nv))
    loads = found.joint_loads(near.q, near.v, a, joints=["hip"], actuated=["hip"])
    own = [joints.index(name) for name in ("hip", "elbow", "rocker")]
    return np.concatenate([near.q[own], near.v[own], a[own], loads.force[0]])


ALIKE = {
    "URDF+": (URDF_PLUS, {}),
    "onshape-to-robot": (ONSHAPE, {}),
    "sw2robot": ("", {"sw2robot": SW2ROBOT}),
    "Gepetto, a weld behind a hinge": (WITH_TIP, {"gepetto": GEPETTO}),
    "Gepetto, a point": (WITH_TIP.replace(' type="continuous"', ' type="fixed"'),
                         {"gepetto": GEPETTO.replace("6d", "3D")}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::mbd_bridge.MbdWarning")
@pytest.mark.parametrize("dialect", ALIKE)
def test_the_machine_is_that_of_our_own_sidecar(dialect: str, machine) -> None:
    more, beside = ALIKE[dialect]
    expected = accelerations(machine(ours=OURS))
    Path(str(machine().model.description.source)).with_name("bars.loops.yaml").unlink()
    found = machine(more, **beside)
    assert np.abs(expected[6:9]).max() > 1.0
    assert np.allclose(accelerations(found), expected, rtol=1e-10, atol=1e-10)
    if beside:
        assert found.model.description.actuated == ("hip",)


def test_mimics_of_joints_that_a_loop_moves_are_not_used_besides(machine) -> None:
    mimicking = hinge("shadow", "flag", "rocker", "0 0 1").replace(
        "</joint>", '<mimic joint="hip" multiplier="2"/></joint>'
    )
    closed = SW2ROBOT.replace("[elbow, rocker]", "[elbow, rocker, shadow]")
    with pytest.warns(MbdWarning, match="<mimic> is not used .*'shadow'"):
        assert "shadow" in machine(mimicking, sw2robot=closed).model.velocity_names


def test_what_is_not_read_or_guessed_is_told(machine) -> None:
    ours = OURS.replace("name: pin", "name: shut")
    with pytest.warns(MbdWarning, match=r"the loops are told elsewhere: .*bars\.yaml"):
        assert len(machine(WITH_TIP, ours=ours, gepetto=GEPETTO).model.description.loops) == 1
    point = ONSHAPE.replace("_z", "_other")
    with pytest.warns(MbdWarning, match=r"closing_pin \(a point; if it is welded"):
        (loop,) = machine(point, ours="loops: []", gepetto="speed: 3").model.description.loops
    assert loop.type == "spherical"
    other = SW2ROBOT.replace("coupler", "arm").replace("link_b: rocker", "link_b: leg")
    with pytest.warns(MbdWarning, match="names no link of this robot"):
        assert not machine(sw2robot=other).model.description.loops
    chosen = frame("x", "rocker", "0 0 0").replace("<joint", '<joint independent="true"')
    with pytest.warns(MbdWarning, match="independent= is not used"):
        (loop,) = machine(URDF_PLUS + chosen).model.description.loops
    assert loop.name == "pin"


def test_couplings_of_urdf_plus_are_sums_along_the_chains(machine) -> None:
    """The rotor turns 6 times as fast as the foot turns against the crank that carries both."""
    leg = hinge("knee", "shin", "crank", "0 0 1") + hinge("ankle", "foot", "shin", "0 0 1")
    leg += hinge("motor", "rotor", "crank", "0 0 0") + hinge("toe", "toes", "foot", "1 0 0")
    belt = (
        '<coupling name="belt"><predecessor link="foot"/><successor link="rotor"/>'
        '<ratio value="6"/></coupling>'
    )
    (found,) = machine(leg + belt).model.description.couplings
    assert (found.joint, dict(found.follows)) == ("motor", {"knee": 6.0, "ankle": 6.0})
    turned = belt.replace("foot", "rotor").replace(
        'successor link="rotor"', 'successor link="foot"'
    )
    (back,) = machine(leg + turned).model.description.couplings
    assert (back.joint, dict(back.follows)) == ("ankle", {"knee": -1.0, "motor": 6.0})


RSSR = """<robot name="rssr">
  <link name="base"/><link name="crank">{body}</link><link name="rod">{body}</link>
  <link name="rocker">{body}</link>
  <joint name="mot" type="revolute"><parent link="base"/><child link="crank"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="ball" type="revolute"><parent link="crank"/><child link="rod"/>
    <origin xyz="0.4 0 0" rpy="0.1 0.2 0.3"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="swing" type="continuous"><parent link="base"/><child link="rocker"/>
    <origin xyz="1.5 0.2 0.1"/><axis xyz="0 1 0"/></joint>
  <link name="a"/><joint name="fa" type="fixed"><parent link="rod"/><child link="a"/>
    <origin xyz="0.9 0.5 0.5"/></joint>
  <link name="b"/><joint name="fb" type="fixed"><parent link="rocker"/><child link="b"/>
    <origin xyz="0.1 0.05 0.6"/></joint>
  <link name="fin">{body}</link><joint name="locked" type="revolute"><parent link="rocker"/>
    <child link="fin"/><origin xyz="0 0 0.6"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
AXES = {"X": pin.JointModelRX(), "Y": pin.JointModelRY(), "Z": pin.JointModelRZ()}


@pytest.mark.parametrize("kind", ["SPHERICAL", "UJOINT_XY", "UJOINT_YZ", "UJOINT_ZX", "UJOINT_ZY"])
def test_gepettos_joints_move_as_pinocchios_constraint_dynamics(kind: str, tmp_path: Path) -> None:
    """pinocchio's model is made by hand of its own joints; closed at rest, it falls as ours."""
    (tmp_path / "robot.urdf").write_text(RSSR.format(body=BODY.format("0.3 0.1 0.2")))
    (tmp_path / "robot.yaml").write_text(
        f"closed_loop: [[a, fb]]\ntype: [3d]\nname_mot: mot\njoint_name: [ball, locked]\n"
        f"joint_type: [{kind}, FIXED]\n"
    )
    ours = mbd.load(tmp_path / "robot.urdf")
    assert ours.model.description.actuated == ("mot",)
    near = ours.assemble({"mot": 0.3}, fixed="mot")
    a, _ = ours.constrained_dynamics().forward(near.q, near.v, np.zeros(ours.model.nv))

    whole = pin.buildModelFromUrdf(str(tmp_path / "robot.urdf"))
    still = pin.buildReducedModel(whole, [whole.getJointId("locked")], pin.neutral(whole))
    model = pin.Model()
    values = dict(zip(ours.model.coordinate_names, near.q, strict=True))
    for j in range(1, still.njoints):
        name, joint = still.names[j], still.joints[j]
        if name == "ball" and kind == "SPHERICAL":
            joint = pin.JointModelSpherical()
        elif name == "ball":
            joint = pin.JointModelComposite(AXES[kind[-2]])
            joint.addJoint(AXES[kind[-1]])
        parent = model.getJointId(still.names[still.parents[j]])
        model.addJoint(parent, joint, still.jointPlacements[j], name)
        model.appendBodyToJoint(j, still.inertias[j], pin.SE3.Identity())
    q = pin.neutral(model)
    for j in range(1, model.njoints):
        start, name = model.joints[j].idx_q, model.names[j]
        own = [v for key, v in values.items() if key == name or key.startswith(name + ".")]
        if name == "ball" and kind == "SPHERICAL":
            own = [values[f"ball.q{k}"] for k in "xyzw"]
        q[start : start + model.joints[j].nq] = (
            own if len(own) == model.joints[j].nq else [np.cos(own[0]), np.sin(own[0])]
        )
    places = {n: still.frames[still.getFrameId(n)] for n in ("a", "b")}
    ids = {n: model.getJointId(still.names[f.parentJoint]) for n, f in places.items()}
    closed = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, ids["a"], places["a"].placement, ids["b"],
        places["b"].placement, pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    data, zero = model.createData(), np.zeros(model.nv)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(closed)
    datas.append(closed.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-14, 10)
    found = pin.constraintDynamics(model, data, q, zero, zero, models, datas, settings)
    for name in ("mot", "swing"):
        own = a[ours.model.velocity_names.index(name)]
        assert own == pytest.approx(found[model.joints[model.getJointId(name)].idx_v], rel=1e-9)
        assert abs(own) > 0.01


FAULTS = {
    "URDF+ type": (URDF_PLUS.replace("continuous", "hinge"), {}, "no loop type named 'hinge'"),
    "URDF+ mask": (URDF_PLUS.replace("continuous", "mask"), {}, "written as a <loop_joint>"),
    "URDF+ side": (URDF_PLUS.replace("successor", "follower"), {}, "expected one <successor>"),
    "URDF+ coupling": (
        '<coupling name="c"><predecessor link="crank"/><successor link="crank"/>'
        '<ratio value="1"/></coupling>', {}, "0 joints move",
    ),
    "URDF+ ratio": (
        '<coupling name="c"><predecessor link="crank"/><successor link="rocker"/>'
        '<ratio value="0"/></coupling>', {}, "other than 0",
    ),
    "sw2robot link": ("", {"sw2robot": SW2ROBOT.replace("rocker\n", "rockr\n")}, "'rocker'"),
    "sw2robot axis": ("", {"sw2robot": SW2ROBOT.replace("[0, 1, 0]", "[0, 0, 0]")}, "zero vector"),
    "sw2robot key": ("", {"sw2robot": SW2ROBOT + "pins: []"}, "no key named 'pins'"),
    "sw2robot point": ("", {"sw2robot": SW2ROBOT.replace("point", "at")}, "no key named 'at'"),
    "sw2robot joint": ("", {"sw2robot": SW2ROBOT.replace("[hip]", "[hop]")}, "did you mean 'hip'"),
    "Gepetto frame": (WITH_TIP, {"gepetto": GEPETTO.replace("'tip'", "'top'")}, "'tip'"),
    "Gepetto type": (WITH_TIP, {"gepetto": GEPETTO.replace("6d", "5d")}, "type of closing"),
    "Gepetto count": (WITH_TIP, {"gepetto": GEPETTO.replace("['6d']", "[6d, 6d]")}, "expected 1"),
    "Gepetto pair": (WITH_TIP, {"gepetto": GEPETTO.replace(", 'cup'", "")}, "two frames, got 1"),
    "Gepetto motor": (WITH_TIP, {"gepetto": GEPETTO.replace("[hip]", "[hop]")}, "joint that moves"),
    "Gepetto joint": (
        WITH_TIP, {"gepetto": GEPETTO.replace("joint_type: []", "joint_type: [FIXED]")}, "0 in",
    ),
    "Gepetto joint type": (
        WITH_TIP,
        {"gepetto": GEPETTO.replace("name: []", "name: [pin]").replace("pe: []", "pe: [SCREW]")},
        "no joint type named 'SCREW'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_explained_at_their_place(fault: str, machine) -> None:
    more, beside, message = FAULTS[fault]
    with pytest.raises(FileError, match=message) as caught:
        machine(more, **beside)
    assert caught.value.line is not None
