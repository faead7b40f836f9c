"""Forces that jump or bend in a table cost no accuracy: steps end there."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.simulation.signals.tables import Knots, PolynomialSignal, length_to
from tests.machines import four_bar, turning

INERTIA, PUSH = 0.7, 3.0
ON, OFF, END = 0.12345, 0.7, 1.0
"""s: off the grid, on it up to rounding, and the end."""

SWITCHED = {
    "twice": ([0.0, ON, ON, OFF, OFF, END], [0.0, 0.0, PUSH, PUSH, 0.0, 0.0]),
    "near": (
        [0.0, ON - 5e-10, ON + 5e-10, OFF - 5e-10, OFF + 5e-10, END],
        [0.0, 0.0, PUSH, PUSH, 0.0, 0.0],
    ),
}
WAYS = [
    {},
    {"method": "svd"},
    {"method": "multipliers", "integrator": "ab3"},
    {"integrator": "abm"},
    {"method": "qr", "integrator": "abm"},
    {"integrator": "scipy:RK45"},
    {"integrator": "scipy:LSODA"},
    {"integrator": "scipy:Radau"},
]


def wheel():
    """A wheel, its axis upright."""
    b = mbd.Builder("wheel", root="ground")
    b.link("wheel", 1.0, (0, 0, 0), (INERTIA, INERTIA, INERTIA))
    b.joint("axle", "revolute", "ground", "wheel", axis=(0, 0, 1))
    return mbd.Mechanism.build(b)


WHEEL = wheel()


def parabola(t):
    """Angle and rate of the wheel: at rest, then pushed, then let go."""
    pushed = np.clip(t, ON, OFF) - ON
    a = PUSH / INERTIA
    return 0.5 * a * pushed**2 + a * pushed * np.maximum(t - OFF, 0.0), a * pushed


@pytest.mark.parametrize("table", SWITCHED)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()) or "compiled")
def test_a_torque_that_is_switched_gives_parabolas(way, table):
    times, values = SWITCHED[table]
    for step in (1e-2, 1e-3):
        run = WHEEL.simulate(
            END, step=step, every=7, torque={"axle": (times, values)}, tolerance=1e-10, **way
        )
        q, v = parabola(run.time)
        # rounding, or what steps that control their error may leave
        least = 1e-8 if "abm" in str(way) or "scipy" in str(way) else 2e-13
        assert np.abs(run.q[:, 0] - q).max() < max(least, 5e-9 * (table == "near"))
        assert np.abs(run.v[:, 0] - v).max() < max(least, 5e-9 * (table == "near"))
        if "abm" not in str(way) and "scipy" not in str(way):
            assert run.steps == round(END / step)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()) or "compiled")
def test_a_jump_at_a_record_is_no_other(way):
    """The record at 0.33 s is where the jump begins, to the last digit."""
    table = ([0.0, 0.33, 0.33, 1.0], [0.0, 0.0, PUSH, PUSH])
    run = WHEEL.simulate(1.0, step=2e-3, torque={"axle": table}, tolerance=1e-10, **way)
    compiled = way in ({}, {"method": "svd"})  # whose clock adds up its steps
    assert run.time[165] == 0.33 or (compiled and abs(run.time[165] - 0.33) < 1e-15)
    exact = 0.5 * PUSH / INERTIA * np.maximum(run.time - 0.33, 0.0) ** 2
    assert np.abs(run.q[:, 0] - exact).max() < 1e-8


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("every", [1, 7])
def test_a_batch_ends_its_steps_there_too(every, threads):
    times, values = SWITCHED["twice"]
    scale = np.linspace(-2.0, 2.0, 37)
    table = (times, scale[:, None] * values)
    options = {"step": 1e-3, "every": every, "threads": threads}
    batch = WHEEL.simulate(END, torque={"axle": table}, **options)
    q, v = parabola(batch.time)
    assert not batch.alone
    assert np.abs(batch.q[:, :, 0] - scale[:, None] * q).max() < 2e-13
    assert np.abs(batch.v[:, :, 0] - scale[:, None] * v).max() < 2e-13


def converged(given, steps, **way):
    """Return the errors of a four-bar's crank for steps, against the last and shortest ones."""
    bar, at = turning(four_bar(1, 2, 1.5, 2.5), 2.0)
    options = {"q": at.q, "v": at.v, "torque": {"crank": given}, **way}
    runs = [bar.simulate(0.3, step=step, **options).q[-1, 0] for step in steps]
    return np.abs(np.array(runs[:-1]) - runs[-1])


