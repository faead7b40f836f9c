"""Claims about noisy recordings of machines with loops, which noise leaves open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.motion.deviations import onto_loops
from mbd_bridge.motion.smoothing import BAND, OFF, Channel, MotionUncertainty
from mbd_bridge.motion.warnings import MotionWarnings
from tests.noise.recordings import recorded


@pytest.mark.parametrize("sigma", [1e-5, 1e-3])
def test_they_close_again_and_their_loads_are_as_exact_as_stated(sigma):
    bar = mbd.load("urdf/four_bar.urdf")
    start = bar.assemble({"crank": 0.5}, fixed="crank").q
    run = bar.simulate(2.0, q=start, step=2e-3)
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


def turning(rows, quick):
    """Return times, and the states of a crank rocker whose crank turns unevenly."""
    machine, time = mbd.load("urdf/crank_rocker.urdf"), np.arange(rows) / 200
    angle = 0.5 + 3.0 * time + 0.02 * np.sin(quick * time)
    return machine, time, machine.complete({"crank": angle}, time)


def test_derived_rates_are_moved_onto_the_loops_and_counted():
    machine, time, true = turning(600, 60.0)
    motion = recorded(machine, time, true.q)
    (note,) = [one for one in motion.notes if "do not fit the loops" in one]
    assert note.startswith("derived rates of ") and " of the largest" in note
    assert any("derived rates are moved" in one.text for one in motion.assumed)
    loads = machine.joint_loads(motion, actuated=["crank"]).actuation
    exact = machine.joint_loads(true.q, true.v, true.a, actuated=["crank"]).actuation
    assert np.abs(loads - exact).max() < 0.01 * np.abs(exact).max()


def test_rates_that_are_far_from_the_loops_are_refused():
    machine, _, true = turning(600, 60.0)
    wrong = true.a * [1.1, 1.0, 1.0]
    motion = onto_loops(replace(true, a=wrong), MotionWarnings(machine.model), derived=True)
    assert motion.a == pytest.approx(wrong)
    with pytest.raises(StateError, match="does not satisfy loop"):
        machine.joint_loads(motion, actuated=["crank"])


def test_nothing_is_said_to_be_moved_where_only_bands_are_made():
    machine, _, true = turning(600, 2.0)
    ends, covariance = true.time[[0, -1]], np.array([1e-8 * np.eye(3)] * 2)
    bands = [Channel("plain", 0, k, k, False, ends, covariance) for k in range(3)]
    exact = replace(true, uncertainty=MotionUncertainty(tuple(bands)))
    closed = onto_loops(exact, MotionWarnings(machine.model), derived=False)
    assert closed.uncertainty is not None
    assert not any("close the loops" in text for text in closed.notes)
    assert not any("close the loops" in one.text for one in closed.assumed)
