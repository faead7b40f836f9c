"""Quantities of the whole mechanism count the mass of links that bend."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.model import Model
from tests.flexible.models import random_arm, state
from tests.flexible.nodes import as_basis, held, machine

STEP = 1e-6


def arm(**more) -> Model:
    return random_arm(
        np.random.default_rng(5), stiffening=more.get("stiffening", True), quaternions=False
    )


@pytest.mark.parametrize("stiffening", [False, True])
def test_a_field_of_gravity_is_the_machines_own_gravity(stiffening):
    model = arm(stiffening=stiffening)
    g = np.array([1.0, -2.0, 9.0])
    heavy = mbd.Mechanism(replace(model, gravity=g))
    free = mbd.Mechanism(replace(model, gravity=np.zeros(3)))
    field = [mbd.forces.GravityField(g)]
    q, v, a = state(model, np.random.default_rng(1))
    expected = heavy.forward_dynamics(q, v, a)
    assert np.allclose(free.forward_dynamics(q, v, a, forces=field), expected, rtol=1e-9)
    effect = field[0].bind(model).effect(free.model, 0.0, q, v)
    potential = np.diff([one.centroid(q, v).energy[1] for one in (free, heavy)])
    assert np.isclose(effect.energy, potential[0], rtol=1e-12)


def test_the_centre_of_mass_moves_with_its_jacobian_and_momentum():
    robot = mbd.Mechanism(arm())
    q, v, _ = state(robot.model, np.random.default_rng(2))
    own = robot.centroid(q, v)
    ends = [robot.centroid(robot.model.integrate(q, s * STEP * v), v).position for s in (1, -1)]
    velocity = (ends[0] - ends[1]) / (2 * STEP)
    assert np.allclose(own.jacobian @ v, velocity, atol=1e-7)
    bodies = sum(body.inertia.mass for body in robot.model.bodies)
    whole = bodies + sum(part.integrals.mass for part in robot.model.flexible)
    assert np.allclose(own.momentum[:3], whole * velocity, atol=1e-7 * whole)
    # gravity alone acts on a free machine: its weight is the rate of momentum at rest
    rest = robot.bias_forces(q, 0.0 * v)
    weight = whole * own.jacobian.T @ robot.model.gravity
    stiff = np.zeros(robot.nv)
    for part in robot.model.flexible:
        stiff[part.v] = part.stiffness @ q[part.q]
    assert np.allclose(rest - stiff, -weight, atol=1e-9 * np.abs(weight).max())


def test_angular_momentum_is_that_of_the_nodes():
    basis = replace(as_basis(held(3)[1]), inertias=None)
    rod = mbd.Mechanism(machine(basis))
    q, v, _ = state(rod.model, np.random.default_rng(4))
    q[1:4] *= 0.1

    def nodes(at):
        frame = rod.placement(at, "rod")
        u = basis.nodes + np.einsum("k,kni->ni", at[1:4], basis.displacement)
        bob = rod.placement(at, "bob")
        points = np.vstack(
            [u @ frame[:3, :3].T + frame[:3, 3], bob[:3, :3] @ (0.1, 0, 0) + bob[:3, 3]]
        )
        return points, np.arctan2(bob[1, 0], bob[0, 0])

    masses = np.append(basis.masses, 0.5)
    (points, _), (ahead, more), (behind, less) = (nodes(q + s * STEP * v) for s in (0, 1, -1))
    velocity = (ahead - behind) / (2 * STEP)
    centre = masses @ points / masses.sum()
    turning = np.cross(points - centre, masses[:, None] * velocity).sum(axis=0)
    turning[2] += 0.01 * (more - less) / (2 * STEP)
    own = rod.centroid(q, v)
    assert np.allclose(own.position, centre, atol=1e-12)
    assert np.allclose(own.momentum[3:], turning, atol=1e-7)


def test_loads_are_rounding_beside_the_weight_of_links_that_bend():
    rod = machine(as_basis(held(3)[1]))
    assert RoundOff.of(rod).force > RoundOff.of(replace(rod, flexible=())).force


def test_a_payload_needs_a_place_on_a_link_that_bends():
    rod = mbd.Mechanism(machine(as_basis(held(3)[1])))
    with pytest.raises(mbd.errors.ModelError, match=r"such as 'rod.tip'"):
        rod.with_payload("rod", 1.0)
    assert rod.with_payload("rod.tip", 1.0).mass_matrix(rod.neutral())[0, 0] > 1.0
