"""Dense output and events."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from tests.machines import four_bar, turning


def bar_in_motion():
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    return bar, {"q": at.q, "v": at.v}


def falling():
    b = (
        mbd.Builder("lift")
        .link("stone", 1.0, (0, 0, 0), (1, 1, 1))
        .joint("z", "prismatic", "base", "stone", axis=(0, 0, 1))
    )
    return mbd.Mechanism.build(b)


def test_between_records_the_motion_is_that_of_finer_records():
    bar, at = bar_in_motion()
    fine = bar.simulate(0.5, step=1e-4, every=25, **at)
    errors = []
    for every in (200, 100):
        run = bar.simulate(0.5, step=1e-4, every=every, **at)
        between = [run.at(t) for t in fine.time]
        errors.append(
            [
                np.abs(np.array([x[0] for x in between]) - fine.q).max(),
                np.abs(np.array([x[1] for x in between]) - fine.v).max(),
                np.abs(np.array([x[2] for x in between]) - fine.a).max(),
            ]
        )
    orders = np.log2(np.array(errors[0]) / errors[1])
    assert (orders > [5.0, 4.0, 3.0]).all()
    assert (np.array(errors[1]) < [2e-8, 1e-5, 1e-2]).all()
    assert np.array_equal(run.at(run.time[3]).q, run.q[3])


def test_quaternions_between_records():
    b = mbd.Builder("top", root="body").link("body", 2.0, (0, 0, 0), (0.1, 0.2, 0.25))
    m = mbd.Mechanism.build(b, floating=True)
    v = np.array([1.0, 2.0, 3.0, 5.0, 0.1, 0.2])
    fine = m.simulate(0.5, step=1e-3, v=v)
    run = m.simulate(0.5, step=1e-3, v=v, every=20)
    between = [run.at(t) for t in fine.time]
    assert np.abs(np.array([x.q for x in between]) - fine.q).max() < 1e-8
    assert np.abs(np.array([x.v for x in between]) - fine.v).max() < 1e-5
    assert np.abs(np.linalg.norm([x.q[3:] for x in between], axis=1) - 1).max() < 1e-14


def test_a_motion_that_never_began_has_its_start_and_no_events():
    bar, at = bar_in_motion()
    options = {"step": 1.0, "events": {"up": lambda t, q, v: q[0]}, "check": False}
    run = bar.simulate(5.0, **options, **at | {"v": 10 * at["v"]})
    assert len(run.time) == 1
    assert np.array_equal(run.at(0.0).q, at["q"])
    assert len(run.events["up"]) == 0


def test_outside_of_the_motion_there_is_nothing():
    run = falling().simulate(1.0, step=0.1)
    with pytest.raises(StateError, match="from 0 to 1 s"):
        run.at(1.5)


def test_a_stone_reaches_the_ground_when_it_must():
    """z = 1 - g t² / 2."""
    events = {"ground": lambda t, q, v: q[0], "fast": lambda t, q, v: v[0] + 2.0}
    run = falling().simulate(1.0, step=0.05, q=[1.0], events=events)
    assert np.isclose(run.events["ground"].time[0], np.sqrt(2 / 9.81), atol=1e-14)
    assert np.isclose(run.events["fast"].time[0], 2.0 / 9.81, atol=1e-14)
    assert not run.events["ground"].rising[0]
    assert np.isclose(run.time[-1], 1.0)


def test_a_terminal_event_ends_the_motion():
    def ground(t, q, v):
        return q[0]

    ground.terminal = True
    late = {"ground": ground, "late": lambda t, q, v: t - 0.9}
    run = falling().simulate(1.0, step=0.05, q=[1.0], torque={"z": 0.5}, events=late)
    assert run.status == "event"
    assert run.finished
    assert np.isclose(run.time[-1], np.sqrt(2 / 9.31), atol=1e-13)
    assert abs(run.q[-1, 0]) < 1e-13
    assert np.allclose(run.tau, 0.5)
    assert len(run.events["late"]) == 0
    assert len(run.a) == len(run.time)


def test_events_of_a_crank_are_counted():
    bar = four_bar(1, 2, 1.7, 2.5)
    turning = {"crank": lambda t: 0.5 + 3.0 * t}
    run = bar.simulate(
        5.0, prescribed=turning, every=20, events={"up": lambda t, q, v: np.sin(q[0])}
    )
    expected = (np.pi * np.arange(1, 5) - 0.5) / 3.0
    assert np.allclose(run.events["up"].time, expected, atol=1e-9)
    assert np.array_equal(run.events["up"].rising, [False, True, False, True])


def test_a_watch_that_gives_nothing_is_told():
    with pytest.raises(StateError, match=r"event 'x': .* finite number at t = 0.05\d* s, got nan"):
        falling().simulate(0.1, events={"x": lambda t, q, v: 1.0 if t < 0.05 else np.nan})
