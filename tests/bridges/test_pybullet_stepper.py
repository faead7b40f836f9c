"""Our solver moves a body in a pybullet world: forces, momentum, loads, and what is refused."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning, ModelError, StateError
from mbd_bridge.engines.pybullet import Stepper
from tests.bridges import worlds
from tests.bridges.coupling_figures import ball_on_arm, ball_on_floater, momentum
from tests.bridges.worlds import loose, place, velocity, world
from tests.robots import robot, wheel_urdfs

URDF = Path(__file__).parents[2] / "urdf"
TILTED = {"position": (1, 2, 3), "orientation": (0.2, -0.4, 0.1, np.sqrt(0.79))}


@pytest.fixture
def write(tmp_path):
    """Write a machine to a file."""

    def to_file(text, name="machine.urdf"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return to_file


MACHINES = {
    "arm": (URDF / "kuka_iiwa.urdf", {}),
    "tilted arm with a push": (URDF / "kuka_iiwa.urdf", TILTED),
    "free arm with a push": (URDF / "kuka_iiwa.urdf", {"floating": True}),
    "free humanoid": (URDF / "humanoid.urdf", {"floating": True}),
    "mimics": ("erd/panda/panda_collision", {}),
    "balls": ("pb/humanoid/humanoid", {"floating": True}),
}


@pytest.mark.parametrize("name", MACHINES)
def test_pybullet_is_given_the_forces_that_make_it_move_as_we_do(name):
    """Names, signs, frames and orders of every joint at once: pybullet's step is ours to O(h²)."""
    path, options = MACHINES[name]
    if isinstance(path, str) and path not in wheel_urdfs():
        pytest.skip("the wheel with this robot is not installed")
    h, rng = 1e-5, np.random.default_rng(3)
    with world(h) as client:
        stepper = Stepper.load(robot(path) if isinstance(path, str) else path, client, **options)
        model = stepper.model
        q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv))
        v, tau = rng.normal(size=(2, model.nv))
        stepper.reset(q, v)
        there = stepper.body.read()
        assert np.abs(there[0] - q).max() < 1e-14
        assert np.abs(there[1] - v).max() < 1e-14
        push = {model.links[-1].name: (3, -2, 5, 0.4, 0.2, -0.3)} if "push" in name else None
        stepper.push(tau, push)
        p.stepSimulation(client)
        _, theirs = stepper.body.read()
        stepper.take()
        change = np.abs(stepper.v - v).max()
        assert np.abs(theirs - stepper.v).max() < 100 * h * change


def test_neither_stops_nor_a_highest_speed_are_left_in_pybullet(write):
    """A lift far beyond the limits of its file, faster than pybullet's 100 a second."""
    with world(1e-4) as client:
        stepper = Stepper.load(write(worlds.LIFT), client, q=[7.0], v=[150.0])
        stepper.push([30.0])
        p.stepSimulation(client)
        _, theirs = stepper.body.read()
        stepper.take()
        assert theirs[0] == pytest.approx(stepper.v[0], abs=1e-9)
        assert theirs[0] > 150.0


def test_without_contact_a_run_is_that_of_simulate():
    with world(2e-3) as client:
        stepper = Stepper.load(URDF / "kuka_iiwa.urdf", client, substeps=2)
        tau = np.linspace(1, -1, 7)
        for _ in range(50):
            stepper.step(dict(zip(stepper.model.velocity_names, tau, strict=True)))
        run = mbd.load(URDF / "kuka_iiwa.urdf").simulate(0.1, step=1e-3, torque=tau)
        assert np.abs(stepper.q - run.q[-1]).max() < 1e-12
        assert stepper.time == pytest.approx(0.1)
        assert not stepper.touches


