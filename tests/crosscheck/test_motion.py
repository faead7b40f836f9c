"""Claims about the cross-check along a motion: a job's own states, forces and loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.engines.crosscheck.motion import FORCES, LOAD, with_motions
from tests.robots import OWN, heavier

ARM, MOTION = OWN / "kuka_iiwa.urdf", str(OWN / "kuka_iiwa_motion.csv")
TIME = np.linspace(0.0, 1.0, 21)
PRESS = "lbr_iiwa_link_7"

pytestmark = pytest.mark.filterwarnings("ignore::mbd_bridge.base.errors.MbdWarning")


def press(motion) -> dict[str, np.ndarray]:
    """Return a process force on the last link."""
    wave = np.sin(5.0 * motion.time)[:, None]
    return {PRESS: wave * np.array([100.0, -50.0, 400.0, 3.0, 20.0, -7.0])}


def closed(name: str, actuated: tuple[str, ...], swing: float = 0.05, **options):
    """Return one of our machines with loops and a motion that its actuators make."""
    robot = mbd.load(OWN / f"{name}.urdf", **options)
    names = robot.model.coordinate_names
    q = robot.assemble().q
    recorded = {
        joint: q[names.index(joint)] + swing * (np.sin(2.0 * TIME + k) - np.sin(k))
        for k, joint in enumerate(actuated)
    }
    return robot, robot.complete(recorded, TIME, near=dict(zip(names, q, strict=True)))


def test_a_recording_with_forces_payload_and_elements_agrees_with_every_engine():
    robot = mbd.load(ARM).with_payload(PRESS, 5.0, (0.01, 0.0, 0.1))
    spring = mbd.forces.PointSpring(("lbr_iiwa_link_5", "lbr_iiwa_link_1"), stiffness=800.0)
    robot = robot.with_forces([spring, mbd.forces.JointFriction("lbr_iiwa_joint_4", viscous=3.0)])
    motion = robot.read_motion(MOTION)
    report = robot.crosscheck(motion, external=press(motion))
    assert report.passed, str(report)
    moving = [joint.name for joint in robot.model.joints if joint.moving]
    assert [row.quantity for row in report.rows] == [*(LOAD + name for name in moving), FORCES]
    assert report.states == len(motion.time) and max(row.error for row in report.rows) < 1e-13
    bare = mbd.load(ARM).crosscheck(motion, external=press(motion))
    assert bare.passed and "pybullet" in str(bare)


@pytest.mark.parametrize("link", ["lbr_iiwa_link_1", "lbr_iiwa_link_4", PRESS])
def test_one_mass_changed_by_1_percent_disagrees_at_the_joints_that_carry_it(link):
    motion = mbd.load(ARM).read_motion(MOTION)
    robot = heavier(mbd.load(ARM), link, 1.01)
    report = robot.crosscheck(motion, external=press(motion), pybullet=False)
    assert not report.passed
    wrong = {row.quantity for row in report.rows if not row.passed}
    carrying = range(1, int(link[-1]) + 1)
    assert wrong - {FORCES} == {f"{LOAD}lbr_iiwa_joint_{k}" for k in carrying}


@pytest.mark.parametrize(
    ("name", "actuated"),
    [
        ("four_bar", ("crank",)),
        ("geared_five_bar", ("left_crank",)),
        ("bricard", ("joint_1",)),
        ("spatial_slider_crank", ("crank",)),
        ("rssr", ("crank", "ball_y")),
    ],
)
def test_loads_of_loops_leave_passive_joints_of_the_open_tree_free_of_forces(name, actuated):
    robot, motion = closed(name, actuated)
    moving = [link for link in robot.model.links if link.body and link.inertia.mass > 0.0]
    links = [link.name for link in moving[:2]]
    rng = np.random.default_rng(1)
    external = {link: 100.0 * rng.normal(size=(len(TIME), 6)) for link in links}
    report = robot.crosscheck(motion, external=external, actuated=actuated)
    assert report.passed, str(report)
    wrong = heavier(robot, links[0], 1.01)
    assert not wrong.crosscheck(motion, external=external, actuated=actuated).passed


def test_elements_in_cut_joints_and_between_links_of_loops_count_once():
    robot, motion = closed("four_bar", ("crank",))
    (cut,) = robot.model.cuts
    links = [link.name for link in robot.model.links[1:3]]
    elements = [
        mbd.forces.PointSpring((links[0], "ground"), stiffness=300.0, free_length=0.1),
        mbd.forces.JointFriction(cut.name, viscous=2.0),
    ]
    robot = robot.with_forces(elements)
    report = robot.crosscheck(motion, actuated="crank")
    assert report.passed, str(report)


def test_loops_that_nobody_compares_at_random_states_are_compared_along_a_motion():
    actuated = ("swivel_1", "tilt_1", "leg_1", "swivel_2", "tilt_2", "leg_3")
    robot, motion = closed("stewart", actuated)
    random = robot.crosscheck(states=2)
    assert random.open_loops and "of the open tree" in random.verdict
    along = robot.crosscheck(motion, actuated=actuated)
    assert with_motions(random, {"": along}).verdict == "agreement"
    assert with_motions(random, {}).verdict == random.verdict


def test_a_wrong_load_of_a_loop_joint_is_seen(monkeypatch):
    """Loads that are balanced in each joint of the tree alone would pass: the cut's counts."""
    from mbd_bridge.engines.crosscheck import motion as checking

    robot, motion = closed("four_bar", ("crank",))
    honest = checking.MotionCheck._cut

    def lie(self, pushes, cut, load, q):
        honest(self, pushes, cut, load * (1 + 1e-9), q)

    monkeypatch.setattr(checking.MotionCheck, "_cut", lie)
    assert not robot.crosscheck(motion, actuated="crank", pybullet=False).passed


