"""Loads in cross sections of flexible links, against statics and against joint loads."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.model.flexible.basis import basis
from tests.flexible.models import bar, cantilever, slider_crank

X = np.array([0.0, 0.3, 0.7, 1.0])
EXACT = 1e-9
"""Relative, of sums over Gauss points."""
PER_LENGTH = 0.02 * 0.03 * 2700 * 9.81
"""Weight of the bar, N/m."""


def test_a_cantilever_at_rest_has_the_loads_of_its_weight_and_tip_mass():
    machine = mbd.Mechanism(cantilever(mbd.flexible.Modes("clamped-free", 2, 1), tip_mass=2.0))
    still = np.zeros(3)
    loads = machine.section_loads("arm", X, still, still, still)
    beyond = 2.0 * 9.81 + PER_LENGTH * (1 - X)
    assert np.allclose(loads.force[:, 1], beyond, rtol=EXACT)
    assert np.allclose(loads.shear, beyond, rtol=EXACT)
    moment = 2.0 * 9.81 * (1 - X) + PER_LENGTH * (1 - X) ** 2 / 2
    assert np.allclose(loads.moment[:, 2], moment, rtol=EXACT, atol=1e-12)
    assert np.allclose(loads.axial, 0.0, atol=1e-9)
    Iz = 0.03 * 0.02**3 / 12
    assert np.allclose(loads.largest_stress, moment * 0.01 / Iz, rtol=EXACT, atol=1e-3)
    assert (loads.normal_stress(0.01)[:-1] > 0.0).all()  # it hangs: the upper side is in tension


def test_a_whirled_bar_is_in_tension_by_the_mass_beyond():
    parts = mbd.Builder("rotor").joint("hub", "revolute", "base", "blade", axis=(0, 0, 1))
    parts.flexible(
        mbd.flexible.FlexibleLink("blade", bar(1.0), mbd.flexible.Modes("clamped-free", 2))
    )
    machine = mbd.Mechanism.build(parts, gravity=(0, 0, 0))
    still, v = np.zeros(3), np.array([20.0, 0.0, 0.0])
    a = machine.forward_dynamics(still, v, still)
    loads = machine.section_loads("blade", X, still, v, a)
    assert np.allclose(loads.axial, 1.62 * 20**2 * (1 - X**2) / 2, rtol=EXACT, atol=1e-9)


@pytest.mark.parametrize("stiffening", [False, True])
def test_sections_meet_the_joints_at_both_ends_of_a_moving_rod(stiffening):
    machine = slider_crank(E=2e9, stiffening=stiffening)
    held, rates = {"crank": 0.6, "rod.mode1": 0.01}, {"crank": 30.0, "rod.mode1": 1.0}
    at = machine.assemble(held, fixed=list(held), velocity=rates)
    q, a = at.q, machine.forward_dynamics(at.q, at.v, np.zeros(4))
    options = {"actuated": "crank", "check": False}
    pin, wrist = machine.joint_loads(q, at.v, a, ["pin", "wrist"], **options).wrench
    loads = machine.section_loads("rod", [0.0, 0.1, 0.3], q, at.v, a, **options)
    size = np.abs(pin).max()
    assert np.abs(loads.force[0] - pin[:3]).max() < EXACT * size  # the pin's axes are the rod's
    assert np.isclose(np.linalg.norm(loads.force[2]), np.linalg.norm(wrist[:3]), rtol=1e-9)
    assert np.abs(loads.moment[[0, 2], 2]).max() < 1e-9 * size  # both ends are hinges
    assert loads.bending[1] > 1e-2


def test_bending_tends_to_what_the_curvature_of_the_modes_says():
    """At rest E I w'' of many modes is the moment; by equilibrium it is so with any number."""
    beam = bar(1.0)
    machine = mbd.Mechanism(cantilever(mbd.flexible.Modes("polynomial", 4)))
    h = machine.bias_forces(np.zeros(4), np.zeros(4))
    q = -np.linalg.solve(machine.model.flexible[0].stiffness, h)
    loads = machine.section_loads("arm", X, q, np.zeros(4), np.zeros(4))
    modes = basis(machine.model.description.flexible[0], beam, 0.0, [1.0])
    curvature = sum(eta * mode.strain(X) for eta, mode in zip(q, modes, strict=True))
    internal = beam.at(X).EIz * curvature
    assert np.allclose(-loads.moment[:, 2], internal, atol=1e-3 * np.abs(internal).max())


def test_many_states_are_single_ones_and_mistakes_are_named():
    machine = mbd.Mechanism(cantilever(mbd.flexible.Modes("clamped-free", 1)))
    q = np.array([[0.0], [0.02]])
    loads = machine.section_loads("arm", [0.5], q, 0 * q, 0 * q)
    one = machine.section_loads("arm", 0.5, q[1], 0 * q[1], 0 * q[1])
    assert np.allclose(loads.force[1], one.force, rtol=1e-12)
    for link, x in (("arn", 0.5), ("arm", 1.5)):
        with pytest.raises(mbd.errors.ModelError, match="arm"):
            machine.section_loads(link, x, q, q, q)
