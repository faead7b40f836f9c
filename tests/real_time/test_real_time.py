"""A machine at wall-clock pace: the digits of a run, inputs by name, what happens to late steps."""

from __future__ import annotations

import gc
import re
import shutil
import threading
import time
import weakref
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.real_time import record, runner
from mbd_bridge.base.errors import NoDisplayError, StateError
from mbd_bridge.simulation.steps.stepping import CoupledStep
from mbd_bridge.view.show import LiveWindow
from tests.machines import four_bar, turning
from tests.simulate.implicit import ACTS
from tests.view.xvfb import Xvfb

FAST = 1000.0
"""Seconds of the motion in a second: no step waits."""


@pytest.fixture(scope="module")
def rocker():
    robot = mbd.load("urdf/crank_rocker.urdf")
    start = robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    return robot, {"q": start.q, "v": start.v}


@pytest.fixture(scope="module")
def driven(rocker):
    robot, start = rocker
    system = mbd.System(robot, torque={"crank": mbd.Input("motor", 0.2)}, loads=["coupler_pin"])
    return mbd.RealTime(system, **start)


ACTING = {
    "an input": {"torque": {"crank": mbd.Input("motor", 0.2)}},
    "a table": {"torque": {"crank": ([0.0, 0.0213, 0.0213001, 0.3], [0.1, 0.3, -0.2, 0.0])}},
    "any Python": {"torque": {"crank": mbd.Sampled(lambda t, q, v: -0.1 * v[0])}},
}


@pytest.mark.parametrize("kind", ACTING)
def test_it_is_the_motion_of_a_simulation(rocker, kind):
    robot, start = rocker
    system = mbd.System(robot, **ACTING[kind])
    run = mbd.RealTime(system, **start).run(0.1, rate=FAST)
    same = system.simulate(0.1, **start)
    assert run.finished and np.array_equal(run.q, same.q) and np.array_equal(run.v, same.v)


def test_inputs_by_name_are_what_a_controller_in_the_loop_gives(rocker, driven):
    robot, start = rocker
    run = driven.run(0.1, rate=FAST, inputs=lambda t, now: {"motor": -0.1 * now["v.crank"]})
    held = mbd.Sampled(lambda t, q, v: -0.1 * v[0])
    assert np.array_equal(run.q, robot.simulate(0.1, torque={"crank": held}, **start).q)


def test_outputs_by_name_are_the_loads_of_a_run(rocker, driven):
    robot, start = rocker
    told = []
    driven.run(
        0.05,
        rate=FAST,
        inputs={"motor": 0.3},
        outputs=lambda t, now: told.append((t, now["load.coupler_pin.fz"], now["energy.kinetic"])),
        every=10,
    )
    run = robot.simulate(0.05, torque={"crank": 0.3}, every=10, loads=["coupler_pin"], **start)
    time, force, _ = np.transpose(told)
    assert np.array_equal(time, run.time[1:])
    assert np.abs(force - run.loads.force[1:, 0, 2]).max() < 1e-9


def test_a_past_singular_position_it_goes_on_as_a_simulation_does():
    robot = mbd.load("urdf/four_bar.urdf")
    at = robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    run = mbd.RealTime(robot, step=2e-3, q=at.q, v=at.v).run(0.5, rate=FAST)
    same = robot.simulate(0.5, step=2e-3, q=at.q, v=at.v)
    assert same.detours and run.finished
    assert np.abs(run.q - same.q).max() < 1e-7


def test_it_keeps_the_pace_of_the_clock(driven):
    for rate in (1.0, 2.0):
        began = time.monotonic()
        run = driven.run(0.1, rate=rate)
        assert time.monotonic() - began > 0.099 / rate
        assert (run.late >= 0.0).all() and len(run.took) == 100


