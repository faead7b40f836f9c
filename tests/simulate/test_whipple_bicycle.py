"""The Whipple bicycle (Meijaard and others 2007): wheel loads at rest, motion at speed."""

import numpy as np
import pytest

WHEELS = ["rear_contact", "front_contact"]
LOADS = 612.836470588236, 309.303529411765
"""N, static, from the benchmark's masses and places by hand."""

DIGITS = 1e-10


def test_the_wheels_carry_the_weight_at_rest(bicycle):
    q, still = bicycle.neutral(), np.zeros(bicycle.nv)
    given = {"joints": WHEELS, "actuated": [], "at": "parent", "in_": "world"}
    loads = bicycle.joint_loads(q, still, still, **given)
    assert np.abs(loads.force[:, 2] - LOADS).max() < DIGITS
    assert np.abs(loads.force[:, :2]).max() < DIGITS
    assert np.abs(loads.moment).max() < DIGITS
    assert loads.unique.all()


def start(bicycle, speed, lean=0.0):
    return bicycle.assemble(
        {"frame.qx": 0.5 * lean}, velocity={"rear_wheel": speed / 0.3}, fixed=["rear_wheel"]
    )


def test_upright_it_goes_straight_at_any_speed(bicycle):
    at = start(bicycle, 5.0)
    run = bicycle.simulate(1.0, q=at.q, v=at.v, every=100)
    assert np.abs(run.v - at.v).max() < DIGITS
    assert np.abs(run.q[:, 0] - 5.0 * run.time).max() < DIGITS


@pytest.mark.parametrize(
    ("speed", "duration", "least", "most"), [(3.0, 2.0, 10, 50), (5.0, 4.0, 0, 0.5)]
)
def test_it_balances_itself_between_weave_and_capsize_speed(bicycle, speed, duration, least, most):
    """4.292 to 6.024 m/s; below, the weave grows."""
    at = start(bicycle, speed, lean=0.01)
    run = bicycle.simulate(duration, q=at.q, v=at.v, every=100)
    x, y, z, w = run.q[:, 3:7].T
    lean = np.abs(2.0 * (y * z + x * w))  # sine of the angle to the ground
    assert least < lean[-1] / lean[0] < most
    assert np.ptp(run.energy) < 1e-8 * abs(run.energy[0])
