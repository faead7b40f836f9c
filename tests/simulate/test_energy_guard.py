"""Batches check their energy: what is broken is not finished."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.simulate.batch import lanes
from tests.machines import four_bar
from tests.robots import own_urdfs

BAR = four_bar(1, 2, 2.5, 2.5)
GIVEN = {
    "nothing": {},
    "torque": {"torque": {"crank": "20*sin(3*t)"}},
    "table": {"torque": {"crank": ([0.0, 0.33, 0.33, 1.0], [0.0, 0.0, 9.0, -4.0])}},
    "damper": {"torque": lambda t, q, v: -0.5 * v},
    "drive": {"drives": {"crank": "0.5 + 6*t + t^2"}},
    "drive and damper": {
        "torque": lambda t, q, v: -0.5 * v,
        "drives": {"crank": lambda t: 0.5 + 6 * t + t * t},
    },
}
EVERY_GIVEN = pytest.mark.parametrize("what", GIVEN)


def many(**options):
    at = BAR.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 6.0})
    q = np.tile(at.q, (11, 1))
    return mbd.simulate_batch(
        BAR,
        1.0,
        step=2e-3,
        q=q,
        v=at.v,
        **options,
    )


@EVERY_GIVEN
def test_good_trajectories_stay_in_their_lanes(what):
    batch = many(**GIVEN[what])
    assert batch.finished.all()
    assert not batch.alone


def test_wrong_lanes_are_found_and_run_again(monkeypatch):
    right = lanes.Lanes.run

    def wrong(self, *given, **more):
        right(self, *given, **more)
        self.v[3:5] *= 1.05

    monkeypatch.setattr(lanes.Lanes, "run", wrong)
    batch = many(**GIVEN["torque"])
    assert batch.alone == (3, 4)
    assert np.abs(np.diff(batch.q, axis=0)).max() < 1e-12


def test_a_spring_that_dies_out_in_a_batch_does_not_finish():
    bar = mbd.load(own_urdfs()["pendulum"])
    inertia = float(bar.mass_matrix(np.zeros(1))[0, 0])
    step = 1.7 / np.sqrt(4e4 / inertia)
    stiff = {"torque": lambda t, q, v: -4e4 * q, "q": [[1e-5], [2e-5]]}
    batch = mbd.simulate_batch(bar, 200 * step, step=step, **stiff)
    assert not batch.finished.any()
    assert all("energy comes from nowhere" in status for status in batch.status)
