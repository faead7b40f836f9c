"""Where links are, wrenches in the world's axes, and bodies picked up."""

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pinocchio import to_pinocchio
from tests.machines import four_bar
from tests.robots import own_urdfs
from tests.tolerances import REFEREE, ROUNDING
from tests.trees import random_state, random_tree


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_placements_are_those_of_pinocchio(seed, floating):
    rng = np.random.default_rng(seed)
    robot = mbd.Mechanism.build(random_tree(rng, 8, mimics=0.3), floating=floating)
    q = np.array([random_state(robot.model, rng)[0] for _ in range(3)])
    twin = to_pinocchio(robot.model)
    for link in robot.model.link_index:
        found = robot.placement(q, link)
        assert found.shape == (3, 4, 4)
        for state, placed in zip(q, found, strict=True):
            pin.framesForwardKinematics(twin.model, twin.data, twin.q(state))
            frame = twin.model.getFrameId(link, pin.FrameType.BODY)
            theirs = twin.data.oMf[frame].homogeneous
            assert np.abs(placed - theirs).max() <= REFEREE * np.abs(theirs).max()
        assert np.array_equal(robot.placement(q[0], link), found[0])


def test_an_unknown_link_has_no_placement():
    with pytest.raises(ModelError, match="no link named 'nothing'"):
        mbd.load(own_urdfs()["pendulum"]).placement([0.0], "nothing")


@pytest.mark.parametrize("floating", [False, True])
def test_wrenches_in_world_axes_are_those_in_link_axes_turned(floating):
    rng = np.random.default_rng(7)
    robot = mbd.Mechanism.build(random_tree(rng, 7), floating=floating)
    states = [random_state(robot.model, rng) for _ in range(4)]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    link = robot.model.links[-1].name
    world = rng.normal(size=(4, 6))
    turn = robot.placement(q, link)[:, :3, :3]
    own = np.concatenate(
        [np.einsum("nji,nj->ni", turn, half) for half in (world[:, :3], world[:, 3:])], axis=1
    )

    def equal(function, *arguments):
        ours = function(*arguments, external={link: world}, external_in="world")
        theirs = function(*arguments, external={link: own})
        assert not np.allclose(ours, function(*arguments, external={link: world}))
        assert np.abs(ours - theirs).max() <= 10 * ROUNDING * np.abs(theirs).max()

    equal(robot.inverse_dynamics, q, v, a)
    equal(robot.bias_forces, q, v)
    equal(lambda *args, **more: robot.joint_loads(*args, **more).wrench, q, v, a)
    model = robot.model
    a_there = robot.forward_dynamics(q, v, a, {link: world}, external_in="world")
    a_here = robot.forward_dynamics(q, v, a, {link: own})
    assert np.abs(a_there - a_here).max() <= 1e-9 * np.abs(a_here).max()
    solver = robot.compile(
        "joint_loads", [model.joints[-1].name], links=[link], external_in="world"
    )
    found = solver(q, v, a, world[:, None])
    assert np.abs(found.force - robot.joint_loads(
        q, v, a, [model.joints[-1].name], external={link: own}).force).max() < 1e-10  # fmt: skip


def test_a_weight_on_a_link_is_told_most_easily_in_world_axes():
    rod = mbd.load(own_urdfs()["pendulum"])
    push = {"tip": (0, 0, -9.81, 0, 0, 0)}
    for angle in (0.3, 2.0):
        torque = rod.inverse_dynamics([angle], [0.0], [0.0], push, external_in="world")
        assert torque == pytest.approx(9.81 * 1.5 * np.sin(angle))


def test_world_axes_hold_for_mechanisms_with_loops_too():
    bar = four_bar()
    q = bar.assemble().q
    link = bar.model.links[-1].name
    still = np.zeros(bar.nv)
    push = {link: np.array([3.0, 0.0, -2.0, 0.0, 0.0, 0.0])}
    turn = bar.placement(q, link)[:3, :3].T
    own = {link: np.concatenate([turn @ push[link][:3], np.zeros(3)])}
    actuated = [bar.joint_names[0]]
    here = bar.joint_loads(q, still, still, external=own, actuated=actuated)
    there = bar.joint_loads(q, still, still, external=push, external_in="world", actuated=actuated)
    assert np.allclose(here.force, there.force, atol=1e-12)


@pytest.mark.parametrize("function", ["inverse_dynamics", "joint_loads"])
def test_unknown_axes_and_wrong_shapes_are_told(function):
    rod = mbd.load(own_urdfs()["pendulum"])
    one = ([0.0], [0.0], [0.0])
    with pytest.raises(ModelError, match="external_in='moon'"):
        getattr(rod, function)(*one, external={"tip": np.zeros(6)}, external_in="moon")
    with pytest.raises(StateError, match="force in N, then moment"):
        getattr(rod, function)(*one, external={"tip": np.zeros(3)})


def test_a_payload_is_a_mass_more():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    link, mass, centre = "lbr_iiwa_link_ee", 3.0, np.array([0.0, 0.02, 0.1])
    heavy = arm.with_payload(link, mass, centre)
    rng = np.random.default_rng(0)
    q, still = rng.uniform(-1, 1, 7), np.zeros(7)
    down = arm.placement(q, link)[:3, :3].T @ np.array([0.0, 0.0, -9.81 * mass])
    push = {link: np.concatenate([down, np.cross(centre, down)])}
    ours = heavy.joint_loads(q, still, still).wrench
    theirs = arm.joint_loads(q, still, still, external=push).wrench
    assert np.abs(ours - theirs).max() <= REFEREE * np.abs(theirs).max()
    total = [sum(one.inertia.mass for one in robot.model.links) for robot in (arm, heavy)]
    assert total[1] - total[0] == pytest.approx(mass)
    assert heavy.crosscheck(states=3).passed  # referees get the body too, not the file without it
    assert arm.with_payload(link, 0.0).inverse_dynamics(q, still, still) == pytest.approx(
        arm.inverse_dynamics(q, still, still)
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("lbr_iiwa_link_e", 1.0), "did you mean 'lbr_iiwa_link_ee'"),
        (("lbr_iiwa_link_ee", -1.0), "not negative"),
        (("lbr_iiwa_link_ee", 1.0, (0, 0)), r"centre: expected \(3,\)"),
        (("lbr_iiwa_link_ee", 1.0, (0, 0, np.nan)), "finite"),
    ],
)
def test_a_payload_that_cannot_be_is_told(arguments, told):
    with pytest.raises(ModelError, match=told):
        mbd.load(own_urdfs()["kuka_iiwa"]).with_payload(*arguments)


def test_one_of_a_kind_is_named_in_the_singular():
    assert "1 degree of freedom," in repr(mbd.load(own_urdfs()["pendulum"]))
