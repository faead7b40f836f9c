"""What a joint carries: statics by hand, ADAMS, couplings, one joint and many states."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, StateError
from tests.machines import boom
from tests.oracles import adams
from tests.referees import adams_joint
from tests.robots import own_urdfs
from tests.trees import random_state


def test_statics_of_a_boom_by_hand():
    loads = boom().joint_loads([0], [0], [0], ["root_joint", "pin", "bolt"])
    # 150 N up at the pin; moments about y: -(10 kg 1 m + 5 kg 2 m) 10 m/s²; the plate's own centre
    # is below its bolt, since the plate is turned
    assert np.allclose(loads["pin"].force, (0, 0, 150))
    assert np.allclose(loads["pin"].moment, (0, -200, 0))
    assert np.allclose(loads["pin"].actuation, -200)
    # in the plate's axes, turned by 90 degrees about y: up is -x there
    assert np.allclose(loads["bolt"].force, (-50, 0, 0))
    assert np.allclose(loads["bolt"].moment, 0)
    assert loads["bolt"].actuation.shape == (0,)
    assert np.allclose(loads["root_joint"].force, (0, 0, 150))
    assert np.allclose(loads["root_joint"].moment, (0, -200, 0))


def test_the_load_of_a_joint_is_one_wrench_too():
    arm = boom()
    for state in ([0.3], [1.0], [-2.0]), np.ones((3, 4, 1)):
        loads = arm.joint_loads(*state, ["pin", "bolt"])
        assert np.array_equal(loads["bolt"].wrench, loads.wrench[..., 1, :])


def test_what_is_determined_is_told_joint_by_joint():
    loads = boom().joint_loads([0], [0], [0], ["pin", "bolt"])
    half = replace(loads, unique=np.array([[True] * 6, [False] * 6]))
    assert half["pin"].unique.all() and not half["bolt"].unique.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "sibling"}, "on='sibling'"),
        ({"at": "centre"}, "at='centre'"),
        ({"at": (1, 2)}, "not a point"),
        ({"in_": "moon"}, "in_='moon'"),
        ({"on": ["child"]}, "on="),
        ({"at": 3.0}, "not a point"),
        ({"at": ("a", "b", "c")}, "not a point"),
        ({"at": np.ones((1, 3))}, "not a point"),
        ({"joints": [["pin"]]}, "no joint named"),
        ({"joints": 17}, "no joint number 17"),
        ({"joints": ["pim"]}, "did you mean 'pin'"),
        ({"joints": []}, "name at least one"),
        ({"external": {"plat": np.zeros(6)}}, "did you mean 'plate'"),
    ],
)
def test_what_is_not_known_is_answered_with_what_is(options, message):
    with pytest.raises(ModelError, match=message):
        boom().joint_loads([0], [0], [0], **options)


def test_an_unknown_function_is_answered_with_those_that_there_are():
    with pytest.raises(ModelError, match="did you mean 'inverse_dynamics'"):
        boom().compile("inverse_dynamic")


def test_wrong_shapes_are_answered_with_the_right_ones():
    arm = boom()
    with pytest.raises(StateError, match="q"):
        arm.joint_loads([0, 0], [0], [0])
    with pytest.raises(StateError, match="plate"):
        arm.joint_loads([0], [0], [0], external={"plate": np.zeros(3)})
    with pytest.raises(StateError):
        arm.joint_loads(np.zeros((4, 1)), np.zeros((5, 1)), np.zeros((4, 1)))


@pytest.mark.parametrize("name", ["revolute 1", "revolute 2"])
def test_the_force_of_a_pin_is_that_of_the_exact_pendulum(name):
    """ADAMS' own numbers, also of other joints, are 2.4e-5 off (`tests.referees`)."""
    exact = adams.pendulum_force(adams.CASES[name][2])
    assert np.allclose(adams_joint(name)[0], exact, rtol=1e-10, atol=1e-10)


def test_asking_for_one_joint_computes_less_and_the_same():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    everything = arm.compile("joint_loads")
    names = [n for n in arm.joint_names if n in arm.coordinate_names]
    state = np.random.default_rng(0).normal(size=(3, arm.nv))
    whole = everything(*state)
    before = np.inf
    for name in names:
        solver = arm.compile("joint_loads", [name])
        operations = sum(solver.kernel.counts.values())
        assert operations < 0.8 * sum(everything.kernel.counts.values())
        assert operations < before or name == names[0]
        before = operations
        one = solver(*state)
        assert np.allclose(one.wrench[0], np.r_[whole[name].force, whole[name].moment], rtol=1e-12)


