"""What newcomers type first, and what they are reported; what things look like in a session."""

import warnings

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdError, MbdWarning, some
from tests.robots import own_urdfs

PENDULUM = own_urdfs()["pendulum"]


def test_a_pinocchio_model_is_not_a_file():
    with pytest.raises(MbdError, match=r"use Mechanism.from_pinocchio\(model\)"):
        mbd.load(pin.Model())
    with pytest.raises(MbdError, match="expected the path of a file, got int"):
        mbd.load(3)


def test_a_text_is_not_a_file():
    for text in ('<robot name="r"><link name="a"/></robot>', '\n<?xml version="1.0"?><robot/>'):
        with pytest.raises(FileError, match="looks like XML text"):
            mbd.load(text)


def test_coordinates_by_name_are_told_what_makes_a_position_of_them():
    rod = mbd.load(PENDULUM)
    for call in (
        lambda: rod.joint_loads({"hinge": 0.1}, [0.0], [0.0]),
        lambda: rod.placement({"hinge": 0.1}, "tip"),
    ):
        with pytest.raises(MbdError, match=r"robot.assemble\(\{...\}\).q makes a position"):
            call()
    assert rod.assemble({"hinge": 0.1}).q == [0.1]


def test_what_is_shown_is_a_motion():
    rod = mbd.load(PENDULUM)
    for other in (np.zeros(1), rod.simulate(0.01, forces=())):
        with pytest.raises(MbdError, match=r"motion: expected a Motion.*q= for one position"):
            rod.render(None, other)


def test_true_is_no_number():
    rod = mbd.load(PENDULUM)
    (name,), link, spring = rod.coordinate_names, rod.model.links[-1].name, mbd.forces.JointSpring
    for wrong in (
        lambda: rod.simulate(0.01, forces=[spring(name, stiffness=True)]),
        lambda: rod.simulate(0.01, forces=[spring(name, damping=np.bool_(True))]),
        lambda: rod.simulate(0.01, step=True),
        lambda: rod.simulate(0.01, parameters={f"{link}.mass": True}),
        lambda: rod.mass_matrix(np.array([True])),
        lambda: rod.with_payload(link, True),
    ):
        with pytest.raises(MbdError, match="expected"):
            wrong()


