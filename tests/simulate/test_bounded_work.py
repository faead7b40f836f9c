"""Integrators that choose their own steps end, and say why, where no step is short enough."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from tests.bounds import soon
from tests.machines import four_bar, turning
from tests.robots import own_urdfs

DRY = 1.5
"""N m of friction: the pendulum of 1 m and 1 kg comes to rest after a swing, and sticks."""

FRICTION = {
    "sign": lambda t, q, v: -DRY * fn.sign(v),
    "steep": lambda t, q, v: -DRY * fn.tanh(1e4 * v),
    "branch": lambda t, q, v: -DRY * np.array([1.0 if float(v[0]) > 0.0 else -1.0]),
}


def rubbing(kind, **options):
    bar = mbd.load(own_urdfs()["pendulum"])
    given = {"step": 1e-2, "q": [0.5], "torque": FRICTION[kind], "check": False}
    with soon(8.0):
        return bar.simulate(20.0, **given, **options)


@pytest.mark.parametrize("kind", FRICTION)
def test_dry_friction_ends_with_a_status_and_the_motion_so_far(kind):
    method = {"method": "svd"} if kind == "branch" else {}
    run = rubbing(kind, integrator="abm", **method)
    assert run.status.startswith("stopped at t = ")
    assert "most_evaluations=" in run.status
    assert "dry friction" in run.status
    assert run.facts["evaluations"] < 10_000 + 200 * (len(run.time) + 1) + 100
    assert len(run.time) > 50
    # until it sticks, friction takes its force times the way: the first swing goes one way
    lost = run.energy[0] - run.energy
    assert np.abs(lost - DRY * np.abs(run.q[:, 0] - 0.5))[:-1].max() < 1e-3


@pytest.mark.parametrize("name", ["RK45", "LSODA"])
def test_scipy_ends_as_well(name):
    run = rubbing("sign", integrator=f"scipy:{name}")
    assert "most_evaluations=" in run.status
    assert len(run.time) > 50


def test_what_stops_may_be_allowed_more():
    """Explicit steps must resolve a stiff friction; they may, if they are allowed to."""
    assert not rubbing("steep", integrator="scipy:RK45").finished
    assert rubbing("steep", integrator="scipy:BDF").finished
    bar = mbd.load(own_urdfs()["pendulum"])
    given = {"step": 1e-2, "q": [0.5], "torque": FRICTION["steep"], "integrator": "scipy:RK45"}
    assert bar.simulate(1.5, most_evaluations=10**6, **given).finished


@pytest.mark.parametrize("method", ["multipliers", "svd"])
@pytest.mark.parametrize("short", [-1e-6, 1e-8])
def test_a_nearly_flat_linkage_is_passed_in_bounded_time(method, short):
    bar, at = turning(four_bar(1, 2, 1, 2 + short), 4.0)
    options = {"method": method, "integrator": "abm", "check": False}
    with soon(8.0):
        run = bar.simulate(0.5, step=6e-3, q=at.q, v=at.v, **options)
    assert run.finished
    assert np.ptp(run.energy) < 1e-4
