"""Past flat positions: by every road, wherever a step would end, and where a linkage just turns.

`python -m tests.crossings` has thousands of them.
"""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps import runge_kutta as simulate_step
from mbd_bridge.simulation.steps.compiled import SystemStep
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.solve.closed import Closed
from tests.crossings import crossing, curve
from tests.curves import MACHINES, side_by_side
from tests.forces.relaxing import Maxwell
from tests.machines import four_bar, turning
from tests.roads import METHODS, ROADS
from tests.robots import own_urdfs
from tests.sharp_turns import sharp_turn, start, turned

RIGHT = 1e-9
"""rad: steps of a millisecond err by 1e-11."""


@pytest.mark.parametrize("distance", [1e-13, 5e-9, 2e-5, 1e-3, -1e-10, -3e-6, -6e-3])
@pytest.mark.parametrize("name", MACHINES)
def test_a_step_that_would_end_at_a_distance_from_flat(name, distance):
    error, status = crossing(name, distance, 20, 4.0, 1e-3)
    assert status == "finished"
    assert error < RIGHT


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(("distance", "rate"), [(5e-9, -3.0), (2e-5, 0.8)])
def test_every_road_passes(road, distance, rate):
    error, status = crossing("tilted, with a ball", distance, 12, rate, 1e-3, 60, road)
    assert status == "finished"
    assert error < RIGHT


@pytest.mark.parametrize("step", [1e-5, 1e-2])
def test_steps_much_shorter_and_longer_than_the_neighbourhood(step):
    error, status = crossing("parallelogram", 3e-7, 20, 4.0, step)
    assert status == "finished"
    assert error < 1e-7


@pytest.mark.parametrize("e", [1e-3, 1e-5, 1e-7, 1e-10, -1e-4, -1e-8])
def test_a_linkage_that_just_fails_to_be_flat_turns_as_its_energy_says(e):
    error, run = sharp_turn(e, 1e-3)
    assert run.status == "finished"
    assert run.detours > 0
    assert error < 1e-7
    assert np.ptp(run.energy) < 1e-6 * run.energy[0]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("e", [1e-4, -1e-7])
def test_every_road_turns_with_a_linkage_that_just_fails_to_be_flat(road, e):
    error, status = turned(e, 1e-3, road)
    assert status == "finished"
    assert error < 1e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("e", [1e-3, -1e-3])
def test_a_correction_that_holds_coordinates_does_not_lead_a_sharp_turn_astray(method, e):
    error, status = turned(e, 1e-3, method)
    assert status == "finished"
    assert error < 1e-7


def test_what_rounding_decides_is_not_answered():
    error, run = sharp_turn(1e-12, 1e-3)
    assert run.finished or "so closely that rounding decides" in run.status
    assert error < 1e-7


def test_a_hundred_seconds_keep_their_energy():
    """From rest it swings past two flat positions in each period."""
    bar = mbd.load(own_urdfs()["four_bar"])
    for angle in (0.4, 1.1):
        run = bar.simulate(100.0, q=angle * np.array([1, -1, 1]), every=100)
        assert run.finished and run.detours > 100
        assert np.ptp(run.energy) < 1e-7 * 2 * 9.81 * (1 + np.cos(angle))
        assert run.facts["balance"] < 1e-7


# -- the guard -------------------------------------------------------------------------------------


def turns(**options):
    bar, at = turning(four_bar(1, 2, 2.5, 2.5), 6.0)
    return bar.simulate(3.0, step=2e-3, q=at.q, v=at.v, check=False, **options)


def test_work_and_energy_balance_with_forces_and_prescribed_motions():
    pushed = {"torque": {"crank": "20*sin(3*t)"}}
    for options in (pushed, {"torque": lambda t, q, v: -0.5 * v}):
        run = turns(**options)
        assert run.finished
        assert run.facts["balance"] < 1e-5  # a step of 2 ms at 6 rad/s errs by 1e-8
    bar = four_bar(1, 2, 2.5, 2.5)
    run = bar.simulate(1.0, prescribed={"crank": lambda t: 0.3 + 2 * t + t * t})
    assert run.facts["balance"] < 1e-6
    assert np.ptp(run.energy) > 1.0