def test_mujoco_is_asked_along_a_motion_of_an_mjcf_file(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco><worldbody><body name="upper" pos="0 0 1"><joint name="a" axis="0 1 0"
        stiffness="3" damping="0.4"/><geom type="capsule" size="0.05 0.2" mass="2"/>
        <body name="lower" pos="0.1 0 0.5" euler="20 30 40"><joint name="b" axis="1 0 0"/>
        <geom type="capsule" size="0.04 0.2" pos="0 0.1 0" mass="1"/></body></body></worldbody>
        </mujoco>"""
    )
    robot = mbd.load(path)
    motion = robot.complete({"a": np.sin(TIME), "b": np.cos(3 * TIME)}, TIME)
    external = {"lower": np.outer(np.cos(TIME), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])}
    report = robot.crosscheck(motion, external=external)
    assert report.passed, str(report)
    assert any("MuJoCo" in row.referee for row in report.rows)
    wrong = heavier(robot, "lower", 1.01).crosscheck(motion, external=external)
    assert {row.referee for row in wrong.rows if not row.passed} >= {
        row.referee for row in wrong.rows if "MuJoCo" in row.referee
    }


def test_rows_of_the_largest_loads_are_compared_however_few_are_asked_for(tmp_path):
    robot = mbd.load(ARM)
    motion = robot.read_motion(MOTION)
    pushes = np.zeros((len(motion.time), 6))
    pushes[77, 2] = 1e6
    report = heavier(robot, PRESS, 1.01).crosscheck(
        motion, states=1, external={PRESS: pushes}, pybullet=False
    )
    assert not report.passed and report.states < 20
    from_file = robot.crosscheck(MOTION, states=5, pybullet=False)
    assert from_file.passed and from_file.states < 25


def test_options_of_a_motion_are_refused_without_one():
    with pytest.raises(mbd.MbdError, match="external: along a motion"):
        mbd.load(ARM).crosscheck(external={PRESS: np.zeros(6)})


def test_a_motion_that_was_made_by_hand_is_one_of_the_machine():
    robot = mbd.load(ARM)
    motion = replace(robot.read_motion(MOTION), model=None)
    assert robot.crosscheck(motion, states=5, pybullet=False).passed


def test_pybullet_is_asked_or_not_along_a_motion_too():
    robot = mbd.load(ARM)
    with pytest.raises(mbd.MbdError, match="pybullet: expected True or False, got 'no'"):
        robot.crosscheck(robot.read_motion(MOTION), pybullet="no")


def test_the_report_has_a_row_for_the_loads_along_each_motion(tmp_path):
    robot = mbd.load(ARM)
    motion = robot.read_motion(MOTION)
    cases = {"pick": (motion, {PRESS: [0.0, 9.0, 400.0, 1.0, 2.0, 3.0]}), "stop": motion}
    options = {"picture": False, "view": False}
    robot.report(tmp_path / "good.html", cases, **options)
    text = (tmp_path / "good.html").read_text()
    assert "joint loads along pick" in text and "joint loads along stop" in text
    assert "NOT CONFIRMED" not in text
    heavier(robot, PRESS, 1.01).report(tmp_path / "bad.html", {"pick": motion}, **options)
    assert "NOT CONFIRMED" in (tmp_path / "bad.html").read_text()
