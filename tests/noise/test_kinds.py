"""Claims about recordings as loggers write them; `python -m tests.noise.kinds` draws more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.noise.kinds import FAILING, KINDS, MACHINES, judge


@pytest.mark.parametrize("kind", KINDS)
def test_no_peak_is_off_beyond_its_band_without_a_doubt(kind):
    """On a pendulum, a closed machine and an arm."""
    found = [judge(kind, seed) for seed in range(len(MACHINES))]
    wrong = [one for one in found if one.confidently_wrong]
    assert bool(wrong) == (kind in FAILING), wrong or f"mended: take {kind!r} out of FAILING"


@pytest.mark.parametrize("kind", ["velocities, exact", "one joint still, encoder of 14 bits"])
def test_bands_hold_errors_that_no_smoothing_takes_away(kind):
    """On pendulums, whose moment is off by their angle."""
    covered = [judge(kind, seed).covered for seed in range(0, 5 * len(MACHINES), len(MACHINES))]
    assert np.mean(covered) > 0.93


@pytest.mark.parametrize(("kind", "seed"), [("one joint still", 316), ("trapezoids, noise", 119)])
def test_peaks_that_longer_searches_found_wrong_have_bands(kind, seed):
    """In the last rows of a motion that is smooth elsewhere; and where an acceleration jumps."""
    found = judge(kind, seed)
    assert abs(found.off) > 0.1  # smoothing cannot tell it
    assert found.bands < 2.0


def test_bands_hold_the_errors_of_a_joint_that_lags_and_it_is_doubted():
    """Of a closed machine, whose loops tell."""
    found = [judge("one joint lags", seed) for seed in (1, 4, 7)]
    assert np.mean([one.covered for one in found]) > 0.93
    assert all("do not close the loops as nearly" in one.doubts[-1] for one in found)


def test_a_hum_too_small_for_the_noise_of_differences_has_a_band():
    """Two thousandths of the acceleration, at 25 Hz, in positions that were taken as exact."""
    assert judge("noise at 25 Hz", 306).covered > 0.85


def test_a_machine_that_starts_in_the_last_row_was_at_rest_before():
    """Its last rows were taken for held ones, and nothing held the spline."""
    found = judge("burst, exact", 701)
    assert found.covered > 0.99
    assert abs(found.off) < 0.01


@pytest.mark.parametrize(("kind", "seed"), [("burst, exact", 301), ("exact", 301)])
def test_exact_positions_of_closed_machines_are_not_refused(kind, seed):
    """Rates that interpolation leaves a little off are moved onto the loops."""
    assert judge(kind, seed).covered > 0.99
