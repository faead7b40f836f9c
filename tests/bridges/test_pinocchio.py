"""Models, states and calls to and from pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning, ModelError
from mbd_bridge.engines import pinocchio as bridge
from mbd_bridge.engines.pinocchio.adopt import adopt
from mbd_bridge.model import build_model
from tests.bridges.composite import composite_model
from tests.robots import OWN, installed, robot
from tests.sample import sample
from tests.tolerances import REFEREE
from tests.trees import random_state, random_tree

SEEDS = st.integers(0, 2**32 - 1)


@sample(8)
@given(SEEDS, st.booleans())
def test_random_trees_of_all_joint_types_agree_with_pinocchio(seed, floating):
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, 9, mimics=0.3, massless=0.3)
    robot = mbd.Mechanism.build(builder, floating=floating)
    report = robot.crosscheck(states=3, seed=seed % 1000, pybullet=False)
    assert report.passed, str(report)


@sample(10)
@given(SEEDS)
def test_there_and_back_again_is_the_same_mechanism(seed):
    rng = np.random.default_rng(seed)
    ours = build_model(random_tree(rng, 7).description(), floating=bool(seed % 2))
    there = bridge.to_pinocchio(ours)
    back = mbd.Mechanism.from_pinocchio(there.model)
    q, v, a = random_state(ours, rng)
    twin = adopt(there.model)
    Q, V, A = there.q(q), there.v(q, v), there.a(q, v, a)
    tau = pin.rnea(there.model, there.data, Q, V, A)
    q2 = twin.q_back(Q)
    assert np.allclose(twin.q(q2), Q, atol=1e-12)
    G = twin.G(q2)
    v2 = np.linalg.solve(G, V)
    a2 = np.linalg.solve(G, A - twin.a(q2, v2, np.zeros(len(v2))))
    ours2 = back.inverse_dynamics(q2, v2, a2)
    assert np.abs(ours2 - G.T @ tau).max(initial=0.0) <= REFEREE * (1 + np.abs(tau).max(initial=0))


def test_joints_without_an_entry_become_chains():
    model = composite_model()
    ours = mbd.Mechanism.from_pinocchio(model)
    assert {"composite_1", "translation_3", "zyx_2", "ball", "cardan_1"} <= set(ours.joint_names)
    prepared, data = bridge.prepare(model), model.createData()
    rng = np.random.default_rng(0)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, a = rng.normal(size=(2, model.nv))
    tau = pin.rnea(model, data, q, v, a)
    assert np.abs(bridge.rnea(prepared, None, q, v, a) - tau).max() <= REFEREE * np.abs(tau).max()
    forces = np.array([f.vector for f in data.f])
    forces[0] = 0
    assert np.allclose(bridge.joint_forces(prepared, None, q, v, a), forces, rtol=1e-9, atol=1e-9)
    # Its branches are numbered across each other: here the two orders differ.
    assert not np.array_equal(prepared.order, np.arange(model.nv))
    mine, batch = prepared.createData(), (q[None], v[None], a[None])
    rest = np.zeros(model.nv)
    weight = pin.rnea(model, data, q, rest, rest).copy()
    # Column by column, for pinocchio's crba leaves out blocks of a model numbered like this one.
    M = np.column_stack([pin.rnea(model, data, q, rest, e) - weight for e in np.eye(model.nv)])
    pin.rnea(model, data, q, v, a)
    theirs = np.array([f.vector for f in data.f])
    bridge.rnea(prepared, mine, q, v, a)
    assert np.allclose([f.vector for f in mine.f][1:], theirs[1:], rtol=1e-9, atol=1e-9)
    expected = {
        "tau": (bridge.rnea, 3, tau),
        "nle": (bridge.nle, 2, pin.nonLinearEffects(model, data, q, v).copy()),
        "ddq": (bridge.aba, 3, pin.aba(model, data, q, v, a).copy()),
        "M": (bridge.crba, 1, M),
    }
    for field, (function, count, theirs) in expected.items():
        slack = 100 if field == "ddq" else 1  # M is solved with
        ours = function(prepared, mine, *(q, v, a)[:count])
        assert np.abs(ours - theirs).max() <= slack * REFEREE * np.abs(theirs).max()
        assert np.array_equal(getattr(mine, field), ours)
        many = function(prepared, mine, *batch[:count])  # no place for it in data
        assert np.array_equal(many[0], ours) and np.array_equal(getattr(mine, field), ours)


@pytest.mark.parametrize(
    "name", installed("pb/kuka_iiwa/model", "erd/talos/talos_reduced", "pb/racecar/racecar")
)
def test_pinocchios_calls_give_pinocchios_results(name):
    model = pin.buildModelFromUrdf(str(robot(name)))
    data, fast = model.createData(), bridge.prepare(model)
    rng = np.random.default_rng(0)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, a = rng.normal(size=(2, model.nv))
    mine = fast.createData()

    tau = pin.rnea(model, data, q, v, a)

    def equal(ours, theirs, slack=1.0, size=0.0):
        largest = max(size, np.abs(theirs).max())
        assert np.abs(ours - theirs).max() <= slack * REFEREE * largest

    equal(bridge.rnea(fast, mine, q, v, a), tau)
    equal(mine.tau, data.tau)
    forces = np.array([f.vector for f in data.f])
    equal(np.array([f.vector for f in mine.f]), forces)
    forces[0] = 0
    equal(bridge.joint_forces(fast, mine, q, v, a), forces)
    equal(
        bridge.nle(fast, mine, q, v),
        pin.nonLinearEffects(model, data, q, v),
        size=np.abs(tau).max(),
    )
    M = pin.crba(model, data, q)
    equal(bridge.crba(fast, mine, q), np.triu(M) + np.triu(M, 1).T)
    equal(bridge.aba(fast, mine, q, v, a), pin.aba(model, data, q, v, a), slack=100)


def test_batches_in_pinocchios_order():
    model = pin.buildModelFromUrdf(str(robot("erd/talos/talos_reduced")))
    data, fast = model.createData(), bridge.prepare(model)
    q, v, a = np.random.default_rng(0).normal(size=(3, 10, model.nv))
    tau = bridge.rnea(fast, None, q, v, a)
    expected = [pin.rnea(model, data, *row) for row in zip(q, v, a, strict=True)]
    assert np.allclose(tau, expected, rtol=1e-11, atol=1e-9)


@pytest.mark.filterwarnings("ignore::mbd_bridge.base.errors.MbdWarning")
@pytest.mark.parametrize("made_by", ["pinocchio", "us"])
def test_fixed_joints_of_a_pinocchio_model_keep_their_loads(made_by):
    """pinocchio merges them, but its frames know what they weigh: read by it, or made by us."""
    path = robot("erd/talos/talos_reduced")
    direct = mbd.load(path)
    if made_by == "pinocchio":
        through = mbd.Mechanism.from_pinocchio(pin.buildModelFromUrdf(str(path)))
    else:
        through = mbd.Mechanism.from_pinocchio(direct.to_pinocchio())
    fixed = [j.name for j in direct.model.joints[1:] if not j.moving and j.inertia.mass]
    assert "wrist_left_ft_joint" in fixed and set(fixed) <= set(through.joint_names)
    q, v, a = np.random.default_rng(0).normal(size=(3, direct.nv))
    order = [direct.coordinate_names.index(name) for name in through.coordinate_names]
    one = direct.joint_loads(q, v, a, fixed)
    other = through.joint_loads(q[order], v[order], a[order], fixed)
    difference = np.abs(one.wrench - other.wrench).max()
    assert difference <= REFEREE * np.abs(one.wrench).max()


def test_fixed_joints_whose_weight_is_lost_are_not_offered():
    model = mbd.load(robot("erd/talos/talos_reduced")).to_pinocchio()
    bare = pin.Model(model)
    for frame in bare.frames:
        frame.inertia = pin.Inertia.Zero()
    ours = mbd.Mechanism.from_pinocchio(bare)
    assert "wrist_left_ft_joint" not in ours.joint_names
    assert ours.crosscheck(states=2).passed


def test_a_floating_model_stays_floating():
    model = pin.buildModelFromUrdf(str(robot("erd/go2/go2")), pin.JointModelFreeFlyer())
    ours = mbd.Mechanism.from_pinocchio(model)
    assert ours.model.floating and ours.nv == model.nv
    assert ours.coordinate_names[0] == "root_joint.x"


def test_armature_acts_as_in_pinocchio():
    model = pin.buildModelFromUrdf(str(OWN / "kuka_iiwa.urdf"))
    model.armature = np.linspace(0.1, 0.5, model.nv)
    ours, data = mbd.Mechanism.from_pinocchio(model), model.createData()
    q, v, a = np.random.default_rng(4).normal(size=(3, model.nv))
    assert ours.inverse_dynamics(q, v, a) == pytest.approx(pin.rnea(model, data, q, v, a))
    assert ours.forward_dynamics(q, v, a) == pytest.approx(pin.aba(model, data, q, v, a))
    M = np.triu(pin.crba(model, data, q))
    assert ours.mass_matrix(q) == pytest.approx(M + np.triu(M, 1).T)
    assert ours.to_pinocchio().armature == pytest.approx(model.armature)
    assert ours.crosscheck(states=2).passed


def test_armature_that_differs_along_a_joint_is_not_dropped_in_silence():
    root = pin.JointModelFreeFlyer()
    model = pin.buildModelFromUrdf(str(OWN / "kuka_iiwa.urdf"), root)
    model.armature = np.linspace(0.1, 0.5, model.nv)
    with pytest.warns(MbdWarning, match="armature .* differs .* root_joint"):
        mbd.Mechanism.from_pinocchio(model)


def test_what_has_no_counterpart_is_named():
    model = pin.Model()
    model.addJoint(0, pin.JointModelEllipsoid(1.0, 2.0, 3.0), pin.SE3.Identity(), "egg")
    with pytest.raises(ModelError, match="'egg'"):
        mbd.Mechanism.from_pinocchio(model)


def test_gravity_comes_over_from_pinocchio():
    model = pin.buildModelFromUrdf(str(OWN / "kuka_iiwa.urdf"))
    model.gravity.linear = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(mbd.Mechanism.from_pinocchio(model).model.gravity, [1, 2, 3])


def test_limits_go_over_to_pinocchio():
    path = OWN / "kuka_iiwa.urdf"
    ours, theirs = mbd.load(path).to_pinocchio(), pin.buildModelFromUrdf(str(path))
    for name in ("lowerPositionLimit", "upperPositionLimit", "upperEffortLimit"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert np.array_equal(ours.upperVelocityLimit, theirs.upperVelocityLimit)


MIMICS = """
<robot name="gripper"><link name="palm"/>
<link name="left"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
<link name="right"><inertial><origin xyz="0 0.1 0.1"/><mass value="2"/>
  <inertia ixx="0.03" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tip"><inertial><origin xyz="0.05 0 0"/><mass value="0.3"/>
  <inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="leader" type="LEADER"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="slide" type="prismatic"><origin rpy="0.3 0 0" xyz="0 0 0.2"/><parent link="left"/>
  <child link="right"/><axis xyz="1 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  <mimic joint="leader" multiplier="-2" offset="0.1"/></joint>
