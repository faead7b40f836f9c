"""Many trajectories together are what each is alone."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.simulation import start as batch_start
from mbd_bridge.simulation.batch import lanes
from tests.machines import four_bar, n_four_bar
from tests.robots import own_urdfs
from tests.tolerances import ROUNDING

BAR = four_bar(1, 2, 1.5, 2.5)


def starts(number, mechanism=BAR):
    rng = np.random.default_rng(number)
    found = [
        mechanism.assemble({"crank": angle}, fixed="crank", velocity={"crank": rate})
        for angle, rate in zip(
            rng.uniform(0.2, 1.2, number), rng.uniform(-3, 3, number), strict=True
        )
    ]
    return np.array([at.q for at in found]), np.array([at.v for at in found])


def assert_alike(batch, k, run):
    scale = max(np.abs(run.q).max(), np.abs(run.v).max())
    assert np.array_equal(batch.time[: len(run.time)], run.time)
    assert np.abs(batch.q[k, : len(run.q)] - run.q).max() <= ROUNDING * scale
    assert np.abs(batch.v[k, : len(run.v)] - run.v).max() <= ROUNDING * scale


@pytest.mark.parametrize("number", range(1, 18))
def test_every_trajectory_is_that_of_simulate(number):
    q, v = starts(number)
    found = BAR.simulate(0.05, step=1e-3, q=q, v=v, every=7)
    assert found.q.shape == (number, 9, 3) and len(found) == number
    assert found.finished.all() and found.alone == ()
    for k in range(number):
        assert_alike(found, k, BAR.simulate(0.05, step=1e-3, q=q[k], v=v[k], every=7))


def test_forces_of_each_trajectory():
    q, v = starts(5)
    tau = np.zeros((5, 3))
    tau[:, 0] = np.linspace(-20, 20, 5)
    found = BAR.simulate(0.1, q=q, v=v, torque=tau, every=10)
    for k in range(5):
        run = BAR.simulate(0.1, q=q[k], v=v[k], torque=tau[k], every=10)
        assert_alike(found, k, run)
        assert np.array_equal(found[k].tau, run.tau)
        assert np.allclose(found[k].energy, run.energy, rtol=1e-12)
    same = BAR.simulate(0.1, q=q, v=v, torque={"crank": 20.0}, every=10)
    assert np.array_equal(same.q[4], found.q[4])


def test_forces_as_a_function():
    def traced(t, q, v):
        out = np.zeros(3, dtype=np.asarray(q).dtype)
        out[0] = 20.0 * np.sin(9.0 * t) - 3.0 * v[0]
        return out

    q, v = starts(3)
    found = BAR.simulate(0.1, q=q, v=v, torque=traced, every=10, start=0.3)
    for k in range(3):
        run = BAR.simulate(0.1, q=q[k], v=v[k], torque=traced, every=10, start=0.3)
        assert_alike(found, k, run)
        assert np.allclose(found[k].tau, run.tau, rtol=1e-12)


def test_threads_give_the_same_digits():
    q, v = starts(41)
    one = BAR.simulate(0.05, q=q, v=v)
    two = BAR.simulate(0.05, q=q, v=v, threads=3)
    assert np.array_equal(one.q, two.q) and np.array_equal(one.v, two.v)


def test_blocks_of_steps_are_one_march(monkeypatch):
    q, v = starts(3)
    whole = BAR.simulate(0.05, q=q, v=v, every=3)
    for block in (7, 2):  # longer and shorter than the way from record to record
        monkeypatch.setattr(lanes, "BLOCK_STEPS", block)
        taken = []
        parts = BAR.simulate(0.05, q=q, v=v, every=3, progress=taken.append)
        assert np.array_equal(whole.q, parts.q) and np.array_equal(whole.v, parts.v)
        assert sum(taken) == 3 * 50 and len(taken) > 5


def test_a_start_that_is_wrong_concerns_no_other():
    q, v = starts(10)
    right = BAR.simulate(0.05, q=q, v=v)
    q[3, 1] = np.nan
    q[5] += 0.1
    v[6, 0] += 1.0
    found = BAR.simulate(0.05, q=q, v=v)
    others = [0, 1, 2, 4, 7, 8, 9]
    assert np.array_equal(found.q[others], right.q[others])
    assert found.alone == (3, 5, 6)
    assert np.array_equal(np.flatnonzero(~found.finished), [3, 5, 6])
    assert "finite" in found.status[3] and "close the loops" in found.status[5]
    assert "velocity" in found.status[6]
    assert np.isnan(found.q[[3, 5, 6], 1:]).all()


def test_a_motion_that_runs_away_stops_alone():
    def torque(t, q, v):
        out = np.zeros(3, dtype=np.asarray(q).dtype)
        out[0] = v[0] * v[0] * v[0]
        return out

    q, v = starts(6)
    v[:5] *= 0.0
    v[5] *= 100.0 / v[5, 0]
    found = BAR.simulate(0.05, q=q, v=v, torque=torque)
    assert found.finished[:5].all() and not found.finished[5]
    assert found.alone == (5,) and "stopped at t" in found.status[5]
    assert 0 < len(found[5].time) < 50


def test_who_passes_a_singular_position_comes_back_to_the_lanes_with_the_digits_of_a_run():
    """Flat positions at many moments, records that are not every step, one that stays at rest."""
    m = n_four_bar(2)
    at = m.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    speeds = [0.0, 0.7, 1.0, 1.3, -1.9, 3.1, -3.3, 4.7, 0.2]
    v = np.array([speed * at.v for speed in speeds])
    found = m.simulate(2.0, q=at.q, v=v, every=30, threads=2)
    assert found.finished.all() and found.alone == ()
    passed = 0
    for k, own in enumerate(v):
        run = m.simulate(2.0, q=at.q, v=own, every=30)
        assert np.array_equal(found.q[k], run.q) and np.array_equal(found.v[k], run.v)
        passed += run.detours > 0
    assert passed > 5


def test_starts_that_need_other_rows_find_them(monkeypatch):
    monkeypatch.setattr(batch_start, "AT_ONCE", 100)
    m = n_four_bar(2)
    flat = {f"crank{k}": np.pi / 2 for k in range(3)} | {f"bar{k}": -np.pi / 2 for k in range(2)}
    singular = m.assemble(flat).q
    at = m.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    q = np.array([singular, at.q, at.q])
    v = np.array([[3.0 if "crank" in name else -3.0 for name in m.coordinate_names], at.v, at.v])
    found = m.simulate(0.1, q=q, v=v)
    assert found.finished.all()
    for k in range(3):
        assert_alike(found, k, m.simulate(0.1, q=q[k], v=v[k]))


def test_trees_too():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    q = np.random.default_rng(0).uniform(-1, 1, (9, 7))
    found = arm.simulate(0.05, q=q, every=10)
    assert found.finished.all()
    assert_alike(found, 8, arm.simulate(0.05, q=q[8], every=10))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": -1.0}, "duration"),
        ({"q": np.zeros((4, 2))}, "q: expected"),
        ({"q": np.zeros((4, 3)), "v": np.zeros((3, 3))}, "same N"),
        ({"torque": np.zeros((4, 2))}, "torque: expected"),
        ({"torque": {"crnk": 1.0}}, "did you mean 'crank'"),
        ({"threads": 0}, "threads"),
        ({"q": np.zeros((10**6, 3)), "duration": 10.0}, "every="),
    ],
)
def test_what_cannot_start_is_explained(options, message):
    duration = options.pop("duration", 0.1)
    with pytest.raises(StateError, match=message):
        BAR.simulate(duration, **options)
