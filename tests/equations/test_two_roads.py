"""The papers' state vectors against the recursion, and against themselves."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mbd_bridge.equations.cartesian import point_velocity
from mbd_bridge.equations.composite import composites, section
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.motion import generalised_forces, mass_matrix
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.reactions import (
    actuation_force,
    at_body_origin,
    carried_inertia,
    reaction,
)
from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors
from mbd_bridge.model import build_model
from tests.tolerances import DIFFERENCE, ROUNDING
from tests.trees import random_state, random_tree

SEEDS = st.integers(0, 2**32 - 1)


def tree(seed, joints=8, floating=False, mimics=0.3):
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, joints, mimics=mimics)
    return build_model(builder.description(), floating=floating), rng


def externals(model, rng):
    links = rng.choice(len(model.links), size=2)
    return {int(link): rng.normal(size=6) for link in links}


def equal(a, b, scale=None):
    size = max(1.0, np.abs(b).max(initial=0.0)) if scale is None else scale
    return np.abs(np.asarray(a) - b).max(initial=0.0) <= ROUNDING * size


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans(), st.sampled_from(["root", "world"]))
def test_equations_of_motion_give_the_actuators_of_the_recursion(seed, floating, root):
    model, rng = tree(seed, floating=floating)
    q, v, a = random_state(model, rng)
    wrenches = externals(model, rng)
    state = state_vectors(model, q, v, root)
    found = composites(model, state, wrenches)
    M, P = mass_matrix(model, state, found), generalised_forces(model, state, found)
    actuations = recursive_loads(model, q, v, a, external=wrenches).forces
    scale = np.abs(M).max(initial=1.0) * 10 + np.abs(P).max(initial=0.0)
    assert equal(M @ a - P, actuations, scale)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans(), st.sampled_from(["root", "world"]))
def test_selected_reactions_are_those_of_the_recursion(seed, floating, root):
    """KimYou97 (30), (31), (36) against its rival, for every joint, fixed ones too."""
    model, rng = tree(seed, floating=floating)
    q, v, a = random_state(model, rng)
    wrenches = externals(model, rng)
    everything = range(len(model.joints))
    rival = recursive_loads(model, q, v, a, everything, wrenches)
    state = state_vectors(model, q, v, root)
    found = composites(model, state, wrenches)
    carried = carried_inertia(model, state, found)
    accelerations = state_accelerations(model, state, a)
    scale = max(np.abs(w).max() for w in rival.wrench) * 10 + 1
    for j in everything:
        joint = model.joints[j]
        own = section(model, state, found, j, wrenches)
        R = reaction(model, j, own, carried, accelerations[joint.body], a)
        assert equal(at_body_origin(state.bodies[joint.body], R), rival.wrench[j], scale)
        if joint.moving:
            assert equal(actuation_force(state, joint.body, R), rival.actuation[j], scale)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_a_joint_asked_for_alone_has_the_load_that_it_has_among_all(seed):
    """Axis mass moves inwards through joints that were not asked for; no load may notice."""
    model, rng = tree(seed)
    q, v, a = random_state(model, rng)
    wrenches = externals(model, rng)
    everything = recursive_loads(model, q, v, a, range(len(model.joints)), wrenches)
    scale = max(np.abs(w).max() for w in everything.wrench) * 10 + 1
    for j, expected in enumerate(everything.wrench):
        alone = recursive_loads(model, q, v, a, [j], wrenches)
        assert equal(alone.wrench[0], expected, scale)
        assert equal(alone.actuation[0], everything.actuation[j], scale)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans())
def test_both_mass_matrices_are_one_and_positive(seed, floating):
    model, rng = tree(seed, floating=floating)
    q, v, _ = random_state(model, rng)
    state = state_vectors(model, q, v)
    M = mass_matrix(model, state, composites(model, state))
    other = mass_matrix_by_bodies(model, q)
    assert equal(other, M, 10 * np.abs(M).max(initial=1.0))
    assert np.array_equal(other, other.T)
    assert np.linalg.eigvalsh(other).min(initial=1.0) > 0


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_kinetic_energy_is_that_of_the_bodies(seed):
    model, rng = tree(seed, floating=True)
    q, v, _ = random_state(model, rng)
    state = state_vectors(model, q, v, "world")
    energy = 0.0
    for body, at in zip(model.bodies, state.bodies, strict=True):
        centre = at.position + at.rotation @ body.inertia.centre
        velocity = at.Y[:3] + np.cross(at.Y[3:], centre)
        spin = at.rotation.T @ at.Y[3:]
        energy += 0.5 * body.inertia.mass * velocity @ velocity
        energy += 0.5 * spin @ body.inertia.central @ spin
    assert np.isclose(0.5 * v @ mass_matrix_by_bodies(model, q) @ v, energy, rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_cartesian_velocity_is_the_derivative_of_position(seed):
    model, rng = tree(seed, joints=6)
    q, v, a = random_state(model, rng)
    link, point = model.links[-1].name, rng.normal(size=3)
    step = 1e-6

    def at(t):  # a motion with velocity v and acceleration a at t = 0
        return model.integrate(q, t * v + 0.5 * t * t * a), v + t * a

    now = point_velocity(model, q, v, link, point)
    (q1, v1), (q2, v2) = at(step), at(-step)
    ahead, behind = (point_velocity(model, *s, link, point) for s in ((q1, v1), (q2, v2)))
    velocity = (ahead.position - behind.position) / (2 * step)
    scale = 1 + np.abs(now.B @ v).max() ** 2 + np.abs(now.B @ a).max()
    assert np.allclose((now.B @ v)[:3], velocity, atol=DIFFERENCE * scale)
    rate = (ahead.B @ v1 - behind.B @ v2) / (2 * step)
    assert np.allclose(now.B @ a + now.B_dot @ v, rate, atol=100 * DIFFERENCE * scale)


def test_a_point_is_given_in_its_links_frame():
    """A link that is turned in its body (by a weld, or by its joint's axis) turns the point too."""
    from mbd_bridge.model import Builder

    builder = Builder("b").link("rod", 1.0).link("plate", 1.0)
    builder.joint("pin", "revolute", "base", "rod", (1, 0, 0), axis=(0, 1, 0))
    builder.joint("weld", "fixed", "rod", "plate", (0, 2, 0), (0, 0, np.pi / 2))
    model = build_model(builder.description())
    rest = np.zeros(1)
    for link, origin, expected in (
        ("rod", (1, 0, 0), (1.1, 0.2, 0.3)),
        ("plate", (1, 2, 0), (1 - 0.2, 2.1, 0.3)),  # x of the plate is y of the rod
    ):
        assert np.allclose(point_velocity(model, rest, rest, link).position, origin)
        x = point_velocity(model, rest, rest, link, np.array([0.1, 0.2, 0.3])).position
        assert np.allclose(x, expected, rtol=ROUNDING)


def test_d_is_b_dot_times_velocity():
    """Lee94's blocks, spread out, carry the same D as KimYou97's sums."""
    model, rng = tree(7)
    q, v, a = random_state(model, rng)
    state = state_vectors(model, q, v, "world")
    accelerations = state_accelerations(model, state, a)
    for link in model.links:
        x = point_velocity(model, q, v, link.name)
        Y_dot, Y = accelerations[link.body], state.bodies[link.body].Y
        x_dot = Y[:3] + np.cross(Y[3:], x.position)
        expected = Y_dot[:3] + np.cross(Y_dot[3:], x.position) + np.cross(Y[3:], x_dot)
        ours = x.B @ a + x.B_dot @ v
        assert np.allclose(ours[:3], expected, rtol=1e-12, atol=1e-11)
        assert np.allclose(ours[3:], Y_dot[3:], rtol=1e-12, atol=1e-11)


def test_power_in_is_the_rate_of_energy():
    model, rng = tree(11, mimics=0.0)
    model = build_model(model.description, gravity=(0, 0, 0))
    q, v, a = random_state(model, rng)
    step = 1e-6

    def energy(t):
        at = model.integrate(q, t * v + 0.5 * t * t * a)
        rate = v + t * a
        return 0.5 * rate @ mass_matrix_by_bodies(model, at) @ rate

    power = recursive_loads(model, q, v, a).forces @ v
    rate = (energy(step) - energy(-step)) / (2 * step)
    assert np.isclose(power, rate, rtol=1e-6)


def test_reactions_do_no_work_along_the_joints_degrees_of_freedom():
    from mbd_bridge.loads.selected import actuation_wrench

    for seed in range(5):
        model, rng = tree(seed, mimics=0.0)
        q, v, a = random_state(model, rng)
        moving = [j for j, joint in enumerate(model.joints) if joint.moving]
        loads = recursive_loads(model, q, v, a, moving)
        from mbd_bridge.equations.motions import body_motions
        from mbd_bridge.equations.newton_euler import generalised_force

        motions = body_motions(model, q, v)
        for j, wrench, actuation in zip(moving, loads.wrench, loads.actuation, strict=True):
            motion = motions[model.joints[j].body]
            rest = wrench - actuation_wrench(model.joints[j], motion, actuation)
            assert equal(generalised_force(motion, rest), 0 * actuation, 10 + np.abs(wrench).max())


def test_turning_the_model_and_gravity_together_changes_nothing():
    from mbd_bridge.model.spatial import matrix_from_rpy

    rng = np.random.default_rng(3)
    turn = (0.4, -1.1, 2.0)
    base, tilted = random_tree(rng, 6), None
    description = base.description()
    q, v, a = random_state(build_model(description), rng)
    from mbd_bridge.model import Builder

    R = matrix_from_rpy(*turn)
    tilted = Builder("tilted", root="stand")
    tilted.joint("tilt", "fixed", "stand", "link0", rpy=turn)
    merged = tilted.description()
    from dataclasses import replace

    whole = replace(
        merged,
        links=(merged.links[0], *description.links),
        joints=(*merged.joints, *description.joints),
    )
    straight = recursive_loads(build_model(description), q, v, a).forces
    turned = recursive_loads(build_model(whole, gravity=R @ [0, 0, -9.81]), q, v, a).forces
    assert equal(turned, straight, 10 + np.abs(straight).max())


def test_units_scale_as_they_must():
    """In centimetres and grams, forces (kg m/s²) grow by 1e5 and moments by 1e7."""
    from mbd_bridge.model import Builder

    def pendulum(length, mass):
        return build_model(
            Builder("p")
            .link("rod", mass, (0.3 * length, 0, 0), np.array([1, 2, 2.5]) * mass * length**2)
            .joint("pin", "revolute", "base", "rod", (0, length, 0), axis=(0, 1, 0))
            .description(),
            gravity=(0, 0, -9.81 * length),
        )

    state = np.array([0.3]), np.array([2.0]), np.array([-1.0])
    si = recursive_loads(pendulum(1.0, 1.0), *state, [1]).wrench[0]
    cgs = recursive_loads(pendulum(100.0, 1000.0), *state, [1]).wrench[0]
    assert np.allclose(cgs, si * [1e5, 1e5, 1e5, 1e7, 1e7, 1e7], rtol=1e-12)


@pytest.mark.parametrize("angle", [1e-9, 1e-7, 1e6])
def test_tiny_and_huge_angles(angle):
    model, _ = tree(5, mimics=0.0)
    rng = np.random.default_rng(1)
    q, v, a = random_state(model, rng)
    for body in model.bodies:
        if body.type.name in ("revolute", "continuous"):
            q[body.q] = angle
    state = state_vectors(model, q, v)
    found = composites(model, state)
    M, P = mass_matrix(model, state, found), generalised_forces(model, state, found)
    actuations = recursive_loads(model, q, v, a).forces
    assert equal(M @ a - P, actuations, 10 * np.abs(actuations).max())
