"""Implicit steps: amplification of an oscillator, order, closure, energy, Newton's iterations."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.simulation.steps.compiled import Start, SystemStep, one_step
from mbd_bridge.simulation.steps.implicit import ImplicitStep
from mbd_bridge.simulation.steps.memory import Begin
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker
from tests import papers
from tests.machines import four_bar, turning
from tests.robots import own_urdfs
from tests.simulate.implicit import orders, oscillator
from tests.tolerances import DIFFERENCE

SCHEMES = {
    "newmark": mbd.integrators.Newmark(),
    "damped newmark": mbd.integrators.Newmark(beta=0.3025, gamma=0.6),
    "hht": mbd.integrators.HHT(),
    "most damped hht": mbd.integrators.HHT(alpha=-1.0 / 3.0),
    "generalised alpha": mbd.integrators.GeneralisedAlpha(),
    "generalised alpha 0.5": mbd.integrators.GeneralisedAlpha(rho=0.5),
}
EXPLICIT = mbd.integrators.ExplicitNewmark()


def step_of(system, scheme, rows=(), velocity_rows=None):
    """One step from a state, and what begins a motion."""
    trajectory, step = Trajectory(system), SystemStep(system, rows, scheme, velocity_rows)
    return one_step(trajectory, step.march()), Start(trajectory, step), step


def amplification(scheme, h, stiffness=1.0):
    """The matrix of one step of an oscillator, of (q, v, a) or (q, v, a, q̈), from unit states."""
    once, start, step = step_of(oscillator(stiffness), scheme)
    still = start.begun(Now(0.0, np.zeros(1), np.zeros(1))).carried
    size = 1 if step.memory.one else 2
    columns = []
    for unit in np.eye(2 + size):
        carried = np.concatenate([unit[2:], still[size:]])
        found = once(Now(0.0, unit[:1], unit[1:2], carried), h)
        columns.append(np.concatenate([found.q, found.v, found.carried[:size]]))
    return np.array(columns).T


def of_the_literature(scheme, h):
    """The same for ω = 1, from the scheme's equations: q̈' = -q', and so on, solved at once."""
    alpha_m, alpha_f, beta, gamma = scheme.coefficients
    left = np.array(
        [
            [1.0, 0.0, -(h**2) * beta, 0.0],
            [0.0, 1.0, -h * gamma, 0.0],
            [0.0, 0.0, 1.0 - alpha_m, alpha_f - 1.0],
            [1.0, 0.0, 0.0, 1.0],
        ]
    )
    right = np.array(
        [
            [1.0, h, h**2 * (0.5 - beta), 0.0],
            [0.0, 1.0, h * (1.0 - gamma), 0.0],
            [0.0, 0.0, -alpha_m, alpha_f],
            [0.0, 0.0, 0.0, 0.0],
        ]
    )
    return np.linalg.solve(left, right)


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


@pytest.mark.parametrize("name", SCHEMES)
def test_a_step_amplifies_an_oscillation_as_the_equations_of_the_scheme_say(name):
    scheme = SCHEMES[name]
    for h in (0.1, 1.0, 10.0):
        own, expected = amplification(scheme, h), of_the_literature(scheme, h)
        if len(own) == 3:  # a = q̈
            expected = np.delete(np.delete(expected, 3, 0), 3, 1)
        assert np.abs(own - expected).max() < 1e-12 * np.abs(expected).max()
        assert radius(own) < 1.0 + 1e-9


def test_spectral_radii_at_infinite_frequency_are_those_that_were_asked_for():
    """1 of the trapezoidal rule, (1 + α) / (1 - α) of HHT, ρ of generalised α."""
    far = 1e4
    assert abs(radius(amplification(mbd.integrators.Newmark(), far)) - 1.0) < 1e-3
    for alpha in (-0.1, -0.3):
        found = radius(amplification(mbd.integrators.HHT(alpha=alpha), far))
        assert abs(found - (1.0 + alpha) / (1.0 - alpha)) < 1e-3
    for rho in (0.9, 0.5):
        assert (
            abs(radius(amplification(mbd.integrators.GeneralisedAlpha(rho=rho), far)) - rho) < 1e-2
        )


def test_damping_grows_with_the_frequency_and_low_frequencies_keep_theirs():
    for scheme in (mbd.integrators.HHT(), mbd.integrators.GeneralisedAlpha(rho=0.5)):
        radii = [radius(amplification(scheme, h)) for h in (0.05, 0.5, 2.0, 20.0)]
        assert radii == sorted(radii, reverse=True)
        assert 1.0 - radii[0] < 1e-5


def test_explicit_newmark_is_stable_up_to_h_omega_of_2():
    assert radius(amplification(EXPLICIT, 1.999)) < 1.0 + 1e-6
    assert radius(amplification(EXPLICIT, 2.01)) > 1.1


