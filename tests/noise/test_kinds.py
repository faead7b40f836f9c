"""Claims about recordings as loggers write them; `python -m tests.noise.kinds` draws more."""

from __future__ import annotations

import pytest

from tests.noise.kinds import FAILING, KINDS, MACHINES, judge


@pytest.mark.parametrize("kind", KINDS)
def test_no_peak_is_off_beyond_its_band_without_a_doubt(kind):
    """On a pendulum, a closed machine and an arm."""
    found = [judge(kind, seed) for seed in range(len(MACHINES))]
    wrong = [one for one in found if one.confidently_wrong]
    assert bool(wrong) == (kind in FAILING), wrong or f"mended: take {kind!r} out of FAILING"
