"""Implicit steps that keep Newton's matrix: as exact as with fresh ones, the same on all roads."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests.c_compiler import needs_compiler
from tests.simulate.implicit import Q, V, arm, orders
from tests.step_in_c import InC

__all__ = ["arm"]


def run_of(arm, step=5e-3, duration=0.5, **more):
    every = round(duration / step)
    return arm.simulate(duration, step=step, every=every, q=Q, v=V, **more)


def test_far_fewer_matrices_are_formed_and_the_motion_is_that_of_fresh_ones(arm):
    exact = run_of(arm, 1e-4)
    for step, share in ((5e-3, 0.8), (5e-4, 0.35)):
        kept, fresh = (
            run_of(arm, step, integrator=mbd.integrators.Newmark(jacobian=one))
            for one in ("kept", "fresh")
        )
        assert 1 <= kept.facts["jacobians"] < share * 0.5 / step
        assert "jacobians" not in fresh.facts
        for name in ("q", "v", "a"):
            ours, own, theirs = (getattr(run, name)[-1] for run in (kept, fresh, exact))
            assert 0.0 < np.abs(ours - own).max() < 0.01 * np.abs(own - theirs).max(), name


def test_accelerations_keep_the_second_order(arm):
    exact = run_of(arm, 5e-5)
    for scheme in ("newmark", "hht", "generalised_alpha"):
        ends = [run_of(arm, h, integrator=scheme) for h in (2e-3, 1e-3, 5e-4)]
        for name in ("q", "v", "a"):
            expected = getattr(exact, name)[-1]
            errors = [np.abs(getattr(run, name)[-1] - expected).max() for run in ends]
            assert np.all(np.abs(orders(errors) - 2.0) < 0.2), (scheme, name, errors)


def test_lanes_form_their_matrices_each_at_its_own_time(arm):
    """Five starts in lanes: to the bit the runs of each alone."""
    q = Q + np.linspace(0.0, 0.2, 5)[:, None] * [0.5, 2.0]
    batch = arm.simulate(0.2, step=1e-3, q=q, v=V, integrator="newmark")
    assert batch.alone == ()
    formed = []
    for k, start in enumerate(q):
        alone = arm.simulate(0.2, step=1e-3, q=start, v=V, integrator="newmark")
        formed.append(alone.facts["jacobians"])
        assert np.array_equal(batch.q[k], alone.q) and np.array_equal(batch.v[k], alone.v), k
    assert len(set(formed)) > 1


def test_a_step_in_somebodys_loop_has_the_digits_of_a_run(arm):
    run = run_of(arm, 2e-3, 0.2, integrator="hht")
    step = CoupledStep(arm, Q, V, integrator="hht")
    q, v = Q, V
    for k in range(100):
        q, v = step(q, v, np.zeros(2), np.zeros((2, 6)), 2e-3, t=2e-3 * k)
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=1e-13)


@needs_compiler
def test_c_calls_for_a_matrix_where_the_run_does(arm, tmp_path):
    run = run_of(arm, 2e-3, 0.2, integrator="newmark")
    assert not run.detours
    step = InC(mbd.Equations(arm, q=Q, v=V), tmp_path, integrator="newmark")
    start = arm.simulate(2e-3, step=2e-3, q=Q, v=V, integrator="newmark")
    memory = np.concatenate([start.a[0], np.zeros(step.inputs["memory"] - 2)])
    state = {"q": Q, "v": V, "t": np.zeros(2), "memory": memory}
    assert "zeros, places of Newton's matrix" in " ".join(step.head.split())
    for _ in range(100):
        found = step(h=np.array([2e-3]), u=np.ones(1), **state)
        assert found["risk"][0] < 1e6
        state = {name: found[f"{name}_next"] for name in state}
    assert np.array_equal(state["q"], run.q[-1]) and np.array_equal(state["v"], run.v[-1])


def test_variable_steps_keep_it_too(arm):
    runs = [
        arm.simulate(
            0.5, step=0.1, q=Q, v=V,
            integrator=mbd.integrators.GeneralisedAlpha(tolerance=1e-6, jacobian=one),
        )
        for one in ("kept", "fresh")
    ]  # fmt: skip
    assert runs[0].facts["jacobians"] < 0.6 * runs[0].facts["steps"]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-5


def test_what_has_left_a_stop_beside_a_part_in_fast_motion_falls_freely():
    """J of the pressed stop is 2,500 times too stiff; the other part has large corrections."""
    built = mbd.Builder("two", root="ground").link("shaken", 1.0).link("free", 1.0)
    built.joint("a", "prismatic", "ground", "shaken", axis=(1.0, 0.0, 0.0))
    built.joint("b", "prismatic", "ground", "free", axis=(1.0, 0.0, 0.0))
    machine = mbd.Mechanism.build(built.description())
    table = mbd.functions.Lookup([-1.0, 0.0, 1.0], [-1e8, 0.0, 0.0])
    stop = mbd.forces.JointSpring("b", stiffness=table)
    torque = {"a": "200*sin(40*t)", "b": "2*t - 1"}
    system = mbd.System(machine, forces=[stop], torque=torque)
    run = system.simulate(2.0, step=0.01, q=[0.0, -1e-8], integrator="generalised_alpha")
    assert run.facts["jacobians"] == 2
    flight = run.time - 0.5  # s since the stop was left
    assert np.abs(run.q[:, 1] - np.where(flight > 0.0, flight**3 / 3.0, 0.0)).max() < 1e-3


def test_another_word_is_refused():
    with pytest.raises(mbd.errors.StateError, match="jacobian='old' is not known; use one of kept"):
        mbd.integrators.Newmark(jacobian="old")
