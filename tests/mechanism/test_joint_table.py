"""Every entry of the joint table against differences of positions, and against itself."""

import numpy as np
import pytest

from mbd_bridge.model import JOINT_TYPES
from mbd_bridge.model.joint_table import Helical, Universal
from tests.tolerances import DIFFERENCE, ROUNDING

ENTRIES = {
    name: Helical(0.3) if name == "helical" else kind()
    for name, kind in JOINT_TYPES.items()
    if name != "fixed"
}
ENTRIES["universal, other axis"] = Universal((0.6, 0.8, 0.0))
ENTRIES["universal, oblique"] = Universal((0.48, 0.64, 0.6))
STEP = 1e-6


def state(entry, seed=0):
    rng = np.random.default_rng(seed)
    q = entry.integrate(entry.neutral(), rng.uniform(-1, 1, entry.nv))
    return q, rng.normal(size=entry.nv)


def body_rate(entry, q, v):
    """Angular and linear velocity of the child in its own axes, by central differences."""
    ahead, behind = entry.integrate(q, STEP * v), entry.integrate(q, -STEP * v)
    m, p = entry.motion(ahead, v), entry.motion(behind, v)
    R = entry.motion(q, v).rotation
    spin = R.T @ (m.rotation - p.rotation) / (2 * STEP)
    return (
        np.array([spin[2, 1], spin[0, 2], spin[1, 0]]),
        R.T @ (m.position - p.position) / (2 * STEP),
    )


@pytest.mark.parametrize("name", ENTRIES)
def test_velocity_is_the_derivative_of_position(name):
    entry = ENTRIES[name]
    q, v = state(entry)
    motion = entry.motion(q, v)
    omega, velocity = body_rate(entry, q, v)
    assert np.allclose(motion.angular @ v, omega, atol=DIFFERENCE)
    assert np.allclose(motion.linear @ v, velocity, atol=DIFFERENCE)


@pytest.mark.parametrize("name", ENTRIES)
def test_rates_of_the_subspace_are_its_derivatives(name):
    entry = ENTRIES[name]
    q, v = state(entry, 1)
    ahead = entry.motion(entry.integrate(q, STEP * v), v)
    behind = entry.motion(entry.integrate(q, -STEP * v), v)
    motion = entry.motion(q, v)
    for rate, value in (("angular_rate", "angular"), ("linear_rate", "linear")):
        difference = (getattr(ahead, value) - getattr(behind, value)) / (2 * STEP)
        assert np.allclose(getattr(motion, rate), difference, atol=DIFFERENCE)


@pytest.mark.parametrize("name", ENTRIES)
def test_neutral_is_the_identity_and_rotations_are_proper(name):
    entry = ENTRIES[name]
    still = entry.motion(entry.neutral(), np.zeros(entry.nv))
    assert np.allclose(still.rotation, np.eye(3)) and np.allclose(still.position, 0)
    q, v = state(entry, 2)
    R = entry.motion(q, v).rotation
    assert np.allclose(R.T @ R, np.eye(3), atol=ROUNDING)
    assert np.isclose(np.linalg.det(R), 1)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("size", [1e-9, 1e-5, 1.0])
def test_integrating_there_and_back_returns(name, size):
    entry = ENTRIES[name]
    q, v = state(entry, 3)
    there = entry.integrate(q, size * v)
    assert np.allclose(entry.normalise(entry.integrate(there, -size * v)), q, atol=ROUNDING)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("size", [1e-9, 0.9e-4, 1.1e-4, 1.0])
def test_two_half_steps_are_one_step(name, size):
    """A constant velocity for a second is the same motion in two halves; series switch at 1e-4."""
    entry = ENTRIES[name]
    q, v = state(entry, 4)
    step = size * v / np.linalg.norm(v)
    once, twice = entry.integrate(q, step), entry.integrate(entry.integrate(q, step / 2), step / 2)
    assert np.allclose(once, twice, rtol=0, atol=1e-15)  # a few roundings of numbers near 1


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_degrees_of_freedom_and_cut_rows_add_up_to_six(name):
    kind = JOINT_TYPES[name]
    assert kind.nv + kind.cut_rows == 6
    assert len(kind.coordinates) == kind.nq and len(kind.velocities) == kind.nv


def test_table_1_of_lee94():
    rows = {
        "revolute": (1, 5, 1.5),
        "prismatic": (1, 5, 1.0),
        "universal": (2, 4, 2.1),
        "cylindrical": (2, 4, 2.0),
        "spherical": (3, 3, 3.0),
    }
    for name, expected in rows.items():
        kind = JOINT_TYPES[name]
        assert (kind.nv, kind.cut_rows, kind.weight) == expected
