"""Flexible mechanisms in motion: energy, loops, solvers, the rigid limit, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.flexible.models import STEEL, random_arm, slider_crank, started, state


def test_assembly_closes_a_loop_by_its_joints_before_links_bend():
    at = slider_crank().assemble({"crank": 0.6}, fixed="crank")
    assert abs(at.q[2]) < 1e-6
    assert abs(at.q[0] - 0.6) < 1e-12


@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_runs_keep_the_energy_that_damping_leaves_by_every_solver(damping):
    """Each run checks its balance of energy; they end in one state, with the loop closed."""
    machine = slider_crank(damping=damping)
    at = started(machine)
    ends = []
    for options in (
        {"step": 2e-5},
        {"step": 2e-5, "integrator": "newmark"},
        {"step": 2e-5, "method": "svd"},
        {"step": 2e-5, "method": "multipliers"},
    ):
        run = machine.simulate(0.01, q=at.q, v=at.v, **options)
        assert run.status == "finished"
        assert np.abs(machine.compile("constraints")(run.q[-1], run.v[-1])[0]).max() < 1e-9
        ends.append(np.append(run.q[-1], run.v[-1] / 100))
    assert np.ptp(ends, axis=0).max() < 2e-4
    assert run.energy[0] - run.energy[-1] > 1e-4 if damping else np.ptp(run.energy) < 1e-5


def test_a_batch_moves_as_single_runs():
    machine = slider_crank(damping=0.05)
    at = started(machine)
    run = machine.simulate(0.01, step=2e-5, q=at.q, v=at.v)
    batch = machine.simulate(0.01, step=2e-5, q=[at.q, at.q], v=[at.v, at.v])
    assert np.allclose(batch.q[1, -1], run.q[-1], rtol=0, atol=1e-11)


def test_stiffer_rods_tend_to_the_rigid_mechanism_with_their_stiffness():
    """The deflection that inertia forces need goes down as 1/E, and with it the other loads."""
    rigid = slider_crank(bends=False)
    at = started(rigid)
    a = rigid.forward_dynamics(at.q, at.v, np.zeros(3))
    expected = rigid.joint_loads(at.q, at.v, a, ["pin", "wrist"], actuated="crank").force
    errors = []
    for E in (STEEL, 4 * STEEL, 16 * STEEL):
        machine = slider_crank(E)

        def bent(eta, machine=machine):
            """Return the state with a deflection, and its accelerations."""
            guess = {"crank": 0.6, "rod.mode1": eta}
            rates = {"crank": 30.0, "rod.mode1": 0.0}
            now = machine.assemble(guess, fixed=list(guess), velocity=rates)
            return now.q, now.v, machine.forward_dynamics(now.q, now.v, np.zeros(4))

        first, second = 0.0, 1e-5
        for _ in range(4):  # to the deflection at which the mode does not accelerate
            slope = (bent(second)[2][2] - bent(first)[2][2]) / (second - first)
            first, second = second, second - bent(second)[2][2] / slope
        loads = machine.joint_loads(*bent(second), ["pin", "wrist"], actuated="crank")
        errors.append([abs(second), np.abs(loads.force - expected).max()])
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (np.abs(ratios - 4.0) < 0.4).all()


def test_kernels_compute_what_the_python_reference_does():
    rng = np.random.default_rng(8)
    machine = mbd.Mechanism(random_arm(rng, stiffening=True, quaternions=True))
    q, v, tau = state(machine.model, rng)
    a = machine.forward_dynamics(q, v, tau)
    size = np.abs(machine.bias_forces(q, v)).max()
    assert np.abs(machine.inverse_dynamics(q, v, a) - tau).max() < 1e-11 * size


def test_a_spring_holds_a_named_station_and_no_other_point():
    machine = slider_crank()
    point = {"links": ("base", "rod"), "points": ((0, 1, 0), (0.1, 0, 0))}
    spring = mbd.forces.PointSpring(**point, stiffness=100.0, free_length=1.0)
    with pytest.raises(mbd.errors.ModelError, match=r"stations=.*rod\.NAME"):
        machine.simulate(0.01, forces=[spring])
    flexible = machine.model.description.flexible[0]
    parts = mbd.Builder("rod").joint("pin", "revolute", "base", "rod")
    parts.flexible(replace(flexible, stations={"gauge": 0.1}))
    rod = mbd.Mechanism.build(parts, gravity=(0, 0, 0))
    spring = mbd.forces.PointSpring(
        links=("base", "rod.gauge"),
        points=((0.1, 0.5, 0), (0, 0, 0)),
        stiffness=100.0,
        free_length=0.2,
    )
    run = rod.simulate(0.01, step=1e-5, forces=[spring])
    assert run.q[-1, 0] > 0.0
    assert np.abs(run.q[:, 1]).max() > 1e-7


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m, q: m.to_pinocchio(), "deflection"),
        (lambda m, q: m.compile("joint_loads", ["pin"], parameters={"rod.mass": 1.0}), "bends"),
        (
            lambda m, q: m.compile("joint_loads", ["pin"], parameters={"wrist.a.xyz": [0, 0, 0]}),
            "bends|wrist",
        ),
        (lambda m, q: m.with_flexible(3), "list of FlexibleLinks"),
    ],
)
def test_what_flexible_links_cannot_have_is_refused_with_advice(ask, message):
    machine = slider_crank()
    with pytest.raises(mbd.MbdError, match=message):
        ask(machine, started(machine).q)
