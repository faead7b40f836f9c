"""KimYoo97, section 6: the car in a lane change, by every method."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.vehicles.scripts import example, says

CLOSED = 1e-8
"""Of the machine's size; the steps reach rounding."""

AGREE = 1e-9
"""Relative: bases of the null space change no digits but the last ones."""

STEPS = 10


@pytest.fixture(scope="module")
def car():
    return example("lane_change")


def test_the_example_says_what_it_should():
    says(
        "lane_change",
        ["15 degrees of freedom; 20 constraint rows", "65.5 m ahead, 5.07 m aside, 3.33 m/s²"],
    )


def test_its_loops_stay_closed_and_the_rack_follows(car):
    run = car["run"]
    assert run.finished and run.closure.max() < CLOSED
    rack = run.q[:, run.model.coordinate_names.index("rack")]
    assert np.abs(rack - [car["rack"](t) for t in run.time]).max() < CLOSED
    assert np.abs(np.abs(rack).max() - 0.01) < 1e-6


def test_shock_absorbers_reach_from_arm_to_chassis_and_push_along_their_slide(car):
    """Their travel is the change of the distance of both ends; coils and dampers act along it."""
    run, machine = car["run"], car["car"]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        damper = run.model.coordinate_names.index(f"damper_{side}")
        for k in (0, 4100, 5400, 9000):
            k = np.searchsorted(run.time, k / 1e3)
            chassis, foot = (
                machine.placement(run.q[k], link) for link in ("chassis", f"shock_{side}_1")
            )
            top = chassis @ [-1.2, 0.5 * sign, 0.1, 1.0]
            apart = np.linalg.norm(top[:3] - foot[:3, 3])
            assert apart - 0.34 == pytest.approx(run.q[k, damper], abs=1e-12)
            rate = run.v[k, run.model.velocity_names.index(f"damper_{side}")]
            push = 40e3 * (0.41 - apart) - 2500.0 * rate
            part = run.force_elements[f"shock_{side}"]
            assert part["force"][k] == pytest.approx(push, abs=1e-6)


def test_the_papers_two_ball_joints_would_leave_the_twist_beam_no_roll(car):
    """They hold it in a singular position; rolled, their places are nearer to each other."""
    machine, said = car["car"], car["car"].model.description
    balls = [
        replace(loop, type="spherical", rows=None) if loop.name == "pivot_right" else loop
        for loop in said.loops
    ]
    printed = mbd.Mechanism.build(replace(said, loops=tuple(balls)), floating=True)
    report = printed.loops.report(printed.neutral())
    assert (report.rows, report.rank) == (21, 20)
    gaps = []
    for twist in (0.1, 0.2):
        held = {"twist": twist, "pivot_left_y": -twist / 2}
        at = machine.assemble(held, fixed=[*held]).q
        end = machine.placement(at, "trail_right") @ [0.12, -0.55, 0.02, 1.0]
        gaps.append(0.55 + (np.linalg.inv(machine.placement(at, "chassis")) @ end)[1])
    assert gaps[0] == pytest.approx(-0.067e-3, rel=0.01)
    assert gaps[1] / gaps[0] == pytest.approx(4.0, rel=0.01)


def test_it_changes_lanes_and_drives_straight_on(car):
    run, yaw = car["run"], car["yaw"]
    settled = np.searchsorted(run.time, 4.0)
    assert np.abs(run.a[settled, :6]).max() < 0.05
    assert np.abs(run.q[: settled + 1, 1]).max() < 1e-3
    assert 3.0 < abs(run.q[-1, 1]) < 6.0
    assert abs(yaw[-1]) < 0.02 < np.abs(yaw).max()
    assert np.abs(run.v[-1, 1:6]).max() < 0.01


@pytest.mark.parametrize("method", ["svd", "qr", "projection"])
def test_all_methods_give_the_same_motion_in_the_lane_change(car, method):
    run, machine = car["run"], car["car"]
    k = np.searchsorted(run.time, 5.4)
    options = {
        "step": 1e-3,
        "q": run.q[k],
        "v": run.v[k],
        "start": float(run.time[k]),
        "forces": [*machine.forces, *car["tyres"]],
        "prescribed": {"rack": car["rack"]},
    }
    compiled = machine.simulate(STEPS * 1e-3, **options)
    other = machine.simulate(STEPS * 1e-3, method=method, **options)
    for ours, theirs in ((compiled.q, other.q), (compiled.v, other.v), (compiled.a, other.a)):
        assert np.abs(ours - theirs).max() < AGREE * np.abs(ours).max()
