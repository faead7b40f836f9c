"""Claims about exact positions that went through a filter before they were recorded."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.motion.smoothing import BAND
from mbd_bridge.motion.smoothing.recorder import recorded_filter
from mbd_bridge.motion.smoothing.spline import Samples
from tests.noise.kinds import delay, judge, through
from tests.noise.recordings import recorded
from tests.noise.study import minimum_jerk

RATE, CUTOFF = 500.0, 20.0
"""Hz, of the recordings and of the filter."""
RATIO = 2.0**-0.5
"""Damping of a Butterworth filter of order 2."""


@pytest.fixture(scope="module")
def rod():
    return mbd.load("urdf/pendulum.urdf")


def moves(time):
    """Return value, velocity and acceleration of moves of 0.4 s between rests."""
    parts = [minimum_jerk(np.clip((time - begin) / 0.4, 0.0, 1.0)) for begin in (1.0, 2.0, 3.0)]
    return [0.3 * sum(part[k] for part in parts) / 0.4**k for k in range(3)]


def ringing(time, damping):
    """Return moves, each with a vibration behind it."""
    omega = 2.0 * np.pi * CUTOFF
    total = moves(time)[0]
    for end in (1.4, 2.4, 3.4):
        since = np.maximum(time - end, 0.0)
        swing = np.exp(-damping * omega * since) * np.sin(omega * since) * (time > end)
        total = total + 1e-4 * swing
    return total


def found_in(values):
    return recorded_filter([Samples(np.arange(len(values)) / RATE)], [values[:, None]], 1.0 / RATE)


def test_bands_hold_what_a_filter_took_away_and_it_is_said(rod):
    """They were without any: a peak 3 % too small, and a tail behind each move, ± 0.000."""
    time = np.arange(2000) / RATE
    q = through(moves(time)[0][:, None], CUTOFF, RATE)
    read = recorded(rod, time, q)
    a = moves(time - delay(CUTOFF, RATE))[2]
    known = read.uncertainty.standard_deviations(time, read.q, read.v, read.a)
    off, band = np.abs(read.a[:, 0] - a), BAND * known[2][:, 0]
    assert off.max() > 0.02 * np.abs(a).max()
    assert np.mean(off <= band + 1e-3 * np.abs(a).max()) > 0.98
    assert band.max() < 0.2 * np.abs(a).max()
    assert np.all(band[time < 0.9] < 1e-6)
    assert any("low-pass filter of order 2 at 20 Hz" in note for note in read.notes)


@pytest.mark.parametrize("every", [1, 3])
def test_a_filter_is_known_by_its_tails_however_often_it_was_recorded(every):
    fine = np.arange(2000 * every) / (RATE * every)
    values = through(moves(fine)[0][:, None], CUTOFF, RATE * every)[::every, 0]
    found = found_in(values)
    assert found.frequency == pytest.approx(CUTOFF, rel=0.02)
    assert found.damping == pytest.approx(RATIO, rel=0.02)


def test_neither_moves_nor_vibrations_nor_filtered_noise_are_taken_for_a_filter():
    time = np.arange(2000) / RATE
    noise = 1e-5 * np.random.default_rng(0).normal(size=time.size)
    assert found_in(moves(time)[0]) is None
    assert found_in(np.sin(3.0 * time) + 0.1 * np.sin(20.0 * time)) is None
    assert found_in(ringing(time, 0.05)) is None
    assert found_in(ringing(time, 0.6)) is not None
    assert found_in(through(moves(time)[0][:, None] + noise[:, None], CUTOFF, RATE)[:, 0]) is None


@pytest.mark.parametrize("seed", [306, 311, 518])
def test_bands_of_loads_hold_what_a_filter_took_away(seed):
    """24 to 86 % of the samples were in their bands."""
    assert judge("filtered before, exact", seed).covered > 0.95
