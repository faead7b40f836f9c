"""The papers' simulations: ours against pinocchio, limits and laws; papers/verification.md."""

import numpy as np
import pytest

from tests import papers
from tests.tolerances import REFEREE


def test_simulation_1_of_kim_and_you_has_the_loads_of_the_recursive_newton_euler():
    """KimYou97 Figs 5, 6: driving torque and x reaction of joint 2."""
    run = papers.first().run
    expected = papers.newton_euler(run, "joint_2")
    size = np.abs(expected.actuation).max()
    assert (
        np.abs(run.prescribed_forces["joint_2"] - expected.actuation[:, 1]).max() < REFEREE * size
    )
    force = run.joint_loads(["joint_2"], in_="world").force[:, 0]
    assert np.abs(force - expected.force).max() < REFEREE * np.abs(expected.force).max()
    assert np.abs(expected.actuation[:, [3, 5]]).max() < REFEREE * size  # the free joints are free
    assert (
        np.ptp(force[:, 0]) > 1000 and np.ptp(run.prescribed_forces["joint_2"]) > 1000
    )  # and it moves


def test_simulation_1_moves_as_pinocchio_and_scipy_move_it():
    _, prescribed, run = papers.first(step=2.5e-4, every=400)
    expected = papers.pinocchio_motion(prescribed, run.time, 1e-12)
    assert np.abs(run.q - expected).max() < 1e-6  # several turns: errors grow a thousandfold
    third_order = papers.first(step=2.5e-4, every=400, integrator="ab3").run  # the paper's
    assert np.abs(third_order.q - expected).max() < 1e-3


@pytest.fixture(scope="module")
def tied():
    return papers.second_exact()


def test_simulation_2_has_the_loads_of_the_recursive_newton_euler_with_its_spring(tied):
    """KimYou97 Figs 7, 8: driving torque and x reaction of joint 4; the spring's pull is a load."""
    run = papers.second_sprung(papers.STIFFNESS, tied.run.v[0]).run
    expected = papers.newton_euler(run, "joint_4")
    size = np.abs(expected.actuation).max()
    assert (
        np.abs(run.prescribed_forces["joint_4"] - expected.actuation[:, 3]).max() < REFEREE * size
    )
    force = run.joint_loads(["joint_4"], in_="world").force[:, 0]
    assert np.abs(force - expected.force).max() < REFEREE * np.abs(expected.force).max()
    assert np.abs(run.external["tip"]).max() > 4.0


def errors(tied, stiffness, start):
    """Largest errors of angle and driving torque, against the exact joint's."""
    run = papers.second_sprung(stiffness, start).run
    exact = tied.run
    torque = run.prescribed_forces["joint_4"] - exact.prescribed_forces["joint_4"]
    return np.abs(run.q - exact.q).max(), np.abs(torque).max()


STIFFNESSES = (1e5, 1e6, 1e7)


def test_the_stiff_spring_tends_to_the_exact_joint(tied):
    """The angle's error is the static stretch, ~1/k. The spring starts without stretching, while
    the rod's force begins to grow: it swings with force' / omega, ~1/sqrt(k)."""
    found = np.array([errors(tied, k, tied.run.v[0]) for k in STIFFNESSES])
    rates = -np.diff(np.log10(found), axis=0)
    assert np.allclose(rates[:, 0], 1.0, atol=0.02)
    assert np.allclose(rates[:, 1], 0.5, atol=0.02)
    assert found[-1, 1] < 2e-4 * np.abs(tied.run.prescribed_forces["joint_4"]).max()


def test_a_spring_that_starts_as_the_joint_does_tends_to_it_faster(tied):
    """Stretching with force' / k from the start, it swings with force'' / omega^2, ~1/k."""
    found = [errors(tied, k, papers.smooth_start(tied.run, k))[1] for k in STIFFNESSES]
    assert np.allclose(-np.diff(np.log10(found)), 1.0, atol=0.1)


def test_from_rest_the_spring_takes_a_blow_that_grows_with_its_root(tied):
    """As the paper starts it: all but the prescribed joint at rest. No exact joint can follow
    that.
    """
    start = tied.run.v[0].copy()
    start[5] = 0.0
    found = [errors(tied, k, start)[1] for k in STIFFNESSES]
    assert np.allclose(np.diff(np.log10(found)), 0.5, atol=0.02)


def test_radau_does_not_follow_the_vibration(tied):
    """It damps what it does not resolve; explicit methods must resolve it to be stable."""
    steps = {}
    for name in ("Radau", "RK45"):
        options = {"integrator": f"scipy:{name}", "tolerance": 1e-6, "step": 0.01, "every": 1}
        options |= {"most_evaluations": 10**6}
        run = papers.second_sprung(1e8, tied.run.v[0], **options).run
        assert np.abs(run.q - tied.run.q[::10]).max() < 1e-5
        steps[name] = run.facts["steps"]
    assert steps["Radau"] < 100 < 1000 < steps["RK45"]
