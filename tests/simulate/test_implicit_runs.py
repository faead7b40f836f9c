"""Runs and batches by implicit steps: whatever acts, variable steps, steps that do not converge."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.forces.base import NO_STATES, Effect
from mbd_bridge.solve import prepare
from tests.c_compiler import needs_compiler
from tests.machines import four_bar, turning
from tests.oracles.rolling import Disk
from tests.robots import own_urdfs
from tests.simulate import roads
from tests.simulate.implicit import ACTS, orders, oscillator, slider
from tests.step_in_c import InC


@pytest.fixture(scope="module")
def bar():
    machine, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    return machine, {"q": at.q, "v": at.v}


@pytest.mark.parametrize("name", ACTS)
def test_what_acts_goes_together_with_every_scheme_in_runs_and_batches(bar, name):
    """Second order against Runge-Kutta; a batch of one has the digits of a run."""
    machine, start = bar
    exact = machine.simulate(0.3, step=1e-4, every=3000, **start, **ACTS[name])
    for scheme in (
        "newmark",
        mbd.integrators.HHT(alpha=-0.3),
        mbd.integrators.GeneralisedAlpha(rho=0.6),
    ):
        kwargs = {"integrator": scheme, **ACTS[name]}
        coarse, fine = (machine.simulate(0.3, step=h, **start, **kwargs) for h in (2e-3, 5e-4))
        errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in (coarse, fine)]
        assert errors[1] < max(errors[0] / 6.0, 1e-11) and errors[0] < 1e-3
        batch = machine.simulate(0.3, step=2e-3, q=start["q"][None], v=start["v"], **kwargs)
        assert batch.alone == ()
        assert np.array_equal(batch.q[0], coarse.q) and np.array_equal(batch.v[0], coarse.v)


def test_trajectories_of_a_batch_are_runs_of_their_own(bar):
    machine, start = bar
    torques = np.linspace(-1.0, 1.0, 6)
    batch = machine.simulate(
        0.1, **start, torque={"crank": torques}, integrator="hht", loads=["pin"]
    )
    for k in (0, 5):
        run = machine.simulate(
            0.1, **start, torque={"crank": torques[k]}, integrator="hht", loads=["pin"]
        )
        assert np.array_equal(batch.q[k], run.q)
        assert np.abs(batch[k].joint_loads(["pin"]).force - run.loads.force).max() < 1e-9


@pytest.mark.parametrize(
    "scheme", [mbd.integrators.Newmark(), mbd.integrators.HHT(), mbd.integrators.GeneralisedAlpha()]
)
def test_the_tolerance_decides_how_long_variable_steps_are(scheme):
    """A pendulum that swings through: against SciPy's Radau; the step's error goes with h³."""
    robot = mbd.load(own_urdfs()["pendulum"])
    start = {"q": [2.5], "v": [0.0]}
    exact = robot.simulate(2.0, step=0.1, integrator="scipy:Radau", tolerance=1e-11, **start)
    found = []
    for tolerance in (1e-5, 1e-6, 1e-7):
        own = type(scheme)(tolerance=tolerance)
        run = robot.simulate(2.0, step=0.1, integrator=own, **start)
        assert np.array_equal(run.time, exact.time)
        assert run.facts["longest_step"] > 1.3 * run.facts["shortest_step"]
        found.append((np.abs(run.q - exact.q).max(), run.facts["steps"]))
    errors, steps = np.array(found).T
    assert np.all(np.abs(np.log(steps[1:] / steps[:-1]) / np.log(10.0) - 1.0 / 3.0) < 0.1)
    assert errors[-1] < errors[0] / 7.0 and errors[-1] < 1e-4


def test_variable_steps_end_where_forces_jump(bar):
    machine, start = bar
    exact = machine.simulate(0.3, step=1e-4, every=3000, **start, **ACTS["table"])
    scheme = mbd.integrators.HHT(tolerance=1e-8)
    run = machine.simulate(0.3, step=0.01, integrator=scheme, **start, **ACTS["table"])
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 1e-5


def relay(stiffness):
    """A spring that is stiff on one side only, and much softer on the other."""

    def force(t, q, v):
        return np.array([-mbd.functions.where(q[0] > 0.0, stiffness * q[0], q[0])])

    return force


def test_a_step_that_does_not_converge_is_taken_in_halves_and_counted():
    start = {"q": [-0.1], "v": [3.0], "torque": relay(1e5)}
    run = slider().simulate(0.5, step=5e-3, integrator="newmark", **start)
    assert run.finished and run.detours == 1
    exact = slider().simulate(0.5, step=1e-5, every=50_000, **start)
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 0.3
    batch = slider().simulate(0.5, step=5e-3, integrator="newmark", **{**start, "q": [[-0.1]]})
    assert batch.status == ("finished",) and np.array_equal(batch.q[0], run.q)


def test_a_motion_that_cannot_go_on_ends_with_a_status_and_what_there_is():
    """A force that jumps back and forth within every step."""

    def shaking(t, q, v):
        return np.array([1e9 * mbd.functions.sign(np.sin(1e9 * q[0]))])

    run = slider().simulate(0.1, step=0.01, v=[1.0], torque=shaking, integrator="hht", check=False)
    assert "do not converge" in run.status and "refresh=1" in run.status
    assert len(run.time) >= 1


class Lag(mbd.forces.ForceElement):
    """A spring behind a first-order lag: ż = (x - z) / T, force -k z."""

    def bind(self, model):
        return self

    def states(self, model):
        return {"deflection": "m"}

    def velocity_numbers(self, model):
        return (0,)

    def units(self, model):
        return {}

    def effect(self, model, t, q, v, z=NO_STATES):
        return Effect({0: -30.0 * z[0]}, {}, 0.0, 0.0, {}, ((q[0] - z[0]) / 0.05,))


@pytest.mark.parametrize("scheme", ["newmark", "hht", "generalised_alpha", "explicit_newmark"])
def test_states_of_force_elements_are_integrated_in_the_same_newton_iterations(scheme):
    """A linear system of x = (q, v, z), whose exponential is known."""
    start = {"q": [0.1], "v": [0.5], "z": [0.02], "forces": [Lag(name="lag")]}
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -30.0], [20.0, 0.0, -20.0]])
    values, vectors = np.linalg.eig(A)
    exact = (vectors * np.exp(values)) @ np.linalg.solve(vectors, [0.1, 0.5, 0.02])
    errors = []
    for h in (0.01, 0.005, 0.0025):
        run = slider().simulate(1.0, step=h, integrator=scheme, **start)
        end = np.array([run.q[-1, 0], run.v[-1, 0], run.z[-1, 0]])
        errors.append(np.abs(end - exact.real).max())
    assert np.all(np.abs(orders(errors) - 2.0) < 0.2)
    batch = slider().simulate(1.0, step=0.0025, integrator=scheme, **{**start, "q": [[0.1]]})
    assert np.array_equal(batch.z[0], run.z) and np.array_equal(batch.q[0], run.q)


@pytest.mark.parametrize("scheme", ["newmark", "hht", "generalised_alpha", "explicit_newmark"])
def test_a_wheel_rolls_with_the_second_order_and_keeps_its_constraints(scheme):
    """One row of positions and two of velocities alone."""
    disk = Disk().mechanism()
    at = disk.assemble(
        {"free.qx": -0.2, "free.z": 0.3}, velocity={"free.vx": 1.4, "free.wy": 5.0, "free.wz": 0.9}
    )
    start = {"q": at.q, "v": at.v}
    exact = disk.simulate(0.5, every=500, **start)
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        run = disk.simulate(0.5, step=h, integrator=scheme, **start)
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert np.all(np.abs(orders(errors) - 2.0) < 0.3)
    phi, phi_q, _ = prepare(disk.model, "constraints")(run.q, run.v)
    assert np.abs(phi).max() < 1e-12
    assert np.abs(np.einsum("nij,nj->ni", phi_q, run.v)).max() < 1e-9


def test_a_run_goes_on_from_its_checkpoint_to_the_same_digits(tmp_path, bar):
    machine, start = bar
    options = {
        "integrator": mbd.integrators.HHT(alpha=-0.1),
        "torque": {"crank": "0.5 + t"},
        **start,
    }
    whole = machine.simulate(0.3, **options)

    class KilledError(Exception):
        pass

    seen = []

    def stop(steps):
        seen.append(steps)
        if sum(seen) > 100:
            raise KilledError

    file = tmp_path / "run.npz"
    with pytest.raises(KilledError):
        machine.simulate(0.3, checkpoint=file, checkpoint_every=50, progress=stop, **options)
    again = machine.simulate(0.3, checkpoint=file, checkpoint_every=50, **options)
    assert np.array_equal(again.q, whole.q)
    with pytest.raises(mbd.MbdError, match="integrator"):
        machine.simulate(
            0.3,
            checkpoint=file,
            **{**options, "integrator": mbd.integrators.HHT(alpha=-0.2)},
        )


def test_events_and_requested_loads_go_with_implicit_steps(bar):
    machine, start = bar

    def level(t, q, v):
        return q[0] - 1.0

    level.terminal = True
    kwargs = {"events": {"level": level}, "loads": ["crank"], **start}
    exact = machine.simulate(1.0, **kwargs)
    run = machine.simulate(1.0, integrator="newmark", **kwargs)
    assert run.status == "event" and abs(run.time[-1] - exact.time[-1]) < 1e-5
    assert np.abs(run.loads.force[-1] - exact.loads.force[-1]).max() < 1e-2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mbd.integrators.HHT(alpha=0.1), "HHT: alpha: expected a number from -0.3333 to 0"),
        (lambda: mbd.integrators.GeneralisedAlpha(rho=1.5), "rho"),
        (lambda: mbd.integrators.Newmark(gamma=0.3), "gamma"),
        (lambda: mbd.integrators.Newmark(iterations=0), "iterations"),
        (lambda: mbd.integrators.Newmark(refresh=-1), "refresh"),
        (lambda: mbd.integrators.Newmark(tolerance=0.0), "tolerance"),
        (lambda: oscillator(1.0).simulate(1.0, integrator="newmrk"), "newmark"),
        (lambda: oscillator(1.0).simulate(1.0, q=[[0.0]], integrator="abm"), "newmark"),
        (
            lambda: oscillator(1.0).simulate(
                1.0, q=[[0.0]], integrator=mbd.integrators.HHT(tolerance=1e-6)
            ),
            "fixed",
        ),
    ],
)
def test_wrong_options_are_told(make, words):
    with pytest.raises(mbd.errors.StateError, match=words):
        make()


@needs_compiler
@pytest.mark.parametrize(
    "scheme",
    ["hht", mbd.integrators.Newmark(iterations=3), "explicit_newmark", *roads.STEPS.values()],
    ids=str,
)
def test_a_step_in_c_has_the_digits_of_a_run_and_the_head_its_first_memory(tmp_path, bar, scheme):
    machine, start = bar
    acts = {"torque": {"crank": "0.5 + t"}, "forces": [mbd.forces.JointSpring("wrist", 3.0, 0.2)]}
    system = mbd.System(machine, **acts)
    run = system.simulate(0.02, integrator=scheme, **start)
    step = InC(mbd.Equations(system, **start), tmp_path, integrator=scheme)
    said = " ".join(line.strip(" *") for line in step.head.splitlines())
    (numbers,) = re.findall(r"memory of a motion .*?: \[(.*?)\]", said)
    state = {**start, "t": np.zeros(2), "memory": np.array([float(x) for x in numbers.split(",")])}
    for _ in range(20):
        found = step(h=np.array([1e-3]), u=np.zeros(0), **state)
        assert found["risk"][0] < 1e6
        state = {name: found[f"{name}_next"].copy() for name in state}
    assert np.array_equal(state["q"], run.q[-1]) and np.array_equal(state["v"], run.v[-1])