def test_wrong_accelerations_of_the_loops_do_not_finish(monkeypatch):
    right = simulate_step.closed_acceleration

    def wrong(model, rows, q, v, tau, *rest, **more):
        found = right(model, rows, q, v, tau, *rest, **more)
        slower = right(model, rows, q, 0.7 * v, tau, *rest, **more)
        return found._replace(a=slower.a)

    monkeypatch.setattr(simulate_step, "closed_acceleration", wrong)
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    assert not turns(torque=lambda t, q, v: 0.0 * v).finished


def test_a_wrong_projection_does_not_finish(monkeypatch):
    right = Closed.correction
    monkeypatch.setattr(Closed, "correction", lambda at, residual: -right(at, residual))
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    assert not turns(torque=lambda t, q, v: 0.0 * v).finished


def test_a_spring_that_dies_out_for_long_steps_does_not_finish():
    bar = mbd.load(own_urdfs()["pendulum"])
    stiff = {"torque": lambda t, q, v: -4e4 * q, "check": False}
    inertia = float(bar.mass_matrix(np.zeros(1))[0, 0])
    step = 1.7 / np.sqrt(4e4 / inertia)
    run = bar.simulate(200 * step, step=step, q=[0.01], **stiff)
    assert not run.finished
    assert "energy comes from nowhere" in run.status or "too long" in run.status
    assert bar.simulate(10 * step, step=step / 30, q=[0.01], **stiff).finished


@pytest.mark.parametrize("name", MACHINES)
def test_the_curves_of_these_tests_are_no_copies(name):
    """They close the loops, and their slopes are the accelerations of the library."""
    way, h = curve(name), 1e-4
    for s, rate in ((0.8, 1.3), (-1.1, -2.0)):
        q, v = way.state(s, rate)
        phi, phi_q, _ = way.machine.compile("constraints")(q, v)
        assert np.abs(phi).max() < 1e-14
        assert np.abs(phi_q @ v).max() < 1e-13
        later, before = (way.state(*way.motion(s, rate, t))[1] for t in (h, -h))
        a = way.machine.forward_dynamics(q, v, np.zeros(way.machine.nv))
        assert a == pytest.approx((later - before) / (2 * h), abs=1e-6 * np.abs(a).max())


@pytest.mark.parametrize("windows", [1, 3])
def test_parallelograms_turn_as_their_closed_form_says(windows):
    """((N+1)/3 + N) θ'' = ((N+1)/2 + N) g sin θ."""
    way = side_by_side(windows)
    theta, rate = way.motion(0.8, 1.3, 1e-3)
    factor = ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    slope = factor * 9.81 * np.sin(0.8)
    jerk = factor * 9.81 * np.cos(0.8) * 1.3
    assert rate == pytest.approx(1.3 + 1e-3 * slope + 0.5e-6 * jerk, abs=1e-7)
    assert theta == pytest.approx(0.8 + 1.3e-3 + 0.5e-6 * slope, abs=1e-8)


@pytest.mark.parametrize(("h", "least", "most"), [(1e-2, 0.0, 1e-3), (0.1, 1e6, 1e9)])
def test_what_a_step_leaves_open_of_the_loops_is_a_risk_of_its_own(h, least, most):
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    step = simulate_step.runge_kutta_step(bar.model, independent_rows(bar.model, at.q), None)
    *_, risks, _ = step(at.q, at.v, np.zeros(2), np.array([h]))
    assert least <= risks[1] < most
    assert risks[0] < 10.0  # it is far from any singular position


# -- in machine code -------------------------------------------------------------------------------


UPRIGHT = np.array([1.0, -1.0, 1.0])


def test_the_march_leads_past_flat_positions_itself(monkeypatch):
    def never(*_):
        raise AssertionError("Python was asked")

    monkeypatch.setattr(Passage, "over", never)
    bar = mbd.load(own_urdfs()["four_bar"])
    angles = np.array([0.2, 0.9, 1.3, 2.8, 1.1])[:, None]
    batch = bar.simulate(3.0, q=angles * UPRIGHT, loads=["crank"], every=7)
    assert not batch.alone and all(status == "finished" for status in batch.status)
    for k, angle in enumerate(angles):
        run = bar.simulate(3.0, q=angle * UPRIGHT, loads=["crank"], every=7)
        assert (run.detours > 0) == (k != 3)
        assert np.array_equal(run.q, batch.q[k]) and np.array_equal(run.v, batch.v[k])
        for name, array in run.reported.items():
            assert np.array_equal(array.ravel(), batch.reported[name][k].ravel(), equal_nan=True)


