"""What implicit steps do not pass over: energy from hard stops, ringing, divergence."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.forces import Effect, ForceElement
from mbd_bridge.functions import maximum
from tests.machines import four_bar, turning
from tests.simulate.implicit import slider

STOP = mbd.forces.JointStop("fall", lower=0.0, upper=10.0, stiffness=1e7, damping=1e4)

BESIDE = {
    "nothing": {},
    "torque": {"torque": {"fall": lambda t, q, v: -2.0 * v[0]}},
    "wrench": {"external": {"bob": [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]}},
    "actuator": {"forces": [STOP, mbd.forces.JointActuator("fall", force=-1.0)]},
}
"""What acts beside a hard stop."""


@pytest.fixture(scope="module")
def falling():
    built = mbd.Builder("stop", root="rail").link("bob", 1.0)
    built.joint("fall", "prismatic", "rail", "bob", axis=(0.0, 0.0, 1.0))
    return mbd.Mechanism.build(built.description())


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize(("scheme", "step"), [("newmark", 1e-3), ("hht", 1e-2)])
def test_a_hard_stop_that_gives_energy_is_told_whatever_acts_beside(falling, beside, scheme, step):
    options = {"step": step, "forces": [STOP], "integrator": scheme, **BESIDE[beside]}
    run = falling.simulate(1.0, q=[1.0], check=False, **options)
    assert re.search("store and lose energy gave|too long|converge", run.status), run.status
    total = run.energy + run.force_elements.energy
    assert total.max() < 1.1 * (total[0] + 1.0)  # J, what a newton does over a metre
    batch = falling.simulate(1.0, q=[[1.0], [1.0]], **options)
    assert set(batch.status) == {run.status}


@dataclass(frozen=True, eq=False)
class Stop(ForceElement):
    """The same hard stop as an element of a user's, right or wrong about its energy."""

    states_right: bool = True

    def bind(self, model):
        return self

    def effect(self, model, t, q, v, z=()):
        pressed = maximum(-q[0], 0.0)
        energy = 0.5e7 * pressed * pressed
        return Effect({0: 1e7 * pressed}, {}, energy if self.states_right else 0.0, 0.0, {})

    def units(self, model):
        return {}

    def velocity_numbers(self, model):
        return (0,)


def test_a_users_element_counts_in_the_balance_where_it_does_what_it_states(falling):
    for right in (True, False):
        system = mbd.System(falling, forces=[Stop(right)])
        assert bool(system.passive) == right
    system = mbd.System(falling, forces=[Stop(True)])
    run = system.simulate(1.0, q=[1.0], step=1e-3, integrator="newmark", check=False)
    assert "store and lose energy gave" in run.status or run.facts["balance"] < 0.1
    fine = system.simulate(0.6, q=[1.0], step=1e-5, every=1000, integrator="newmark")
    assert fine.finished and 0.0 < fine.facts["balance"] < 1e-3
    wrong = mbd.System(falling, forces=[Stop(False)])
    assert wrong.simulate(0.6, q=[1.0], step=1e-5, every=1000, integrator="newmark").finished


@pytest.mark.parametrize("beside", BESIDE)
def test_short_steps_over_a_hard_stop_give_no_energy(falling, beside):
    options = {"step": 1e-5, "every": 1000, "forces": [STOP], "integrator": "newmark"}
    run = falling.simulate(0.6, q=[1.0], **options | BESIDE[beside])
    assert run.finished and run.facts["balance"] < 1e-9


def test_a_spring_whose_energy_swings_is_not_taken_for_a_source():
    machine = slider()
    spring = mbd.forces.JointSpring(machine.model.joints[-1].name, stiffness=[0.0, 0.0, 4e3])
    run = machine.simulate(2.0, step=1e-2, q=[0.5], forces=[spring], integrator="newmark")
    assert run.status == "finished"


@pytest.mark.parametrize("damping", [1e4, 1e6])
def test_velocities_that_ring_behind_a_stiff_damper_are_told(damping):
    """The trapezoidal rule leaves (1 - x)/(1 + x) of a velocity, x = h c/2m: -0.96 and -0.9996."""
    built = mbd.Builder("two", root="rail").link("cart", 1.0).link("bob", 1.0)
    built.joint("slide", "prismatic", "rail", "cart", axis=(1.0, 0.0, 0.0))
    built.joint("mount", "prismatic", "cart", "bob", axis=(1.0, 0.0, 0.0))
    machine = mbd.Mechanism.build(built.description())
    damper = mbd.forces.JointSpring("mount", stiffness=100.0, damping=damping)
    options = {"step": 0.01, "v": [0.0, 1.0], "forces": [damper]}
    run = machine.simulate(2.0, check=False, integrator="newmark", **options)
    batch = machine.simulate(2.0, integrator="newmark", **{**options, "v": [options["v"]]})
    assert batch.status == (run.status,)
    if damping == 1e4:  # it has rung down until the end
        assert run.finished and np.abs(run.v[-1, 1]) < 0.05
        return
    assert "'mount' changes its sign from step to step" in run.status
    assert run.time[-1] == 0.0
    advised = mbd.integrators.Newmark(beta=0.5, gamma=1.0)
    assert "mbd.integrators.Newmark(beta=0.5, gamma=1.0)" in run.status
    run = machine.simulate(2.0, integrator=advised, **options)
    assert run.finished and np.abs(run.v[1:, 1]).max() < 1e-3
    assert abs(run.v[-1, 0] - 0.5) < 1e-2  # momentum is kept


def test_explicit_steps_that_diverge_are_not_blamed_on_newtons_iterations():
    machine, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    spring = mbd.forces.JointSpring("wrist", 1e12)
    start = {"q": at.q, "v": at.v, "integrator": "explicit_newmark", "forces": [spring]}
    run = machine.simulate(0.1, check=False, **start)
    assert "cannot be put back onto its loops" in run.status and "too long" in run.status
    assert "Newton" not in run.status
