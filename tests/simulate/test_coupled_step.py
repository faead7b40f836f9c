"""One step at a time under given forces: the simulation's own steps, and wrenches' virtual work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError
from mbd_bridge.equations.external import External
from mbd_bridge.equations.newton_euler import external_forces
from mbd_bridge.simulation.guards.energy import energy_kernel
from mbd_bridge.simulation.steps import passage, stepping, trusted_step
from mbd_bridge.simulation.steps.reference import ReferenceStep
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests.crossings import curve
from tests.machines import four_bar, n_four_bar, rssr
from tests.robots import own_urdfs
from tests.trees import random_tree

URDF = Path(__file__).parents[2] / "urdf"


def about_world(mechanism, q, rng) -> tuple[np.ndarray, External]:
    """One random wrench on every body: about the world's origin, and in the axes of a link."""
    model = mechanism.model
    wrenches, external = np.zeros((len(model.bodies), 6)), {}
    for k in range(len(model.bodies)):
        number = next(n for n, link in enumerate(model.links) if link.body == k)
        frame = mechanism.placement(q, model.links[number].name)
        force, moment = rng.normal(size=(2, 3))
        turn = frame[:3, :3].T
        external[number] = np.concatenate([turn @ force, turn @ moment])
        wrenches[k] = np.concatenate([force, moment + np.cross(frame[:3, 3], force)])
    return wrenches, external


@pytest.mark.parametrize("seed", range(3))
def test_wrenches_about_the_origin_are_wrenches_on_links(seed):
    """As inputs of the step, and by the recursion with wrenches in their links' axes."""
    rng = np.random.default_rng(seed)
    mechanism = mbd.Mechanism.build(random_tree(rng, 9, mimics=0.3), floating=bool(seed % 2))
    model = mechanism.model
    q = model.integrate(model.neutral(), rng.normal(size=model.nv))
    wrenches, external = about_world(mechanism, q, rng)
    expected = external_forces(model, q, external)
    core = CoupledStep(model, q)
    still = np.zeros(model.nv)
    found = core.forces(q, still, still, wrenches)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("machine", [four_bar, rssr])
def test_steps_are_those_of_a_simulation(machine):
    mechanism = machine()
    q = mechanism.assemble(near={"crank": 0.7}, fixed="crank").q
    v, none = np.zeros(mechanism.nv), np.zeros((len(mechanism.model.bodies), 6))
    tau = np.zeros(mechanism.nv)
    tau[0] = 2.0
    core, state = CoupledStep(mechanism.model, q), (q, v)
    for _ in range(200):
        state = core(*state, tau, none, 1e-3)
    run = mechanism.simulate(0.2, q=q, v=v, torque=tau)
    assert np.abs(state[0] - run.q[-1]).max() < 1e-12
    a = core.accelerations(run.q[-1], run.v[-1], tau, none)
    assert np.abs(a - run.a[-1]).max() < 1e-9 * np.abs(run.a[-1]).max()


def test_steps_that_are_not_trusted_are_taken_by_a_passage(monkeypatch):
    machine = n_four_bar(2)
    at = machine.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    none, tau = np.zeros((len(machine.model.bodies), 6)), np.zeros(machine.nv)
    core, state = CoupledStep(machine.model, at.q, at.v), (at.q, at.v)
    passed = []
    ahead = passage.Passage.ahead
    monkeypatch.setattr(
        passage.Passage, "ahead", lambda *given, **more: passed.append(1) or ahead(*given, **more)
    )
    monkeypatch.setattr(stepping, "STEP_RISK", 1e3)
    monkeypatch.setattr(trusted_step, "STEP_RISK", 1e3)
    monkeypatch.setattr(passage, "STEP_RISK", 1e3)
    for _ in range(1800):
        state = core(*state, tau, none, 1e-3)
    assert len(passed) > 0
    easy = machine.simulate(1.8, step=1e-3, q=at.q, v=at.v, every=100)
    assert np.abs(state[0] - easy.q[-1]).max() < 1e-8


@pytest.mark.parametrize("force", [0.0, 5.0])
def test_the_way_past_a_flat_position_is_kept_while_forces_stay(monkeypatch, force):
    """Else the next step begins where only the slow road in Python leads on: a second or so."""
    slow = []
    acceleration = ReferenceStep.acceleration
    monkeypatch.setattr(
        ReferenceStep, "acceleration", lambda *given: slow.append(1) or acceleration(*given)
    )
    way, h = curve("parallelogram"), 1e-3
    start, speed = way.motion(way.flat[0] + 5e-9, 3.0, -20 * h)
    q, v = way.state(start, speed)
    bar, none, tau = way.machine, np.zeros((len(way.machine.model.bodies), 6)), np.zeros(3)
    core = CoupledStep(bar.model, q, v)
    for _ in range(20):
        q, v = core(q, v, tau, none, h)
    half = q, v
    for _ in range(20):
        q, v = core(q, v, np.array([force, 0.0, 0.0]), none, h)
    assert bool(slow) == bool(force)
    if not force:
        assert way.apart(q, way.motion(start, speed, 40 * h)[0]) < 1e-9
    energy = energy_kernel(bar.model)
    gained = float((energy(q, v)[0] - energy(*half)[0])[0])
    assert gained == pytest.approx(force * (q - half[0])[0], abs=1e-8)


