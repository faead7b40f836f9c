"""Each set of actuators that is enough makes the motion, in every shipped model with loops."""

import pytest

from tests.solve.actuated import States, faults, sets, with_loops

MOST = {"stewart": 1, "knee_linkage_leg": 3}
"""Sets, those that are enough first; of models with few, all. More: `tests.solve.actuated`."""


@pytest.mark.parametrize("stem", with_loops())
def test_actuators_make_the_motion_and_their_power_is_the_rate_of_the_energy(stem):
    states = States(stem, with_loops()[stem])
    every = sets(states, MOST.get(stem, 8))
    found = [text for names in every for text in faults(states, names)]
    assert [text for text in found if "not asked" not in text] == []
    assert len(found) < len(every)