class Clock:
    """A clock that goes when somebody sleeps or is slow."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds + 1e-5


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    for module in (runner, runner):
        monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr(runner, "SPIN", 0.0)
    return found


@pytest.mark.parametrize(("late", "end"), [("catch up", 0.02), ("slip", 0.0245)])
def test_a_late_step_is_caught_up_with_or_the_clock_waits(driven, clock, late, end):
    def slow(t, now):
        clock.now += 5.5e-3 if 0.0099 < t < 0.0101 else 0.0

    run = driven.run(0.02, late=late, outputs=slow)
    missed = {"catch up": 5, "slip": 1}[late]
    assert run.missed == missed
    assert abs(clock.now - (end - 1e-3)) < 2e-5
    assert abs(run.slipped - (end - 0.02)) < 2e-5
    assert run.percentiles()["took"]["max"] == pytest.approx(5.5e-3)
    assert f"{missed} of 20 deadlines missed" in run.report()


def test_a_run_of_days_keeps_its_last_records_and_counts_all_steps(driven, monkeypatch):
    every_row = driven.run(0.3, rate=FAST)
    monkeypatch.setattr(runner, "TIMED", 70)
    monkeypatch.setattr(record, "BLOCK", 16)
    run = driven.run(0.3, rate=FAST, keep=50)
    assert run.steps == 300 and len(run.late) == len(run.took) == 70
    assert run.time.tolist() == every_row.time[-50:].tolist()
    assert run.q.tolist() == every_row.q[-50:].tolist()
    assert "of 300 deadlines missed" in run.report() and "300 steps" in repr(run)
    assert run.percentiles()["took"]["max"] >= run.took.max() > 0.0


def test_a_run_whose_records_would_fill_the_memory_is_refused_before_it_begins(driven):
    with pytest.raises(StateError, match=r"records of .* GiB, .*every="):
        driven.run(30 * 86_400.0)


def test_columns_of_a_report_stay_apart_however_late_a_run_is(driven):
    run = driven.run(0.01, rate=FAST)
    late = replace(run, late=run.late + 3e4)  # 8 hours
    assert all(word == "µs" for word in re.findall(r"µ\S*", late.report()))


def test_a_histogram_knows_percentiles_to_half_a_percent():
    durations = np.random.default_rng(0).lognormal(-9.0, 2.0, 5000)
    histogram = record.DurationCounts()
    for one in durations:
        histogram.add(float(one))
    percent = (50.0, 99.0, 99.9, 100.0)
    exact = np.percentile(durations, percent, method="inverted_cdf")
    assert histogram.percentiles(percent) == pytest.approx(exact, rel=5.1e-3)
    assert histogram.percentiles(percent)[-1] == durations.max()


class Ring:
    """An object in a cycle."""

    def __init__(self):
        self.itself = self


@pytest.mark.parametrize("rate", [1.0, FAST])
def test_cycles_are_collected_while_a_run_goes_on(driven, clock, monkeypatch, rate):
    monkeypatch.setattr(runner, "NEW", 200)
    monkeypatch.setattr(runner, "MOST", 1000)
    rings = weakref.WeakSet()
    most = 0

    def careless(t, now):
        nonlocal most
        rings.update(Ring() for _ in range(10))
        most = max(most, len(rings))

    gc.unfreeze()  # what the tests' configuration froze
    try:
        run = driven.run(2.0, rate=rate, inputs=careless)
        assert run.finished and gc.isenabled() and gc.get_freeze_count() == 0
    finally:
        gc.freeze()
    assert most < (400 if rate == 1.0 else 1200)  # of 20,000


def test_another_thread_sets_inputs_and_ends_the_run(driven):
    begun = threading.Event()

    def drive():
        begun.wait(20.0)
        while driven.values["v.crank"] < 4.0:
            driven.set({"motor": 30.0})
            time.sleep(0.001)
        driven.stop()

    thread = threading.Thread(target=drive)
    thread.start()
    run = driven.run(20.0, inputs={"motor": 0.0}, outputs=lambda t, now: begun.set())
    thread.join()
    assert run.status.startswith("stopped at t = ") and run.v[:, 0].max() >= 4.0


def test_an_interrupted_run_keeps_what_it_has(driven):
    def interrupt(t, now):
        if t > 0.0495:
            raise KeyboardInterrupt

    run = driven.run(outputs=interrupt, rate=FAST)
    assert run.status == "interrupted at t = 0.05 s"
    assert len(run.time) == 51


def ask_wrongly(_, values):
    """A controller with a name that nothing has."""
    return {"motor": values["q.cranc"]}


def test_wrong_inputs_end_it_with_a_status_and_errors_of_others_go_through(driven):
    run = driven.run(0.1, inputs=lambda t, now: {"motor": np.nan if t > 0.01 else 0.0}, rate=FAST)
    assert "input 'motor': expected a finite number, got nan" in run.status
    assert len(run.time) > 10
    with pytest.raises(ZeroDivisionError):
        driven.run(0.1, outputs=lambda t, now: 1 / 0, rate=FAST)
    assert len(driven.last.time) == 2
    for given in ({"inputs": ask_wrongly}, {"outputs": ask_wrongly}):
        with pytest.raises(mbd.errors.StateError, match=r"no variable named 'q\.cranc'"):
            driven.run(0.1, rate=FAST, **given)
        assert driven.last is not None and len(driven.last.time) >= 1
    with pytest.raises(mbd.errors.StateError, match="no input named 'moter'; did you mean 'motor'"):
        driven.set({"moter": 1.0})
    with pytest.raises(mbd.errors.StateError, match=r"no variable named 'q\.cranc'"):
        _ = driven.values["q.cranc"]
    with pytest.raises(mbd.errors.StateError, match="use one of catch up, slip"):
        driven.run(0.1, late="never")


def test_a_window_needs_a_display(driven, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("mbd_bridge.view.show.find_spec", lambda _: True)  # as if there is pybullet
    with pytest.raises(NoDisplayError):
        driven.run(0.1, window=True)


@pytest.mark.skipif(
    shutil.which("Xvfb") is None or find_spec("pybullet") is None, reason="no window here"
)
def test_a_window_shows_the_machine_where_it_is(rocker, tmp_path, monkeypatch):
    robot, start = rocker
    with Xvfb(tmp_path) as server:
        monkeypatch.setenv("DISPLAY", server.display)
        window = LiveWindow(robot.model, start["q"])
        still = settled(server)
        assert window.put(1.0, robot.assemble({"crank": 2.5}, fixed="crank").q)
        assert (settled(server, other_than=still) != still).any(axis=2).sum() > 500
        window._process.kill()
        window._process.wait()
        assert not window.put(2.0, start["q"])
        window.close()


def settled(server, other_than=None):
    """Return a picture that stays, another one than a given one."""
    last, deadline = server.picture(), time.monotonic() + 30.0
    while time.monotonic() < deadline:
        time.sleep(0.7)
        now = server.picture()
        if np.array_equal(now, last) and now.any() and not np.array_equal(now, other_than):
            return now
        last = now
    raise AssertionError("the picture goes on changing, or does not")


@pytest.mark.parametrize("name", ["table and parameters", "force element and input"])
@pytest.mark.parametrize(
    "scheme", ["newmark", mbd.integrators.GeneralisedAlpha(rho=0.6), "explicit_newmark"]
)
def test_implicit_steps_have_the_digits_of_a_run_here_and_in_other_loops(name, scheme):
    machine, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    start, h = {"q": at.q, "v": at.v, "integrator": scheme}, 2e-3
    system = mbd.System(machine, **ACTS[name])
    run = system.simulate(0.3, step=h, **start)
    assert run.finished
    paced = mbd.RealTime(system, step=h, **start).run(0.3, rate=1e6)
    assert np.array_equal(paced.q, run.q) and np.array_equal(paced.v, run.v)
    core, t = CoupledStep(system, at.q, at.v, integrator=scheme), 0.0
    state = at.q, at.v
    for _ in range(150):
        state = core(*state, np.zeros(3), np.zeros((len(machine.model.bodies), 6)), h, t)
        t += h
    # torques that the loop gives, none here, are added last
    assert max(np.abs(state[0] - run.q[-1]).max(), np.abs(state[1] - run.v[-1]).max()) < 1e-12


def test_past_singular_positions_it_goes_as_a_run_goes():
    """A run's machine code leads past them, Python does here: by the same rules."""
    bar = four_bar()
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    run = bar.simulate(3.0, step=1e-3, q=at.q)
    assert run.detours > 0
    paced = mbd.RealTime(mbd.System(bar), step=1e-3, q=at.q).run(3.0, rate=1e9)
    assert np.abs(paced.q - run.q).max() < 1e-13 and np.abs(paced.v - run.v).max() < 1e-11
    core, state, t = CoupledStep(bar.model, at.q), (at.q, np.zeros(3)), 0.0
    for _ in range(3000):
        state = core(*state, np.zeros(3), np.zeros((len(bar.model.bodies), 6)), 1e-3, t)
        t += 1e-3
    # torques that the loop gives, none here, are added last
    assert max(np.abs(state[0] - run.q[-1]).max(), np.abs(state[1] - run.v[-1]).max()) < 1e-11