@pytest.mark.parametrize("mass", [1.0, 40.0])
def test_a_lift_carries_the_box_on_its_plate(write, mass):
    """Twenty times the plate's mass: the actuation holds the weight, the sensor weighs the box."""
    with world(1 / 240) as client:
        stepper = Stepper.load(write(worlds.LIFT), client)
        loose(client, mass, [0.1, 0.2, 0.1001], cube=True)
        for _ in range(500):
            stepper.step(lambda t, q, v: 9.81 * 2 - 4000 * q - 400 * v)
        loads = stepper.joint_loads(["lift", "sensor"])
        assert stepper.tau[0] == pytest.approx((2 + mass) * 9.81, rel=1e-4)
        assert loads["lift"].actuation[0] == pytest.approx((2 + mass) * 9.81, rel=1e-4)
        assert loads["sensor"].force[2] == pytest.approx((0.5 + mass) * 9.81, rel=1e-4)
        weight = mass * 9.81
        assert loads["sensor"].moment[:2] == pytest.approx([0.2 * weight, -0.1 * weight], rel=2e-2)
        theirs = np.array(p.getBasePositionAndOrientation(1, client)[0])
        assert theirs[2] - stepper.q[0] == pytest.approx(0.1, abs=1e-4)


def test_a_ball_and_a_floating_pendulum_keep_their_momentum(tmp_path):
    """What pybullet gives to the ball, our equations take; and as one who moves, not as a wall."""
    coarse, fine = (ball_on_floater(tmp_path, h) for h in (1 / 240, 1 / 2000))
    for hit in (coarse, fine):
        assert hit.momentum < 1e-6
        assert hit.angular < 2e-4  # the ball is touched at its own side
    assert np.abs(coarse.speeds - fine.speeds).max() < 0.01  # of 2 m/s
    wall = ball_on_floater(tmp_path, 1 / 240, wall=True)
    assert np.abs(wall.speeds - fine.speeds).max() > 0.5


def test_the_coupling_converges_to_what_pybullet_alone_converges_to(tmp_path):
    fine = ball_on_arm(tmp_path, 1 / 16000, ours=False)
    steps = 1 / 250, 1 / 1000, 1 / 4000
    errors = [np.abs(ball_on_arm(tmp_path, h, ours=True) - fine).max() for h in steps]
    assert errors[1] < 0.6 * errors[0]
    assert errors[2] < 0.6 * errors[1]
    assert errors[2] < 0.01  # of 2 m/s


@pytest.mark.parametrize("first", [True, False])
def test_friction_acts_on_both_whichever_was_loaded_first(write, first):
    """A box slides on a cart: only the friction between them moves either along x."""
    with world(1e-3) as client:
        box = loose(client, 1.0, [0, 0, 0.12], cube=True, v=[1, 0, 0]) if first else None
        stepper = Stepper.load(write(worlds.CART), client)
        if box is None:
            box = loose(client, 1.0, [0, 0, 0.12], cube=True, v=[1, 0, 0])
        for _ in range(600):
            stepper.step()
        v = velocity(client, box)[0][0]
        assert v + 3 * stepper.v[0] == pytest.approx(1.0, abs=2e-4)
        assert v == pytest.approx(0.25, abs=2e-3)  # at last they move as one


def test_links_that_touch_each_other_push_themselves_nowhere(write):
    """Self-collision: action and reaction are both on us."""
    fold = (
        '<robot name="fold">'
        + worlds.link("a", 2, "0.2 0 0", (0.01, 0.02, 0.02), worlds.box("0.4 0.1 0.04", "0.2 0 0"))
        + worlds.joint("one", "continuous", "a", "b", "0.4 0 0", "0 1 0")
        + worlds.link("b", 1, "0.05 0 0", (0.01, 0.02, 0.02))
        + worlds.joint("two", "continuous", "b", "c", "0.1 0 0", "0 1 0")
        + worlds.link("c", 1, "0.2 0 0", (0.01, 0.02, 0.02), worlds.box("0.4 0.1 0.04", "0.2 0 0"))
        + "</robot>"
    )
    with world(1e-3, (0, 0, 0)) as client:
        path = write(fold)
        stepper = Stepper.load(path, client, floating=True, flags=p.URDF_USE_SELF_COLLISION)
        q = stepper.q.copy()
        q[7:] = -1.2, -1.2
        stepper.reset(q, [0.3, 0, 0, 0, 0, 0, -1.0, -3.0])
        P, L = momentum(stepper, [])
        most = 0
        for _ in range(400):
            stepper.step()
            most = max(most, len(stepper.touches))
        assert most >= 2
        after = momentum(stepper, [])
        assert np.abs(after[0] - P).max() < 1e-6
        assert np.abs(after[1] - L).max() < 1e-4


