"""Events while a motion runs: what ends it, what acts, and what comes after is not lost on it."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.functions import where
from tests.machines import four_bar, turning
from tests.simulate.falling import WAYS, G, falling, ground


@pytest.mark.parametrize("way", WAYS, ids=["compiled", "svd", "abm", "scipy"])
@pytest.mark.parametrize("every", [1, 13])
def test_a_ball_that_bounces_follows_its_parabolas(way, every):
    """Heights e^2k, times by the closed form; the state at each bounce is as good as the steps."""
    e = 0.7
    bounce = ground(direction=-1, action=lambda t, q, v: (q, -e * v))
    run = falling().simulate(1.5, step=4e-3, every=every, q=[1.0], events={"b": bounce}, **way)
    first = np.sqrt(2 / G)
    flights = first + 2 * first * np.cumsum(e ** np.arange(1, 20))
    expected = [first, *flights[flights < 1.5]]
    events = run.events["b"]
    assert len(events) == len(expected) >= 2
    assert np.abs(events.time - expected).max() < 1e-9
    assert not events.rising.any()
    assert abs(run.time[-1] - 1.5) < 1e-12 and run.status == "finished"
    twice = np.flatnonzero(np.diff(run.time) == 0.0)
    assert np.allclose(run.v[twice + 1], -e * run.v[twice])
    assert (run.q[:, 0] > -1e-9).all()


def test_what_comes_after_a_terminal_event_is_not_simulated():
    """The motion would run away, or could not go on; its part before the event is there."""
    ball = falling()
    asked = []

    def force(t, q, v):
        asked.append(t)
        return np.array([where(t > 0.6, 1e308, 0.0)])

    end = ground(terminal=True)
    run = ball.simulate(50.0, step=1e-3, q=[1.0], torque=force, events={"g": end})
    assert run.status == "event" and run.time[-1] == pytest.approx(np.sqrt(2 / G), abs=1e-9)
    with pytest.raises(SolveError):
        ball.simulate(50.0, step=1e-3, q=[1.0], torque=force)
    seen = []
    control = mbd.Sampled(lambda t, q, v: seen.append(t) or 0.0)
    ball.simulate(50.0, step=1e-3, q=[1.0], torque={"z": control}, events={"g": end})
    assert max(seen) < 25.0  # it stops soon after


def test_a_function_that_touches_zero_or_starts_there_has_no_event():
    ball = falling()
    touch = {"touch": lambda t, q, v: (t - 0.25) ** 2, "start": lambda t, q, v: t}
    run = ball.simulate(0.5, step=0.05, q=[9.0], events=touch)
    assert [len(events) for events in run.events.values()] == [0, 0]
    through = {"zero": lambda t, q, v: np.sign(round(t / 0.05) - 5.0)}
    run = ball.simulate(0.5, step=0.05, q=[9.0], events=through)
    assert np.allclose(run.events["zero"].time, [0.25])


def test_a_direction_tells_which_events_count():
    def wave(t, q, v):
        return np.cos(10.0 * t)

    wave.direction = 1
    run = falling().simulate(1.0, step=0.01, events={"w": wave})
    assert np.allclose(run.events["w"].time, np.arange(1.5, 3.2, 2.0) * np.pi / 10, atol=1e-9)
    assert run.events["w"].rising.all()


def test_a_linkage_turned_back_at_an_angle_keeps_its_loads():
    """Loads that steps tell stay beside records where an event acts."""
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 3.0)

    def angle(t, q, v):
        return q[0] - 1.0

    angle.action, angle.direction = (lambda t, q, v: (q, -v)), 1
    options = {"q": at.q, "v": at.v, "events": {"a": angle}, "every": 3}
    run = bar.simulate(0.6, loads=["elbow"], **options)
    after = bar.simulate(0.6, **options).joint_loads(["elbow"])
    assert len(run.events["a"]) >= 1
    assert np.abs(run.loads.force - after.force).max() < 1e-9 * np.abs(after.force).max()


def test_an_action_that_gives_no_state_is_explained():
    bad = ground(action=lambda t, q, v: None)
    with pytest.raises(StateError, match=r"expected \(q, v\)"):
        falling().simulate(1.0, q=[1.0], events={"b": bad})
    good = ground(action=lambda t, q, v: (q, -v))
    with pytest.raises(StateError, match="checkpoint"):
        falling().simulate(1.0, q=[1.0], events={"b": good}, checkpoint="x.npz")


def two_balls():
    b = mbd.Builder("balls", root="ground")
    for name in ("left", "right"):
        b.link(name, 2.0).joint(f"z_{name}", "prismatic", "ground", name, axis=(0, 0, 1))
    return mbd.Mechanism.build(b)


@pytest.mark.parametrize("apart", [0.0, 1e-15, 1e-9])
def test_events_at_one_time_act_all(apart):
    """Two balls that land together both bounce, as they do with a moment between them."""

    def bounce(ball):
        def height(t, q, v):
            return q[ball]

        def reverse(t, q, v):
            v[ball] *= -0.8
            return q, v

        height.direction, height.action = -1, reverse
        return height

    watches = {"right": bounce(1), "left": bounce(0)}
    run = two_balls().simulate(1.5, q=[1.0, 1.0 + apart], events=watches)
    assert [len(run.events[name]) for name in watches] == [2, 2]
    assert np.ptp(run.q, axis=1).max() < 1e-7
    # each takes the state that the one before it returned
    order = []
    watches = {"first": ground(action=lambda t, q, v: (q, 0.0 * v))}
    watches["second"] = ground(action=lambda t, q, v: (q, order.append(v[0]) or v + 1.0))
    run = falling().simulate(0.5, q=[1.0], events=watches)
    assert order == [0.0]
    first = np.sqrt(2 / G)
    assert run.v[-1, 0] == pytest.approx(1.0 - G * (0.5 - first), rel=1e-9)


@pytest.mark.parametrize("every", [1, 13])
def test_a_ball_that_bounces_ever_faster_does_not_fall_through_the_ground(every):
    bounce = ground(direction=-1, action=lambda t, q, v: (q, -0.7 * v))
    options = {"step": 4e-3, "every": every, "q": [1.0], "events": {"b": bounce}}
    run = falling().simulate(4.0, **options, check=False)
    assert "event 'b' acts again before the next record" in run.status
    assert run.q.min() > -1e-9 and run.time[-1] < np.sqrt(2 / G) * 1.7 / 0.3
    with pytest.raises(SolveError, match="Record more often"):
        falling().simulate(4.0, **options)
    # one that goes through is no such event
    through = ground(direction=-1, action=lambda t, q, v: (q, 0.7 * v))
    run = falling().simulate(1.0, **options | {"events": {"b": through}})
    assert run.status == "finished" and len(run.events["b"]) == 1


def test_functions_of_events_cannot_change_the_motion():
    def spoils(t, q, v):
        q -= 0.5
        return q[0]

    plain = falling().simulate(0.5, q=[1.0], events={"e": lambda t, q, v: q[0] - 0.5})
    run = falling().simulate(0.5, q=[1.0], events={"e": spoils})
    assert np.array_equal(run.q, plain.q)
    assert np.array_equal(run.events["e"].time, plain.events["e"].time)
