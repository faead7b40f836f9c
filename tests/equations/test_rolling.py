"""A rolling wheel's rows against differences, and against what a rim is."""

import numpy as np
import pytest

from mbd_bridge.equations.cuts import constraints, contact_point
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import build_model
from mbd_bridge.model.spatial import Frame
from mbd_bridge.solve import prepare
from tests.tolerances import DIFFERENCE, KERNEL
from tests.trees import random_tree

RADIUS = 0.4


def wheel_on_a_moving_plane(seed=0, floating=False):
    """A random tree; a wheel on one of its links, a plane on another, both tilted and moving."""
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, 6, ("revolute", "prismatic", "spherical", "universal"), mimics=0.3)
    ends = [(f"link{k}", Frame.from_rpy(rng.normal(size=3), rng.normal(size=3))) for k in (3, 6)]
    axes = {"axis": rng.normal(size=3), "axis2": rng.normal(size=3)}
    builder.loop("cut", "rolling", *ends, **axes, radius=RADIUS)
    model = build_model(builder.description(), floating=floating)
    return model, model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv)), rng


def at(model, q, v):
    return constraints(model, state_vectors(model, q, v))


@pytest.mark.parametrize("floating", [False, True])
def test_the_normal_row_is_the_derivative_of_the_height(floating):
    model, q, _ = wheel_on_a_moving_plane(floating=floating)
    still, step = np.zeros(model.nv), 1e-6
    row = at(model, q, still).phi_q[0]
    for k in range(model.nv):
        e = np.eye(model.nv)[k] * step
        ahead, behind = (at(model, model.integrate(q, x), still).phi[0] for x in (e, -e))
        assert abs((ahead - behind) / (2 * step) - row[k]) < DIFFERENCE


@pytest.mark.parametrize("floating", [False, True])
def test_gamma_is_what_the_velocity_leaves_of_the_rate_of_all_three_rows(floating):
    model, q, rng = wheel_on_a_moving_plane(1, floating)
    v, a = rng.normal(size=(2, model.nv))
    step = 1e-5

    def rate(t):
        there = model.integrate(q, t * v + 0.5 * t * t * a)
        return at(model, there, v).phi_q @ (v + t * a)

    now = at(model, q, v)
    second = (rate(step) - rate(-step)) / (2 * step)
    scale = 1 + np.abs(second).max()
    assert np.allclose(now.phi_q @ a - now.gamma, second, atol=1e3 * DIFFERENCE * scale)


def test_the_height_is_that_of_the_lowest_of_all_points_of_the_rim():
    model, q, _ = wheel_on_a_moving_plane(2)
    state = state_vectors(model, q, np.zeros(model.nv))
    (cut,) = model.cuts
    plane, wheel = state.bodies[cut.predecessor], state.bodies[cut.successor]
    angles = np.linspace(0.0, 2.0 * np.pi, 100_001)
    rim = RADIUS * np.array([np.cos(angles), np.sin(angles), np.zeros_like(angles)]).T
    rim = cut.b.translation + rim @ cut.b.rotation.T
    rim = wheel.position + rim @ wheel.rotation.T
    origin = plane.position + plane.rotation @ cut.a.translation
    heights = (rim - origin) @ (plane.rotation @ cut.a.rotation[:, 2])
    found = at(model, q, np.zeros(model.nv))
    assert abs(found.phi[0] - heights.min()) < 1e-9  # the grid's own error, R (2 pi / 1e5)^2 / 8
    assert np.abs(contact_point(state, cut) - rim[heights.argmin()]).max() < 1e-4
    assert not found.phi[1:].any()


def test_slip_is_the_relative_velocity_of_the_rims_material_point():
    """Two points that lie in wheel and plane at the contact move apart by Φ_q v."""
    model, q, rng = wheel_on_a_moving_plane(3)
    v = rng.normal(size=model.nv)
    (cut,) = model.cuts
    state = state_vectors(model, q, v)
    P = contact_point(state, cut)

    def carried(index, there):
        here = state.bodies[index]
        local = here.rotation.T @ (P - here.position)
        body = state_vectors(model, there, v).bodies[index]
        return body.position + body.rotation @ local

    step = 1e-6
    ends = [model.integrate(q, x * v) for x in (step, -step)]
    ahead, behind = (carried(cut.successor, x) - carried(cut.predecessor, x) for x in ends)
    relative = (ahead - behind) / (2 * step)
    found = constraints(model, state)
    normal = state.bodies[cut.predecessor].rotation @ cut.a.rotation[:, 2]
    forces = found.wrenches[:, :3]  # the directions: normal, along, across
    assert np.allclose(forces @ forces.T, np.eye(3), atol=KERNEL)
    assert np.allclose(forces[0], normal, atol=KERNEL)
    assert np.allclose(np.cross(forces[0], forces[1]), forces[2], atol=KERNEL)
    axis = state.bodies[cut.successor].rotation @ cut.b.rotation[:, 2]
    assert abs(forces[1] @ axis) < KERNEL  # along the track is square to the wheel's axis
    assert np.allclose(found.phi_q @ v, forces @ relative, atol=10 * DIFFERENCE)


def test_machine_code_gives_the_rows_of_the_reference():
    model, q, rng = wheel_on_a_moving_plane(4)
    v = rng.normal(size=model.nv)
    for ours, reference in zip(prepare(model, "constraints")(q, v), at(model, q, v), strict=False):
        assert np.allclose(ours, reference, rtol=0, atol=KERNEL * (1 + np.abs(reference).max()))