SYSTEMS = {
    "nothing": {},
    "torque": {"torque": {"crank": "5*sin(3*t)"}},
    "prescribed": {"prescribed": {"crank": "0.3+2*t"}},
    "states": {"forces": [Maxwell("elbow", name="damper")]},
    "late": {"start": 1e5, "torque": {"crank": 2.0}},
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_machine_code_leads_past_as_python_does(name, monkeypatch):
    bar, options = mbd.load(own_urdfs()["four_bar"]), SYSTEMS[name]
    start = {} if name == "prescribed" else {"q": 0.5 * UPRIGHT}
    compiled = bar.simulate(4.0, **start, **options)
    monkeypatch.setattr(SystemStep, "_passes", False)
    python = mbd.load(own_urdfs()["four_bar"]).simulate(4.0, **start, **options)
    assert compiled.detours == python.detours > 0
    np.testing.assert_allclose(compiled.q, python.q, atol=1e-13)
    np.testing.assert_allclose(compiled.v, python.v, atol=1e-11)
    np.testing.assert_allclose(compiled.z, python.z, atol=1e-13)
    assert compiled.facts["balance"] < 1e-9


def check_lanes(machine, alone, q, v):
    """Check that lanes have the digits of single runs, what they report too."""
    more = {"step": 1e-3, "every": 3, "loads": ["crank"]}
    batch = machine.simulate(0.04, q=q, v=v, **more)
    assert batch.alone == alone
    for k in range(len(q)):
        run = machine.simulate(0.04, q=q[k], v=v[k], **more)
        assert np.array_equal(run.q, batch.q[k]) and np.array_equal(run.v, batch.v[k])
        for name, array in run.reported.items():
            assert np.array_equal(array.ravel(), batch.reported[name][k].ravel(), equal_nan=True)


def test_lanes_turn_sharply_in_machine_code():
    machine, q, v, _ = start(1e-6, 0.0513, 4.0)
    check_lanes(machine, (), [q, q], [v, -v])


def test_a_lane_that_begins_in_a_flat_position_goes_alone_with_what_it_reports():
    bar = mbd.load(own_urdfs()["four_bar"])
    check_lanes(bar, (0,), np.array([[np.pi / 2], [1.5]]) * UPRIGHT, [3 * UPRIGHT, 3 * UPRIGHT])


@pytest.mark.parametrize("name", ["crossed", "on a sphere", "on a sphere, crossed"])
def test_machine_code_controls_the_error_of_steps_where_no_jump_agrees(name, monkeypatch):
    """As the passage in Python does; velocities of records beside flat have lost digits there."""
    way, python = curve(name), MACHINES[name].make(*MACHINES[name].given).machine
    start, rate = way.motion(way.flat[0] + 2e-5, 2.0, -0.02)
    q, v = way.state(start, rate)
    options = {"step": 1e-3, "check": False}
    with monkeypatch.context() as patched:
        patched.setattr(Passage, "over", None)  # nobody asks Python
        compiled = way.machine.simulate(0.06, q=q, v=v, **options)
        starts = np.array([q, q]), np.array([v, v])
        batch = way.machine.simulate(0.06, q=starts[0], v=starts[1], **options)
    monkeypatch.setattr(SystemStep, "_passes", False)
    slow = python.simulate(0.06, q=q, v=v, **options)
    assert compiled.detours == slow.detours > 2
    assert not batch.alone and np.array_equal(batch.q[1], compiled.q)
    np.testing.assert_allclose(compiled.q, slow.q, atol=1e-10)
    assert way.apart(compiled.q[-1], way.motion(start, rate, 0.06)[0]) < RIGHT
    assert np.ptp(compiled.energy) < 1e-9 * np.abs(compiled.energy).max()