@pytest.mark.parametrize("way", [{}, {"method": "svd"}], ids=["compiled", "svd"])
@pytest.mark.parametrize("kind", ["jump", "bend"])
def test_the_order_of_the_steps_is_kept(kind, way):
    """Over a jump they had the first order or none, over a bend the second."""
    on, off = 0.1 / np.pi, 0.2 / np.sqrt(2.0)
    jump = ([0.0, on, on, off, off, 0.3], [0.0, 0.0, 9.0, 9.0, 0.0, 0.0])
    bend = ([0.0, on, off, 0.3], [0.0, 0.0, 9.0, 0.0])
    errors = converged(jump if kind == "jump" else bend, (1e-2, 5e-3, 1e-3), **way)
    assert errors[0] < 2e-6  # 1e-6 for a straight line; it was 8e-4 and 6e-6
    assert 3.8 < np.log2(errors[0] / errors[1]) < 4.3


def test_trajectories_of_a_loop_are_those_of_simulate():
    bar, at = turning(four_bar(1, 2, 1.5, 2.5), 2.0)
    rng = np.random.default_rng(5)
    times = np.array([0.0, 0.05, 0.05, 0.1234, 0.2, 0.2, 0.3])
    values = rng.uniform(-9, 9, (11, len(times)))
    options = {"q": at.q, "v": at.v, "every": 3}
    batch = bar.simulate(0.3, torque={"crank": (times, values)}, **options)
    for k in (0, 4, 10):
        run = bar.simulate(0.3, torque={"crank": (times, values[k])}, **options)
        assert np.array_equal(batch.time, run.time)
        assert np.abs(batch.q[k] - run.q).max() < 1e-13


def test_work_over_a_jump_is_the_energy_that_is_gained():
    times, values = SWITCHED["twice"]
    run = WHEEL.simulate(END, step=1e-2, torque={"axle": (times, values)})
    assert run.facts["balance"] < 1e-13


def test_times_may_stand_twice_and_not_three_times():
    for times in ([0.0, 0.5, 0.5, 0.5, 1.0], [0.0, 0.6, 0.5, 0.7, 1.0]):
        with pytest.raises(StateError, match=r"times must grow \(a time that stands twice"):
            WHEEL.simulate(1.0, torque={"axle": (times, np.zeros(5))})
    with pytest.raises(StateError, match="times must grow"):
        WHEEL.simulate(1.0, prescribed={"axle": ([0.0, 0.5, 0.5, 0.7, 1.0], np.zeros(5))})


def test_a_table_on_the_grid_of_the_steps_costs_no_step_more():
    times = np.linspace(0.0, 1.0, 101)
    table = PolynomialSignal.lines("x", (times, np.sin(times)))
    assert not len(Knots.of([table], 0.0, 1e-2).times)
    assert not len(
        Knots.of([PolynomialSignal.lines("x", (times, 2.0 * times))], 0.0, 0.7e-2).times
    )  # a straight line
    assert len(Knots.of([table], 0.0, 0.7e-2).times) == 99 - 14


def test_no_step_ends_behind_its_end():
    rng = np.random.default_rng(2)
    for start, end in np.sort(rng.uniform(0.0, 9.0, (1000, 2))):
        assert 0.0 <= end - (start + length_to(start, end)) <= np.spacing(end)
