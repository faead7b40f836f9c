"""Claims about smoothing splines: what they minimise, how far off they are, which one is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from mbd_bridge.motion.smoothing import spline as spline_module
from mbd_bridge.motion.smoothing.likelihood import Blocks, knot_spacing
from mbd_bridge.motion.smoothing.noise import Differences, rounding_step
from mbd_bridge.motion.smoothing.spline import (
    Data,
    NormalEquations,
    Samples,
    at_times,
    inverse_band,
    penalty_weight,
)

SAME_SPLINE = 1e-9
"""Two ways to the same smoothing spline, with condition numbers of 1e6."""
LANES = 1e-9
"""What is left of a datum's influence where a lane of Takahashi's recursion begins."""


def dense(band):
    """Return the symmetric matrix of a band."""
    size = band.shape[1]
    matrix = np.zeros((size, size))
    for d, diagonal in enumerate(band):
        places = np.arange(size - d)
        matrix[places + d, places] = matrix[places, places + d] = diagonal[: size - d]
    return matrix


def test_it_is_the_spline_of_scipy_where_the_second_derivative_is_penalised():
    from scipy.interpolate import make_smoothing_spline

    rng = np.random.default_rng(0)
    time = np.arange(200) * 0.01
    values = np.sin(5 * time) + 0.01 * rng.normal(size=200)
    weights = rng.uniform(0.5, 2.0, 200)
    ours = NormalEquations(Data(Samples(time), values, weights), 2, 0.01).solve(1e-5)
    theirs = make_smoothing_spline(time, values, weights, lam=1e-5)
    for order, found in enumerate(ours(time)):
        wanted = theirs.derivative(order)(time)
        assert np.abs(found - wanted).max() < SAME_SPLINE * np.abs(wanted).max()


@pytest.mark.parametrize("order", [3, 4, 5])
def test_errors_are_those_of_the_whole_inverse(order):
    """Value, velocity and acceleration of the Gaussian process, from a dense inverse matrix."""
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0.0, 1.0, 60))
    data = Data(
        Samples(time), np.cos(3 * time), rng.uniform(0.5, 2.0, 60), -np.sin(time), np.ones(60)
    )
    equations = NormalEquations(data, order, 0.04)
    spline = equations.solve(penalty_weight(3.0, order, 60.0))
    factor = np.tril(dense(spline.factor))
    inverse = np.linalg.inv(factor @ factor.T)
    knots, covariance = spline.covariance()
    cell = spline.basis.cells_of(knots)
    rows = np.zeros((3, len(knots), spline.basis.size))
    for k in range(3):
        values = spline.basis.rows(knots, cell, k)
        for j in range(len(values)):
            rows[k, np.arange(len(knots)), cell + j] = values[j]
    wanted = np.einsum("ank,kl,bnl->nab", rows, inverse, rows)
    assert np.allclose(covariance, wanted, rtol=1e-8, atol=0.0)


@pytest.mark.parametrize("order", [3, 4, 5])
def test_accelerations_of_a_spline_that_follows_its_samples_are_open_between_them(order):
    """As much as the Gaussian process leaves open, which knots of a quarter of a step show."""
    rng, step = np.random.default_rng(4), 0.02
    time = np.arange(200) * step
    data = Data(Samples(time), np.sin(3 * time) + 1e-6 * rng.normal(size=200), np.ones(200))
    for cutoff in (20.0, 40.0):
        weight = penalty_weight(cutoff, order, 1.0 / step)
        found = []
        for spacing in (knot_spacing(order, cutoff, step), 0.25 * step):
            knots, covariance = NormalEquations(data, order, spacing).solve(weight).covariance()
            found.append(np.sqrt(at_times(time, knots, covariance)[:, 2, 2]))
        assert np.all(np.abs(found[0] / found[1] - 1.0) < 0.25)


def test_positions_beside_much_better_velocities_are_as_exact_as_the_mean_of_their_noise():
    """Their mean is over far longer than a period of the cut-off; sums of squares keep digits."""
    rng, step = np.random.default_rng(5), 2e-3
    time, sigma, rate_sigma = np.arange(3000) * step, 5e-4, 1e-4
    values = 1.0 + step_motion(time)
    rates = np.gradient(values, time)
    data = Data(
        Samples(time),
        values + sigma * rng.normal(size=3000),
        np.full(3000, sigma**-2.0),
        rates + rate_sigma * rng.normal(size=3000),
        np.full(3000, rate_sigma**-2.0),
    )
    for order in (3, 4, 5):
        choice = Blocks([data]).choose((order,))
        assert abs(choice.scale - 1.0) < 0.15  # orders that jumps do not ask for, too
        spline = NormalEquations(data, order, knot_spacing(order, choice.cutoff, step)).solve(
            choice.weight
        )
        _, covariance = spline.covariance()
        stated = np.sqrt(covariance[:, 0, 0]).mean()
        assert 0.9 < stated / (sigma / np.sqrt(3000)) < 1.3


def test_lanes_of_the_inverse_do_not_show(monkeypatch):
    time = np.arange(5000) * 0.01
    for order in (3, 5):
        spline = NormalEquations(Data(Samples(time), time, np.ones(5000)), order, 0.01).solve(
            penalty_weight(12.0, order, 100.0)
        )
        lanes = inverse_band(spline.factor, spline.overlap)
        with monkeypatch.context() as patch:
            patch.setattr(spline_module, "CHUNK", 10_000)
            alone = inverse_band(spline.factor, 0)
        assert np.allclose(lanes, alone, rtol=LANES, atol=0.0)


def step_motion(time):
    """Return a motion with jumps of its acceleration, every half second."""
    acceleration = np.where((2.0 * time).astype(int) % 2, -1.0, 1.0)
    step = time[1] - time[0]
    return np.cumsum(np.cumsum(acceleration)) * step**2


@pytest.mark.parametrize("sigma", [1e-5, 1e-3])
def test_smooth_motions_ask_for_a_higher_order_than_jerky_ones(sigma):
    rng = np.random.default_rng(2)
    time = np.arange(1500) / 250
    for values, orders in ((np.sin(4 * time), (5,)), (step_motion(time), (3,))):
        noisy = values + sigma * rng.normal(size=len(time))
        choice = Blocks([Data(Samples(time), noisy, np.ones(len(time)))]).choose()
        assert choice.order in orders
        assert abs(choice.scale / sigma - 1.0) < 0.08
        halves = [
            Data(Samples(time[k]), noisy[k], np.ones(750)) for k in (slice(750), slice(750, None))
        ]
        shared = Blocks(halves).choose()
        assert abs(shared.scale / choice.scale - 1.0) < 0.01


def test_a_small_quick_motion_on_a_large_slow_one_is_no_noise():
    """The likelihood has a maximum at 0.03 Hz too, where the quick motion would be noise."""
    time = np.arange(8000) / 100
    motion = 3.0 * time + 0.2 * np.sin(4.0 * time)
    values = motion + 1e-3 * np.random.default_rng(5).normal(size=8000)
    choice = Blocks([Data(Samples(time), values, np.full(8000, 1e6))]).choose()
    assert choice.cutoff > 0.6
    assert abs(choice.scale - 1.0) < 0.1


@pytest.mark.parametrize("uneven", [False, True])
def test_noise_is_told_from_motion(uneven):
    rng = np.random.default_rng(3)
    steps = rng.uniform(0.5, 1.5, 2000) if uneven else np.ones(2000)
    time = np.cumsum(steps) * 0.004
    motions = [np.sin(6 * time), 1e3 + time**3]
    for motion in [*motions, *([] if uneven else [step_motion(time)])]:
        for sigma in (1e-6, 1e-3):
            noisy = motion + sigma * rng.normal(size=2000)
            assert abs(Differences(time).white_noise(noisy[:, None])[0] / sigma - 1.0) < 0.1
        assert Differences(time).white_noise(motion[:, None])[0] < 1e-12 * np.abs(motion).max()


@pytest.mark.parametrize(
    ("step", "factor", "motion"),
    [
        (1e-3, 1.0, lambda t: np.sin(t)),
        (1e-2, np.pi / 180, lambda t: np.sin(t)),
        (2 * np.pi / 4096, 1.0, lambda t: np.sin(t)),
        (1e-3, 1.0, lambda t: 0.003 * t),  # a staircase
        (1e-3, 1.0, lambda t: np.where(t < 8.0, 0.5, 0.5 + 0.3 * np.sin(t - 8.0) ** 2)),  # rests
    ],
)
def test_rounding_is_seen_and_exact_numbers_are_not_taken_for_rounded_ones(step, factor, motion):
    time = np.arange(1250) / 125
    written = np.round(motion(time) / factor / step) * step
    assert np.isclose(
        rounding_step(Differences(time), written * factor, factor), step * factor, rtol=1e-3
    )
    assert rounding_step(Differences(time), motion(time), factor) == 0.0


def test_numbers_that_stand_on_a_grid_by_themselves_are_exact():
    time = np.arange(500) * 0.01
    for motion in (np.arange(500) * 0.01, np.minimum(np.arange(500), 200) * 0.5, np.zeros(500)):
        assert rounding_step(Differences(time), np.asarray(motion, dtype=float)) == 0.0