@pytest.mark.parametrize("kind", ["JOINT_POINT2POINT", "JOINT_FIXED"])
@pytest.mark.parametrize("ours_is_parent", [True, False])
def test_what_a_constraint_holds_is_carried(write, kind, ours_is_parent):
    """A gripped box: force and, if welded, moment of createConstraint act on our link."""
    with world(1e-3, (0, 0, 0)) as client:
        stepper = Stepper.load(write(worlds.FLOATER), client, floating=True)
        stepper.reset(stepper.model.integrate(stepper.q, np.arange(1, 8) / 10))
        box = loose(client, 1.0, [0, 0, 5], cube=True, radius=0.05)
        p.setCollisionFilterGroupMask(box, -1, 0, 0, physicsClientId=client)
        bar = mbd.Mechanism(stepper.model).placement(stepper.q, "bar")
        turn = p.getLinkState(stepper.body.number, 0, physicsClientId=client)[5]
        tip = bar[:3, :3] @ [0.7, 0, 0] + bar[:3, 3]
        p.resetBasePositionAndOrientation(box, tip, turn, physicsClientId=client)
        ends = (stepper.body.number, 0, [0.4, 0, 0]), (box, -1, [0, 0, 0])
        one, two = ends if ours_is_parent else ends[::-1]
        held = p.createConstraint(
            *one[:2], *two[:2], getattr(p, kind), [0, 0, 0], one[2], two[2], physicsClientId=client
        )
        p.changeConstraint(held, maxForce=1e6, physicsClientId=client)
        for _ in range(100):
            stepper.step({"hinge": 2.0}, {"body": (5, -3, 8, 0.7, -0.4, 0.9)})
        P, L = momentum(stepper, [(box, 1.0)])
        for _ in range(200):
            stepper.step({"hinge": -2.0})
        after = momentum(stepper, [(box, 1.0)])
        assert np.abs(after[0] - P).max() < 1e-9
        assert np.abs(after[1] - L).max() < 2e-5
        bar = mbd.Mechanism(stepper.model).placement(stepper.q, "bar")
        assert np.abs(bar[:3, :3] @ [0.7, 0, 0] + bar[:3, 3] - place(client, box)[0]).max() < 1e-3


@pytest.fixture
def touchable_four_bar(write):
    """The shipped four-bar with a coupler that can be hit, and a position of it."""
    head, tail = (URDF / "four_bar.urdf").read_text().split('<link name="coupler">')
    tail = tail.replace("<visual>", "<collision>", 1).replace("</visual>", "</collision>", 1)
    path = write(head + '<link name="coupler">' + tail, "four_bar.urdf")
    shutil.copy(URDF / "four_bar.loops.yaml", path.parent)
    return path, mbd.load(path).assemble(near={"crank": 0.3}, fixed="crank")


def test_a_closed_machine_of_which_pybullet_knows_the_tree(touchable_four_bar):
    path, start = touchable_four_bar
    bar, crank = mbd.load(path), []
    for h in (1 / 240, 1 / 960, 1 / 3840):
        with world(h) as client:
            stepper = Stepper.load(path, client, q=start.q, v=start.v)
            coupler = bar.placement(stepper.q, "coupler")[:3, 3]
            loose(client, 0.5, coupler + np.array([0.4, 0, 0.2]), v=[0, 0, -1])
            touched = False
            for _ in range(round(0.25 / h)):
                stepper.step({"crank": -6.0})
                touched |= bool(stepper.touches)
            assert touched
            phi, _, _ = bar.compile("constraints")(stepper.q, stepper.v)
            assert np.abs(phi).max() < 1e-10
            loads = stepper.joint_loads(["crank", "coupler_pin"])
            assert loads["coupler_pin"].unique.tolist() == [True, False] * 3
            assert loads["crank"].actuation[0] == pytest.approx(-6.0, abs=1e-9)
            crank.append(np.concatenate([stepper.q[:1], stepper.v[:1]]))
    coarse, fine = (np.abs(b - a).max() for a, b in pairwise(crank))
    assert fine < 0.5 * coarse
    assert fine < 1e-3
    free = bar.simulate(0.25, q=start.q, v=start.v, torque={"crank": -6.0})
    assert np.abs(free.q[-1, 0] - crank[-1][0]) > 0.02  # the ball did something


