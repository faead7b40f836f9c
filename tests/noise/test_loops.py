"""Claims about noisy recordings of machines with loops, which noise leaves open."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.motion.smoothing import BAND, OFF
from tests.noise.recordings import recorded


@pytest.mark.parametrize("sigma", [1e-5, 1e-3])
def test_they_close_again_and_their_loads_are_as_exact_as_stated(sigma):
    bar = mbd.load("urdf/four_bar.urdf")
    start = bar.assemble({"crank": 0.5}, fixed="crank").q
    run = mbd.simulate(bar, 2.0, q=start, step=2e-3)
    rough = run.q + sigma * np.random.default_rng(0).normal(size=run.q.shape)
    motion = recorded(bar, run.time, rough)
    assert any("nearest ones that close the loops" in note for note in motion.notes)
    joints = ["crank", "coupler_pin"]
    found = bar.joint_loads(motion, joints=joints, actuated=["crank"])
    true = bar.joint_loads(run.q, run.v, run.a, joints=joints, actuated=["crank"])
    sure = true.unique[..., :3].all(axis=0)
    error = np.abs(found.force - true.force)[:, sure]
    deviation = found.uncertainty.force[:, sure]
    assert np.mean(error < BAND * deviation) > 0.9
    assert np.median(deviation) < 3.0 * np.median(error) + 1e-9
    with pytest.raises(StateError, match="does not satisfy loop"):
        bar.joint_loads(recorded(bar, run.time, rough, smooth=OFF), actuated=["crank"])
