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