<joint name="turn" type="LEADER"><origin xyz="0.1 0 0.2"/><parent link="palm"/><child link="tip"/>
  <axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  <mimic joint="leader" multiplier="0.5" offset="-0.2"/></joint>
</robot>
"""


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_joints_that_mimic_in_pinocchio_mimic_here(kind, tmp_path):
    file = tmp_path / "gripper.urdf"
    text = MIMICS.replace("LEADER", kind)
    if kind == "continuous":  # whose followers are continuous, too, for pinocchio
        text = text.replace("prismatic", kind)
    file.write_text(text)
    try:
        model = pin.buildModelFromUrdf(str(file), mimic=True)
    except TypeError:
        pytest.skip("this pinocchio reads no mimics")
    assert model.nv == 1
    data, fast = model.createData(), bridge.prepare(model)
    rng = np.random.default_rng(4)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=1))
    v, a = rng.normal(size=(2, 1))
    tau = pin.rnea(model, data, q, v, a)
    assert np.allclose(bridge.rnea(fast, None, q, v, a), tau, rtol=REFEREE)
    forces = np.array([f.vector for f in data.f])
    forces[0] = 0
    assert np.allclose(bridge.joint_forces(fast, None, q, v, a), forces, rtol=1e-11, atol=1e-11)
    assert np.allclose(bridge.crba(fast, None, q), pin.crba(model, data, q), rtol=REFEREE)
    # pinocchio's own aba refuses such models
    assert np.allclose(bridge.aba(fast, None, q, v, tau), a, rtol=1e-9)
    # the same machine as we read it ourselves
    own = mbd.load(file)
    angle = np.arctan2(q[1:], q[:1]) if kind == "continuous" else q
    assert np.allclose(own.inverse_dynamics(angle, v, a), tau, rtol=REFEREE)
