"""KimYoo97, section 6: the car in a lane change, by every method."""

import numpy as np
import pytest

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
        ["15 degrees of freedom; 14 constraint rows", "65.5 m ahead, 5.07 m aside, 3.33 m/s²"],
    )


def test_its_loops_stay_closed_and_the_rack_follows(car):
    run = car["run"]
    assert run.finished and run.closure.max() < CLOSED
    rack = run.q[:, run.model.coordinate_names.index("rack")]
    assert np.abs(rack - [car["rack"](t) for t in run.time]).max() < CLOSED
    assert np.abs(np.abs(rack).max() - 0.01) < 1e-6


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
