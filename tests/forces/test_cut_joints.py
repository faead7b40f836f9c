"""Elements in a joint act the same whether the joint is in the tree or cut."""

import numpy as np
import pytest
from scipy.integrate import simpson

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.functions import Lookup
from tests.forces.elements import generalised

SLIDER = """\
<robot name="press">
  <link name="base"/>
  <link name="crank"><inertial><origin xyz="0.15 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0.4 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.06"/></inertial></link>
  <link name="block"><inertial><mass value="3"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="shaft" type="revolute"><parent link="base"/><child link="crank"/>
    <axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
  <joint name="knee" type="revolute"><parent link="crank"/><child link="rod"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="block"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
  <loop_joint name="pin" type="revolute"><link1 link="rod" xyz="0.8 0 0"/>
    <link2 link="block"/><axis xyz="0 1 0"/></loop_joint>
</robot>
"""

ELEMENTS = [
    forces.JointSpring("slide", (30.0, 200.0), (2.0, 1.0), 0.8, name="air"),
    forces.JointSpring("pin", 4.0, 0.2, 0.3, name="coil"),
    forces.JointSpring("knee", Lookup([-3, 0, 3], [-9, 0, 12], outside="extend"), name="leaf"),
    forces.JointFriction("pin", 0.3, 0.5, 0.1, 0.05, name="bush"),
    forces.JointFriction("slide", 0.8, smoothing_velocity=0.05, name="guide"),
    forces.JointStop("slide", None, 0.95, (3000.0, 1e5), 20.0, 0.01, name="buffer"),
]
CUTS = {"pin": None, "slide": ["slide"], "knee": ["knee"]}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("press") / "press.urdf"
    file.write_text(SLIDER)
    return file


def run_of(path, cut):
    robot = mbd.load(path, cuts=CUTS[cut] or "authored", forces=ELEMENTS)
    assert [one.name for one in robot.model.cuts] == [cut]
    start = mbd.load(path).assemble({"shaft": 0.8}, fixed="shaft")
    names = dict(zip(("shaft", "knee", "slide"), start.q, strict=True))
    names["pin"] = -names["shaft"] - names["knee"]
    near = {name: names[name] for name in robot.coordinate_names}
    q = robot.assemble(near).q
    return robot, robot.simulate(0.3, step=5e-4, q=q)


def test_a_machine_moves_alike_whichever_joint_is_cut(path):
    _, told = run_of(path, "pin")
    for cut in ("slide", "knee"):
        _, run = run_of(path, cut)
        for name, report in told.force_elements.items():
            for number, values in report.items():
                found = run.force_elements[name][number]
                assert np.abs(found - values).max() < 1e-8 * max(1.0, np.abs(values).max()), name
        for joint in ("slide", "pin", "knee", "shaft"):
            one, two = (each.joint_loads(joint)[joint] for each in (run, told))
            size = np.abs(two.force).max()
            assert np.abs(one.force - two.force).max() < 1e-8 * size, joint
            assert np.abs(one.moment - two.moment).max() < 1e-8 * size, joint


@pytest.mark.parametrize("cut", ["pin", "slide"])
def test_all_roads_to_loads_count_elements_in_cut_joints(path, cut):
    robot, run = run_of(path, cut)
    told = run.joint_loads(reaction=True)
    moving = robot.coordinate_names[0]
    found = robot.joint_loads(run.q, run.v, run.a, actuated=[moving], reaction=True)
    stepped = robot.simulate(0.05, step=5e-4, q=run.q[0], loads=told.joints)
    batch = robot.simulate(0.05, step=5e-4, q=[run.q[0]] * 2)
    for name in ("force", "moment", "reaction_force", "reaction_moment"):
        values = getattr(told, name)
        assert np.abs(getattr(found, name) - values).max() < 1e-9 * np.abs(values).max(), name
    for name in ("force", "moment"):
        values = getattr(told, name)[:101]
        assert np.abs(getattr(stepped.loads, name) - values).max() < 1e-9 * np.abs(values).max()
        ours = getattr(batch.joint_loads(), name)[1]
        assert np.abs(ours - values).max() < 1e-9 * np.abs(values).max()
    body = robot.free_body("block", run.q, run.v, run.a, actuated=[moving])
    assert np.abs(body.residual).max() < 1e-9
    assert np.abs(run.free_body("block").residual).max() < 1e-9
    slide = told.joints.index("slide")
    assert np.abs(told.reaction_force[:, slide, 0]).max() < 1e-9
    force = run.force_elements["air"]["force"] + run.force_elements["guide"]["force"]
    force = force + run.force_elements["buffer"]["force"]
    assert np.abs(told.force[:, slide, 0] - force).max() < 1e-9 * np.abs(force).max()


def test_energy_is_kept_or_dissipated_in_cut_joints(path):
    for cut in ("pin", "slide"):
        _, run = run_of(path, cut)
        parts = run.force_elements
        whole = run.energy + parts.energy
        assert parts["buffer"]["penetration"].max() > 1e-3
        lost = simpson(parts.dissipation, x=run.time)
        assert abs(whole[-1] - whole[0] + lost) < 1e-5 * np.ptp(run.energy)


def test_a_cylindrical_cut_has_an_angle_and_a_displacement():
    builder = (
        mbd.Builder("sleeve")
        .link("arm", 1.0, (0.2, 0, 0), (0.1, 0.1, 0.1))
        .link("rod", 1.0, (0.1, 0, 0.1), (0.1, 0.1, 0.1))
        .joint("hinge", "revolute", "base", "arm", axis=(0, 0, 1))
        .joint("float", "floating", "base", "rod")
        .loop("sleeve", "cylindrical", "arm", "rod", xyz=(0.3, 0, 0), axis=(1, 0, 0))
    )
    robot = mbd.Mechanism.build(builder)
    at = robot.assemble({"hinge": 0.4}, fixed="hinge")
    rng = np.random.default_rng(2)
    free = robot.loops.report(at.q).dof
    v = np.zeros(robot.nv)
    assert free == 3
    start = robot.assemble(at.q, velocity={"hinge": 1.0, "float.vx": 0.4, "float.wx": 0.7})
    elements = [
        forces.JointSpring("sleeve.angle", 3.0, 0.1, name="turn"),
        forces.JointSpring("sleeve.displacement", 50.0, 1.0, name="push"),
    ]
    run = robot.simulate(0.3, q=start.q, v=start.v, forces=elements)
    parts = run.force_elements
    for name in ("turn", "push"):
        deflection, rate = parts[name]["deflection"], parts[name]["rate"]
        assert np.abs(np.gradient(deflection, run.time) - rate)[1:-1].max() < 1e-4
        assert np.ptp(deflection) > 0.01
    lost = simpson(parts.dissipation, x=run.time)
    whole = run.energy + parts.energy
    assert abs(whole[-1] - whole[0] + lost) < 1e-7
    assert np.isfinite(generalised(robot, elements[0], start.q[None], v[None] + rng.normal())).all()


def test_a_ball_joint_that_is_cut_has_no_coordinate(path):
    text = SLIDER.replace('type="revolute"><link1', 'type="spherical"><link1')
    (path.parent / "ball.urdf").write_text(text)
    with pytest.raises(mbd.errors.ModelError, match=r"'pin'.*a spherical joint; use a Bushing"):
        mbd.load(path.parent / "ball.urdf", forces=[forces.JointSpring("pin", 1.0)])
