"""Lee94 7.3: the five-degree-of-freedom vehicle against equations written for it alone."""

import numpy as np

from tests.oracles import five_dof_vehicle as oracle
from tests.vehicles.scripts import example, says

INDEPENDENT = 1e-9
"""m and rad, per second too, of motions of 0.1 m: the example has its springs to ten digits."""

LINEAR = 3e-4
"""m: what pitching to 0.04 rad adds to the linear equations."""


def absolute(y):
    """Heights of seat, chassis, both wheels, and the pitch with its nose up."""
    z, theta = y[:, 0], y[:, 1]
    ahead = oracle.AHEAD
    points = z[:, None] - np.sin(theta)[:, None] * ahead + np.cos(theta)[:, None] * y[:, 2:5]
    return np.column_stack([points[:, 0], z, -theta, points[:, 1], points[:, 2]])


def test_the_example_says_what_it_should():
    says(
        "five_dof_vehicle",
        ["seat          -0.1082 ... 0.1712 m", "pitch         -0.0233 ... 0.0398 rad"],
    )


def test_its_motion_is_that_of_independent_equations():
    run = example("five_dof_vehicle")["run"]
    expected = oracle.solve(oracle.nonlinear, run.time)
    assert run.model.nv == 5 and not run.model.has_loops
    assert np.ptp(run.q, axis=0).min() > 0.04
    assert np.abs(run.q - expected[:, :5]).max() < INDEPENDENT
    assert np.abs(run.v - expected[:, 5:]).max() < INDEPENDENT


def test_the_linear_equations_of_haug_and_arora_are_its_limit_for_small_bumps():
    times = np.linspace(0.0, 1.2, 25)
    away = {}
    for bump in (oracle.BUMP, oracle.BUMP / 100):
        exact = absolute(oracle.solve(oracle.nonlinear, times, bump))
        away[bump] = np.abs(exact - oracle.solve(oracle.linear, times, bump)[:, :5]).max()
    assert 1e-5 < away[oracle.BUMP] < LINEAR
    assert away[oracle.BUMP / 100] < 1.5e-4 * away[oracle.BUMP]


def test_it_starts_in_equilibrium():
    run = example("five_dof_vehicle")["run"]
    assert np.abs(run.a[0]).max() < 1e-6