def test_a_mimic_carries_its_transmission_load_and_the_leader_the_sum():
    """Gripper: a motor joint and a jaw that follows it, geared 1 to -2."""
    builder = (
        mbd.Builder("gears")
        .link("one", 1.0, (0.1, 0, 0), (0.01, 0.02, 0.03))
        .link("two", 0.5, (0.2, 0, 0), (0.01, 0.02, 0.03))
        .joint("motor", "revolute", "base", "one", axis=(0, 0, 1))
        .joint(
            "jaw",
            "revolute",
            "base",
            "two",
            (1, 0, 0),
            axis=(0, 0, 1),
            mimic="motor",
            multiplier=-2,
        )
    )
    m = mbd.Mechanism.build(builder)
    assert m.nv == 1 and m.coordinate_names == ("motor",)
    J1, J2 = 0.03 + 0.01, 0.03 + 0.5 * 0.04
    loads = m.joint_loads([0.4], [0.0], [3.0], ["motor", "jaw"])
    assert np.allclose(loads["motor"].actuation, J1 * 3)
    assert np.allclose(loads["jaw"].actuation, J2 * -6)
    assert np.allclose(m.inverse_dynamics([0.4], [0], [3]), J1 * 3 + (-2) * J2 * -6)
    assert np.allclose(m.mass_matrix([0.4]), J1 + 4 * J2)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_mimic_with_the_multiplier_zero_stands_still_at_its_offset(kind):
    def arm(joint, **options):
        builder = mbd.Builder("arm").link("one", 1.0, (0.1, 0, 0), (0.01, 0.02, 0.03))
        builder.link("two", 0.5, (0.2, 0.1, 0), (0.01, 0.02, 0.03))
        builder.joint("motor", "revolute", "base", "one", axis=(0, 1, 0))
        builder.joint("follower", joint, "one", "two", axis=(0, 0, 1), **options)
        return mbd.Mechanism.build(builder)

    coupled = arm(kind, mimic="motor", multiplier=0.0, offset=0.7)
    place = {"rpy": (0, 0, 0.7)} if kind == "revolute" else {"xyz": (0, 0, 0.7)}
    welded = arm("fixed", **place)
    state = [0.4], [1.0], [3.0]
    ours, theirs = coupled.joint_loads(*state), welded.joint_loads(*state)
    assert np.allclose(ours.wrench, theirs.wrench, rtol=1e-12)
    assert np.allclose(coupled.forward_dynamics(*state), welded.forward_dynamics(*state))
    assert coupled.crosscheck(states=3).passed


def test_reaction_is_the_load_without_the_actuators_part():
    m = mbd.load(own_urdfs()["kuka_iiwa"])
    state = np.random.default_rng(0).normal(size=(3, m.nv))
    loads = m.joint_loads(*state, ["lbr_iiwa_joint_3"], reaction=True)
    axis = np.array(m.model.joint("lbr_iiwa_joint_3").axis)
    assert np.allclose(loads.reaction_force, loads.force)
    rest = loads.moment[0] - axis * loads.actuation[0]
    assert np.allclose(loads.reaction_moment[0], rest, atol=1e-12)
    assert abs(axis @ rest) < 1e-12


def test_one_state_at_a_time():
    m = mbd.load(own_urdfs()["kuka_iiwa"])
    solver = m.compile("joint_loads", ["lbr_iiwa_joint_3"])
    state = np.random.default_rng(0).normal(size=(3, m.nv))
    force, moment, actuation = solver.single().run(*state)
    loads = solver(*state)
    assert np.array_equal(force, loads.force)
    assert np.array_equal(moment, loads.moment)
    assert np.array_equal(actuation, loads.actuation)


@pytest.mark.parametrize("way", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy])
def test_a_mechanism_that_was_used_can_be_copied_and_sent_to_another_process(way):
    arm = boom()
    state = [0.3], [1.0], [-2.0]
    before = arm.joint_loads(*state).wrench, arm.forward_dynamics(*state)
    other = way(arm)
    assert np.array_equal(other.joint_loads(*state).wrench, before[0])
    assert np.array_equal(other.forward_dynamics(*state), before[1])
    assert np.array_equal(arm.joint_loads(*state).wrench, before[0])


def test_everything_in_a_tree_is_determined():
    assert boom().joint_loads([0], [0], [0]).unique.all()


def test_loads_by_name_and_their_shapes():
    builder = mbd.Builder("dummy").link("chest", 9.0, (0, 0, 0.3), (0.2, 0.2, 0.1))
    builder.link("head", 4.0, (0, 0, 0.1), (0.02, 0.02, 0.02))
    builder.joint("waist", "revolute", "base", "chest", axis=(0, 1, 0))
    builder.joint("neck", "spherical", "chest", "head", (0, 0, 0.5))
    m = mbd.Mechanism.build(builder)
    model = m.model
    q, v, a = random_state(model, np.random.default_rng(0))
    loads = m.joint_loads(np.tile(q, (4, 1)), np.tile(v, (4, 1)), np.tile(a, (4, 1)))
    count = len(m.joint_names)
    assert loads.force.shape == loads.moment.shape == (4, count, 3)
    assert (
        loads.actuation.shape == (4, len(loads.actuation_names))
        and len(loads.actuation_names) == m.nv
    )
    assert loads.unique.shape == (4, count, 6)
    assert loads.actuation_unique.shape == loads.actuation.shape
    assert loads["neck"].actuation.shape == (4, 3)  # a ball joint
    with pytest.raises(StateError, match="did you mean 'neck'"):
        loads["nek"]
    assert "4 states" in repr(loads)


def test_quaternions_that_are_no_rotation_are_refused_and_rounded_ones_made_exact():
    m = mbd.load(own_urdfs()["humanoid"], floating=True)
    q, v, a = random_state(m.model, np.random.default_rng(0))
    exact = m.joint_loads(q, v, a, ["neck_yaw"]).wrench
    rounded = q.copy()
    rounded[3:7] *= 1 + 1e-6
    assert np.allclose(m.joint_loads(rounded, v, a, ["neck_yaw"]).wrench, exact, rtol=1e-11)
    assert np.array_equal(rounded[3:7], q[3:7] * (1 + 1e-6))  # the caller's array stays as it is
    rounded[3:7] *= 2
    with pytest.raises(StateError, match=r"root_joint.qx.* has the length 2"):
        m.joint_loads(np.array([q, rounded]), v, a, ["neck_yaw"])
    with pytest.raises(StateError, match="state 0: the quaternion"):
        m.inverse_dynamics(rounded, v, a)
    assert np.isfinite(m.inverse_dynamics(rounded, v, a, check=False)).all()
