"""Simulated motions against closed forms, published benchmarks and the laws of mechanics."""

import numpy as np
import pytest
from scipy.integrate import simpson, solve_ivp

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.simulation.run import compiled as compiled_run
from mbd_bridge.simulation.steps import passage
from tests.machines import four_bar, n_four_bar, turning
from tests.robots import own_urdfs

N_FOUR_BAR = {  # IFToMM multibody benchmark A02: t, B0
    1: [(10, (0.4783850578, 0.8781501788))],
    2: [
        (1, (-0.1950203019, -0.9807992057)),
        (5, (-0.8113104610, -0.5846155454)),
        (10, (0.3284581115, 0.9445185382)),
    ],
    40: [(10, (0.1805122267, 0.9835727406))],
}
SPEEDS = {2: (1.4230514702, -0.4948688455), 40: (1.1484412775, -0.2107700668)}
"""Of B0 at t = 10."""


@pytest.mark.parametrize("windows", N_FOUR_BAR)
def test_n_four_bar_goes_through_its_singular_positions(windows):
    m = n_four_bar(windows)
    at = m.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    run = m.simulate(10, step=1e-3, q=at.q, v=at.v, every=100)
    for t, (x, y) in N_FOUR_BAR[windows]:
        angle = run.q[np.argmin(np.abs(run.time - t)), 0]
        assert np.hypot(np.sin(angle) - x, np.cos(angle) - y) < 1e-6
    angle, rate = run.q[-1, 0], run.v[-1, 0]
    speed = rate * np.array([np.cos(angle), -np.sin(angle)])
    assert np.abs(speed - SPEEDS.get(windows, speed)).max() < 1e-6
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-8
    assert run.closure.max() < 1e-12


def test_a_tree_moves_as_scipy_says():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    q = np.linspace(-0.5, 0.7, 7)
    run = arm.simulate(0.5, step=5e-4, q=q)
    forward, still = arm.compile("forward_dynamics"), np.zeros(7)

    def rate(_, y):
        return np.concatenate([y[7:], forward(y[:7], y[7:], still)[0]])

    y0 = np.concatenate([q, still])
    expected = solve_ivp(rate, (0, 0.5), y0, method="DOP853", rtol=1e-11, atol=1e-11).y[:7, -1]
    assert np.allclose(run.q[-1], expected, atol=1e-6)


def test_a_floating_body_spins_and_falls_freely():
    b = mbd.Builder("top", root="body").link("body", 2.0, (0, 0, 0), (0.1, 0.2, 0.25))
    m = mbd.Mechanism.build(b, floating=True)
    v = np.array([1.0, 2.0, 3.0, 5.0, 0.1, 0.2])
    run = m.simulate(2.0, step=1e-3, v=v, every=10)
    assert np.abs(np.linalg.norm(run.q[:, 3:], axis=1) - 1).max() < 1e-14
    t = run.time
    assert np.allclose(run.q[:, 2], 3 * t - 9.81 * t**2 / 2, atol=1e-9)
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-9


def test_torques_do_the_work_that_the_energy_gains():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")

    def traced(t, q, v):
        out = np.zeros(3, dtype=np.asarray(q).dtype)
        out[0] = 20.0 - 3.0 * v[0]
        return out

    run = bar.simulate(1.0, step=1e-3, q=at.q, v=at.v, torque=traced)
    power = (run.tau * run.v).sum(axis=1)
    work = simpson(power, x=run.time)
    assert np.isclose(run.energy[-1] - run.energy[0], work, rtol=1e-5)
    assert run.tau[0, 0] == 20.0


