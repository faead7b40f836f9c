"""Many steps in machine code against the same steps in Python."""

import numpy as np
import pytest

from mbd_bridge.base.errors import KernelError
from mbd_bridge.functions import where
from mbd_bridge.kernels.instructions import TracedSource
from mbd_bridge.kernels.march import Detour, by_time, compile_march


def euler(x, v, h):
    """An oscillator; the last output grows with time's square."""
    return x + h[0] * v, v - h[0] * np.sin(x), x * v, (x[:1] * x[:1])


SIZES = {"x": 2, "v": 2, "h": 1}


def in_python(x, v, h, steps):
    rows = []
    for _ in range(steps):
        x, v, third, last = euler(x, v, h)
        rows.append((x, v, third, last))
    return [np.array(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("every", [1, 3, 7])
def test_a_march_is_its_steps_one_after_the_other(every):
    march = compile_march(euler, SIZES, 2, cache=None)
    rng = np.random.default_rng(0)
    x, v, h = rng.normal(size=2), rng.normal(size=2), np.array([0.01])
    stage = march.start(x, v, h)
    taken, rows = march.advance(stage, 50, every)
    assert taken == 50
    expected = in_python(x, v, h, 50)
    for ours, reference in zip(rows, expected, strict=True):
        assert np.allclose(ours, reference[every - 1 :: every], rtol=1e-13)
    _, _ = march.advance(stage, 50, every)
    again = in_python(x, v, h, 100)
    assert np.allclose(march.state_of(stage)[0], again[0][-1], rtol=1e-12)


@pytest.mark.parametrize("lanes", [2, 8])
def test_lanes_are_trajectories_of_their_own(lanes):
    march = compile_march(euler, SIZES, 2, cache=None, lanes=lanes)
    rng = np.random.default_rng(1)
    x, v, h = rng.normal(size=(lanes, 2)), rng.normal(size=(lanes, 2)), np.array([0.01])
    x[1, 0] = np.nan
    _, rows = march.advance(march.start(x, v, h), 30, 10)
    assert rows[0].shape == (3, lanes, 2)
    for k in {*range(lanes)} - {1}:
        expected = in_python(x[k], v[k], h, 30)[0][9::10]
        assert np.allclose(rows[0][:, k], expected, rtol=1e-13)


def test_a_lane_stops_before_what_it_must_not_do_and_the_others_go_on():
    march = compile_march(euler, SIZES, 2, cache=None, lanes=4)
    h = np.array([0.01])
    x = np.array([[0.1, 0.0], [0.5, 0.2], [np.nan, 0.0], [0.7, 0.3]])
    v = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    stage = march.start(x, v, h)
    taken, _ = march.advance(stage, 50, 1, limit=0.64)
    risky = [in_python(x[k], v[k], h, 50)[3][:, 0] >= 0.64 for k in range(4)]
    first = [int(np.argmax([*row, True])) for row in risky]
    first[2] = 0
    assert taken == 50 == first[0] and 0 < first[3] < first[1] < 50
    assert np.array_equal(march.steps_of(stage), first)
    for k in (0, 1, 3):
        ends = [column[first[k] - 1] for column in in_python(x[k], v[k], h, 50)[:2]]
        for state, end in zip(march.state_of(stage), ends, strict=True):
            assert np.allclose(state[k], end, rtol=1e-13)
    taken, _ = march.advance(stage, 200, 1, limit=0.0)
    assert taken == 0
    assert np.array_equal(march.steps_of(stage), np.zeros(4))


def test_a_march_stops_before_the_step_that_is_too_risky():
    march = compile_march(euler, SIZES, 2, cache=None)
    x, v, h = np.array([0.5, 0.0]), np.array([1.0, 0.0]), np.array([0.01])
    risk = in_python(x, v, h, 100)[3][:, 0]
    first = int(np.argmax(risk >= 0.64))
    stage = march.start(x, v, h)
    taken, rows = march.advance(stage, 100, 1, limit=0.64)
    assert taken == first == len(rows[0])
    assert np.array_equal(march.state_of(stage)[0], rows[0][-1])


def test_a_march_stops_where_numbers_end():
    march = compile_march(lambda x, h: (x * x, x[:1]), {"x": 1, "h": 1}, 1, cache=None)
    taken, rows = march.advance(march.start(np.array([10.0]), np.zeros(1)), 100)
    assert taken == 8 and np.isfinite(rows[0]).all()


@pytest.mark.parametrize("streamed", [False, True])
def test_steps_from_each_of_many_places_are_those_of_each_alone(streamed):
    """nan from where one of the steps is not taken."""

    def pushed(x, v, h, push):
        return euler(x, v + h[0] * push, h)

    sizes = SIZES | ({"push": 2} if streamed else {})
    march = compile_march(pushed if streamed else euler, sizes, 2, cache=None, streamed=streamed)
    rng = np.random.default_rng(3)
    inputs = np.hstack([rng.normal(size=(6, 4)), np.full((6, 1), 0.1)])
    inputs[:, 0] = [0.1, 0.2, 0.3, 0.75, 0.9, np.nan]
    inputs[:, 2] = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0]  # the fourth goes over the limit in its steps
    streams = list(rng.normal(size=(6, 3, 2, 1))) if streamed else []
    found = march.from_each(inputs, 3, 0.64, streams)
    for k in range(6):
        stage = march.start()
        stage[:5] = inputs[k]
        own = streams[k] if streamed else None
        taken, rows = march.advance(stage, 3, 3, limit=0.64, stream=own)
        assert taken == (3 if k < 3 else 1 if k == 3 else 0)
        for ours, alone in zip(found, rows, strict=True):
            assert np.array_equal(ours[k], alone[0]) if k < 3 else np.isnan(ours[k]).all()


def test_steps_that_do_not_fit_are_refused():
    with pytest.raises(KernelError, match="sizes of its first inputs"):
        compile_march(lambda x: (x[:1], x[:1]), {"x": 2}, 1, cache=None)


def swings(x, v, h):
    """Two angles known at once, a third one that waits for their sines."""
    s = np.sin(x + h[0] * v)
    late = np.cos(s[0] * s[1])
    return x + h[0] * v / (2.0 + late), v - h[0] * s * late, (x[:1] * x[:1])


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_lanes_and_the_order_of_instructions_leave_the_digits_alone(lanes):
    march = compile_march(swings, SIZES, 2, cache=None, lanes=lanes)
    plain = compile_march(swings, SIZES, 2, cache=None, lanes=2)
    values = np.array([0.3, 2.0]), np.array([1.0, -0.5]), np.array([0.01])
    _, rows = march.advance(march.start(*values), 200, 5)
    _, expected = plain.advance(plain.start(*values), 200, 5)
    for ours, reference in zip(rows, expected, strict=True):
        assert np.array_equal(ours if lanes == 1 else ours[:, -1], reference[:, 0])


def test_sines_whose_angles_are_known_together_stand_together():
    code = by_time(TracedSource(swings, SIZES).program, 8).instructions
    kinds = [one.op for one in code]
    first = kinds.index("sin")
    assert kinds[first : first + 2] == ["sin", "sin"] and kinds.count("cos") == 1
    assert kinds.index("cos") > first + 2
    for index, one in enumerate(code):
        assert one.op == "load" or all(k < index for k in one.operands)


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_stream_gives_other_numbers_at_each_step(lanes):
    def step(x, h, push):
        return x + h[0] * push[:1] * push[1:], x[:1] * x[:1]

    march = compile_march(step, {"x": 1, "h": 1, "push": 2}, 1, lanes=lanes, streamed=True)
    rng = np.random.default_rng(5)
    pushes = rng.normal(size=(30, 2, lanes))
    stage = march.start(np.zeros(1), np.array([0.1]), np.zeros(2))
    records = np.empty((lanes, 10, 1))
    places = np.zeros((2, lanes), dtype=np.int64)
    places[0] = records.ctypes.data + np.arange(lanes) * records.strides[0]
    assert march.advance_into(stage, 30, 3, places, stream=pushes) == 30
    expected = 0.1 * np.cumsum(pushes[:, 0] * pushes[:, 1], axis=0)[2::3]
    assert np.allclose(records[:, :, 0].T, expected, rtol=1e-13, atol=1e-13)


def halving(registers, x, v, h, *rest):
    """Take a step whose last output is too large in two halves; the second end is the state's."""
    phase, x_end, v_end = registers[0], rest[0], rest[1]
    begins, ends = phase == 1.0, phase == 3.0
    signal = where(ends, 1.0, 0.0)
    new = where(begins, 2.0, where(phase == 2.0, 3.0, where(ends, 1.0, phase)))
    keeps = begins
    wanted = (where(keeps, old, end) for old, end in ((x, x_end), (v, v_end)))
    length = where(begins, 0.5 * h[0], h[0])
    return np.array([new]), *wanted, np.array([length]), np.array([signal])


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_step_that_is_not_to_be_taken_goes_by_its_detour(lanes):
    march = compile_march(euler, SIZES, 2, cache=None, lanes=lanes, detour=Detour(halving, 1))
    x = np.array([[0.1, 0.0], [0.5, 0.2], [0.6, 0.0], [0.7, 0.3]])[:lanes]
    v = np.array([[3.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])[:lanes]
    stage = march.start(*((x, v) if lanes > 1 else (x[0], v[0])), np.array([0.01]))
    march.registers_of(stage)[0] = 1.0
    taken, rows = march.advance(stage, 50, 1, limit=0.64)
    assert taken == 50
    assert march.steps_of(stage).tolist() == [50.0] * lanes
    for k in range(lanes):
        a, b, h, halved = x[k], v[k], np.array([0.01]), 0
        for record in range(50):
            end = euler(a, b, h)
            if not end[3][0] < 0.64:
                end, halved = euler(*euler(a, b, 0.5 * h)[:2], 0.5 * h), halved + 1
            a, b = end[:2]
            got = [rows[j][record] if lanes == 1 else rows[j][record, k] for j in (0, 1)]
            assert np.allclose(got[0], a, rtol=1e-13) and np.allclose(got[1], b, rtol=1e-13)
        assert halved > 0 or k == 1
    march.registers_of(stage)[0] = 0.0
    taken, _ = march.advance(stage, 5, 1, limit=0.0)
    assert taken == 0
