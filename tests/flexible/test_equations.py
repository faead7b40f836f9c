"""The equations of flexible mechanisms, derived in three ways, and identities that they keep."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.composite import composites, section
from mbd_bridge.equations.energy import energies_of
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.motion import generalised_forces, mass_matrix
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.reactions import (
    at_body_origin,
    carried_inertia,
    modal_reaction,
    reaction,
)
from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors
from mbd_bridge.model import build_model
from mbd_bridge.solve.lagrangian import Lagrangian
from tests.flexible.models import cantilever, random_arm, state
from tests.tolerances import DIFFERENCE
from tests.trees import random_tree

TWO_WAYS = 1e-10
"""Relative: M of the points and of the recursion meet after different sums of large terms."""

both = pytest.mark.parametrize("stiffening", [False, True])


def close(found, expected, tolerance=TWO_WAYS):
    size = max(1.0, np.abs(expected).max(initial=0.0))
    return np.abs(np.asarray(found) - expected).max(initial=0.0) <= tolerance * size


@both
@pytest.mark.parametrize("seed", range(3))
def test_lagrange_from_positions_gives_the_recursions_equations(seed, stiffening):
    """LeeJoo90 (24) to (27) by derivatives of the graph: M, and what stands beside M q̈."""
    rng = np.random.default_rng(seed)
    model = random_arm(rng, stiffening=stiffening, quaternions=False)
    q, v, _ = state(model, rng)
    lagrangian = Lagrangian(model)
    assert close(mass_matrix_by_bodies(model, q), lagrangian.mass_matrix(q))
    found = recursive_loads(model, q, v, np.zeros(model.nv)).forces
    assert close(found, lagrangian.bias_forces(q, v))


@both
@pytest.mark.parametrize("root", ["root", "world"])
def test_the_papers_accumulation_gives_equations_and_every_joint_load(root, stiffening):
    rng = np.random.default_rng(7)
    model = random_arm(rng, stiffening=stiffening, quaternions=True)
    q, v, a = state(model, rng)
    every = range(len(model.joints))
    rival = recursive_loads(model, q, v, a, every)
    at = state_vectors(model, q, v, root)
    found = composites(model, at)
    M, P = mass_matrix(model, at, found), generalised_forces(model, at, found)
    assert close(M, mass_matrix_by_bodies(model, q))
    assert close(M @ a - P, rival.forces)
    carried, rates = carried_inertia(model, at, found), state_accelerations(model, at, a)
    for j in every:
        joint = model.joints[j]
        own = section(model, at, found, j, {})
        R = reaction(model, j, own, carried, rates[joint.body], a)
        R = R + modal_reaction(model, at, j, a)
        assert close(at_body_origin(at.bodies[joint.body], R), rival.wrench[j])


@both
def test_power_of_the_forces_is_the_rate_of_the_energy_and_of_what_damping_takes(stiffening):
    rng = np.random.default_rng(3)
    model = random_arm(rng, stiffening=stiffening, quaternions=True)
    q, v, a = state(model, rng)
    tau = recursive_loads(model, q, v, a).forces
    step = 1e-5
    before, after = (
        sum(energies_of(model, model.integrate(q, s * v + 0.5 * s**2 * a), v + s * a))
        for s in (-step, step)
    )
    lost = sum(v[part.v] @ part.damping @ v[part.v] for part in model.flexible)
    assert lost > 0.1
    expected = (after - before) / (2 * step) + lost
    assert abs(tau @ v - expected) <= DIFFERENCE * np.abs(tau).max()


@both
def test_kinetic_energy_is_half_of_v_M_v(stiffening):
    rng = np.random.default_rng(4)
    model = random_arm(rng, stiffening=stiffening, quaternions=True)
    q, v, _ = state(model, rng)
    kinetic, _ = energies_of(model, q, v)
    M = mass_matrix_by_bodies(model, q)
    assert abs(kinetic - 0.5 * v @ M @ v) <= TWO_WAYS * kinetic
    assert np.linalg.eigvalsh(M)[0] > 0.0


def test_christoffel_symbols_have_the_papers_properties_where_they_hold():
    """LeeJoo90 (33) always; (34) and (35) for a rigid chain with relative coordinates."""
    rng = np.random.default_rng(5)
    chain = random_tree(rng, 1, ("revolute",))
    for k in range(2, 5):
        chain.link(f"link{k}", 1.0, rng.normal(size=3), (0.1, 0.11, 0.12))
        xyz, axis = rng.normal(size=(2, 3))
        chain.joint(f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", xyz, axis=axis)
    model = build_model(chain.description())
    C = Lagrangian(model).christoffel(rng.normal(size=model.nv))
    n = model.nv
    assert close(C, C.transpose(0, 2, 1), 0.0)  # (33)
    for i in range(n):
        for j in range(i + 1):
            assert abs(C[i, j, i]) <= TWO_WAYS  # (34)
            for k in range(j, n):
                assert abs(C[i, j, k] + C[k, j, i]) <= TWO_WAYS  # (35), j <= i, k


def test_reflection_of_christoffel_symbols_fails_for_a_flexible_arm():
    """LeeJoo90: (35) is "not always valid for flexible arms": M_ik depends on a mode j <= i, k."""
    rng = np.random.default_rng(6)
    model = random_arm(rng, stiffening=False, quaternions=False)
    q, _, _ = state(model, rng)
    C = Lagrangian(model).christoffel(q)
    assert close(C, C.transpose(0, 2, 1), 0.0)
    first = model.velocity_names.index("a.mode1")
    outer = slice(first, model.nv)
    broken = C[outer, first, outer] + C[outer, first, outer].T
    assert np.abs(broken).max() > 1e-3 * np.abs(C).max()


def test_quaternions_have_no_christoffel_symbols():
    model = random_arm(np.random.default_rng(0), stiffening=False, quaternions=True)
    with pytest.raises(ModelError, match="quaternions"):
        Lagrangian(model)


@pytest.mark.parametrize(("apart", "number"), [(0.0, 2), (1e-12, 2), (1e-5, 3)])
def test_two_places_are_one_station_if_rounding_alone_parts_them(apart, number):
    places = {"a": 0.5, "b": 0.5 + apart}
    model = cantilever(mbd.flexible.Modes("clamped-free", 1), stations=places)
    assert sum(joint.is_station for joint in model.joints) == number


def test_stations_share_the_coordinates_of_their_link():
    model = random_arm(np.random.default_rng(0), stiffening=False, quaternions=False)
    names = [name for name in model.coordinate_names if name.startswith("a.")]
    assert names == [f"a.mode{k}" for k in range(1, 6)]
    stations = [joint for joint in model.joints if joint.is_station and joint.name.startswith("a")]
    assert len(stations) >= 3  # the end, a gauge, a joint
    assert len({model.bodies[joint.body].v.start for joint in stations}) == 1