def test_loads_of_a_run_move_every_link_as_it_moves():
    bar, at = turning(four_bar(1, 2, 1.5, 2.5), 4.0)
    run = bar.simulate(1.0, step=1e-3, q=at.q, v=at.v, every=50)
    loads = run.joint_loads(in_="child")
    assert loads.joints == ("crank", "elbow", "wrist", "pin")
    assert np.abs(loads.actuation).max() < 1e-9 * np.abs(loads.force).max()
    assert np.array_equal(loads.determined[0], [True, False, True, False, True, False])
    k = 7  # the rocker: what wrist and pin give it is what its motion needs
    from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors

    state = state_vectors(bar.model, run.q[k], run.v[k], "world")
    rates = state_accelerations(bar.model, state, run.a[k])
    body = state.bodies[3]
    centre = body.position + body.rotation @ bar.model.bodies[3].inertia.centre
    w, alpha = body.Y[3:], rates[3][3:]
    velocity = body.Y[:3] + np.cross(w, centre)
    acceleration = rates[3][:3] + np.cross(alpha, centre) + np.cross(w, velocity)
    frame = body.rotation @ bar.model.links[3].frame.rotation
    given = frame @ loads["wrist"].force[k] - loads["pin"].force[k]
    assert np.allclose(given + bar.model.gravity, acceleration, atol=1e-9)


def test_records_are_every_so_many_steps_and_the_end():
    bar = four_bar()
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    run = bar.simulate(0.1, step=1e-3, q=at.q, every=30)
    assert np.allclose(run.time, [0, 0.03, 0.06, 0.09, 0.1])
    assert run.steps == 100


def test_a_run_goes_on_from_its_last_state_to_the_same_digits():
    bar, at = turning(four_bar(1, 2, 1.5, 2.5), 4.0)
    whole = bar.simulate(1.0, step=1e-3, q=at.q, v=at.v, every=500)
    half = bar.simulate(0.5, step=1e-3, q=at.q, v=at.v)
    q, v = half.state()
    rest = bar.simulate(0.5, step=1e-3, q=q, v=v, start=0.5)
    assert np.array_equal(rest.q[-1], whole.q[-1])


def test_risky_steps_are_taken_in_parts_and_give_the_same_motion(monkeypatch):
    m = n_four_bar(2)
    at = m.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    easy = m.simulate(2.0, step=1e-3, q=at.q, v=at.v, every=100)
    monkeypatch.setattr(compiled_run, "STEP_RISK", 1e3)
    monkeypatch.setattr(passage, "STEP_RISK", 1e3)
    careful = m.simulate(2.0, step=1e-3, q=at.q, v=at.v, every=100)
    assert careful.detours > 0
    assert np.allclose(careful.time, easy.time, atol=1e-12)
    assert np.allclose(careful.q, easy.q, atol=1e-9)


def test_a_start_in_a_singular_position_is_carried_out_of_it():
    m = n_four_bar(2)
    flat = {f"crank{k}": np.pi / 2 for k in range(3)} | {f"bar{k}": -np.pi / 2 for k in range(2)}
    at = m.assemble(flat, velocity={name: 3.0 for name in flat if "crank" in name})
    v = np.array([3.0 if "crank" in name else -3.0 for name in m.coordinate_names])
    run = m.simulate(0.5, step=1e-3, q=at.q, v=v, every=10)
    assert run.finished
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": -1.0}, "duration"),
        ({"step": 0.0}, "step"),
        ({"step": 1e-12}, "longer step"),
        ({"every": 0}, "every"),
        ({"q": [0.0, 0.0]}, "q: expected"),
        ({"q": [np.nan, 0, 0]}, "finite"),
        ({"q": [0.3, 0.3, 0.3]}, "does not close the loops"),
        ({"v": [1.0, 0.0, 0.0]}, "does not keep the loops closed"),
        ({"torque": {"crnk": 1.0}}, "did you mean 'crank'"),
        ({"torque": [1.0]}, "torque: expected"),
    ],
)
def test_what_cannot_start_is_explained(options, message):
    duration = options.pop("duration", 0.1)
    with pytest.raises(StateError, match=message):
        four_bar().simulate(duration, **options)


def test_a_motion_that_cannot_go_on_keeps_what_it_has():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")

    def torque(t, q, v):
        out = np.zeros(3, dtype=np.asarray(q).dtype)
        out[0] = 1e3 * v[0] * v[0] * v[0] + 100.0  # runs away
        return out

    with pytest.raises(SolveError, match="stopped at t ="):
        bar.simulate(5.0, step=1e-3, q=at.q, torque=torque)
    run = bar.simulate(5.0, step=1e-3, q=at.q, torque=torque, check=False)
    assert not run.finished
    assert 0 < len(run.time) < 5000
    assert np.isfinite(run.q).all()