def test_the_trapezoidal_rule_keeps_the_energy_of_an_oscillator_and_hht_takes_some_away():
    def energies(scheme):
        run = oscillator(400.0).simulate(100.0, step=0.05, q=[0.1], v=[0.0], integrator=scheme)
        return 0.5 * (400.0 * run.q[:, 0] ** 2 + run.v[:, 0] ** 2), run

    kept, run = energies("newmark")
    assert np.ptp(kept) < 1e-11 * kept[0]
    assert run.facts["balance"] < 1e-10
    lost, run = energies("hht")
    assert lost.max() == lost[0]
    assert lost[-1] < 1e-3 * lost[0]
    assert run.finished


ORDER = {
    "newmark": "newmark",
    "hht": "hht",
    "generalised alpha": "generalised_alpha",
    "explicit newmark": "explicit_newmark",
}


@pytest.mark.parametrize("integrator", ORDER.values())
def test_a_free_body_that_turns_moves_with_the_second_order(integrator):
    """Quaternions and the axes of the body, which turn: order two of both."""
    built = mbd.Builder("brick", root="brick")
    built.link("brick", 2.0, (0.1, 0.2, -0.1), (0.1, 0.3, 0.35))
    brick = mbd.Mechanism.build(built.description(), floating=True)
    v = np.array([1.0, -2.0, 0.5, 3.0, -1.0, 4.0])
    exact = brick.simulate(0.5, step=1e-4, v=v, every=5000)
    ends = [brick.simulate(0.5, step=h, v=v, integrator=integrator) for h in (0.02, 0.01, 0.005)]
    for one, name in ((exact.q, "q"), (exact.v, "v")):
        errors = [np.abs(getattr(run, name)[-1] - one[-1]).max() for run in ends]
        assert np.all(np.abs(orders(errors) - 2.0) < 0.15), name


@pytest.mark.parametrize("integrator", ORDER.values())
def test_loops_keep_the_second_order_of_positions_velocities_and_multipliers(integrator):
    machine, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    start = {"q": at.q, "v": at.v, "torque": {"crank": "0.5 + t"}}
    exact = machine.simulate(0.4, step=1e-4, every=4000, **start)
    ends = [
        machine.simulate(0.4, step=h, integrator=integrator, **start) for h in (0.004, 0.002, 0.001)
    ]
    for name in ("q", "v", "lam"):
        expected = getattr(exact, name)[-1]
        errors = [np.abs(getattr(run, name)[-1] - expected).max() for run in ends]
        assert np.all(np.abs(orders(errors) - 2.0) < 0.25), name


def rod_on_a_cut_hinge():
    """A free rod whose hinge on the ground closes a loop: five rows, of which none is redundant."""
    built = mbd.Builder("rod", root="ground")
    built.link("rod", 1.0, (0.0, 0.0, -0.5), (1 / 12, 1 / 12, 1e-3))
    built.joint("free", "floating", "ground", "rod")
    built.loop("hinge", "revolute", "ground", "rod", axis=(0.0, 1.0, 0.0))
    return mbd.Mechanism.build(built.description())


@pytest.mark.parametrize("integrator", ORDER.values())
def test_a_pendulum_on_a_cut_hinge_has_index_three_and_the_second_order(integrator):
    """Against the tree: the angle, the rate, and the load of the hinge, from the multipliers."""
    rod = rod_on_a_cut_hinge()
    q = np.array([0.0, 0.0, 0.0, 0.0, np.sin(0.6), 0.0, np.cos(0.6)])
    tree = mbd.load(own_urdfs()["pendulum"]).simulate(1.0, step=1e-3, q=[1.2], every=1000)
    turn, rate = tree.q[-1, 0], tree.v[-1, 0]
    weight = 9.81 * np.array([-np.sin(turn), 0.0, np.cos(turn)])
    pull = weight + 0.5 * np.array([-tree.a[-1, 0], 0.0, rate**2])  # ground on rod, its axes
    errors = []
    for h in (0.02, 0.01, 0.005):
        run = rod.simulate(1.0, step=h, q=q, integrator=integrator)
        found = 2.0 * np.arctan2(run.q[-1, 4], run.q[-1, 6]), run.v[-1, 4]
        load = run.joint_loads(["hinge"], in_="parent").force[-1, 0]
        turned = np.array(
            [[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]]
        )
        apart = [found[0] - turn, found[1] - rate, np.abs(turned @ load - pull).max()]
        errors.append(np.abs(apart))
    assert np.all(np.abs(orders(errors) - 2.0) < 0.25), errors


