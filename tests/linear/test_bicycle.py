"""The Whipple bicycle, linearised, is the benchmark of Meijaard and others (2007) to its digits."""

import numpy as np
import pytest
from scipy.linalg import expm

import mbd_bridge as mbd
from tests.oracles import whipple

DIGITS = 1e-10
CHOSEN = ["frame.rx", "steer", "rear_wheel"]


def upright(bicycle, speed):
    at = mbd.linear.steady_motion(bicycle, {"rear_wheel": speed / 0.3})
    return mbd.linear.linearise(bicycle, at, coordinates=CHOSEN)


def parts(model):
    """Mass, damping and stiffness of lean and steer."""
    positions = model.stiffness.shape[1]
    q = [model.states.index(name) for name in ("frame.rx", "steer")]
    v = [model.states.index(name) - positions for name in ("frame.wx", "steer.rate")]
    return model.mass[np.ix_(v, v)], model.damping[np.ix_(v, v)], model.stiffness[np.ix_(v, q)]


@pytest.mark.parametrize("speed", [0.0, 5.0, 8.0])
def test_matrices_are_those_of_the_benchmark(bicycle, speed):
    M, C, K = parts(upright(bicycle, speed))
    assert np.abs(M - whipple.M).max() < DIGITS
    assert np.abs(C - speed * whipple.C1).max() < DIGITS
    assert np.abs(K - whipple.G * whipple.K0 - speed**2 * whipple.K2).max() < DIGITS


def test_eigenvalues_at_5_metres_a_second_are_those_of_the_benchmark(bicycle):
    """Beside them six zeros: place, heading, turns of the wheels and the speed itself."""
    found = upright(bicycle, 5.0).eigenvalues
    assert (found[:6] == 0.0).all()
    assert np.abs(found[6:] - whipple.AT_5).max() < DIGITS


@pytest.mark.parametrize("speed", [4.28, 4.3, 6.02, 6.03])
def test_it_is_stable_between_weave_and_capsize_speed(bicycle, speed):
    assert upright(bicycle, speed).stable is (whipple.WEAVE < speed < whipple.CAPSIZE)


def test_which_coordinates_are_independent_does_not_matter(bicycle):
    at = mbd.linear.steady_motion(bicycle, {"rear_wheel": 5.0 / 0.3})
    for chosen in ([], ["frame.rz", "front_wheel.rate"], ["frame.vx", "frame.wz", "frame.rx"]):
        found = mbd.linear.linearise(bicycle, at, coordinates=chosen).eigenvalues
        for value in whipple.AT_5:
            assert np.abs(found - value).min() < 1e-9


def test_a_steady_turn_moves_as_its_linear_model_says(bicycle):
    """Against differences of nonlinear runs: body axes turn, and displacements with them."""
    given = {"rear_wheel": 5.0 / 0.3, "frame.wz": 0.4}
    at = mbd.linear.steady_motion(
        bicycle, given, {"frame.qx": 0.05}, drives=["rear_wheel", "steer"]
    )
    assert abs(at.forces["rear_wheel"]) < 1e-9 < abs(at.forces["steer"])
    model = mbd.linear.linearise(bicycle, at)
    assert model.unsteady == 0.0
    names, difference = bicycle.model.velocity_names, bicycle.model.difference
    positions, duration = model.stiffness.shape[1], 0.7
    independent = [name.removesuffix(".rate") for name in model.states[positions:]]
    x0 = 1e-5 * np.random.default_rng(0).normal(size=len(model.states))

    def run(x):
        q = bicycle.assemble(bicycle.model.integrate(at.q, model.displacements @ x)).q
        v = np.array(at.v)
        v[[names.index(name) for name in independent]] += x[positions:]
        v = bicycle.assemble(q, velocity=v, fixed=independent).v
        given = {"q": q, "v": v, "torque": at.forces}
        return bicycle.simulate(duration, step=5e-4, every=2000, **given).q[-1]

    base = run(0 * x0)
    change = 0.5 * (difference(base, run(x0)) - difference(base, run(-x0)))
    expected = model.displacements @ (expm(model.A * duration) @ x0)
    assert np.abs(change - expected).max() < 1e-4 * np.abs(expected).max()
