"""States and forces in arrays in the place of files; records of a run at other times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError

URDF = Path(__file__).parents[2] / "urdf"


@pytest.fixture(scope="module")
def arm() -> mbd.Mechanism:
    return mbd.load(URDF / "kuka_iiwa.urdf")


def angles(arm, time):
    return np.sin(np.outer(time, np.linspace(1.0, 2.0, arm.nq)))


@pytest.mark.parametrize("parts", ["q", "qv", "qva"])
def test_a_motion_of_arrays_is_that_of_a_file_with_them(arm, parts, tmp_path):
    time = np.linspace(0.0, 1.0, 101)
    rate = np.linspace(1.0, 2.0, arm.nq)
    q, v = angles(arm, time), rate * np.cos(np.outer(time, rate))
    states = dict(zip("qva", (q, v, -(rate**2) * q), strict=True))
    ours = arm.motion(time, *(states[part] for part in parts))
    names = {"q": "", "v": ".vel", "a": ".acc"}
    heads = [name + names[part] for part in parts for name in arm.coordinate_names]
    columns = np.column_stack([time, *(states[part] for part in parts)])
    path = tmp_path / "motion.csv"
    np.savetxt(path, columns, "%.17g", ",", header=",".join(["time", *heads]), comments="")
    file = arm.read_motion(path)
    for part in "qva":
        assert np.array_equal(getattr(ours, part), getattr(file, part))
        assert np.abs(getattr(ours, part) - states[part]).max() < 2e-4
    assert ours.notes == file.notes


def test_noise_in_arrays_is_smoothed_unless_it_is_said_to_be_exact(arm):
    time = np.linspace(0.0, 2.0, 401)
    noisy = angles(arm, time) + np.random.default_rng(0).normal(0.0, 1e-3, (401, arm.nq))
    smooth, exact = (arm.motion(time, noisy, smooth=way).a for way in ("auto", "off"))
    true = -(np.linspace(1.0, 2.0, arm.nq) ** 2) * angles(arm, time)
    assert np.abs(smooth - true)[50:-50].max() < 1.0
    assert np.abs(exact - true)[50:-50].max() > 50.0


@pytest.mark.parametrize(
    ("given", "cure"),
    [
        ((np.zeros((2, 2)), np.zeros((2, 7))), r"time: expected \(N,\) s"),
        ((np.arange(4), np.zeros((4, 6))), r"q: .*\(4, 7\)"),
        ((np.arange(4), np.zeros((4, 7)), None, np.zeros((4, 7))), "need their velocities, v="),
        ((np.arange(4), {"elbow": [0] * 4}), "robot.complete"),
        ((np.zeros(4), np.zeros((4, 7))), "time"),
        ((np.arange(4), np.full((4, 7), np.nan)), "q: "),
    ],
)
def test_arrays_that_are_no_motion_are_refused_with_the_cure(arm, given, cure):
    with pytest.raises(mbd.MbdError, match=cure):
        arm.motion(*given)


@pytest.mark.parametrize(
    ("number", "told"), [(1e155, "crank jumps by 1e+155 rad"), (-1e308, "too large numbers")]
)
@pytest.mark.filterwarnings("error")
def test_positions_beyond_all_sizes_are_told_without_a_warning_of_numpys(number, told):
    bar = mbd.load(URDF / "four_bar.urdf")
    q = np.repeat(bar.assemble({"crank": 0.5}, fixed="crank").q[None], 6, axis=0)
    q[2, 0] = number
    try:
        said = " ".join(bar.motion(np.linspace(0.0, 0.5, 6), q).notes)
    except mbd.MbdError as problem:
        said = str(problem)
    assert told in said


@pytest.mark.filterwarnings("error")
def test_a_number_that_its_unit_makes_too_large_is_refused_by_row_and_column(arm, tmp_path):
    path = tmp_path / "push.csv"
    path.write_text("time,lbr_iiwa_link_7.fx [kN]\n0,1\n0.5,1e306\n")
    with pytest.raises(mbd.MbdError, match=r"push.csv:3.*link_7.fx.*1e\+306 kN is too large"):
        arm.read_external(path)


def test_a_force_at_a_point_has_its_moment_about_the_joint(arm):
    """Of a push along the world's axes at a point of the last link: the lever arm by hand."""
    q, at, push = np.linspace(0.2, 0.8, 7), np.array([0.1, 0.05, 0.2]), np.array([3.0, -20.0, 7.0])
    force = arm.external_force("lbr_iiwa_link_7", push, point=at, axes="world")
    states = q, 0 * q, 0 * q
    joint = ["lbr_iiwa_joint_2"]
    with_it, without = (
        arm.joint_loads(*states, joint, external=one, in_="world") for one in (force, None)
    )
    assert without.force[0] - with_it.force[0] == pytest.approx(push, abs=1e-10)
    tip = arm.placement(q, "lbr_iiwa_link_7") @ [*at, 1.0]
    lever = tip[:3] - arm.placement(q, "lbr_iiwa_link_2")[:3, 3]
    moment = without.moment[0] - with_it.moment[0]
    assert moment == pytest.approx(np.cross(lever, push), abs=1e-10)
    twice = arm.joint_loads(*states, joint, external=force + force, in_="world")
    assert twice.force[0] == pytest.approx(with_it.force[0] - push, abs=1e-10)


