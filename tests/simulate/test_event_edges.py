"""Events at zeros, at starts, at jumps of tables, on prescribed motions, in the first step."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from tests.machines import four_bar
from tests.simulate.falling import WAYS, G, falling, ground

STEP = 0.125
"""s; whole binary fractions, so that records stand where functions of t are zero exactly."""


def events_of(function, every=1, duration=2.0, **attributes):
    def watch(t, q, v):
        return function(t)

    for name, value in attributes.items():
        setattr(watch, name, value)
    return falling().simulate(duration, step=STEP, every=every, events={"e": watch})


CASES = {  # a function, its events, of which so many grow
    "plus, zero, plus": (lambda t: (t - 0.5) ** 2, [], 0),
    "minus, zero, minus": (lambda t: -abs(t - 0.5), [], 0),
    "plus, zero, zero, plus": (lambda t: max(abs(t - 0.5) - 0.1875, 0.0), [], 0),
    "minus, zero, plus": (lambda t: t - 0.5, [0.5], 1),
    "plus, zero, zero, minus": (
        lambda t: np.sign(0.4375 - t) if not 0.4375 < t < 0.6875 else 0.0,
        [0.5],
        0,
    ),
    "a start at zero": (lambda t: t, [], 0),
    "a start at zero, falling": (lambda t: -t, [], 0),
    "a start at zero, then a crossing": (lambda t: t * (0.8 - t), [0.8], 0),
    "a start at zero, a touch, a crossing": (lambda t: t * (t - 0.5) ** 2 * (t - 1.5), [1.5], 1),
    "an end at zero": (lambda t: t - 2.0, [], 0),
    "zero all the time": (lambda t: 0.0, [], 0),
}


@pytest.mark.parametrize("case", CASES)
def test_only_a_change_of_sign_is_an_event(case):
    function, expected, rising = CASES[case]
    events = events_of(function).events["e"]
    assert np.allclose(events.time, expected, rtol=0, atol=1e-12)
    assert events.rising.sum() == rising


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("case", CASES)
def test_a_direction_chooses_among_them(case, direction):
    function, expected, rising = CASES[case]
    left = expected if (direction == 1) == bool(rising) else []
    for factor in (1.0, -1.0):  # turned over, the other direction has them
        turned = partial(lambda factor, t: factor * function(t), factor)
        events = events_of(turned, direction=factor * direction).events["e"]
        assert np.allclose(events.time, left, rtol=0, atol=1e-12)
        assert (events.rising == (factor * direction > 0)).all()


@pytest.mark.parametrize("case", CASES)
def test_a_terminal_one_ends_the_run_where_it_is(case):
    function, expected, _ = CASES[case]
    run = events_of(function, terminal=True)
    assert run.time[-1] == pytest.approx(expected[0] if expected else 2.0, abs=1e-12)
    assert run.status == ("event" if expected else "finished")


@pytest.mark.parametrize("direction", ["up", 2.0, None, np.nan])
def test_another_direction_is_refused(direction):
    with pytest.raises(StateError, match=r"events\['e'\]: direction: expected 1, -1 or 0"):
        events_of(lambda t: t - 0.5, direction=direction)


@pytest.mark.parametrize("way", WAYS, ids=["compiled", "svd", "abm", "scipy"])
@pytest.mark.parametrize("every", [1, 13])
def test_a_bounce_is_one_event_though_its_function_starts_from_zero_again(way, every):
    """No direction tells them apart: where the action lets it go on the height is 0 to rounding."""
    bounce = ground(action=lambda t, q, v: (q, -0.7 * v))
    rises = ground(direction=1)
    watches = {"b": bounce, "rises": rises}
    run = falling().simulate(1.2, step=4e-3, every=every, q=[1.0], events=watches, **way)
    first = np.sqrt(2 / G)
    expected = first + np.array([0.0, 2 * 0.7 * first])
    assert np.abs(run.events["b"].time - expected[expected < 1.2]).max() < 1e-9
    assert not run.events["b"].rising.any()
    assert len(run.events["rises"]) == 0  # it touches


def test_after_an_action_that_leads_elsewhere_signs_count_from_there():
    """Put up again by each event; a sign that is lost at the start would lose the next one."""
    lift = ground(action=lambda t, q, v: (q + 0.3, 0.0 * v))
    run = falling().simulate(1.0, step=5e-3, every=1000, q=[0.3], events={"b": lift})
    fall = np.sqrt(2 * 0.3 / G)
    assert np.allclose(run.events["b"].time, fall * np.arange(1, 5)[fall * np.arange(1, 5) < 1.0])


@pytest.mark.parametrize("way", WAYS, ids=["compiled", "svd", "abm", "scipy"])
@pytest.mark.parametrize("part", [1e-6, 0.3, 1.0])
def test_a_terminal_event_may_lie_in_the_first_step(way, part):
    h = 1e-2
    height = 0.5 * G * (part * h) ** 2 * (1.0 - 1e-9)
    end = ground(terminal=True)
    run = falling().simulate(1.0, step=h, q=[height], events={"g": end}, **way)
    assert run.status == "event" and len(run.events["g"]) == 1
    assert run.time[-1] == pytest.approx(part * h, rel=1e-6)
    assert run.q[0, 0] == height and abs(run.q[-1, 0]) < 1e-12


def test_events_of_forces_that_jump_are_as_good_as_those_of_others():
    """The engine brakes from 0.31 s on; the closed form, from records far apart."""
    brake = 2 * G * 2.0  # twice the weight, of 2 kg
    jump = 0.3137
    table = (np.array([0.0, jump, jump, 9.0]), np.array([0.0, 0.0, brake, brake]))
    speed, fallen = G * jump, 0.5 * G * jump**2
    # then z = 1 - fallen - speed s + G s^2 / 2: lowest at s = speed / G
    level = 1.0 - fallen - 0.4 * speed**2 / G
    s = (speed - np.sqrt(speed**2 - 2 * G * (1.0 - fallen - level))) / G

    def passes(t, q, v):
        return q[0] - level

    def turns(t, q, v):
        return v[0]

    turns.terminal = True
    for every in (1, 7, 31):
        run = falling().simulate(
            3.0,
            step=1e-2,
            every=every,
            q=[1.0],
            torque={"z": table},
            events={"passes": passes, "turns": turns},
        )
        assert abs(run.time[-1] - 2 * jump) < 1e-11, every
        assert np.abs(run.events["passes"].time - (jump + s)).max() < 1e-11, every


def test_an_event_at_the_jump_itself_is_found():
    jump = 0.3137
    table = (np.array([0.0, jump, jump, 9.0]), np.array([0.0, 0.0, 50.0, 50.0]))
    run = falling().simulate(
        1.0,
        step=1e-2,
        every=9,
        torque={"z": table},
        events={"j": lambda t, q, v: t - jump},
    )
    assert run.events["j"].time == pytest.approx([jump], abs=1e-12)
    assert run.events["j"].v[0, 0] == pytest.approx(-G * jump, rel=1e-12)


@pytest.mark.parametrize("every", [1, 25])
def test_events_of_prescribed_motions_are_where_the_course_says(every):
    bar = four_bar(1, 2, 1.7, 2.5)

    def angle(t, q, v):
        return q[0] - 1.0

    def backward(t, q, v):
        return v[0]

    angle.direction, backward.terminal = 1, True
    run = bar.simulate(
        3.0,
        step=2e-3,
        every=every,
        prescribed={"crank": "0.5 + sin(2 t)"},
        events={"angle": angle, "backward": backward},
    )
    assert run.time[-1] == pytest.approx(np.pi / 4, abs=1e-9)
    assert run.events["angle"].time == pytest.approx([np.arcsin(0.5) / 2], abs=1e-9)
    assert run.closure.max() < 1e-9
    assert run.q[-1, 0] == pytest.approx(1.5, abs=1e-12)


def test_a_function_of_other_arguments_is_no_event():
    bar = four_bar(1, 2, 1.7, 2.5)
    with pytest.raises(
        mbd.errors.StateError, match=r"events\['top'\]: expected a function of \(t, q, v\)"
    ):
        bar.simulate(0.01, events={"top": lambda q: q[0]})