def test_warnings_point_at_the_line_that_loads(tmp_path):
    (tmp_path / "odd.urdf").write_text(
        '<robot name="odd"><link name="a"><inertial><mass value="0"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    model = pin.buildModelFromUrdf(str(PENDULUM), pin.JointModelFreeFlyer())
    model.armature = np.arange(7.0)
    for load in (
        lambda: mbd.load(tmp_path / "odd.urdf"),
        lambda: mbd.Mechanism.from_pinocchio(model),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load()
        assert [w.category for w in caught] == [MbdWarning]
        assert caught[0].filename == __file__


def test_things_are_shown_in_a_line():
    rod = mbd.load(PENDULUM)
    q = np.zeros((50, 1))
    loads = rod.joint_loads(q, q, q)
    solver = rod.compile("joint_loads", ["hinge"])
    shown = [loads, loads["hinge"], rod.model, solver.single(), rod]
    for thing in shown:
        assert len(repr(thing)) < 160
        assert "\n" not in repr(thing)
    assert repr(loads["hinge"]) == "OneJoint(50 states; force, moment, 1 actuator)"
    assert (
        repr(rod.model) == "Model('pendulum': 3 links, 2 joints, 1 degree of freedom, fixed base)"
    )
    assert "joint_loads(q[1], v[1], a[1]) -> force[1, 3], moment[1, 3], actuation[1]" in repr(
        solver.single()
    )
    assert repr(rod.joint_loads(q[0], q[0], q[0])).startswith("JointLoads(1 state; hinge")


def test_the_load_of_one_joint_has_its_reaction():
    rod, rest = mbd.load(PENDULUM), np.zeros((2, 1))
    loads = rod.joint_loads(rest, rest, rest, reaction=True)
    assert np.array_equal(loads["tip_joint"].reaction_force, loads.reaction_force[:, 1])
    assert np.array_equal(loads["hinge"].reaction_moment, loads.reaction_moment[:, 0])
    assert rod.joint_loads(rest, rest, rest)["hinge"].reaction_force is None


def test_what_was_given_in_the_wrong_order_is_said(tmp_path):
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    motion = arm.read_motion(PENDULUM.parent / "kuka_iiwa_motion.csv")
    with pytest.raises(MbdError, match=r"path: expected the path of a file, got Motion\(201"):
        arm.report(motion, tmp_path / "page.html")
    with pytest.raises(MbdError, match=r"a motion \(robot.read_motion\)"):
        arm.joint_loads("motion.csv")


def test_a_motion_is_shown_in_a_line():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    motion = arm.read_motion(PENDULUM.parent / "kuka_iiwa_motion.csv")
    assert repr(motion) == "Motion(201 states from 0 to 2 s; 7 coordinates; 2 notes)"


def test_one_name_more_is_a_name():
    assert some(["a", "b", "c"], 2) == "a, b, c"
    assert some(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_all_chooses_every_name_wherever_several_may_be_chosen():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    motion = arm.read_motion(PENDULUM.parent / "kuka_iiwa_motion.csv")
    assert len(motion.plot(names="all")) == len(motion.plot(names=["all"])) == len(motion.plot())
    rest = [np.zeros(arm.nv)] * 3
    every = arm.joint_loads(*rest)
    assert len(every.joints) > 1
    assert arm.joint_loads(*rest, "all").joints == every.joints
    assert arm.motors(motion, "all").names == arm.motors(motion).names
    with pytest.raises(MbdError, match="did you mean 'lbr_iiwa_joint_1'"):
        motion.plot(names=["lbr_iiwa_joint_11"])


@pytest.mark.parametrize("given", ["wrold", ["world"], None, 1, np.array(["world", "link"])])
def test_an_option_of_a_few_words_says_which_there_are(given):
    rod, rest = mbd.load(PENDULUM), [0.0]
    with pytest.raises(MbdError, match=r"in_=.* is not known; use one of child, parent, world"):
        rod.joint_loads(rest, rest, rest, in_=given)
    with pytest.raises(MbdError, match=r"external_in=.* is not known; use one of link, world"):
        rod.joint_loads(rest, rest, rest, external={"rod": np.ones(6)}, external_in=given)
    for option in ("method", "integrator", "correction"):
        with pytest.raises(MbdError, match=rf"{option}=.* is not known; use one of \w+, "):
            rod.simulate(0.1, **{option: given})


@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.array])
def test_a_whole_number_may_be_of_any_integer_type(kind, tmp_path):
    rod, q = mbd.load(PENDULUM), np.linspace(0, 1, 50)[:, None]
    actuations = rod.inverse_dynamics(q, q, q)
    assert np.array_equal(rod.inverse_dynamics(q, q, q, threads=kind(2)), actuations)
    assert np.array_equal(rod.joint_loads(q, q, q, threads=kind(2)).actuation, actuations)
    run = rod.simulate(0.1, every=kind(5), checkpoint=tmp_path / "c.npz", checkpoint_every=kind(10))
    assert len(run.time) == 21
    batch = rod.simulate(0.1, q=q, every=kind(5), threads=kind(2))
    assert batch.q.shape == (50, 21, 1)


@pytest.mark.parametrize("given", [0, -1, 2.0, np.float64(2), True, "2", None])
def test_what_is_no_whole_number_from_1_is_told_so(given):
    rod, q = mbd.load(PENDULUM), np.linspace(0, 1, 50)[:, None]
    told = r"threads: expected a whole number from 1, got "
    with pytest.raises(MbdError, match=told):
        rod.inverse_dynamics(q, q, q, threads=given)
    with pytest.raises(MbdError, match=told):
        rod.simulate(0.1, q=q, threads=given)
    for start in (q, q[0]):
        with pytest.raises(MbdError, match="every: expected a whole number from 1"):
            rod.simulate(0.1, q=start, every=given)


def test_a_name_of_a_file_is_not_a_mechanism_to_simulate():
    with pytest.raises(MbdError, match=r"got str.*mbd\.load"):
        mbd.simulation.simulate("robot.urdf", 1)


@pytest.mark.parametrize("weights", [[1.0, 2.0], "crank", 3.0, {"crank": "x"}, {"crank": np.inf}])
def test_weights_that_are_no_numbers_by_name_are_told_so(weights):
    with pytest.raises(MbdError, match="weight"):
        mbd.load(own_urdfs()["four_bar"]).assemble(weights=weights)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("speed", [1e155, 1e300])
def test_accelerations_that_overflow_are_never_nan_without_a_word(speed):
    bar = mbd.load(own_urdfs()["four_bar"])
    q = bar.assemble().q
    v = np.array([1.0, -1.0, 1.0]) * speed
    with pytest.raises(MbdError):
        bar.forward_dynamics(q, v, np.zeros(3))