def test_pybullets_own_inertia_is_warned_of(write):
    with world() as client:
        body = p.loadURDF(str(write(worlds.ARM)), useFixedBase=True, physicsClientId=client)
        with pytest.warns(MbdWarning, match="URDF_USE_INERTIA_FROM_FILE"):
            Stepper(mbd.load(write(worlds.ARM)), client, body)


def test_files_beside_that_a_stepper_does_not_use_are_said(tmp_path):
    for name in ("flexible_pendulum.urdf", "flexible_pendulum.flex.yaml"):
        shutil.copy(URDF / name, tmp_path)
    with world() as client, pytest.raises(ModelError, match=r"bend.*flexible="):
        Stepper.load(tmp_path / "flexible_pendulum.urdf", client)
    shutil.copy(URDF / "flexible_pendulum.urdf", tmp_path / "rigid.urdf")
    (tmp_path / "rigid.forces.yaml").write_text("units: SI\nforces: []\n")
    with (
        world() as client,
        pytest.warns(MbdWarning, match="do not act here"),
    ):
        Stepper.load(tmp_path / "rigid.urdf", client)


def test_what_cannot_be_stepped_is_said(write, touchable_four_bar):
    path, _ = touchable_four_bar
    with world() as client:
        arm = mbd.load(write(worlds.ARM))
        stepper = Stepper.load(write(worlds.ARM), client)
        body = stepper.body.number
        for wrong, kind, said in (
            (lambda: Stepper(arm, client, 17), StateError, r"no body 17.*there are \[0\]"),
            (lambda: Stepper(arm, client + 1, body), StateError, "not connected"),
            (lambda: Stepper(arm, client, body, substeps=0), StateError, "substeps"),
            (lambda: Stepper(mbd.load(path), client, body), ModelError, "upper, lower"),
            (lambda: Stepper.load(path, client, q=[0.5, 0, 0]), StateError, "assemble"),
            (lambda: stepper.step([np.nan, 0]), StateError, "expected finite numbers, got .*nan"),
            (lambda: stepper.step(lambda t, q, v: q + np.inf), StateError, "finite numbers"),
            (lambda: stepper.step([1.0]), StateError, r"numbers \(2,\)"),
            (lambda: stepper.step({"elbo": 1.0}), StateError, "'elbow'"),
            (lambda: stepper.step(external={"lower": (np.inf,) * 6}), StateError, "lower"),
            (lambda: stepper.step(external={"hand": np.zeros(6)}), ModelError, "hand"),
            (stepper.take, StateError, r"follows push\(\)"),
        ):
            with pytest.raises(kind, match=said):
                wrong()
        floating = mbd.load(write(worlds.ARM), floating=True)
        with pytest.raises(ModelError, match="useFixedBase"):
            Stepper(floating, client, body)
        renamed = mbd.load(write(worlds.ARM.replace('"elbow"', '"knee"')))
        with pytest.raises(ModelError, match="elbow, knee"):
            Stepper(renamed, client, body)
        p.setGravity(0, 0, -1.6, physicsClientId=client)
        with pytest.raises(StateError, match="gravity"):
            stepper.step()
        p.setGravity(0, 0, -9.81, physicsClientId=client)
        p.setPhysicsEngineParameter(numSubSteps=4, physicsClientId=client)
        with pytest.raises(StateError, match="numSubSteps"):
            stepper.step()
        p.setPhysicsEngineParameter(numSubSteps=0, physicsClientId=client)
        stepper.step()
        p.removeBody(body, physicsClientId=client)
        with pytest.raises(StateError, match="no body 0"):
            stepper.step()
        p.disconnect(client)
        with pytest.raises(StateError, match="not connected"):
            stepper.step()