def test_rows_are_chosen_anew_where_others_have_come_to_matter():
    """A parallelogram from where it is flat: rows of that place alone would let it come open."""
    bar = four_bar()
    flat = bar.assemble(near=np.array([1, -1, 1]) * np.pi / 2).q
    _, phi_q, _ = bar.compile("constraints")(flat, np.zeros(bar.nv))
    way = np.array([1.0, -1.0, 1.0])  # as a parallelogram
    assert np.abs(phi_q @ way).max() < 1e-12
    core, state = CoupledStep(bar.model, flat, way), (flat, way)
    kept = core.rows
    core.keep(kept[:-1])
    none = np.zeros((len(bar.model.bodies), 6))
    for _ in range(300):
        state = core(*state, np.zeros(bar.nv), none, 1e-3)
    assert core.rows == kept
    phi, _, _ = bar.compile("constraints")(*state)
    assert np.abs(phi).max() < 1e-5
    assert abs(state[0][0] - flat[0]) > 0.1


def test_a_motion_that_runs_away_is_said():
    rod = mbd.load(URDF / "pendulum.urdf")
    core, none = CoupledStep(rod.model, np.zeros(1)), np.zeros((2, 6))
    with pytest.raises(SolveError, match="runs away"):
        core(np.zeros(1), np.zeros(1), np.array([1e308]), none, 1e3)


def test_the_machine_code_of_one_systems_steps_is_not_that_of_anothers():
    """What acts beside the inputs tells systems apart too, where both are along all velocities."""
    pendulum = mbd.load(own_urdfs()["pendulum"])
    pushes = ([2.0], None, lambda t, q, v: -3.0 * q, lambda t, q, v: 5.0 - v)
    for push in pushes:
        core = CoupledStep(mbd.System(pendulum, torque=push), np.zeros(1))
        q, _ = core(np.array([0.4]), np.ones(1), np.zeros(1), np.zeros((2, 6)), 0.01)
        run = pendulum.simulate(0.01, step=0.01, q=[0.4], v=[1.0], torque=push)
        assert q == pytest.approx(run.q[-1], abs=1e-15)
    for push in (None, (1.0, 0, 0, 0, 0, 0), lambda t, q, v: [0.0, t, q[0], v[0], 0.0, 2.0]):
        given = {} if push is None else {"rod": push}
        core = CoupledStep(mbd.System(pendulum, external=given), np.zeros(1))
        q, _ = core(np.array([0.4]), np.ones(1), np.zeros(1), np.zeros((2, 6)), 0.01)
        run = pendulum.simulate(0.01, step=0.01, q=[0.4], v=[1.0], external=given)
        assert q == pytest.approx(run.q[-1], abs=1e-15)


def test_implicit_steps_in_a_null_space_go_on_with_more_rows():
    """Their memory has a number for each row: that of others is of no use."""
    bar = four_bar()
    q = bar.assemble(near={"crank": 0.7}, fixed="crank", velocity={"crank": 1.0})
    scheme = mbd.integrators.NullSpace("qr", mbd.integrators.HHT())
    core, plain = (CoupledStep(bar.model, q.q, q.v, integrator=scheme) for _ in range(2))
    core.keep(core.rows[:-1])
    none, tau = np.zeros((len(bar.model.bodies), 6)), np.zeros(bar.nv)
    found = expected = q.q, q.v
    for _ in range(20):
        found, expected = core(*found, tau, none, 1e-3), plain(*expected, tau, none, 1e-3)
    assert core.rows == plain.rows
    assert np.abs(found[1] - expected[1]).max() < 1e-3


def test_bends_of_a_table_are_met_from_any_time():
    """On the grid of one step they are off that of another, of the same length, that begins later:
    without an end there a step loses three digits or more.
    """
    rod = mbd.load(URDF / "pendulum.urdf")
    table = np.array([0.0, 0.02, 0.05, 1.0]), np.array([0.0, 5.0, -4.0, 1.0])
    system = mbd.System(rod, torque={"hinge": table})
    still, none, h = np.zeros(1), np.zeros((len(rod.model.bodies), 6)), 0.01
    core = CoupledStep(system, still)
    core(still, still, still, none, h, 0.0)
    state = still, still
    for k in range(8):
        state = core(*state, still, none, h, 0.005 + k * h)
    alike = system.simulate(8 * h, start=0.005, step=h, q=still, v=still)
    assert np.abs(state[1] - alike.v[-1]).max() < 1e-9
