"""A run comes back to Python every moment, whatever it records."""

import signal
import time

import numpy as np
import pytest

from mbd_bridge.simulation.batch.run import simulate_batch
from mbd_bridge.simulation.run import problem
from tests.curves import FLAT
from tests.machines import four_bar, n_four_bar

STEPS = 60_000_000
"""Of a four-bar: some three seconds."""

MOMENT = 1.0
"""s, of a processor that others use too; a moment is meant to be 0.1 s."""


@pytest.fixture
def bar():
    return four_bar(1, 2, 1.7, 2.5)


@pytest.fixture
def start(bar):
    at = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
    return {"q": at.q, "v": at.v}


@pytest.fixture
def alarm():
    """Return a function after which Ctrl-C comes, in seconds; when it was set off."""
    rung = []

    def ring(*_):
        rung.append(time.monotonic())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: (signal.setitimer(signal.ITIMER_REAL, seconds), rung)[1]
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def test_ctrl_c_ends_a_run_that_records_its_end_only(bar, start, alarm):
    bar.simulate(1e-5, step=1e-7, every=100, **start)  # compiled
    rung = alarm(0.3)
    with pytest.raises(KeyboardInterrupt):
        bar.simulate(STEPS * 1e-7, step=1e-7, every=STEPS, **start)
    assert time.monotonic() - rung[0] < MOMENT


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_batch_that_records_its_end_only(bar, start, alarm, threads):
    many = {"q": np.tile(start["q"], (1024, 1)), "v": np.tile(start["v"], (1024, 1))}
    bar.simulate(1e-5, step=1e-7, every=100, threads=threads, **many)
    rung = alarm(0.3)
    with pytest.raises(KeyboardInterrupt):
        bar.simulate(0.05, step=1e-7, every=500_000, threads=threads, **many)
    assert time.monotonic() - rung[0] < MOMENT


def test_progress_is_told_between_records(bar, start):
    told = []
    run = bar.simulate(0.1, step=1e-7, every=1_000_000, progress=told.append, **start)
    assert len(run.time) == 2
    assert len(told) > 3
    assert sum(told) == run.steps == 1_000_000
    told.clear()
    many = {"q": np.tile(start["q"], (8, 1)), "v": np.tile(start["v"], (8, 1))}
    bar.simulate(0.01, step=1e-7, every=100_000, progress=told.append, **many)
    assert len(told) > 3
    assert sum(told) == 8 * 100_000


@pytest.fixture(params=[7, 1000])
def portions(request, monkeypatch):
    """Let calls of the machine code have that many steps, or a random number of them."""
    rng = np.random.default_rng(request.param)

    def steps(self, done):
        some = int(rng.integers(1, request.param + 1))
        beyond = done % self._every
        if beyond:
            return min(some, self._every - beyond)
        return some - some % self._every if some >= self._every else some

    def use():
        monkeypatch.setattr(problem.Pace, "steps", steps)

    return use


@pytest.mark.parametrize("every", [1, 10, 300, 3000])
def test_records_do_not_depend_on_the_portions(bar, start, portions, every):
    options = {"step": 1e-3, "every": every, **start, "torque": lambda t, q, v: -0.1 * v}
    many = options | {
        "q": start["q"] + np.zeros((3, 1)),
        "prescribed": {"crank": ([0, 1, 2, 3], [0.5, 1, 2, 1])},
    }
    del many["v"], many["q"]
    whole, batch = bar.simulate(1.222, **options), simulate_batch(bar, 1.222, **many)
    portions()
    again, other = bar.simulate(1.222, **options), simulate_batch(bar, 1.222, **many)
    for name in ("time", "q", "v"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        np.testing.assert_array_equal(getattr(other, name), getattr(batch, name))
    assert batch.status == other.status == ("finished",)
    assert not batch.alone


@pytest.mark.parametrize("every", [1, 10, 200])
def test_records_through_detours_do_not_depend_on_the_portions(portions, every):
    m = n_four_bar(1)
    start = {"q": m.assemble(FLAT, fixed=FLAT).q, "v": np.array([3.0, -3.0, 3.0])}
    whole = m.simulate(0.3, step=1e-3, every=every, **start)
    assert whole.detours
    portions()
    again = m.simulate(0.3, step=1e-3, every=every, **start)
    np.testing.assert_array_equal(again.time, whole.time)
    np.testing.assert_array_equal(again.q, whole.q)
    assert again.detours == whole.detours