def test_a_force_along_time_acts_along_a_motion_and_a_simulation(arm):
    time = np.linspace(0.0, 1.0, 11)
    force = arm.external_force("lbr_iiwa_link_7", np.outer(time, [0, 0, -10.0]), time=time)
    motion = arm.motion(time, angles(arm, time))
    joint = ["lbr_iiwa_joint_7"]
    ours, none = (arm.joint_loads(motion, joints=joint, external=one) for one in (force, None))
    assert (ours.force - none.force)[:, 0, 2] == pytest.approx(10 * time)
    run = arm.simulate(1.0, external=force)
    assert run.external["lbr_iiwa_link_7"][-1, 2] == pytest.approx(-10.0)


@pytest.mark.parametrize(
    ("given", "cure"),
    [
        ({"force": np.zeros((4, 3))}, "with their times, time="),
        ({"force": np.zeros((4, 3)), "time": np.arange(5)}, r"\(5, 3\) for 5 times"),
        ({"force": (0, 0, 1), "axes": "hand"}, "axes='hand'"),
        ({"force": 5.0, "time": np.arange(4)}, r"expected \(3,\) or \(4, 3\)"),
        ({"force": np.ones((4, 1)), "time": np.arange(4)}, r"expected \(3,\) or \(4, 3\)"),
        ({"force": (0, 0, 1), "time": 1.0}, r"and times \(\)"),
        ({"force": (0, 0, np.inf)}, "force"),
        ({"force": (0, 0, 1), "point": (0, 0)}, "point"),
        ({"force": (0, 0, 1), "link": "tool"}, "tool"),
    ],
)
def test_a_force_that_cannot_act_is_refused_with_the_cure(arm, given, cure):
    with pytest.raises(mbd.MbdError, match=cure):
        arm.external_force(given.pop("link", "lbr_iiwa_link_7"), given.pop("force"), **given)


@pytest.mark.parametrize(("integrator", "allowed"), [("rk4", 1e-11), ("generalised_alpha", 1e-4)])
def test_loads_at_chosen_times_are_those_of_a_run_that_records_them(integrator, allowed):
    """Between records by the run's own steps, of implicit ones by polynomials."""
    bar = mbd.load(URDF / "crank_rocker.urdf")
    start = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    options = {"q": start.q, "v": start.v, "step": 1e-3, "integrator": integrator}
    coarse = bar.simulate(0.5, every=10, **options)
    fine = bar.simulate(0.5, every=1, **options)
    times = np.array([0.0, 0.017, 0.1, 0.333])
    rows = np.rint(times / 1e-3).astype(int)
    found = coarse.resampled(times).joint_loads("coupler_pin")
    true = fine.joint_loads("coupler_pin").force[rows]
    scale = np.abs(true).max()
    assert np.abs(found.force - true).max() < allowed * scale
    assert coarse.resampled(times[1]).q.shape == (1, bar.nq)


@pytest.mark.parametrize("times", [[0.2, 0.1], [0.6], [np.nan], [], [[0.1]]])
def test_times_that_are_not_in_a_run_are_refused(times):
    run = mbd.load(URDF / "pendulum.urdf").simulate(0.5, q=[0.3])
    with pytest.raises(StateError, match="times"):
        run.resampled(times)