def test_inputs_that_change_keep_the_second_order_of_implicit_steps(rocker):
    """Against Runge-Kutta in short steps; inputs are held over 10 ms."""
    robot, start = rocker
    system = mbd.System(robot, torque={"crank": mbd.Input("motor")})
    ends, scheme = [], mbd.integrators.GeneralisedAlpha(rho=0.3)

    def motor(t, now):
        return {"motor": 2.0 * np.sin(np.floor(100.0 * t + 1e-6))}

    for integrator, h in (("rk4", 1e-4), (scheme, 1e-3), (scheme, 5e-4)):
        machine = mbd.RealTime(system, step=h, integrator=integrator, **start)
        ends.append(machine.run(0.3, rate=1e6, inputs=motor).q[-1])
    errors = [np.abs(end - ends[0]).max() for end in ends[1:]]
    assert errors[1] < 2e-4 and np.log2(errors[0] / errors[1]) > 1.7, errors


@pytest.mark.parametrize(
    ("integrator", "stiffness", "damping"), [("rk4", 3e6, 0.0), ("newmark", 1e7, 1e4)]
)
def test_energy_from_nowhere_ends_it_as_it_ends_a_run(integrator, stiffness, damping):
    built = mbd.Builder("stop", root="rail").link("bob", 1.0)
    built.joint("fall", "prismatic", "rail", "bob", axis=(0.0, 0.0, 1.0))
    falling = mbd.Mechanism.build(built.description())
    limits = {"lower": 0.0, "upper": 10.0}
    stop = mbd.forces.JointStop("fall", **limits, stiffness=stiffness, damping=damping)
    for step in (1e-5, 1e-3):
        system = mbd.System(falling, forces=[stop])
        run = system.simulate(0.6, step=step, q=[1.0], integrator=integrator, every=20, check=False)
        machine = mbd.RealTime(system, step=step, q=[1.0], integrator=integrator)
        paced = machine.run(0.6, rate=FAST)
        assert paced.finished == run.finished == (step < 1e-3), (paced.status, run.status)
        again = machine.run(0.2, rate=FAST)  # the account is opened anew
        assert again.finished
    assert re.search("energy comes from nowhere|store and lose energy gave", paced.status)