@pytest.mark.parametrize("name", ["four_bar", "rssr", "spatial_slider_crank"])
@pytest.mark.parametrize("integrator", ["newmark", "hht", "generalised_alpha"])
def test_loops_stay_closed_in_position_and_velocity(name, integrator):
    robot = mbd.load(own_urdfs()[name])
    at = robot.assemble(velocity={robot.model.velocity_names[0]: 2.0})
    run = robot.simulate(0.3, step=0.01, q=at.q, v=at.v, integrator=integrator)
    loops = LoopChecker(robot.model)
    scale = robot.model.velocity_scale
    for q, v in zip(run.q, run.v, strict=True):
        phi, J = loops.at(q)
        assert np.abs(phi).max() < 1e-12
        assert np.abs(J @ (v / scale)).max() < 1e-9


def test_a_stiff_spring_lets_implicit_steps_be_fifty_times_longer_than_explicit_ones():
    """KimYou97, simulation 2: the arm tied by a spring of 1.75e7 N/m."""
    start = papers.second_exact(step=1e-3, every=1000).run.v[0]
    exact = papers.second_sprung(papers.STIFFNESS, start, step=1e-4, every=500).run
    expected = exact.prescribed_forces["joint_4"]

    def errors(step, **options):
        every = round(0.05 / step)
        run = papers.second_sprung(papers.STIFFNESS, start, step=step, every=every, **options).run
        force = run.prescribed_forces["joint_4"] - expected
        return np.abs(run.q - exact.q).max(), np.abs(force).max() / np.abs(expected).max()

    explicit = 1e-3  # s; twice as long, both fail
    for integrator in ("rk4", "explicit_newmark"):
        with pytest.raises(mbd.errors.SolveError):
            errors(2.0 * explicit, integrator=integrator)
    for integrator in ("newmark", "hht", "generalised_alpha"):
        angle, torque = errors(50.0 * explicit, integrator=integrator)
        assert angle < 1e-8  # rad
        assert torque < 2e-3


def test_newtons_matrix_is_the_derivative_of_all_that_acts():
    """Springs, dampers, gravity and gyroscopic terms: against central differences."""
    robot = mbd.load(own_urdfs()["kuka_iiwa"])
    model = robot.model
    springs = [mbd.forces.JointSpring(name, 50.0, 2.0) for name in model.velocity_names]
    system = mbd.System(robot, forces=springs, torque=lambda t, q, v: np.sin(q) * v)
    step = ImplicitStep(system, (), mbd.integrators.HHT())
    rng = np.random.default_rng(3)
    held, instant = np.zeros(system.layout.sizes[0]), np.zeros(system.layout.sizes[2])
    begin = Begin(
        rng.normal(size=7),
        rng.normal(size=7),
        np.zeros(0),
        rng.normal(size=step.memory.size),
        np.array([0.3]),
        np.array([0.05]),
        np.zeros(0),
        held,
        instant,
    )
    x, lam = rng.normal(size=7), np.zeros(0)
    R, J = step.derived(x, lam, *begin)
    assert np.abs(R - step.residual(begin, x, lam)).max() < 1e-11 * np.abs(R).max()
    sides = [
        [step.residual(begin, x + sign * 1e-5 * unit, lam) for sign in (1.0, -1.0)]
        for unit in np.eye(7)
    ]
    expected = np.array([(plus - minus) / 2e-5 for plus, minus in sides]).T
    assert np.abs(J - expected).max() < DIFFERENCE * np.abs(J).max()


def test_rows_may_be_kept_in_velocity_alone():
    """As those of a knife edge are: here those of a loop, whose position then drifts by h²."""
    robot = mbd.load(own_urdfs()["rssr"])
    at = robot.assemble(velocity={robot.model.velocity_names[0]: 2.0})
    system, loops = mbd.System(robot), LoopChecker(robot.model)
    rows = (0, 1, 2)
    exact = robot.simulate(0.2, step=1e-4, q=at.q, v=at.v, every=2000)
    errors, drift = [], []
    for steps in (20, 40, 80):
        once, start, _ = step_of(system, mbd.integrators.Newmark(), rows, rows)
        now = start.begun(Now(0.0, at.q, at.v))
        for _ in range(steps):
            now = now.after(0.2 / steps, once(now, 0.2 / steps))
        phi, J = loops.at(now.q)
        assert np.abs(J @ (now.v / robot.model.velocity_scale)).max() < 1e-9
        errors.append(np.abs(now.q - exact.q[-1]).max())
        drift.append(np.abs(phi).max())
    assert np.all(np.abs(orders(errors) - 2.0) < 0.3)
    assert np.all(np.abs(orders(drift) - 2.0) < 0.3)
    assert 1e-9 < drift[-1] < 1e-3
